import { allPages, mapLimited } from '../rules/async.ts';
import { deletionPrefix, isOid } from '../rules/names.ts';
import { PrefixSet, prefixText } from '../rules/prefix-set.ts';
import { headEach } from '../scan/head-each.ts';
import { type StoredObject, StoreUnavailableError } from '../store/rules/store.ts';
import { announced, markDirty } from './announce-delete.ts';
import type { CoreDeps } from './core-deps.ts';
import { readHolds } from './deletes.ts';
import { deleteFiles } from './empty-objects.ts';
import {
  type Deletion,
  deleteRunMs,
  isClaimable,
  isEndless,
  isGivenUp,
  isVoid,
  keptUntilMs,
  type Removal,
  type RemovedObject,
} from './rules/deletion.ts';
import {
  lateAfterDelete,
  onceMoreIdStart,
  type Reservation,
  storedAgainUntilMs,
  sumEntries,
} from './rules/reservation.ts';
import { isProvenOfFiles } from './rules/tenant.ts';
import { type Spared, sparedBy } from './seams.ts';

/**
 * An unconfirmed reservation of objects that are about to be deleted, if a PUT may store them once more. Their room is then
 * free, like that of any late upload, up to the tenant's limit and no further.
 *
 * Without it, somebody could send each object twice, once fast and once slowly, and delete what has arrived, again and
 * again: each round would have the whole limit, and the slow PUTs of all of them would end later.
 *
 * The repo's item is read after its reservations: a reconcile that deleted one of them has noted it there first.
 *
 * @returns undefined if no PUT of them can be under way. Nothing is written yet. `tooMany`: the tenant has so many
 * claims that no more should be added.
 * @throws {LedgerUnavailableError}
 */
export async function expectedOnceMore(
  deps: Pick<CoreDeps, 'ledger' | 'clock' | 'ids' | 'settings'>,
  input: {
    tenant: string;
    repo: string;
    /** Name below the repo → bytes. */
    objects: ReadonlyMap<string, number>;
    /** By the reservations of the repo, which were read before. */
    putsUntilMs: number;
    /** When the delete ends. */
    deadlineMs: number;
  },
): Promise<{ unconfirmed: Reservation; tooMany: boolean } | undefined> {
  const { ledger, clock, ids, settings } = deps;
  const { tenant, repo } = input;
  // There is a URL only for an object with an oid.
  const entries = new Map([...input.objects].filter(([name]) => isOid(name)));
  if (entries.size === 0) return undefined;
  const [record, account] = await Promise.all([ledger.readRepo({ tenant, repo }), ledger.readTenant(tenant)]);
  const putsUntilMs = Math.max(record?.putsUntilMs ?? 0, input.putsUntilMs);
  const nowMs = clock.nowMs();
  if (nowMs > putsUntilMs || !account) return undefined;
  const unconfirmed = lateAfterDelete(settings, {
    id: onceMoreIdStart + ids.random(16),
    tenant,
    repo,
    entries,
    putsUntilMs,
    deletedByMs: input.deadlineMs,
    nowMs,
  });
  return { unconfirmed, tooMany: account.entryCount + 1 + entries.size > settings.unconfirmedEntriesMax };
}

/**
 * Which of these objects a PUT may store once more, by when the store says that each was put. It costs a HEAD for each.
 *
 * @returns undefined: the store did not answer for each.
 */
export async function findYoung(
  { store, clock, settings }: Pick<CoreDeps, 'store' | 'clock' | 'settings'>,
  input: { tenant: string; repo: string; names: Iterable<string> },
): Promise<ReadonlySet<string> | undefined> {
  const names = [...input.names].filter(isOid);
  const found = await headEach({ store }, { prefix: deletionPrefix(input), names });
  const isYoung = ({ sizeBytes, lastModifiedMs = clock.nowMs() }: StoredObject) =>
    clock.nowMs() <= storedAgainUntilMs(settings, { sizeBytes, lastModifiedMs });
  return found && new Set([...found].flatMap(([name, stored]) => (stored && isYoung(stored) ? [name] : [])));
}

/** No object of a deletion. */
const noNames: ReadonlySet<string> = new Set();

/**
 * The objects of a deletion that batches have named since a gc run chose them. The deletion must have been claimed
 * before: a batch that names one later finds the claim.
 *
 * @returns none for a deletion that is not one of a gc run.
 * @throws {LedgerUnavailableError}
 */
