import type { Table } from './core/table/requests.ts';
import * as stores from './lists/stores.ts';

type Stores = { readonly [Name in keyof typeof stores]: ReturnType<(typeof stores)[Name]> };

/** Every store, on one table. */
export function storesOn(table: Table): Stores {
  const made = Object.entries(stores).map(([name, create]) => [name, create(table)]);
  return Object.fromEntries(made) as Stores;
}
