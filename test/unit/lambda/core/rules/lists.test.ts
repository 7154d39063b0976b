import { expect, it } from 'vitest';
import { allOf, allThose, each, those } from '../../../../../lambda/core/rules/lists.ts';

const list = {
  b: { make: ({ by }: { by: string }) => `b by ${by}`, stores: { second: 2 } },
  a: { make: ({ at }: { at: string }) => `a at ${at}`, stores: { first: 1 } },
  c: { other: 3 },
};

it('have a thing by its name, those that have it', () => {
  expect(those(list, 'other')).toEqual({ c: 3 });
  expect(Object.keys(those(list, 'make'))).toEqual(['b', 'a']);
  expect(allThose(list, 'stores')).toEqual({ first: 1, second: 2 });
});

it('make it in the order of names', () => {
  expect(each(those(list, 'make'), { by: 'x', at: 'y' })).toEqual(['a at y', 'b by x']);
});

it('make it in one', () => {
  const parts = { one: ({ n }: { n: number }) => ({ n }), two: () => ({ m: 2 }) };
  expect(allOf(parts, { n: 1 })).toEqual({ n: 1, m: 2 });
});