async function namedSince(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  { tenant, deletion }: { tenant: string; deletion: Deletion },
): Promise<ReadonlySet<string>> {
  const { sweep, objects } = deletion;
  if (!sweep) return noNames;
  const named = new Set<string>();
  for await (const page of ledger.seen({ tenant, watchId: sweep.watchId, fromMs: sweep.seenFromMs })) {
    const seen = new PrefixSet();
    for (const { prefixes } of page) seen.addText(prefixes);
    for (const oid of objects.keys()) if (seen.has(oid)) named.add(oid);
  }
  return named;
}

/** Whoever deletes files has `claims`. */
export type DeletionDeps = Pick<CoreDeps, 'ledger' | 'store' | 'clock' | 'ids' | 'log' | 'settings'> &
  Partial<Pick<CoreDeps, 'claims'>>;

const headsAtOnce = 128;
/** What waits because of too many entries is tried again after this. */
const waitingMs = 60 * 60_000;

type DeletionRun =
  /** Everything is gone, except what live reservations hold, and what is too young. That is marked again. */
  | {
      readonly kind: 'ended';
      readonly heldCount: number;
      /** More of the repo need not be tried now: the tenant has too many entries. */
      readonly isWaiting: boolean;
      /** Name → bytes of what is gone. undefined: the deletion was void, so it deleted nothing. */
      readonly gone: ReadonlyMap<string, number> | undefined;
    }
  /** The store did not answer some deletes. They are repeated once none of these can still land. */
  | { readonly kind: 'unanswered' }
  /** Somebody else runs this deletion, or it was changed meanwhile. */
  | { readonly kind: 'refused' };

/**
 * Runs a tenant's deletions whose grace time is over, and takes over those whose deleter died. Removes the records of
 * objects that have been gone for long enough.
 *
 * After a delete that the store did not answer, no other deletion is begun: the store is struggling, and every further
 * one would leave another note on the tenant's item. Those that are left stay due for the schedule.
 *
 * Objects that a subject holds are spared until it no longer does.
 *
 * @param input.untilMs no other deletion is begun after this.
 * @param input.deletionCount the tenant's, as it was read before. It is corrected by what this run has read. What is
 * marked meanwhile may count twice until the next run.
 * @returns false if the time was up before all of them were begun.
 * @throws {LedgerUnavailableError | StoreRefusedError} after all that can be done.
 */
export async function runDeletions(
  deps: DeletionDeps & Pick<CoreDeps, 'holds' | 'metrics'>,
  input: { tenant: string; untilMs: number; deletionCount: number },
): Promise<boolean> {
  const { tenant, deletionCount } = input;
  const { ledger } = deps;
  const deletions = await allPages(ledger.deletions(tenant));
  const { isDone, removedCount, failure } = await runSome(deps, { ...input, deletions });
  const leftCount = deletions.length - removedCount;
  if (leftCount !== deletionCount)
    await ledger.countDeletions({ tenant, difference: leftCount - deletionCount });
  if (failure !== undefined) throw failure;
  return isDone;
}

/** @returns how many records it has removed, whether every deletion that is due was begun, and what one failed by. */
async function runSome(
  deps: DeletionDeps & Pick<CoreDeps, 'holds' | 'metrics'>,
  input: { tenant: string; untilMs: number; deletions: Deletion[] },
): Promise<{ isDone: boolean; removedCount: number; failure?: unknown }> {
  const { tenant, untilMs, deletions } = input;
  const { ledger, clock, settings } = deps;
  let removedCount = 0;
  let failure: unknown;
  // Those that were never tried have no deadline. So a delete that is never answered keeps no other from its turn.
  deletions.sort((a, b) => a.deadlineMs - b.deadlineMs);
  let isAnswered = true;
  let held: { isSpared: Spared; readAtMs: number } | undefined;
  for (const deletion of deletions) {
    const nowMs = clock.nowMs();
    if (nowMs > untilMs) return { isDone: false, removedCount, failure };
    if (deletion.removal) await dropUnlessLarge(deps, { tenant, deletion });
    const { state, repo, id: deletionId, deadlineMs } = deletion;
    if (state === 'deleted' && nowMs > deadlineMs) {
      await ledger.removeDeletion({ tenant, repo, deletionId, deadlineMs });
      if (!deletion.removal) removedCount += 1;
    }
    if (!isAnswered || !isClaimable(settings, deletion, nowMs)) continue;
    // What a run has begun is ended: some of the objects are gone already.
    if (deletion.state === 'scheduled') {
      // One that has become due since may be held by what was begun since.
      if (!held || deletion.dueAtMs >= held.readAtMs)
        held = { isSpared: await sparedBy(deps.holds, tenant), readAtMs: nowMs };
      // What it takes away, nobody can read.
      const isHidden = deletion.onlyNew !== undefined || deletion.emptied !== undefined;
      if (!isHidden && held.isSpared(deletion.repo, deletion.dueAtMs)) continue;
    }
    try {
      const run = await runDeletion(deps, { tenant, deletion, isClosed: false });
      isAnswered = run.kind !== 'unanswered';
      if (!isAnswered && isEndless(deletion, nowMs)) {
        deps.log.error('delete or gc failed', {
          tenant,
          repo,
          what: 'a delete that started over an hour ago',
        });
        deps.metrics.increment('ReconcilesFailed');
      }
    } catch (error) {
      failure = error;
      isAnswered = false;
    }
  }
  return { isDone: true, removedCount, failure };
}

