import { expect, it } from 'vitest';
import type { Table } from '../../../../../lambda/core/table/requests.ts';
import { storesOf } from '../../../../../lambda/core/table/stores.ts';

it('makes each of a list, on the table', () => {
  const table = {} as Table;
  const stores = storesOf({ one: (on: Table) => ({ on }), two: () => 2 }, table);
  expect(stores).toEqual({ one: { on: table }, two: 2 });
  expect(stores.one.on).toBe(table);
});
