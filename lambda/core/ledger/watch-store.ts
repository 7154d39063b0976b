import * as z from 'zod';
import { forEachLimited } from '../rules/async.ts';
import { absent, removing, setting } from '../table/expressions.ts';
import { batchGet, getItem, methodsOn, pagesOf, putItem, type Table, updateItem } from '../table/requests.ts';
import { expiring, keyNames } from '../table/table.ts';
import { inKey, parseRepo, repoKey } from './items.ts';
import { neverScanned } from './repo-store.ts';
import type { RepoPath } from './rules/tenant.ts';
import { type SeenNote, seenSchema, type Watch } from './rules/watch.ts';

const goneItem = z.object({ oid: z.string(), goneAtMs: z.number(), rule: z.string().optional() });

/** When an object was deleted, and by which rule of a gc run, as `DAYS/VERSIONS`, if by any. */
export interface Gone {
  readonly atMs: number;
  readonly rule?: string;
}

/** Beside the tenant's partition, which takes the writes of its counter. */
const seenPartition = (tenant: string, watchId: string) => `SEEN#${tenant}#${watchId}`;
/** Times in a key have one length, so that they sort as numbers do. */
const seenTime = (beganMs: number) => String(Math.max(0, Math.trunc(beganMs))).padStart(16, '0');

const goneKey = ({ tenant, repo, oid }: RepoPath & { oid: string }) => ({
  pk: `GONE#${tenant}#${inKey(repo)}`,
  sk: oid,
});

const hour = 60 * 60 * 1000;
/** What batches noted is kept for so long after the watch's time: the table may remove it then. */
const seenKeptMs = 24 * hour;
/** Somebody who checks out an old commit within this time is told what became of its objects. */
const goneKeptMs = 400 * 24 * hour;
const writesAtOnce = 16;

/** The watch on a repo's item, what batches note meanwhile, and what is gone. */
export function watchMethods(table: Table) {
  return methodsOn(table, { openWatch, closeWatch, noteSeen, seen, noteGone, goneOf });
}

/**
 * Opens a repo's watch, unless one is open.
 *
 * @param input.over one that has ended, and is replaced.
 * @returns the watch that is open then, this one or another. `refused`: the time of one is over that isn't closed yet, or one that
 * ended was opened at that time or later.
 */
async function openWatch(
  table: Table,
  input: RepoPath & { watch: Watch; nowMs: number; over?: string | undefined },
): Promise<{ kind: 'open'; watch: Watch } | { kind: 'refused' }> {
  const { watch, nowMs, repo, over } = input;
  const key = repoKey(input);
  const { ok } = await updateItem(table, {
    key,
    change: [setting({ repo, watch }, { defaults: neverScanned })],
    condition:
      '(attribute_not_exists(#watch) OR (#watch.#id = :over AND #watch.#openedAtMs < :opened))' +
      ' AND (attribute_not_exists(#endedWatchMs) OR #endedWatchMs < :opened)',
    // No watch has an empty id.
    values: { ':opened': watch.openedAtMs, ':over': over ?? '' },
  });
  if (ok) return { kind: 'open', watch };
  const item = await getItem(table, key);
  const found = item && parseRepo(item).watch;
  // This one: our own retry after a lost answer.
  if (found && (found.id === watch.id || found.untilMs >= nowMs)) return { kind: 'open', watch: found };
  return { kind: 'refused' };
}

/** Ends this watch, for good. If it is not the one that is open, nothing happens. */
async function closeWatch(table: Table, input: RepoPath & { watch: Watch }): Promise<void> {
  const { id, openedAtMs } = input.watch;
  await updateItem(table, {
    key: repoKey(input),
    change: [setting({ endedWatchMs: openedAtMs }), removing('watch')],
    condition: '#watch.#id = :watchId',
    values: { ':watchId': id },
  });
}

/** Notes what a batch names: 2 write units for 100 objects, 11 for 1,000. @param input.intentId the batch's own. */
async function noteSeen(
  table: Table,
  input: { tenant: string; watch: Watch; intentId: string; note: SeenNote },
): Promise<void> {
  const { tenant, watch, intentId, note } = input;
  await putItem(table, {
    item: {
      pk: seenPartition(tenant, watch.id),
      sk: `${seenTime(note.beganMs)}#${intentId}`,
      ...note,
      ...expiring(watch.untilMs + seenKeptMs),
    },
    condition: absent,
  });
}

/** What batches have noted in a watch, of those that began at `fromMs` or later, by their clocks. */
async function* seen(
  table: Table,
  { tenant, watchId, fromMs }: { tenant: string; watchId: string; fromMs: number },
): AsyncIterable<readonly SeenNote[]> {
  const pages = pagesOf(table, {
    KeyConditionExpression: '#pk = :pk AND #sk >= :from',
    ExpressionAttributeNames: { '#pk': keyNames.pk, '#sk': keyNames.sk },
    ExpressionAttributeValues: { ':pk': seenPartition(tenant, watchId), ':from': seenTime(fromMs) },
    ConsistentRead: true,
  });
  for await (const items of pages) yield items.map((item) => seenSchema.parse(item));
}

/** Notes that objects are deleted, or with `emptiedName` that a repo was emptied. */
async function noteGone(
  table: Table,
  input: RepoPath & { oids: readonly string[]; atMs: number; rule?: string | undefined },
): Promise<void> {
  const { oids, atMs, rule } = input;
  const expires = expiring(atMs + goneKeptMs);
  await forEachLimited(oids, writesAtOnce, async (oid) => {
    await updateItem(table, {
      key: goneKey({ ...input, oid }),
      change: [
        setting({ oid, goneAtMs: atMs, rule, ...expires }),
        ...(rule === undefined ? [removing('rule')] : []),
      ],
    });
  });
}

/** Which of these objects were deleted, and when for the last time. A year later that is forgotten. */
async function goneOf(
  table: Table,
  input: RepoPath & { oids: readonly string[] },
): Promise<ReadonlyMap<string, Gone>> {
  const items = await batchGet(
    table,
    input.oids.map((oid) => goneKey({ ...input, oid })),
  );
  const found = items.map((item) => goneItem.parse(item));
  return new Map(
    found.map(({ oid, goneAtMs, rule }) => [oid, { atMs: goneAtMs, ...(rule !== undefined && { rule }) }]),
  );
}
