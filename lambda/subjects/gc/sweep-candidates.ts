import { type Deletion, isClaimable, newDeletion } from '../../core/ledger/rules/deletion.ts';
import { sumEntries } from '../../core/ledger/rules/reservation.ts';
import type { RepoRecord } from '../../core/ledger/rules/tenant.ts';
import { isRelied, seenAgainFromMs, type Watch } from '../../core/ledger/rules/watch.ts';
import { runDeletion } from '../../core/ledger/run-deletions.ts';
import { sparedBy } from '../../core/ledger/seams.ts';
import { type PrefixSet, prefixBytes } from '../../core/rules/prefix-set.ts';
import { type GcDeps, putGc, readSeen, tidyGc } from './gc.ts';
import {
  type Candidate,
  candidatesKey,
  decodeCandidates,
  endedGc,
  type Gc,
  type GcFailure,
  type GcProgress,
  isUnderWay,
  lookedAt,
  plus,
  type Selection,
  tooManyNames,
  withFailure,
} from './rules/gc.ts';
import { selectCandidates } from './select-candidates.ts';

interface Bounds {
  /** Candidates of one deletion. */
  readonly pieceObjectsMax: number;
  /** Each upload batch of the repo reads its deletions, also of what has been gone for a while. They name no more. */
  readonly namedObjectsMax: number;
}
/**
 * As many as one request of the store deletes. A batch reads up to 0.7 MB, and 4 MB in a large repo, whose records say what was
 * removed until a reconcile has taken that off.
 */
export const usualBounds: Bounds = { pieceObjectsMax: 1_000, namedObjectsMax: 60_000 };
/** Of one that an older version opened, whose records have whole names. */
const olderBounds: Bounds = { pieceObjectsMax: 250, namedObjectsMax: 2_000 };
/** Until fewer are named, this is how long it waits. */
const waitMs = 2_000;

/** What goes on in one call. */
interface Sweeping {
  readonly tenant: string;
  readonly selection: Selection;
  readonly rule: string | undefined;
  readonly watchId: string;
  readonly bounds: Bounds;
  /** What batches named up to now, since the candidates were chosen. */
  readonly seen: PrefixSet;
  /** What they name from then on is read by each deletion. */
  readonly seenFromMs: number;
  readonly untilMs: number;
}

/**
 * Deletes candidates, a few at a time, in deletions that each see for themselves what nobody has named since.
 *
 * @param input.untilMs no other deletion is begun after this, except that one always is.
 * @returns the gc run, once nothing is left to be deleted. `unfinished`: the time was up first. `uncounted`: no more may go
 * until a reconcile has taken off what was deleted in a large repo. `waiting`: nothing more can be done now, or somebody else
 * goes on with it.
 * @throws {StoreUnavailableError | LedgerUnavailableError} It is to be asked again.
 */
export async function sweepCandidates(
  deps: GcDeps,
  { tenant, gc: before, untilMs }: { tenant: string; gc: Gc; untilMs: number },
): Promise<Gc | 'unfinished' | 'uncounted' | 'waiting'> {
  const { clock, settings } = deps;
  const { repo, run, watch, selection } = before;
  if (!selection) throw new Error('A gc run that has selected nothing deletes nothing.');
  let gc = await putGc(deps, {
    tenant,
    gc: lookedAt(before, { nowMs: clock.nowMs() }),
    read: before,
  });
  if (!gc) return 'waiting';
  // Steps of the choice can be hours apart. An export that was opened meanwhile is to have what they found.
  const dueAtMs = selection.chosenAtMs ?? selection.seenAtMs;
  if ((await sparedBy(deps.holds, tenant))(repo, dueAtMs)) return 'waiting';
  const readAtMs = clock.nowMs();
  const watchId = watch.id;
  const fromMs = seenAgainFromMs(settings, selection.seenAtMs);
  const seen = await readSeen(deps, { tenant, watchId, fromMs });
  if (!seen) return endFailed(deps, { tenant, gc, failure: tooManyNames });
  const seenFromMs = seenAgainFromMs(settings, readAtMs);
  const bounds = watch.hasPrefixes ? usualBounds : olderBounds;
  const { rule } = run ?? {};
  const sweeping: Sweeping = { tenant, selection, rule, watchId, bounds, seen, seenFromMs, untilMs };
  while (gc.progress.file < selection.files) {
    const { file } = gc.progress;
    const next = await sweepFile(deps, { ...sweeping, gc, file });
    if (typeof next === 'string' || next.failure) return next;
    gc = next;
  }
  const done = endedGc(gc, { state: 'done', nowMs: clock.nowMs() });
  const { objectCount, bytes } = done.progress.deleted;
  deps.log.info('gc run done', { tenant, repo, objectCount, bytes });
  return (await putGc(deps, { tenant, gc: done, read: gc })) ?? 'waiting';
}

