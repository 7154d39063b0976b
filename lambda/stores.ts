import { type UnionToIntersection, valuesOf } from './core/rules/types.ts';
import type { Table } from './core/table/requests.ts';
import * as ofListeners from './lists/listener-stores.ts';
import * as management from './lists/management.ts';
import * as stores from './lists/stores.ts';
import { allThose } from './subjects.ts';

type StoresOfListeners = UnionToIntersection<ReturnType<(typeof ofListeners)[keyof typeof ofListeners]>>;
type Making = Readonly<Record<string, (table: Table) => unknown>>;

/** Each of a list, on one table. */
export const storesOf = <L extends Making>(list: L, table: Table) =>
  Object.fromEntries(Object.entries(list).map(([name, create]) => [name, create(table)])) as {
    readonly [Name in keyof L]: ReturnType<L[Name]>;
  };

/** Those of what listens to the ledger. */
export const storesOfListeners = (table: Table): StoresOfListeners =>
  Object.assign({}, ...valuesOf(ofListeners).map((create) => create(table)));

/** Every store, on one table. */
export const storesOn = (table: Table) => ({
  ...storesOf(stores, table),
  ...storesOf(allThose(management, 'stores'), table),
  ...storesOfListeners(table),
});
