import { allPages, mapLimited } from '../rules/async.ts';
import { repoPrefix } from '../rules/names.ts';
import { headEach } from '../scan/head-each.ts';
import { type StoredObject, StoreRefusedError, StoreUnavailableError } from '../store/rules/store.ts';
import { announced, markDirty } from './announce-delete.ts';
import type { CoreDeps } from './core-deps.ts';
import { readHolds } from './deletes.ts';
import {
  type Deletion,
  deleteRunMs,
  newDeletion,
  openDeletionsMax,
  type RemovedObject,
  singleDeletionId,
} from './rules/deletion.ts';
import { type Emptied, isOver, markOf, mergedEmptied, newEmptied, portionsOf } from './rules/emptied.ts';
import { storedAgainUntilMs } from './rules/reservation.ts';
import {
  isOfFiles,
  isProvenOfFiles,
  type RepoPath,
  type RepoRecord,
  tenantEntriesMax,
} from './rules/tenant.ts';

/**
 * Files are put once: no URL stores anything where something is. So an object of 0 bytes at a name ends all of its URLs at once, and
 * nobody has to wait for slow PUTs, or to count them for a day. It goes when no PUT of the name can be under way.
 */

type EmptyDeps = Pick<CoreDeps, 'ledger' | 'store' | 'clock' | 'ids' | 'log' | 'settings'>;
type DeleteDeps = EmptyDeps & Partial<Pick<CoreDeps, 'claims'>>;

const requestsAtOnce = 32;

/**
 * Puts empty objects. Their record is written before, so that they are hidden, and removed some day, whatever happens after.
 *
 * @param input.onlyNew none where something is. @param input.isNoted a note has the repo scanned, whatever happens.
 * @returns how many the store took. undefined: it did not answer for each, or nothing may be put. What was put stays.
 */
async function takeNames(
  deps: EmptyDeps,
  input: RepoPath & { names: readonly string[]; onlyNew: boolean; deadlineMs: number; isNoted: boolean },
): Promise<number | undefined> {
  const { tenant, repo, names, onlyNew, deadlineMs, isNoted } = input;
  const { ledger, store, log, settings } = deps;
  if (names.length === 0) return 0;
  // After the deadline was set: whoever empties a repo that is closed later waits for it.
  if (!isProvenOfFiles(await ledger.readRepo({ tenant, repo }))) return undefined;
  const emptied = newEmptied(settings, { repo, names, byMs: deadlineMs });
  await ledger.putEmptied({ tenant, ...emptied });
  // A scan that knows nothing of the record may count empty objects, so it's void.
  if (!isNoted) await markDirty(deps, { tenant, repo, isRecorded: true });
  const mark = markOf(emptied);
  let taken = 0;
  try {
    // What is taken stays in the record, as an earlier try may have put it. Who removes them looks at the mark, and nobody hides
    // what has bytes. A file without any may be left out of the number of objects for a day.
    await mapLimited(names, requestsAtOnce, async (name) => {
      try {
        await store.putEmpty(`${repoPrefix({ tenant, repo })}${name}`, { mark, onlyNew, deadlineMs });
        taken += 1;
      } catch (error) {
        // A store may not take every name, such as `a/b` where `a` is. Its URL stores nothing either, and its claim ends in a day.
        if (!onlyNew || !(error instanceof StoreRefusedError)) throw error;
        log.warn('empty object refused', { tenant, repo, error });
      }
    });
    return taken;
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return undefined;
  }
}

/**
 * Ends the URLs of lapsed reservations. Until then they count in full, because a slow PUT may still end. So each name gets
 * an empty object, unless its file has arrived meanwhile. The next reconcile sees one or the other, and settles them.
 *
 * @param input.unseen repo → names that no scan saw.
 * @param input.untilMs nothing more is begun after this.
 * @returns whether there is something to see.
 * @throws {LedgerUnavailableError}
 */
