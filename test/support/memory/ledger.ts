import { parseReservation, parseTenant, tenantOfPartition } from '../../../lambda/core/ledger/items.ts';
import { createDynamoDbLedger } from '../../../lambda/core/ledger/ledger.ts';
import type { DueTenant } from '../../../lambda/core/ledger/rules/reconcile-policy.ts';
import type { Reservation } from '../../../lambda/core/ledger/rules/reservation.ts';
import type { TenantRecord } from '../../../lambda/core/ledger/rules/tenant.ts';
import { fromStored } from '../../../lambda/core/table/stored-names.ts';
import { byDueIndex, tenantKey } from '../../../lambda/core/table/table.ts';
import { stored } from '../../../local/table/items.ts';
import { type StoreOptions, storeClass } from './stores.ts';

const reservationStart = 'RESERVATION#';

/** The ledger on a table in memory, for tests and the simulator. */
export class MemoryLedger extends storeClass(createDynamoDbLedger) {
  /** By tenant. Whatever is not here was changed since it was read. */
  readonly #records = new Map<string, TenantRecord | undefined>();
  readonly #reservations = new Map<string, readonly Reservation[]>();

  constructor(options: StoreOptions = {}) {
    super(options);
    this.table.store.watch(({ key: { pk, sk } }) => {
      if (sk.startsWith(reservationStart)) this.#reservations.delete(tenantOfPartition(pk));
      else if (sk === 'TENANT') this.#records.delete(tenantOfPartition(pk));
    });
  }

  /** All that the index of what is due holds. */
  dueEntries(): DueTenant[] {
    return [...this.table.store.all(byDueIndex)].map((item) => {
      const kind = String(item[byDueIndex.pk]);
      return {
        tenant: tenantOfPartition(String(item['pk'])),
        full: kind.startsWith('TENANT#'),
        deletes: kind.startsWith('DELETION#'),
        dueAtMs: Number(item[byDueIndex.sk]),
      };
    });
  }

  /**
   * A tenant's item and all its reservations at one moment, for a simulator's checks. As long as nothing changes, it is the
   * same object, and the same array.
   */
  inspect(tenant: string): { record: TenantRecord | undefined; reservations: readonly Reservation[] } {
    const { store } = this.table;
    if (!this.#records.has(tenant)) {
      const item = store.find(tenantKey(tenant));
      this.#records.set(tenant, item && parseTenant(fromStored(item)));
    }
    let reservations = this.#reservations.get(tenant);
    if (reservations === undefined) {
      reservations = store
        .itemsOf(tenantKey(tenant).pk, reservationStart)
        .map((item) => parseReservation(fromStored(item)));
      this.#reservations.set(tenant, reservations);
    }
    return { record: this.#records.get(tenant), reservations };
  }

  /** Adds to the counter without a condition. */
  addUnconditionally(tenant: string, bytes: number): void {
    const key = tenantKey(tenant);
    const before = this.table.store.find(key);
    if (before === undefined) return;
    const committedBytes = Number(before['committedBytes']) + bytes;
    this.table.store.write({ key, before, after: stored({ ...before, committedBytes }) });
  }
}
