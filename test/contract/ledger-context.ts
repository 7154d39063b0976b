import { beforeAll, expect } from 'vitest';
import type { DeletionPage } from '../../lambda/adapters/dynamodb/deletions.ts';
import type { Input, Ledger } from '../../lambda/adapters/dynamodb/ledger.ts';
import type { RequestKeys } from '../../lambda/adapters/dynamodb/request-keys.ts';
import type { ReservationPage } from '../../lambda/adapters/dynamodb/reservations.ts';
import type { NewTenant } from '../../lambda/adapters/dynamodb/tenants.ts';
import type { TokenStore } from '../../lambda/adapters/dynamodb/token-store.ts';
import type { Deletion } from '../../lambda/domain/deletion.ts';
import type { Reservation } from '../../lambda/domain/reservation.ts';

/** The ledger, and what shares its table. */
export interface LedgerUnderTest {
  readonly ledger: Ledger;
  readonly tokens: TokenStore;
  readonly requestKeys: RequestKeys;
}

let serial = 0;
/** A name that no other test uses. */
export const tenantName = () => `t${Date.now().toString(36)}${process.pid}${serial++}`;
export const oid = (digit: string) => digit.repeat(64);

/** A pending reservation with one claim of 10 bytes. */
export function reservation(id: string, more: Partial<Reservation> = {}): Reservation {
  return {
    id,
    repo: 'app',
    state: 'pending',
    claims: new Map([[oid('a'), 10]]),
    createdAtMs: 1000,
    expiresAtMs: 2000,
    deadAtMs: 3000,
    lookAtMs: null,
    ...more,
  };
}

export const counted = (storedBytes: number) => ({ storedBytes, objectCount: 1, countedAtMs: 5000 });

/** A commit of a reconcile in which only the count matters. */
export const plainCommit = {
  correctionBytes: 0,
  floorBaseBytes: 0,
  deletedBytesRead: 0,
  floorUntilMs: 1,
  listedUntilMs: 0,
  claimCorrection: 0,
  overtakenEpoch: 0,
  repoCount: 0,
  fullCountedAtMs: null,
  reservedUntilMs: null,
  repoLimits: new Map(),
  lookAtMs: null,
  counted: counted(3),
};

/** Whom `dueTenants` finds, and whether for a full count. */
export async function dueOf(
  ledger: Pick<Ledger, 'dueTenants'>,
  input: { nowMs: number; tenantsMax: number },
): Promise<{ tenant: string; full: boolean }[]> {
  const { nowMs: untilMs, tenantsMax } = input;
  const { due } = await ledger.dueTenants({ untilMs, tenantsMax });
  return due.map(({ tenant, full }) => ({ tenant, full }));
}

/** The pages of a list of reservations, each read from where the one before ended. */
export async function* reservationPages(
  ledger: Ledger,
  input: Omit<Input<'listReservations'>, 'after'>,
): AsyncIterable<readonly Reservation[]> {
  let next: ReservationPage['next'] = null;
  do {
    const page: ReservationPage = await ledger.listReservations({ ...input, ...(next && { after: next }) });
    expect(page.reservations.length).toBeLessThanOrEqual(input.pageSize);
    yield page.reservations;
    next = page.next;
  } while (next !== null);
}

/** The same of deletions. */
export async function* deletionPages(
  ledger: Ledger,
  input: Omit<Input<'listDeletions'>, 'after'>,
): AsyncIterable<readonly Deletion[]> {
  let next: DeletionPage['next'] = null;
  do {
    const page: DeletionPage = await ledger.listDeletions({ ...input, ...(next && { after: next }) });
    expect(page.deletions.length).toBeLessThanOrEqual(input.pageSize);
    yield page.deletions;
    next = page.next;
  } while (next !== null);
}

/** The ledger for one part of the contract, opened once before its tests. */
export function ledgerContext(open: () => Promise<LedgerUnderTest>) {
  let opened: LedgerUnderTest | undefined;
  beforeAll(async () => {
    opened = await open();
  });
  const get = (): LedgerUnderTest => {
    if (!opened) throw new Error('The ledger is open only while tests run: call this in a test.');
    return opened;
  };
  /** Creates a tenant. By default it has a limit of 100 bytes, and was counted as empty. */
  const create = async (more: Partial<NewTenant> = {}) => {
    const tenant = tenantName();
    const base = { tenant, plan: null, limitBytes: 100, createdAtMs: 1, counted: counted(0), dueAtMs: 9e15 };
    expect(await get().ledger.createTenant({ ...base, ...more })).toBe('created');
    return tenant;
  };
  return { get, create };
}