async function sweepFile(
  deps: GcDeps,
  input: Sweeping & { gc: Gc; file: number },
): Promise<Gc | 'unfinished' | 'uncounted' | 'waiting'> {
  const { archives, clock } = deps;
  const { tenant, watchId, selection, file, untilMs } = input;
  let { gc } = input;
  const bytes = await archives.get(candidatesKey({ tenant, watchId }, { folder: selection.folder, file }));
  const candidates = bytes && decodeCandidates(bytes);
  if (!candidates) return endFailed(deps, { tenant, gc, failure: noCandidates });
  while (gc.progress.file === file) {
    const { line, deleted } = gc.progress;
    const piece = candidates.slice(line, line + input.bounds.pieceObjectsMax);
    const swept = await sweepPiece(deps, { ...input, repo: gc.repo, line, piece });
    if (typeof swept === 'string') return swept;
    const isLast = line + piece.length >= candidates.length;
    const progress: GcProgress = {
      file: isLast ? file + 1 : file,
      line: isLast ? 0 : line + piece.length,
      deleted: plus(deleted, { objectCount: swept.size, bytes: sumEntries(swept) }),
    };
    const moved = lookedAt({ ...gc, progress }, { nowMs: clock.nowMs() });
    const put = await putGc(deps, { tenant, gc: moved, read: gc });
    // It was cancelled, or somebody else goes on with it.
    if (!put) return 'waiting';
    gc = put;
    if (clock.nowMs() > untilMs) return 'unfinished';
  }
  return gc;
}

/** The files go with the gc run's end. If it has not ended, nobody knows any more what else was to be deleted. */
const noCandidates: GcFailure = {
  reason: 'no-candidates',
  message: 'The list of candidates is missing or changed. Run it again.',
};

async function endFailed(
  deps: GcDeps,
  { tenant, gc, failure }: { tenant: string; gc: Gc; failure: GcFailure },
): Promise<Gc | 'waiting'> {
  const failed = withFailure(gc, failure);
  return (await putGc(deps, { tenant, gc: failed, read: gc })) ?? 'waiting';
}

/**
 * Deletes one piece. The deletion is due immediately, without the grace time of other deletes. It relies on two orders
 * instead. A batch notes what it names, and *then* reads deletions. A deletion is claimed, and *then* what was noted is
 * read. So at least one of the two finds the other.
 *
 * @returns name → bytes of what is gone. Of what an earlier attempt deleted, nothing is known.
 */
async function sweepPiece(
  deps: GcDeps,
  input: Sweeping & { repo: string; file: number; line: number; piece: readonly Candidate[] },
): Promise<ReadonlyMap<string, number> | 'unfinished' | 'uncounted' | 'waiting'> {
  const { ledger, clock, settings } = deps;
  const { tenant, repo, selection, watchId, file, line } = input;
  const left = input.piece.filter(({ oid }) => !input.seen.has(oid));
  if (left.length === 0) return new Map();
  const id = `gc-${selection.folder}-${file}-${line}`;
  const others = await roomForMore(deps, input);
  if (typeof others === 'string') return others;
  const before = others.find((deletion) => deletion.id === id);
  const objects = new Map(left.map(({ oid, sizeBytes }) => [oid, sizeBytes]));
  const { rule, seenFromMs } = input;
  const sweep = { watchId, seenFromMs, ...(rule !== undefined && { rule }) };
  const deletion = before ?? newDeletion({ id, repo, objects, dueAtMs: clock.nowMs(), sweep });
  if (!before) await ledger.putDeletion({ tenant, deletion });
  // It was run before, and has ended.
  else if (!isClaimable(settings, before, clock.nowMs()))
    return before.state === 'deleting' ? 'waiting' : new Map();
  const run = await runDeletion(deps, { tenant, deletion, isClosed: false });
  // A void one deleted nothing, because the watch is over: the next look ends the gc run.
  return (run.kind === 'ended' && run.gone) || 'waiting';
}

/**
 * Waits until the repo's deletions name few enough objects. Removes the records that nobody needs any more.
 *
 * @returns the repo's deletions. `uncounted`: all that are gone wait for a reconcile. `waiting`: none of them will be gone
 * soon.
 */
