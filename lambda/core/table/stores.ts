import type { Table } from './requests.ts';

type Making = Readonly<Record<string, (table: Table) => unknown>>;

/** Each of a list, on one table. */
export const storesOf = <L extends Making>(list: L, table: Table) =>
  Object.fromEntries(Object.entries(list).map(([name, create]) => [name, create(table)])) as {
    readonly [Name in keyof L]: ReturnType<L[Name]>;
  };
