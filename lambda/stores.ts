import { type UnionToIntersection, valuesOf } from './core/rules/types.ts';
import type { Table } from './core/table/requests.ts';
import * as ofListeners from './lists/listener-stores.ts';
import * as stores from './lists/stores.ts';

type StoresOfListeners = UnionToIntersection<ReturnType<(typeof ofListeners)[keyof typeof ofListeners]>>;
type Stores = {
  readonly [Name in keyof typeof stores]: ReturnType<(typeof stores)[Name]>;
} & StoresOfListeners;

/** Those of what listens to the ledger. */
export const storesOfListeners = (table: Table): StoresOfListeners =>
  Object.assign({}, ...valuesOf(ofListeners).map((create) => create(table)));

/** Every store, on one table. */
export function storesOn(table: Table): Stores {
  const made = Object.entries(stores).map(([name, create]) => [name, create(table)]);
  return { ...Object.fromEntries(made), ...storesOfListeners(table) } as Stores;
}
