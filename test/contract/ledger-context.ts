import { expect } from 'vitest';
import { createDynamoDbLedger, type Input } from '../../lambda/core/ledger/ledger.ts';
import type { TenantCommit } from '../../lambda/core/ledger/reconcile-store.ts';
import type { Reservation } from '../../lambda/core/ledger/rules/reservation.ts';
import type { NewTenant } from '../../lambda/core/ledger/tenant-store.ts';
import { allPages } from '../../lambda/core/rules/async.ts';
import type { Table } from '../../lambda/core/table/requests.ts';
import { createDynamoDbRequestKeys } from '../../lambda/frame/access/request-key-store.ts';
import * as stores from '../../lambda/lists/stores.ts';
import { newTenant, reservation, tenantCommit } from '../support/ledger-records.ts';
import { onceOpen } from '../support/once-open.ts';
import { unlimitedRepo } from '../support/tenant-record.ts';

/** A table that is opened once its tests run. */
export type OpenTable = () => Table | Promise<Table>;

let serial = 0;
/** A name that no other test uses. */
export const tenantName = () => `t${Date.now().toString(36)}${process.pid}${serial++}`;
export const oid = (digit: string) => digit.repeat(64);

export const scanned = (storedBytes: number) => ({ storedBytes, objectCount: 1, scannedAtMs: 5000 });

/** The ledger for one part of the contract, opened once before its tests, and what its tests do with it. */
export function ledgerContext(open: OpenTable) {
  const ledger = onceOpen(async () => createDynamoDbLedger(await open()));

  return {
    ledger,
    tokens: onceOpen(async () => stores.tokens(await open())),
    requestKeys: onceOpen(async () => createDynamoDbRequestKeys(await open())),

    /** Creates a tenant. By default it has a limit of 100 bytes, and was counted as empty. */
    create: async (more: Partial<NewTenant> = {}) => {
      const tenant = tenantName();
      const base = { limitBytes: 100, scanned: scanned(0) };
      expect(await ledger.createTenant(newTenant(tenant, { ...base, ...more }))).toBe('created');
      return tenant;
    },

    /** What becomes of adding bytes within a limit of 100. */
    add: async (tenant: string, sumBytes: number, more: Partial<Input<'addCommitted'>> = {}) => {
      const outcome = await ledger.addCommitted({
        tenant,
        repo: unlimitedRepo,
        sumBytes,
        limitBytes: 100,
        ...more,
      });
      return outcome.kind;
    },

    /** Puts a reservation. */
    reserve: (tenant: string, id: string, more: Partial<Reservation> = {}) =>
      ledger.putReservation({ tenant, reservation: reservation(id, more) }),

    /** Begins a reconcile as somebody who has begun none before. */
    begin: (tenant: string, nowMs = 1000) =>
      ledger.beginReconcile({ tenant, holder: `h${serial++}`, nowMs, leaseUntilMs: nowMs + 15_000 }),

    /** Commits a reconcile in which only the count matters. */
    commit: (tenant: string, epoch: number, more: Partial<TenantCommit> = {}) =>
      ledger.commitTenant(tenantCommit(tenant, epoch, more)),

    /** What is due of a tenant by then. */
    dueAt: async (tenant: string, nowMs: number): Promise<'all' | 'some' | 'nothing'> => {
      const { due } = await ledger.dueTenants({ untilMs: nowMs, tenantsMax: 1000 });
      const found = due.find((each) => each.tenant === tenant);
      return found === undefined ? 'nothing' : found.full ? 'all' : 'some';
    },

    deletions: (tenant: string) => allPages(ledger.deletions(tenant)),
  };
}
