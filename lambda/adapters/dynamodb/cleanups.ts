import type { CleanupLedger, Input, Output } from '../../ports/ledger.ts';
import {
  cleanupFields,
  cleanupKey,
  goneItem,
  goneKey,
  parseCleanup,
  seenItem,
  seenPartition,
  seenTime,
} from './cleanup-items.ts';
import { absent, removing, setting } from './expressions.ts';
import { parseRepo, repoKey } from './items.ts';
import { pagesOf } from './pages.ts';
import { neverScanned } from './repos.ts';
import { batchGet, deleteItem, getItem, putItem, type Table, updateItem } from './requests.ts';
import { expiryAttribute, keyNames } from './table.ts';

const hour = 60 * 60 * 1000;
/** What batches noted is kept for so long after the watch's time: the table may remove it then. */
const seenKeptMs = 24 * hour;
/** Somebody who checks out an old commit within this time is told what became of its objects. */
const goneKeptMs = 90 * 24 * hour;
const writesAtOnce = 16;

/** Clean-ups: the watch on a repo's item, the clean-up's own item, what batches note, and what is gone. */
export function cleanupMethods(table: Table): CleanupLedger {
  return {
    openWatch: (input) => openWatch(table, input),
    closeWatch: (input) => closeWatch(table, input),
    noteSeen: (input) => noteSeen(table, input),
    seen: (input) => seen(table, input),
    readCleanup: (path) => readCleanup(table, path),
    putCleanup: (input) => putCleanup(table, input),
    noteGone: (input) => noteGone(table, input),
    forgetGone: (input) => forgetGone(table, input),
    goneOf: (input) => goneOf(table, input),
  };
}

async function openWatch(table: Table, input: Input<'openWatch'>): Output<'openWatch'> {
  const { watch, nowMs, repo } = input;
  const key = repoKey(input);
  const { ok } = await updateItem(table, {
    key,
    change: [setting({ repo, watch }, { defaults: neverScanned })],
    condition:
      '(attribute_not_exists(#watch) OR (#watch.#untilMs < :now AND #watch.#openedAtMs < :opened))' +
      ' AND (attribute_not_exists(#endedWatchMs) OR #endedWatchMs < :opened)',
    values: { ':now': nowMs, ':opened': watch.openedAtMs },
  });
  if (ok) return { kind: 'open', watch };
  const item = await getItem(table, key);
  const found = item && parseRepo(item).watch;
  // This one: our own retry after a lost answer.
  if (found && (found.id === watch.id || found.untilMs >= nowMs)) return { kind: 'open', watch: found };
  return { kind: 'refused' };
}

async function closeWatch(table: Table, input: Input<'closeWatch'>): Output<'closeWatch'> {
  const { id, openedAtMs } = input.watch;
  await updateItem(table, {
    key: repoKey(input),
    change: [setting({ endedWatchMs: openedAtMs }), removing('watch')],
    condition: '#watch.#id = :watchId',
    values: { ':watchId': id },
  });
}

async function noteSeen(table: Table, input: Input<'noteSeen'>): Output<'noteSeen'> {
  const { tenant, watch, noteId, note } = input;
  await putItem(table, {
    item: {
      pk: seenPartition(tenant, watch.id),
      sk: `${seenTime(note.beganMs)}#${noteId}`,
      ...note,
      [expiryAttribute]: Math.ceil((watch.untilMs + seenKeptMs) / 1000),
    },
    condition: absent,
  });
}

async function* seen(table: Table, { tenant, watchId, fromMs }: Input<'seen'>): Output<'seen'> {
  const pages = pagesOf(table, {
    KeyConditionExpression: '#pk = :pk AND #sk >= :from',
    ExpressionAttributeNames: { '#pk': keyNames.pk, '#sk': keyNames.sk },
    ExpressionAttributeValues: { ':pk': seenPartition(tenant, watchId), ':from': seenTime(fromMs) },
    ConsistentRead: true,
  });
  for await (const items of pages) yield items.map((item) => seenItem.parse(item));
}

async function readCleanup(table: Table, path: Input<'readCleanup'>): Output<'readCleanup'> {
  const item = await getItem(table, cleanupKey(path));
  return item && parseCleanup(item);
}

async function putCleanup(table: Table, input: Input<'putCleanup'>): Output<'putCleanup'> {
  const { tenant, versionRead, writeId } = input;
  const cleanup = { ...input.cleanup, version: (versionRead ?? 0) + 1 };
  const { ok } = await putItem(table, {
    item: { ...cleanupFields(tenant, cleanup), writeId },
    condition: versionRead === null ? absent : '#version = :versionRead',
    values: { ':versionRead': versionRead ?? undefined },
  });
  if (ok) return cleanup;
  // Refused, yet it is there: this was our own retry after a lost answer.
  const now = await getItem(table, cleanupKey({ tenant, repo: cleanup.repo }));
  return now?.['writeId'] === writeId ? parseCleanup(now) : undefined;
}

async function noteGone(table: Table, input: Input<'noteGone'>): Output<'noteGone'> {
  const { oids, atMs } = input;
  const expires = Math.ceil((atMs + goneKeptMs) / 1000);
  await inTurns(oids, (oid) =>
    updateItem(table, {
      key: goneKey({ ...input, oid }),
      change: [setting({ oid, goneAtMs: atMs, [expiryAttribute]: expires })],
    }),
  );
}

async function forgetGone(table: Table, input: Input<'forgetGone'>): Output<'forgetGone'> {
  await deleteItem(table, { key: goneKey(input) });
}

async function goneOf(table: Table, input: Input<'goneOf'>): Output<'goneOf'> {
  const items = await batchGet(
    table,
    input.oids.map((oid) => goneKey({ ...input, oid })),
  );
  const found = items.map((item) => goneItem.parse(item));
  return new Map(found.map(({ oid, goneAtMs }) => [oid, goneAtMs]));
}

/** Some writes at a time. */
async function inTurns(oids: readonly string[], write: (oid: string) => Promise<unknown>): Promise<void> {
  for (let begin = 0; begin < oids.length; begin += writesAtOnce)
    await Promise.all(oids.slice(begin, begin + writesAtOnce).map(write));
}