export async function endLapsed(
  deps: EmptyDeps,
  input: {
    tenant: string;
    /** Claims of the tenant. */
    entryCount: number;
    unseen: ReadonlyMap<string, ReadonlySet<string>>;
    untilMs: number;
  },
): Promise<boolean> {
  const { tenant, entryCount, unseen, untilMs } = input;
  if (entryCount > emptiedEntriesMax) return false;
  let isSome = false;
  for (const [repo, names] of unseen)
    for (const portion of portionsOf([...names].map((name) => [name, true] as const))) {
      const nowMs = deps.clock.nowMs();
      if (nowMs > untilMs) return isSome;
      const taking = { tenant, repo, names: [...portion.keys()], onlyNew: true, isNoted: false };
      const taken = await takeNames(deps, { ...taking, deadlineMs: nowMs + deleteRunMs });
      // The store is struggling.
      if (taken === undefined) return isSome;
      deps.log.info('lapsed uploads ended', { tenant, repo, names: taken });
      isSome ||= taken > 0;
    }
  return isSome;
}

interface FilesWish extends RepoPath {
  /** Name → bytes, as they are stored or, to cancel their uploads, as they were claimed. */
  readonly objects: ReadonlyMap<string, number>;
  /** When the newest of them was put, as the store says. What is newer stays. */
  readonly newestMs?: number | undefined;
  /** Cancels the uploads of those that aren't there. What has arrived stays. */
  readonly onlyNew?: true;
}

/**
 * Has files deleted, or their uploads canceled, by the next run of the queue. It frees their space before any URL of theirs could
 * bring it back. Whoever asks for one of these names meanwhile is told to ask again.
 *
 * @returns `full`: so many deletions wait that no other can be added now.
 * @throws {LedgerUnavailableError}
 */
export async function requestFileDeletion(
  deps: Pick<CoreDeps, 'ledger' | 'queue' | 'clock' | 'ids'>,
  { tenant, repo, objects, newestMs, onlyNew }: FilesWish,
): Promise<'requested' | 'full'> {
  const { ledger, queue, clock, ids } = deps;
  const [record, account] = await Promise.all([ledger.readRepo({ tenant, repo }), ledger.readTenant(tenant)]);
  // Empty objects count as claims for a day, and leave room for uploads.
  const isFull = (account?.entryCount ?? 0) + objects.size > emptiedEntriesMax;
  // A batch asks for those of single names by its own.
  const areSingle = !onlyNew && objects.size <= singlesMax;
  const portions = areSingle ? [...objects].map((entry) => new Map([entry])) : [...portionsOf(objects)];
  // Those of single objects, which others may have marked for an hour, cost a batch nothing.
  const bulk = areSingle ? [] : await ledger.deletionsNaming({ tenant, repo, oids: [] });
  const counted =
    isFull || bulk.length + (areSingle ? 0 : portions.length) > bulkDeletionsMax
      ? 'refused'
      : await ledger.countDeletions({ tenant, difference: portions.length, atMost: openDeletionsMax });
  for (const portion of counted === 'refused' ? [] : portions) {
    const [name = ''] = portion.keys();
    const deletion = newDeletion({
      id: areSingle ? singleDeletionId(name) : ids.random(16),
      repo,
      objects: portion,
      dueAtMs: clock.nowMs(),
      afterClosingMs: record?.endedClosingMs ?? 0,
      newestMs,
      ...(onlyNew && { onlyNew }),
    });
    // In a large repo, there may be the record of one that has ended.
    if (!(await ledger.putDeletion({ tenant, deletion })))
      await ledger.putDeletion({ tenant, deletion: { ...deletion, id: ids.random(16) } });
  }
  // A run counts what is left.
  await queue.request({ tenant, reason: 'delete', full: false });
  return counted === 'refused' ? 'full' : 'requested';
}

/** Claims of a tenant, from which on no file becomes an empty object: what breaks off stays a claim of whoever made it. */
const emptiedEntriesMax = tenantEntriesMax / 2;

/** More than these share items, of which every batch reads all. */
const [singlesMax, bulkDeletionsMax] = [100, 100];

/**
 * Deletes files: at once where no URL of a name can be used any more, and else an empty object replaces them.
 *
 * @param input.deletion as it was claimed until `deadlineMs`.
 * @param input.hasBegun another run had claimed it: it may have deleted some.
 * @returns name → what is gone that was counted. undefined: the store did not answer for each. It's repeated after the deadline.
 * @throws {LedgerUnavailableError}
 */
