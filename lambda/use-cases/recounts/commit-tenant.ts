import type { LimitCommit } from '../../adapters/dynamodb/reconciles.ts';
import type { Deps } from '../../deps.ts';
import { expiredNotes, isUnchanged, type Recomputed } from '../../domain/reconciliation.ts';
import { dueAfterActivityMs, dueAfterFullMs, lookAgainAtMs } from '../../domain/recount-policy.ts';
import { overtakenEpochOf, type TenantRecord } from '../../domain/tenant.ts';
import type { GiantOutcome } from './count-giant.ts';
import type { GiantsOutcome } from './count-giants.ts';
import type { LedgerSnapshot } from './read-snapshot.ts';

/** The schedule scans further shards after this, at the earliest. */
const shardsRestMs = 60_000;

interface CommitTenantInput {
  readonly epoch: number;
  /** The tenant as the reconcile found it. */
  readonly before: TenantRecord;
  /** The whole tenant was listed. */
  readonly isFull: boolean;
  readonly snapshot: LedgerSnapshot;
  readonly recomputed: Recomputed;
  /** Repo → the same for it alone, of those that have a limit. */
  readonly recomputedLimited: ReadonlyMap<string, Recomputed>;
  /** The budget, with the LIST requests of this reconcile charged to it. */
  readonly listedUntilMs: number;
  readonly giants: GiantsOutcome;
  /** Items of repos, with those that were made now. */
  readonly repoCount: number;
}

/**
 * Corrects the tenant's counter by the difference to what was recomputed, so that everything added to it since the
 * reconcile began is kept, and sets the new floor.
 */
export function commitTenant(
  deps: Pick<Deps, 'ledger' | 'settings'>,
  input: CommitTenantInput,
): ReturnType<Deps['ledger']['commitTenant']> {
  const { before, epoch, snapshot, recomputed, listedUntilMs } = input;
  const { scanBeganMs } = snapshot;
  const { outcomes, shardsListedUntilMs, shardLists } = input.giants;
  const countedAtMs = Math.min(snapshot.countedAtMs, ...outcomes.map((giant) => giant.countedAtMs));
  const listedAtMs = Math.min(snapshot.countedAtMs, ...outcomes.map((giant) => giant.listedAtMs));
  const recordOf = new Map(snapshot.repos.map((record) => [record.repo, record]));
  const objectsOf = ({ repo, scan }: GiantOutcome) => (scan ?? recordOf.get(repo))?.objectCount ?? 0;
  const giantObjects = outcomes.reduce((sum, giant) => sum + objectsOf(giant), 0);
  const {
    storedBytes,
    objectCount,
    totalBytes,
    leastBytes,
    leastUntilMs,
    reservedUntilMs,
    claimCount,
    late,
  } = recomputed;
  return deps.ledger.commitTenant({
    tenant: before.tenant,
    epoch,
    correctionBytes: totalBytes - before.committedBytes,
    floorBaseBytes: leastBytes - unsureBytes(input, () => true),
    deletedBytesRead: before.deletedBytes,
    floorUntilMs: leastUntilMs,
    repoLimits: input.isFull || before.counted ? limitCommits(input) : new Map(),
    // What was never counted as a whole is unknown, and not what a part of it is.
    counted: before.counted || input.isFull ? { storedBytes, objectCount, countedAtMs } : null,
    listedUntilMs,
    ...((outcomes.length > 0 || before.listedObjectCount !== undefined) && {
      shardsListedUntilMs,
      ...(shardLists && { shardLists }),
      listedObjectCount: objectCount - giantObjects,
    }),
    claimCorrection: claimCount - before.claimCount,
    claimsCounted: claimCount,
    overtakenEpoch: overtakenEpochOf(before),
    repoCount: input.repoCount,
    ...(late && { late }),
    fullCountedAtMs: input.isFull ? listedAtMs : null,
    reservedUntilMs,
    expiredNotes: expiredNotes(deps.settings, before, scanBeganMs),
    dueAtMs: nextDueMs(deps, input),
    lookAtMs: nextLookMs(deps, input),
  });
}

/** What was counted in these repos and may be gone: a delete under way may already have removed what the scan still saw. */
function unsureBytes(
  { before, giants }: Pick<CommitTenantInput, 'before' | 'giants'>,
  isOf: (repo: string) => boolean,
): number {
  const noted = [...before.notes.values()].map(({ repo, bytes }) => ({ repo, bytes }));
  const doubted = giants.outcomes.map(({ repo, doubtBytes: bytes }) => ({ repo, bytes }));
  return [...noted, ...doubted].reduce((sum, { repo, bytes }) => (isOf(repo) ? sum + bytes : sum), 0);
}

function limitCommits(input: CommitTenantInput): Map<string, LimitCommit> {
  const { before, recomputedLimited } = input;
  return new Map(
    [...before.repoLimits].flatMap(([repo, { limitBytes, counted }]): [string, LimitCommit][] => {
      const found = recomputedLimited.get(repo);
      if (!found) return [];
      const unsure = unsureBytes(input, (name) => name === repo);
      const commit = {
        limitBytes,
        correctionBytes: found.totalBytes - (counted?.committedBytes ?? 0),
        storedBytes: found.storedBytes,
        floorBaseBytes: found.leastBytes - unsure,
        floorUntilMs: found.leastUntilMs,
        ...(found.late && { late: found.late }),
      };
      return [[repo, commit]];
    }),
  );
}

/** When the schedule is to look for uploads that were under way, or to scan shards. null: neither. */
function nextLookMs({ settings }: Pick<Deps, 'settings'>, input: CommitTenantInput): number | null {
  const { before, snapshot, recomputed, listedUntilMs, giants } = input;
  const { newestUploadMs } = recomputed;
  const { countedAtMs } = snapshot;
  const listedMs = Math.max(0, listedUntilMs - Math.max(before.listedUntilMs, countedAtMs));
  const uploadsAtMs =
    newestUploadMs === null
      ? null
      : lookAgainAtMs(settings, { newestUploadMs, countedAtMs, listedMs, listedUntilMs });
  if (giants.nextDueAtMs === null) return uploadsAtMs;
  // The schedule takes what becomes due, so it is not now or before.
  const restMs = Math.max(settings.recountRestMs, shardsRestMs);
  const shardsAtMs = Math.max(giants.nextDueAtMs, snapshot.scanBeganMs + restMs);
  return Math.min(uploadsAtMs ?? shardsAtMs, shardsAtMs);
}

/** When the schedule is to count the tenant in full next. */
function nextDueMs({ settings }: Pick<Deps, 'settings'>, input: CommitTenantInput): number {
  const { before, epoch, isFull, snapshot, recomputed, listedUntilMs } = input;
  const { countedAtMs, repos, reservations } = snapshot;
  // A closed tenant stays due from its closing until it is empty, whoever counts it in between.
  if (before.closedAtMs !== null && recomputed.objectCount > 0) return before.dueAtMs;
  const due = { tenant: before.tenant, epoch, countedAtMs, listedUntilMs };
  if (isFull) {
    const isIdle = isUnchanged({ before, recomputed, repos, reservations });
    const unchangedForMs = before.counted && isIdle ? countedAtMs - before.counted.countedAtMs : 0;
    return dueAfterFullMs(settings, { ...due, unchangedForMs });
  }
  return dueAfterActivityMs(settings, { ...due, dueAtMs: before.dueAtMs });
}
