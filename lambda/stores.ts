import { type UnionToIntersection, valuesOf } from './core/rules/types.ts';
import type { Table } from './core/table/requests.ts';
import * as ofListeners from './lists/listener-stores.ts';
import * as stores from './lists/stores.ts';

type StoresOfListeners = UnionToIntersection<ReturnType<(typeof ofListeners)[keyof typeof ofListeners]>>;
type Stores<L extends Readonly<Record<string, (table: Table) => unknown>>> = {
  readonly [Name in keyof L]: ReturnType<L[Name]>;
};

/** Each of a list, on one table. */
export function storesOf<L extends Readonly<Record<string, (table: Table) => unknown>>>(
  list: L,
  table: Table,
): Stores<L> {
  const made = Object.entries(list).map(([name, create]) => [name, create(table)]);
  return Object.fromEntries(made) as Stores<L>;
}

/** Those of what listens to the ledger. */
export const storesOfListeners = (table: Table): StoresOfListeners =>
  Object.assign({}, ...valuesOf(ofListeners).map((create) => create(table)));

/** Every store, on one table. */
export const storesOn = (table: Table): Stores<typeof stores> & StoresOfListeners =>
  Object.assign(storesOf(stores, table), storesOfListeners(table));