/** A repo that is a large repo no longer is scanned as a whole, so nobody needs the record. */
async function dropUnlessLarge(
  { ledger }: DeletionDeps,
  { tenant, deletion }: { tenant: string; deletion: Deletion },
): Promise<void> {
  const { repo, id: deletionId, removal } = deletion;
  if (!removal || (await ledger.readRepo({ tenant, repo }))?.large) return;
  await ledger.dropRemoval({ tenant, repo, deletionId, runMs: removal.runMs });
}

/**
 * Deletes the objects that a deletion names, except those that a live reservation holds: its URL could bring an
 * object back uncounted. Those wait until the reservation is lapsed. What a gc run is to delete stays then, and if a batch has
 * named it since.
 *
 *     claim ─ announce ─ expect once more ─ delete the bytes ─ mark the repo dirty ─ remove the note ─ end
 *             confirmed usage goes down first                  scans before it are void
 *
 * A run that dies leaves its claim, and after the announcement also its note. Both have a deadline. After it the
 * deletion is claimed again, and a reconcile finds the note and scans the repo.
 *
 * @param input.isClosed the repo is closed. No batch is told any more what is stored in it, so no record is kept of
 * what is gone.
 * @throws {LedgerUnavailableError}
 */
export async function runDeletion(
  deps: DeletionDeps,
  input: { tenant: string; deletion: Deletion; isClosed: boolean },
): Promise<DeletionRun> {
  const { ledger, clock } = deps;
  const { tenant } = input;
  const nowMs = clock.nowMs();
  const deadlineMs = nowMs + deleteRunMs;
  const claim = await ledger.claimDeletion({
    tenant,
    before: input.deletion,
    deadlineMs,
    // In a closed repo it may be claimed sooner. If this run dies, its objects may have been gone since now.
    dueAtMs: Math.min(nowMs, input.deletion.dueAtMs),
  });
  if (claim.kind === 'refused') return claim;
  const { id, repo, objects } = claim.deletion;

  // Read after the claim: a batch that finds the repo open finds the claim, and waits.
  const record = await ledger.readRepo({ tenant, repo });
  const hasBegun = input.deletion.state === 'deleting';
  const isOver = isGivenUp(input.deletion, nowMs);
  if (isOver || isVoid(deps.settings, claim.deletion, { repo: record, nowMs: clock.nowMs() })) {
    await dropVoid(deps, { tenant, deletion: claim.deletion, hasBegun, isOver });
    return nothingLeft;
  }
  const isLarge = record?.large !== undefined;
  if (isProvenOfFiles(record))
    return runOnFiles(deps, { tenant, deletion: claim.deletion, deadlineMs, hasBegun, isLarge });
  // After the claim, too: a batch that reserves later finds the claim, and waits.
  const { held, untilMs, putsUntilMs } = await readHolds(deps, { tenant, repo, names: objects.keys() });
  // After the claim, too. Of a closed repo all goes.
  const named = input.isClosed ? noNames : await namedSince(deps, { tenant, deletion: claim.deletion });
  const free = new Map([...objects].filter(([name]) => !held.has(name) && !named.has(name)));
  const expecting = { tenant, repo, objects: free, putsUntilMs, deadlineMs, hasBegun };
  const expected = await expectOrWait(deps, expecting);
  if (!expected) return { kind: 'unanswered' };
  const { unconfirmed, young } = expected;
  const going = new Map([...free].filter(([name]) => !young.has(name)));
  const isLeft = (name: string) => (held.has(name) && !named.has(name)) || young.has(name);
  const left = new Map([...objects].filter(([name]) => isLeft(name)));
  // A run that died may have deleted what is spared now. In a large repo only a record tells.
  const lost = isLarge && hasBegun ? await findMissing(deps, { tenant, repo, objects: left }) : noObjects;
  if (!lost) return { kind: 'unanswered' };
  let removal: Removal | undefined;
  // Before they go: whoever misses one is told why. In a closed repo nobody asks.
  if (!input.isClosed) await noteGone(deps, { tenant, deletion: claim.deletion, going });
  if (going.size + lost.size > 0) {
    // A run that died may have deleted some of them.
    const beganMs = hasBegun ? claim.deletion.dueAtMs : clock.nowMs();
    // In a closed repo, whole shards will be empty soon. To list those is cheaper.
    const how = { isLarge, isAsked: isLarge && !input.isClosed, unconfirmed, deadlineMs };
    const removed = await deleteAnnounced(deps, { tenant, repo, going, ...how });
    if (!removed) return { kind: 'unanswered' };
    const objects = new Map([...removed, ...lost]);
    if (isLarge) removal = { runMs: deadlineMs, beganMs, endedMs: clock.nowMs(), objects };
  }
  // A run that died may have deleted some of what is spared now.
  if (claim.deletion.sweep && hasBegun && named.size > 0)
    await markDirty(deps, { tenant, repo, isRecorded: false });
  await ledger.endDeletion({
    tenant,
    repo,
    deletionId: id,
    deadlineMs,
    // What a gc run spares is left to the next one. Marked again, it would tell no batch of what went beside it.
    left: claim.deletion.sweep ? new Map() : left,
    dueAtMs: young.size > 0 ? clock.nowMs() + waitingMs : untilMs,
    keptUntilMs: input.isClosed ? null : keptUntilMs(deps.settings, clock.nowMs()),
    ...(removal && { removal }),
    // A gc run deletes oids alone.
    ...(claim.deletion.sweep && record?.watch?.hasPrefixes && { prefixes: prefixText(objects.keys()) }),
  });
  deps.log.info('deleted', {
    tenant,
    repo,
    objectCount: going.size,
    bytes: sumEntries(going),
    held: left.size,
  });
  return { kind: 'ended', heldCount: left.size, isWaiting: young.size > 0, gone: going };
}

