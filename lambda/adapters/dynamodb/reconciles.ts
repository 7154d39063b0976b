import type { Input, Output, ReconcileLedger } from '../../ports/ledger.ts';
import {
  adding,
  all,
  anyNamed,
  type Clause,
  exists,
  removing,
  removingKeys,
  setting,
} from './expressions.ts';
import { formatValues, inKnownFormat } from './format.ts';
import {
  counterField,
  lateField,
  limitField,
  parseTenant,
  pointsText,
  repoKey,
  tenantDueKey,
  tenantKey,
} from './items.ts';
import { getItem, type Table, updateItem } from './requests.ts';
import { readTenant } from './tenants.ts';

/** What a reconcile writes to the items of a tenant and its repos. Its epoch decides whether it still may. */
export function reconcileMethods(table: Table): ReconcileLedger {
  return {
    beginReconcile: (input) => beginReconcile(table, input),
    setLease: (input) => setLease(table, input),
    commitRepo: (input) => commitRepo(table, input),
    commitTenant: (input) => commitTenant(table, input),
  };
}

async function beginReconcile(table: Table, input: Input<'beginReconcile'>): Output<'beginReconcile'> {
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

async function setLease(table: Table, input: Input<'setLease'>): Output<'setLease'> {
  const { tenant, epoch, ...lease } = input;
  const result = await updateItem(table, {
    key: tenantKey(tenant),
    change: [setting(lease)],
    condition: all(exists, '#epoch = :epoch'),
    values: { ':epoch': epoch },
  });
  return result.ok ? 'ours' : 'superseded';
}

async function commitRepo(table: Table, input: Input<'commitRepo'>): Output<'commitRepo'> {
  const { tenant, dirtyTokenRead, epochRead } = input;
  const {
    repo,
    storedBytes,
    objectCount,
    countedAtMs,
    epoch,
    covered,
    putsUntilMs,
    points,
    giant,
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
        countedAtMs,
        epoch,
        covered: [...covered],
        putsUntilMs,
        points: points && pointsText(points),
        giant,
        // Without a new one, that of before stays.
        tidyBelowEpoch,
      }),
      removing(
        'dirtyToken',
        ...(points ? [] : ['points']),
        ...(giant ? [] : ['giant', 'countPausedAtMs', 'countCancelledAtMs']),
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
export function tenantChange(commit: Input<'commitTenant'>): Clause[] {
  return [
    setting({
      appliedEpoch: commit.epoch,
      floorBaseBytes: commit.floorBaseBytes,
      floorUntilMs: commit.floorUntilMs,
      ...commit.counted,
      leaseUntilMs: 0,
      listedUntilMs: commit.listedUntilMs,
      shardsListedUntilMs: commit.shardsListedUntilMs,
      shardLists: commit.shardLists,
      listedObjectCount: commit.listedObjectCount,
      overtakenEpoch: commit.overtakenEpoch,
      repoCount: commit.repoCount,
      claimsCounted: commit.claimsCounted,
      fullCountedAtMs: commit.fullCountedAtMs ?? undefined,
      reservedUntilMs: commit.reservedUntilMs,
      late: lateField(commit.late),
      ...tenantDueKey(commit),
    }),
    ...(commit.late ? [] : [removing('late')]),
    adding({
      committedBytes: commit.correctionBytes,
      claimCount: commit.claimCorrection,
      deletedBytes: -commit.deletedBytesRead,
    }),
    ...limitsChange(commit.repoLimits),
    removingKeys('notes', commit.expiredNotes),
  ];
}

function limitsChange(limits: Input<'commitTenant'>['repoLimits']): Clause[] {
  const commits = [...limits].map(([repo, { correctionBytes, late, ...found }]) => ({
    repo,
    correctionBytes,
    found: { ...found, ...(late && { late: lateField(late) }) },
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

async function commitTenant(table: Table, commit: Input<'commitTenant'>): Output<'commitTenant'> {
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
