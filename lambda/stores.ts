import type { Table } from './core/table/requests.ts';
import * as stores from './lists/stores.ts';

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

/** Every store, on one table. */
export const storesOn = (table: Table) => storesOf(stores, table);