const noteGone = (
  { ledger, clock }: DeletionDeps,
  input: { tenant: string; deletion: Deletion; going: ReadonlyMap<string, number> },
) => {
  const { repo, sweep } = input.deletion;
  const [oids, atMs] = [[...input.going.keys()], clock.nowMs()];
  return ledger.noteGone({ tenant: input.tenant, repo, oids, atMs, rule: sweep?.rule });
};

const nothingLeft: DeletionRun = { kind: 'ended', heldCount: 0, isWaiting: false, gone: undefined };

async function runOnFiles(
  deps: DeletionDeps,
  input: { tenant: string; deletion: Deletion; deadlineMs: number; hasBegun: boolean; isLarge: boolean },
): Promise<DeletionRun> {
  const { tenant, deletion, deadlineMs, hasBegun, isLarge } = input;
  const { id: deletionId, repo, dueAtMs } = deletion;
  const beganMs = hasBegun ? dueAtMs : deps.clock.nowMs();
  const objects = await deleteFiles(deps, input);
  if (!objects) return { kind: 'unanswered' };
  const removal = { runMs: deadlineMs, beganMs, endedMs: deps.clock.nowMs(), objects };
  await deps.ledger.endDeletion({
    tenant,
    repo,
    deletionId,
    deadlineMs,
    dueAtMs,
    left: new Map(),
    keptUntilMs: null,
    ...(isLarge && objects.size > 0 && { removal }),
  });
  return nothingLeft;
}

/**
 * What is expected once more. A tenant with very many entries gets no more of them from deletes: then what a PUT may store
 * again waits, and the rest goes without being expected. What a run has begun is ended.
 *
 * @returns undefined: the store did not answer.
 */
async function expectOrWait(
  deps: DeletionDeps,
  input: Parameters<typeof expectedOnceMore>[1] & { hasBegun: boolean },
): Promise<{ unconfirmed: Reservation | undefined; young: ReadonlySet<string> } | undefined> {
  const expected = await expectedOnceMore(deps, input);
  if (!expected?.tooMany || input.hasBegun) return { unconfirmed: expected?.unconfirmed, young: new Set() };
  const young = await findYoung(deps, { ...input, names: expected.unconfirmed.entries.keys() });
  return young && { unconfirmed: undefined, young };
}