async function roomForMore(
  deps: GcDeps,
  { tenant, repo, bounds, untilMs }: { tenant: string; repo: string; bounds: Bounds; untilMs: number },
): Promise<readonly Deletion[] | 'unfinished' | 'uncounted' | 'waiting'> {
  const { ledger, clock } = deps;
  for (;;) {
    const kept: Deletion[] = [];
    for (const deletion of await ledger.deletionsNaming({ tenant, repo, oids: [] })) {
      const isOver =
        deletion.state === 'deleted' && clock.nowMs() > deletion.deadlineMs && deletion.removal === undefined;
      if (isOver)
        await ledger.removeDeletion({
          tenant,
          repo,
          deletionId: deletion.id,
          deadlineMs: deletion.deadlineMs,
        });
      else kept.push(deletion);
    }
    const named = kept.reduce((sum, deletion) => sum + namedCount(deletion), 0);
    if (named + bounds.pieceObjectsMax <= bounds.namedObjectsMax) return kept;
    const gone = kept.filter(({ state }) => state === 'deleted');
    if (gone.length === 0) return 'waiting';
    if (gone.every(({ removal }) => removal)) return 'uncounted';
    if (clock.nowMs() + waitMs > untilMs) return 'unfinished';
    await clock.sleep(waitMs);
  }
}

/**
 * - `done`: nothing more can be done now. What is left waits, and the schedule requests the next run.
 * - `unfinished`: the time was up first.
 * - `uncounted`: it goes on once a reconcile has taken off what was deleted.
 */
type GcOutcome = 'done' | 'unfinished' | 'uncounted';

/**
 * Goes on with the gc runs of a tenant: looks for candidates, deletes them, or removes what an ended one has left. One
 * that fails keeps no other from its turn.
 *
 * @param input.repos of the tenant, as read just now. Those with a watch have a gc run.
 * @param input.untilMs nothing more is begun after this.
 * @throws what the first one failed by, after all of them.
 */
export async function advanceGc(
  deps: GcDeps,
  input: { tenant: string; repos: readonly RepoRecord[]; untilMs: number },
): Promise<GcOutcome> {
  const { tenant, untilMs } = input;
  const open = input.repos.flatMap(({ watch }) => watch?.id ?? []);
  let failure: { readonly error: unknown } | undefined;
  for (const { repo, watch, closedAtMs } of input.repos) {
    if (!watch) continue;
    if (deps.clock.nowMs() > untilMs) return 'unfinished';
    try {
      const gc = await deps.gcRuns.read({ tenant, repo });
      if (gc?.watch.id !== watch.id) {
        if (gc && gc.dueAtMs !== null) await tidyGc(deps, { tenant, gc, open });
        // Whoever opened it died before the record was put, or is about to put it. Opening it again is the way to it, until its
        // time is over. Then only the repo's item would keep it, and stay because of it.
        if (isOver(deps, watch)) await deps.ledger.closeWatch({ tenant, repo, watch });
        continue;
      }
      const isClosed = closedAtMs !== null;
      const outcome = await advance(deps, { tenant, gc, open, isClosed, untilMs });
      if (outcome !== 'done') return outcome;
    } catch (error) {
      deps.log.warn('gc run failed: trying the next one', { tenant, repo, error });
      failure ??= { error };
    }
  }
  if (failure) throw failure.error;
  return 'done';
}

async function advance(
  deps: GcDeps,
  input: { tenant: string; gc: Gc; open: readonly string[]; isClosed: boolean; untilMs: number },
): Promise<GcOutcome> {
  const { clock } = deps;
  const { tenant, open, isClosed, untilMs } = input;
  let { gc } = input;
  for (;;) {
    if (!isUnderWay(gc)) return tidyGc(deps, { tenant, gc, open });
    if (isClosed || isOver(deps, gc.watch)) {
      const state = isClosed ? 'cancelled' : 'expired';
      const ended = endedGc(gc, { state, nowMs: clock.nowMs() });
      const put = await putGc(deps, { tenant, gc: ended, read: gc });
      if (!put) return 'done';
      gc = put;
      continue;
    }
    if (gc.state === 'watching') return 'done';
    const next =
      gc.state === 'selecting'
        ? await selectCandidates(deps, { tenant, gc, gcCount: open.length, untilMs })
        : await sweepCandidates(deps, { tenant, gc, untilMs });
    if (next === 'waiting') return 'done';
    if (next === 'unfinished' || next === 'uncounted') return next;
    if (next.state !== 'watching' && isUnderWay(next) && clock.nowMs() > untilMs) return 'unfinished';
    gc = next;
  }
}

/** Whether some clock may say that nobody notes what they name any more. */
function isOver({ clock, settings }: Pick<GcDeps, 'clock' | 'settings'>, watch: Watch): boolean {
  return !isRelied(settings, watch, { watchId: watch.id, nowMs: clock.nowMs() });
}

/** How many objects it names. */
function namedCount({ objects, prefixes = '' }: Deletion): number {
  return objects.size + Math.floor(Buffer.byteLength(prefixes, 'base64') / prefixBytes);
}
