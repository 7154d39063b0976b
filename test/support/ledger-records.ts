import type { TenantCommit } from '../../lambda/core/ledger/reconcile-store.ts';
import { RepoReservations } from '../../lambda/core/ledger/rules/repo-reservations.ts';
import type { Reservation } from '../../lambda/core/ledger/rules/reservation.ts';
import type { NewTenant } from '../../lambda/core/ledger/tenant-store.ts';

/** A tenant to be created: without a limit, not counted, and due never. */
export function newTenant(tenant: string, more: Partial<NewTenant> = {}): NewTenant {
  return { tenant, plan: null, limitBytes: null, createdAtMs: 1, scanned: null, dueAtMs: 9e15, ...more };
}

/** A pending reservation in the repo `app` with one entry, `aaa…` of 10 bytes. */
export function reservation(id: string, more: Partial<Reservation> = {}): Reservation {
  return {
    id,
    repo: 'app',
    state: 'pending',
    entries: new Map([['a'.repeat(64), 10]]),
    createdAtMs: 1000,
    expiresAtMs: 2000,
    lapsedAtMs: 3000,
    lookAtMs: null,
    ...more,
  };
}

/** The reservations r0, r1, … of a repo. Each is issued, claims `a` of 10 bytes, and dies after 100 hours. */
export function repoReservations(...given: readonly Partial<Reservation>[]): RepoReservations {
  const all = new RepoReservations();
  const lapsedAtMs = 100 * 3_600_000;
  const usual = { state: 'issued', entries: new Map([['a', 10]]), createdAtMs: 0, lapsedAtMs } as const;
  for (const [index, more] of given.entries())
    all.add(reservation(`r${index}`, { ...usual, expiresAtMs: lapsedAtMs - 1, ...more }));
  return all;
}

/** A commit of a reconcile that found one object of 3 bytes, and changes nothing else. */
export function tenantCommit(tenant: string, epoch: number, more: Partial<TenantCommit> = {}): TenantCommit {
  return {
    tenant,
    epoch,
    correctionBytes: 0,
    confirmedBaseBytes: 0,
    deletedBytesRead: 0,
    confirmedUntilMs: 1,
    listedUntilMs: 0,
    entryCorrection: 0,
    overtakenEpoch: 0,
    repoCount: 0,
    fullScannedAtMs: null,
    reservedUntilMs: null,
    repoLimits: new Map(),
    scanned: { storedBytes: 3, objectCount: 1, scannedAtMs: 5000 },
    expiredIntents: [],
    dueAtMs: 9e15,
    lookAtMs: null,
    ...more,
  };
}
