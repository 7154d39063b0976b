import {
  adding,
  all,
  anyNamed,
  type Clause,
  exists,
  removing,
  removingKeys,
  setting,
} from '../table/expressions.ts';
import { getItem, methodsOn, type Table, updateItem } from '../table/requests.ts';
import { formatValues, inKnownFormat, tenantKey } from '../table/table.ts';
import {
  counterField,
  limitField,
  parseTenant,
  pointsText,
  repoKey,
  tenantDueKey,
  unconfirmedField,
} from './items.ts';
import type { RepoRecord, ScannedLimit, ShardLists, TenantRecord } from './rules/tenant.ts';
import { readTenant } from './tenant-store.ts';

/** What a scan found of a repo. Committing it clears the dirty token. */
export type RepoCommit = Omit<
  RepoRecord,
  | 'dirtyToken'
  | 'closedAtMs'
  | 'createdAtMs'
  | 'scanPausedAtMs'
  | 'scanCancelledAtMs'
  | 'steeringVersion'
  | 'watch'
  | 'endedWatchMs'
>;

/** What a reconcile found for a repo that has a limit. */
export interface LimitCommit extends Omit<ScannedLimit, 'committedBytes'> {
  /** As the reconcile found it. */
  readonly limitBytes: number;
  /** Added to the repo's counter: the recomputed value minus the counter as the reconcile found it, or 0. */
  readonly correctionBytes: number;
}

/** What a reconcile found for a tenant, as its item is to have it. */
type FoundOfTenant = Pick<
  TenantRecord,
  | 'tenant'
  | 'epoch'
  | 'confirmedBaseBytes'
  | 'confirmedUntilMs'
  | 'scanned'
  | 'stepAtMs'
  | 'listedUntilMs'
  | 'shardsListedUntilMs'
  | 'shardLists'
  | 'listedObjectCount'
  | 'entriesCounted'
  | 'unconfirmed'
  | 'overtakenEpoch'
  | 'repoCount'
  | 'oldBytes'
  | 'reservedUntilMs'
  | 'dueAtMs'
  | 'lookAtMs'
>;

/** The same, and by how much counters are corrected. */
export interface TenantCommit extends FoundOfTenant {
  /** Added to the counter: the recomputed value minus the counter as the reconcile found it. */
  readonly correctionBytes: number;
  /** Taken off the tenant's deleted bytes: what the reconcile found there, which its confirmed usages no longer hold. */
  readonly deletedBytesRead: number;
  /** Repo → what was found, of those that have a limit. */
  readonly repoLimits: ReadonlyMap<string, LimitCommit>;
  /** Added to the number of reservations and entries: those that were read minus the number as found. */
  readonly entryCorrection: number;
  /** null: not every repo was listed. */
  readonly fullScannedAtMs: number | null;
  /** Ids of notes to remove: their deleters died. */
  readonly expiredIntents: readonly string[];
}

/** What a reconcile writes to the items of a tenant and its repos. Its epoch decides whether it still may. */
export function reconcileMethods(table: Table) {
  return methodsOn(table, { beginReconcile, setLease, commitRepo, commitTenant });
}

/**
 * Takes the next epoch and the lease. `busy`: another reconcile holds the lease. `before` is the tenant right
 * before this write. If our own write before got no answer, it is the tenant as it is found now: as if this one had
 * taken the epoch.
 *
 * @param input.holder random, to know the own lease by.
 */
async function beginReconcile(
  table: Table,
  input: {
    tenant: string;
    holder: string;
    nowMs: number;
    leaseUntilMs: number;
  },
): Promise<
  | { kind: 'begun'; epoch: number; before: TenantRecord }
  | { kind: 'busy'; leaseUntilMs: number }
  | { kind: 'absent' }
> {
  const { tenant, holder, nowMs, leaseUntilMs } = input;
  const result = await updateItem(table, {
    key: tenantKey(tenant),
    change: [setting({ leaseUntilMs, leaseHolder: holder }), adding({ epoch: 1 })],
    condition: all(exists, '#leaseUntilMs <= :now', inKnownFormat),
    values: { ...formatValues, ':now': nowMs },
    returns: 'ALL_OLD',
  });
  if (result.ok) {
    const before = parseTenant(result.attributes);
    return { kind: 'begun', epoch: before.epoch + 1, before };
  }
  const item = await getItem(table, tenantKey(tenant));
  if (!item) return { kind: 'absent' };
  const now = parseTenant(item);
  if (item['leaseHolder'] !== holder) return { kind: 'busy', leaseUntilMs: now.leaseUntilMs };
  // Refused, yet the lease is ours: this was our own retry after a lost answer.
  return { kind: 'begun', epoch: now.epoch, before: { ...now, epoch: now.epoch - 1 } };
}

/**
 * Extends the lease, or releases it with `leaseUntilMs: 0`, while the epoch is still ours. The others are given by a
 * reconcile that gives up, to charge its LIST requests to the tenant's budget and to that of its shards. One that was
 * overtaken leaves the lease as it is, and charges them in the epoch that it finds.
 */
