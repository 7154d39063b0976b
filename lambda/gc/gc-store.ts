import * as z from 'zod';
import { dueKey, inKey, parseRepo, repoKey, watchField } from '../ledger/items.ts';
import { neverScanned } from '../ledger/repo-store.ts';
import type { RepoPath } from '../ledger/rules/tenant.ts';
import type { SeenNote, Watch } from '../ledger/rules/watch.ts';
import { forEachLimited } from '../rules/async.ts';
import { absent, type Fields, removing, setting } from '../table/expressions.ts';
import { batchGet, getItem, methodsOn, pagesOf, putItem, type Table, updateItem } from '../table/requests.ts';
import { expiring, keyNames } from '../table/table.ts';
import type { Gc } from './rules/gc.ts';

/** GC runs as items, and what batches note for them. */
const sum = z.object({ objectCount: z.number(), bytes: z.number() });

const selection = z.object({
  folder: z.string(),
  files: z.number(),
  seenAtMs: z.number(),
  chosenAtMs: z.number().optional(),
  listed: sum,
  kept: sum,
  young: sum,
  inUse: sum,
  reserved: sum.extend({ untilMs: z.number() }).optional(),
  candidates: sum,
  largest: z.array(z.object({ oid: z.string(), sizeBytes: z.number() })),
});

const gcItem = z.object({
  repo: z.string(),
  watch: watchField,
  state: z.enum(['watching', 'selecting', 'deleting', 'done', 'cancelled', 'expired']),
  version: z.number(),
  run: z
    .object({
      id: z.string(),
      requestedAtMs: z.number(),
      reachableCount: z.number(),
      reachableSha256: z.string(),
      isDryRun: z.boolean(),
      isForced: z.boolean(),
      minAgeMs: z.number(),
    })
    .nullable(),
  // Older versions choose all candidates in one step, and begin anew where this one is.
  selecting: z
    .object({ found: selection, after: z.array(z.string().nullable()), atMs: z.number() })
    .optional(),
  selection: selection.nullable(),
  failure: z
    .object({
      reason: z.enum(['no-reachable-set', 'too-much', 'too-many-names', 'no-candidates']),
      message: z.string(),
    })
    .nullable(),
  progress: z.object({ file: z.number(), line: z.number(), deleted: sum }),
  set: z.object({ bytes: z.number(), untilMs: z.number() }).optional(),
  dueAtMs: z.number().nullable(),
  endedAtMs: z.number().nullable(),
});

const seenItem = z.object({ beganMs: z.number(), prefixes: z.string() });

const goneItem = z.object({ oid: z.string(), goneAtMs: z.number() });

const gcKey = (path: RepoPath) => ({
  pk: `TENANT#${path.tenant}`,
  sk: `CLEANUP#${inKey(path.repo)}`,
});

/** Beside the tenant's partition, which takes the writes of its counter. */
const seenPartition = (tenant: string, watchId: string) => `SEEN#${tenant}#${watchId}`;
/** Times in a key have one length, so that they sort as numbers do. */
const seenTime = (beganMs: number) => String(Math.max(0, Math.trunc(beganMs))).padStart(16, '0');

const goneKey = ({ tenant, repo, oid }: RepoPath & { oid: string }) => ({
  pk: `GONE#${tenant}#${inKey(repo)}`,
  sk: oid,
});

/** A gc run as an item. It is in the index as long as somebody has to look at it. */
function gcFields(tenant: string, gc: Gc): Fields {
  const { repo, dueAtMs, selecting, set, ...others } = gc;
  return {
    ...gcKey({ tenant, repo }),
    ...(dueAtMs !== null && dueKey({ kind: 'DELETION', tenant, dueAtMs })),
    ...others,
    repo,
    dueAtMs,
    ...(selecting && { selecting }),
    ...(set && { set }),
  };
}

/** @throws {ZodError} when the item is not that of a gc run. */
function parseGc(item: unknown): Gc {
  return gcItem.parse(item);
}

const hour = 60 * 60 * 1000;
/** What batches noted is kept for so long after the watch's time: the table may remove it then. */
const seenKeptMs = 24 * hour;
/** Somebody who checks out an old commit within this time is told what became of its objects. */
const goneKeptMs = 90 * 24 * hour;
const writesAtOnce = 16;

/**
 * GC runs of what no ref needs (docs/how-it-works.md): the watch on a repo's item, the gc run's own item, what batches note, and
 * what is gone.
 */
export function gcMethods(table: Table) {
  return methodsOn(table, {
    openWatch,
    closeWatch,
    noteSeen,
    seen,
    readGc,
    putGc,
    noteGone,
    goneOf,
  });
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
  for await (const items of pages) yield items.map((item) => seenItem.parse(item));
}

async function readGc(table: Table, path: RepoPath): Promise<Gc | undefined> {
  const item = await getItem(table, gcKey(path));
  return item && parseGc(item);
}

/**
 * Writes a gc run over the version that was read, and counts its version. Its tenant is due at its `dueAtMs`.
 *
 * @param input.versionRead null: there is none yet. The repo's last one is replaced by the next.
 * @returns undefined if it has changed since.
 */
async function putGc(
  table: Table,
  input: {
    tenant: string;
    gc: Gc;
    versionRead: number | null;
    /** Random: the same one again is our own retry, and answers the same. */
    writeId: string;
  },
): Promise<Gc | undefined> {
  const { tenant, versionRead, writeId } = input;
  const gc = { ...input.gc, version: (versionRead ?? 0) + 1 };
  const { ok } = await putItem(table, {
    item: { ...gcFields(tenant, gc), writeId },
    condition: versionRead === null ? absent : '#version = :versionRead',
    values: { ':versionRead': versionRead ?? undefined },
  });
  if (ok) return gc;
  // Refused, yet it is there: this was our own retry after a lost answer.
  const now = await getItem(table, gcKey({ tenant, repo: gc.repo }));
  return now?.['writeId'] === writeId ? parseGc(now) : undefined;
}

/** Notes that objects are deleted, or with `emptiedName` that a repo was emptied. */
async function noteGone(
  table: Table,
  input: RepoPath & { oids: readonly string[]; atMs: number },
): Promise<void> {
  const { oids, atMs } = input;
  const expires = expiring(atMs + goneKeptMs);
  await forEachLimited(oids, writesAtOnce, async (oid) => {
    await updateItem(table, {
      key: goneKey({ ...input, oid }),
      change: [setting({ oid, goneAtMs: atMs, ...expires })],
    });
  });
}

/** Which of these objects were deleted, and when for the last time. Some weeks later that is forgotten. */
async function goneOf(
  table: Table,
  input: RepoPath & { oids: readonly string[] },
): Promise<ReadonlyMap<string, number>> {
  const items = await batchGet(
    table,
    input.oids.map((oid) => goneKey({ ...input, oid })),
  );
  const found = items.map((item) => goneItem.parse(item));
  return new Map(found.map(({ oid, goneAtMs }) => [oid, goneAtMs]));
}
