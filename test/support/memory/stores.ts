import type { Table } from '../../../lambda/core/table/requests.ts';
import { fromStored } from '../../../lambda/core/table/stored-names.ts';
import { createDynamoDbAuditLog } from '../../../lambda/frame/access/audit-store.ts';
import { createDynamoDbRequestKeys } from '../../../lambda/frame/access/request-key-store.ts';
import { type AuditEntry, auditIdOf, auditSchema } from '../../../lambda/frame/access/rules/audit.ts';
import * as stores from '../../../lambda/lists/stores.ts';
import type { TableLimits } from '../../../local/table/table.ts';
import { type MemoryTable, memoryTable } from './table.ts';

type Stored<T> = T & { readonly table: MemoryTable };

/** The table that a store is on. Default: one of its own, with these limits. */
export interface StoreOptions extends TableLimits {
  readonly on?: MemoryTable;
}

/**
 * The class of a store's adapter over a table in memory: that of other stores, or one of its own. Its methods are of the
 * prototype, so that a test can replace some.
 */
export function storeClass<T extends object>(create: (table: Table) => T) {
  class Store {
    readonly table: MemoryTable;
    readonly adapter: T;

    constructor({ on, ...limits }: StoreOptions = {}) {
      this.table = on ?? memoryTable(limits);
      this.adapter = create(this.table);
    }
  }
  for (const name of methodsOf(create(memoryTable())))
    Object.defineProperty(Store.prototype, name, {
      value(this: Store, ...args: readonly unknown[]) {
        return (this.adapter as Record<string, (...args: readonly unknown[]) => unknown>)[name]?.(...args);
      },
      writable: true,
      configurable: true,
    });
  return Store as unknown as new (
    options?: StoreOptions,
  ) => Stored<T>;
}

function methodsOf(adapter: object): string[] {
  const prototype: unknown = Object.getPrototypeOf(adapter);
  const inherited = prototype === Object.prototype ? [] : Object.getOwnPropertyNames(prototype);
  return [...Object.keys(adapter), ...inherited].filter((name) => name !== 'constructor');
}

export class MemoryRequestKeys extends storeClass(createDynamoDbRequestKeys) {}
export class MemoryTokenStore extends storeClass(stores.tokens) {}

export class MemoryAuditLog extends storeClass(createDynamoDbAuditLog) {
  /** All of them, the oldest first. */
  get entries(): readonly AuditEntry[] {
    const found = [...this.table.store.all()].filter(({ pk }) => String(pk).startsWith('AUDIT#'));
    return found
      .map((item) => auditSchema.parse(fromStored(item)))
      .sort((a, b) => (auditIdOf(a) < auditIdOf(b) ? -1 : 1));
  }
}