async function setLease(
  table: Table,
  input: {
    tenant: string;
    epoch: number;
    leaseUntilMs?: number;
    listedUntilMs?: number;
    shardsListedUntilMs?: number;
    shardLists?: ShardLists | undefined;
  },
): Promise<'ours' | 'superseded'> {
  const { tenant, epoch, ...lease } = input;
  const result = await updateItem(table, {
    key: tenantKey(tenant),
    change: [setting(lease)],
    condition: all(exists, '#epoch = :epoch'),
    values: { ':epoch': epoch },
  });
  return result.ok ? 'ours' : 'superseded';
}

/**
 * Commits the scan of one repo, if no later scan was committed and its dirty token is still the one read.
 *
 * @param input.epochRead of the item that was read: one that was removed since is not made again. undefined: there was
 * none.
 */
async function commitRepo(
  table: Table,
  input: {
    tenant: string;
    repo: RepoCommit;
    dirtyTokenRead: string | null;
    epochRead?: number | undefined;
  },
): Promise<'committed' | 'superseded'> {
  const { tenant, dirtyTokenRead, epochRead } = input;
  const {
    repo,
    storedBytes,
    objectCount,
    scannedAtMs,
    epoch,
    covered,
    putsUntilMs,
    points,
    large,
    tidyBelowEpoch,
  } = input.repo;
  const key = repoKey({ tenant, repo });
  const isDirtyAsRead =
    dirtyTokenRead === null ? 'attribute_not_exists(#dirtyToken)' : '#dirtyToken = :dirty';
  const isOlder =
    epochRead === undefined
      ? '(attribute_not_exists(#epoch) OR #epoch < :epoch)'
      : '#epoch < :epoch AND #epoch >= :epochRead';
  const result = await updateItem(table, {
    key,
    change: [
      setting({
        repo,
        storedBytes,
        objectCount,
        scannedAtMs,
        epoch,
        covered: [...covered],
        putsUntilMs,
        points: points && pointsText(points),
        large,
        // Without a new one, that of before stays.
        tidyBelowEpoch,
      }),
      removing(
        'dirtyToken',
        ...(points ? [] : ['points']),
        ...(large ? [] : ['giant', 'countPausedAtMs', 'countCancelledAtMs']),
      ),
    ],
    condition: all(isOlder, isDirtyAsRead),
    values: { ':dirty': dirtyTokenRead ?? undefined, ':epochRead': epochRead },
  });
  if (result.ok) return 'committed';
  const now = await getItem(table, key);
  // Refused, yet the epoch is ours: this was our own retry after a lost answer.
  return now?.['epoch'] === epoch ? 'committed' : 'superseded';
}

/** What a commit changes in the tenant's item. */
export function tenantChange(commit: TenantCommit): Clause[] {
  const { tenant, dueAtMs, lookAtMs, correctionBytes, deletedBytesRead, entryCorrection, ...more } = commit;
  const { epoch, scanned, unconfirmed, repoLimits, expiredIntents, ...found } = more;
  const { fullScannedAtMs, oldBytes } = found;
  return [
    setting({
      ...found,
      ...scanned,
      appliedEpoch: epoch,
      leaseUntilMs: 0,
      fullScannedAtMs: fullScannedAtMs ?? undefined,
      unconfirmed: unconfirmedField(unconfirmed),
      ...tenantDueKey({ tenant, dueAtMs, lookAtMs }),
    }),
    ...(unconfirmed ? [] : [removing('late')]),
    ...(found.stepAtMs === undefined ? [removing('stepAtMs')] : []),
    ...(fullScannedAtMs !== null && oldBytes === undefined ? [removing('oldBytes')] : []),
    adding({ committedBytes: correctionBytes, entryCount: entryCorrection, deletedBytes: -deletedBytesRead }),
    ...limitsChange(repoLimits),
    removingKeys('notes', expiredIntents),
  ];
}

function limitsChange(limits: TenantCommit['repoLimits']): Clause[] {
  const commits = [...limits].map(([repo, { correctionBytes, unconfirmed, ...found }]) => ({
    repo,
    correctionBytes,
    found: { ...found, ...(unconfirmed && { unconfirmed: unconfirmedField(unconfirmed) }) },
  }));
  return [
    anyNamed(
      'l',
      commits.map(({ repo, found }) => [limitField(repo), found]),
    ).setting(),
    anyNamed(
      'c',
      commits.map(({ repo, correctionBytes }) => [counterField(repo), correctionBytes]),
    ).adding(),
  ];
}

/**
 * Commits the tenant's new numbers once, if the epoch is still ours.
 *
 * It adds the difference to the counter and never sets the value, because batches add to it while the scan runs.
 * `appliedEpoch` lets the difference in once: without it, a retry after a lost response applies it twice (the simulator
 * finds that in a third of its runs).
 */
async function commitTenant(
  table: Table,
  commit: TenantCommit,
): Promise<{ kind: 'committed'; tenant: TenantRecord } | { kind: 'superseded' }> {
  const result = await updateItem(table, {
    key: tenantKey(commit.tenant),
    change: tenantChange(commit),
    condition: all(exists, '#epoch = :appliedEpoch', '#appliedEpoch < :appliedEpoch'),
    returns: 'ALL_NEW',
  });
  if (result.ok) return { kind: 'committed', tenant: parseTenant(result.attributes) };
  const now = await readTenant(table, commit.tenant);
  // Refused, yet applied: this was our own retry after a lost answer.
  return now?.appliedEpoch === commit.epoch ? { kind: 'committed', tenant: now } : { kind: 'superseded' };
}