export async function deleteFiles(
  deps: DeleteDeps,
  input: { tenant: string; deletion: Deletion; deadlineMs: number; hasBegun: boolean; isLarge: boolean },
): Promise<ReadonlyMap<string, RemovedObject> | undefined> {
  const { tenant, deletion, deadlineMs, isLarge } = input;
  const { store, ledger, log } = deps;
  const { repo, objects, emptied, onlyNew = false } = deletion;
  const prefix = repoPrefix({ tenant, repo });
  const found = await headEach(deps, { prefix, names: objects.keys() });
  if (!found) return undefined;
  if (emptied !== undefined && (await endParts(deps, { tenant, repo, names: objects }))) return undefined;
  // Elsewhere nothing with bytes goes, so no claim of its name matters.
  const isReplacing = emptied === undefined && !onlyNew;
  const { held } = isReplacing ? await readHolds(deps, { tenant, repo, names: objects.keys() }) : noHolds;
  const { going, taken, gone } = divide(deps, { ...input, found, held });
  const act = async () => {
    const taking = { tenant, repo, names: taken, onlyNew, deadlineMs, isNoted: true };
    const isTaken = (await takeNames(deps, taking)) !== undefined;
    const keys = going.map((name) => prefix + name);
    const unanswered = await store.delete(keys, { deadlineMs });
    return isTaken && unanswered.size === 0 ? true : undefined;
  };
  if (emptied !== undefined) {
    // Nobody sees or counts them.
    if (!(await act())) return undefined;
    await ledger.removeEmptied({ tenant, repo, id: emptied });
    // A file without bytes that came in between was hidden by it.
    const isShown = [...found.values()].some((stored) => stored !== undefined && stored.mark === undefined);
    if (isShown) await markDirty(deps, { tenant, repo, isRecorded: false });
  } else if (going.length + taken.length > 0) {
    const bytes = [...going, ...taken].reduce((sum, name) => sum + (objects.get(name) ?? 0), 0);
    // Where nothing was, nothing changes that is counted.
    const announcing = { tenant, repo, bytes, deadlineMs, isRecorded: isLarge || onlyNew };
    if (!(await announced(deps, announcing, act))) return undefined;
    log.info('deleted', { tenant, repo, objectCount: going.length + taken.length, bytes });
  }
  return gone;
}

/**
 * Ends uploads in parts of these names. Such an upload lasts longer than an empty object, and isn't counted while something has its
 * name. So it must be over before that is free.
 *
 * @returns whether there is one still.
 */
async function endParts(
  { ledger, claims }: DeleteDeps,
  { tenant, repo, names }: RepoPath & { names: ReadonlyMap<string, unknown> },
): Promise<boolean> {
  let isSome = false;
  for await (const page of ledger.reservationsOf({ tenant, repo, ofUploads: true }))
    for (const reservation of page) {
      const chunked = new Set([...(reservation.chunked ?? [])].filter((name) => names.has(name)));
      if (chunked.size === 0) continue;
      isSome = true;
      await claims?.end({ tenant, reservation: { ...reservation, chunked }, states: 'all' });
    }
  return isSome;
}

const noHolds = { held: new Set<string>() };

/** A store may say of a file in parts when it was begun: as long before it arrived as such an upload can be claimed. None is smaller. */
const [partedBytesMin, begunBeforeMs] = [5 * 1024 ** 2, 8 * 24 * 60 * 60_000];

