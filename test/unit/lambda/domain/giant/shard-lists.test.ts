import { expect, it } from 'vitest';
import { listsOfMonth } from '../../../../../lambda/domain/giant/shard-lists.ts';

const lastMomentOfNovember = Date.UTC(2026, 11, 1) - 1;

it('the LIST requests for shards are those of the calendar month, in UTC', () => {
  const november = { month: '2026-11', requests: 7 };
  expect(listsOfMonth(november, lastMomentOfNovember)).toEqual(november);
  expect(listsOfMonth(november, lastMomentOfNovember + 1)).toEqual({ month: '2026-12', requests: 0 });
  expect(listsOfMonth(undefined, lastMomentOfNovember)).toEqual({ month: '2026-11', requests: 0 });
});
