import type { Table } from '../../lambda/adapters/dynamodb/requests.ts';
import * as stores from '../../lambda/adapters/dynamodb/stores.ts';

type Stores = { readonly [Name in keyof typeof stores]: ReturnType<(typeof stores)[Name]> };

/** Every store, on one table. */
export function storesOn(table: Table): Stores {
  const made = Object.entries(stores).map(([name, create]) => [name, create(table)]);
  return Object.fromEntries(made) as Stores;
}