/** From the announcement to the removal of its note. undefined: the store did not answer every delete. */
async function deleteAnnounced(
  deps: DeletionDeps,
  input: {
    tenant: string;
    repo: string;
    going: ReadonlyMap<string, number>;
    isLarge: boolean;
    isAsked: boolean;
    /** Of what is expected once more. */
    unconfirmed: Reservation | undefined;
    deadlineMs: number;
  },
): Promise<ReadonlyMap<string, RemovedObject> | undefined> {
  const { tenant, repo, going: objects, isLarge, isAsked, unconfirmed, deadlineMs } = input;
  const announcing = {
    tenant,
    repo,
    bytes: sumEntries(objects),
    deadlineMs,
    isRecorded: isLarge,
    ...(unconfirmed && { entryCount: 1 + unconfirmed.entries.size }),
  };
  return await announced(deps, announcing, async () => {
    // After the announcement: a reconcile that reads this and not the announcement would count the objects twice.
    if (unconfirmed) await deps.ledger.putReservation({ tenant, reservation: unconfirmed });
    return deleteBytes(deps, { tenant, repo, objects, deadlineMs, isAsked });
  });
}

/**
 * @param input.deletion as claimed. @param input.hasBegun another run had claimed it: it may have deleted something.
 * @param input.isOver the store hasn't done it for a week. What is still stored counts.
 */
async function dropVoid(
  deps: DeletionDeps,
  input: { tenant: string; deletion: Deletion; hasBegun: boolean; isOver: boolean },
): Promise<void> {
  const { tenant, deletion, hasBegun, isOver } = input;
  const { id: deletionId, repo, deadlineMs, dueAtMs, objects } = deletion;
  if (hasBegun) await markDirty(deps, { tenant, repo, isRecorded: false });
  const goneUntilMs = hasBegun ? keptUntilMs(deps.settings, deps.clock.nowMs()) : null;
  const ended = { left: new Map<string, number>(), dueAtMs, keptUntilMs: goneUntilMs };
  await deps.ledger.endDeletion({ tenant, repo, deletionId, deadlineMs, ...ended });
  // Else the next run would begin it again. Of an opened repo there are none.
  if (deletion.emptied !== undefined) await deps.ledger.removeEmptied({ tenant, repo, id: deletion.emptied });
  const why = 'deletion is dropped: its repo was opened since, or its gc run has ended';
  if (!isOver) deps.log.info(why, { tenant, repo });
  else
    deps.log.error('delete canceled after a week', {
      tenant,
      repo,
      objects: [...objects.keys()].slice(0, 10),
    });
}

const noObjects: ReadonlyMap<string, RemovedObject> = new Map();

/** Which objects are not in the store. undefined: it did not answer for each. */
async function findMissing(
  deps: Pick<CoreDeps, 'store'>,
  input: { tenant: string; repo: string; objects: ReadonlyMap<string, number> },
): Promise<ReadonlyMap<string, RemovedObject> | undefined> {
  const { objects } = input;
  const found = await headEach(deps, { prefix: deletionPrefix(input), names: objects.keys() });
  if (!found) return undefined;
  const missing = [...objects].filter(([name]) => !found.get(name));
  return new Map(missing.map(([name, sizeBytes]) => [name, { sizeBytes, lastModifiedMs: null }]));
}

/**
 * @param input.isAsked the store is asked for each object right before its delete.
 * @returns what was deleted. undefined: the store did not answer every delete.
 */
async function deleteBytes(
  deps: DeletionDeps,
  input: {
    tenant: string;
    repo: string;
    objects: ReadonlyMap<string, number>;
    deadlineMs: number;
    isAsked: boolean;
  },
): Promise<ReadonlyMap<string, RemovedObject> | undefined> {
  const { tenant, repo, deadlineMs, isAsked } = input;
  const prefix = deletionPrefix({ tenant, repo });
  const removed = new Map<string, RemovedObject>();
  for (const [name, sizeBytes] of input.objects) removed.set(name, { sizeBytes, lastModifiedMs: null });
  const ask = async (name: string) => {
    try {
      const stored = await deps.store.head(`${prefix}${name}`);
      if (stored)
        removed.set(name, { sizeBytes: stored.sizeBytes, lastModifiedMs: stored.lastModifiedMs ?? null });
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      removed.delete(name);
    }
  };
  if (isAsked) await mapLimited([...input.objects.keys()], headsAtOnce, ask);
  const keys = Array.from(removed.keys(), (name) => `${prefix}${name}`);
  const unanswered = await deps.store.delete(keys, { deadlineMs });
  for (const key of unanswered.keys()) removed.delete(key.slice(prefix.length));
  const failed = input.objects.size - removed.size;
  const [error] = unanswered.values();
  if (failed > 0) deps.log.warn('deletes got no response; retrying', { tenant, repo, failed, error });
  return failed === 0 ? removed : undefined;
}