/** What is deleted, which names get an empty object, and what of both was counted. */
function divide(
  { clock, settings }: EmptyDeps,
  input: {
    deletion: Deletion;
    found: ReadonlyMap<string, StoredObject | undefined>;
    hasBegun: boolean;
    /** Names that live reservations claim: an upload in parts lasts for days. */
    held: ReadonlySet<string>;
  },
): {
  going: readonly string[];
  taken: readonly string[];
  gone: ReadonlyMap<string, RemovedObject>;
} {
  const { deletion, found, hasBegun, held } = input;
  const names = [...deletion.objects.keys()];
  const { emptied } = deletion;
  const nowMs = clock.nowMs();
  const gone = new Map<string, RemovedObject>();
  if (emptied !== undefined) {
    const isGoing = ({ mark }: StoredObject) => mark !== undefined && isOver(mark, settings, nowMs);
    return {
      going: [...found].flatMap(([name, stored]) => (stored && isGoing(stored) ? [name] : [])),
      taken: [],
      gone,
    };
  }
  if (deletion.onlyNew) return { going: [], taken: names.filter((name) => !found.get(name)), gone };
  const [going, taken]: [string[], string[]] = [[], []];
  for (const [name, sizeBytes] of deletion.objects) {
    const stored = found.get(name);
    const isMarked = stored?.mark !== undefined;
    const isLost = isMarked && isOver(stored.mark, settings, nowMs);
    const isNewer =
      (stored?.lastModifiedMs ?? 0) > (deletion.newestMs ?? deletion.dueAtMs + settings.clockSkewMs);
    if (!stored || isMarked || isNewer) {
      // A run that died may have deleted it, or put the mark, a day ago or more. One without a record may have been counted.
      if (hasBegun || isLost) gone.set(name, { sizeBytes, lastModifiedMs: null });
      // Its record is lost, as after a restore of the table. No URL of the name was handed out since.
      if (isLost) going.push(name);
      // What is newer stays: a write that lands late must not delete what came after it.
      continue;
    }
    const { lastModifiedMs } = stored;
    gone.set(name, { sizeBytes: stored.sizeBytes, lastModifiedMs: lastModifiedMs ?? null });
    // Of URLs that were handed out before it arrived, one may have been for the largest.
    const arrivedMs = (lastModifiedMs ?? nowMs) + (stored.sizeBytes < partedBytesMin ? 0 : begunBeforeMs);
    const largest = { sizeBytes: settings.objectBytesMax, lastModifiedMs: arrivedMs };
    (nowMs > storedAgainUntilMs(settings, largest) && !held.has(name) ? going : taken).push(name);
  }
  return { going, taken, gone };
}

/** The names at which a tenant's repos have empty objects, or may have. */
export async function emptiedNames(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  { tenant, repos }: { tenant: string; repos: readonly RepoRecord[] },
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const names = new Map<string, Set<string>>();
  if (!repos.some(isOfFiles)) return names;
  for await (const page of ledger.emptied({ tenant }))
    for (const { repo, names: those } of page) {
      const ofRepo = names.get(repo) ?? new Set();
      names.set(repo, ofRepo);
      for (const name of those) ofRepo.add(name);
    }
  return names;
}

/**
 * Removes the empty objects that nobody needs any more, each record's by a deletion of its own: a batch that names one of them
 * meanwhile waits. Of what stays, many small records become few.
 *
 * @param input.run runs a deletion. `unanswered`: no other is begun, as the store is struggling.
 * @param input.untilMs nothing more is begun after this.
 * @returns `unfinished`: the time was up first.
 * @throws {LedgerUnavailableError}
 */
export async function removeDueEmptied(
  deps: EmptyDeps,
  input: {
    tenant: string;
    repos: readonly RepoRecord[];
    untilMs: number;
    run: (deletion: Deletion) => Promise<{ readonly kind: string }>;
  },
): Promise<'done' | 'unfinished'> {
  const { ledger, clock, settings } = deps;
  const { tenant, untilMs, run } = input;
  const ofFiles = input.repos.filter(isOfFiles);
  // One query, however many repos there are.
  const emptied = ofFiles.length === 0 ? [] : await allPages(ledger.emptied({ tenant }));
  const byRepo = new Map<string, Emptied[]>();
  for (const each of emptied) {
    const ofRepo = byRepo.get(each.repo) ?? [];
    byRepo.set(each.repo, ofRepo);
    ofRepo.push(each);
  }
  for (const record of ofFiles) {
    const { repo } = record;
    const all = byRepo.get(repo) ?? [];
    const isDue = ({ dueAtMs }: Emptied) => clock.nowMs() > dueAtMs + 2 * settings.clockSkewMs;
    for (const each of all.filter(isDue)) {
      if (clock.nowMs() > untilMs) return 'unfinished';
      const deletion = removalOf(record, each);
      await ledger.putDeletion({ tenant, deletion });
      if ((await run(deletion)).kind === 'unanswered') return 'done';
    }
    const { merged, replaced } = mergedEmptied(all.filter((each) => !isDue(each)));
    for (const each of merged) await ledger.putEmptied({ tenant, ...each });
    await mapLimited(replaced, requestsAtOnce, ({ id }) => ledger.removeEmptied({ tenant, repo, id }));
  }
  return 'done';
}

function removalOf(repo: RepoRecord, { id, names, dueAtMs }: Emptied): Deletion {
  return newDeletion({
    id,
    repo: repo.repo,
    objects: new Map(names.map((name) => [name, 0])),
    dueAtMs,
    afterClosingMs: repo.endedClosingMs ?? 0,
    emptied: id,
  });
}
