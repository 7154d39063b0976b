import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SortedPool } from '../../../../../lambda/domain/export/sorted-pool.ts';

describe('SortedPool', () => {
  it('takes what a search through a list would', () => {
    const takes = fc.array(fc.record({ value: fc.nat(60), atLeast: fc.boolean() }), { maxLength: 60 });
    fc.assert(
      fc.property(fc.array(fc.nat(50)), takes, (values, wanted) => {
        const sorted = [...values].sort((a, b) => a - b);
        const pool = new SortedPool(Uint32Array.from(sorted.keys()), (item) => sorted[item] ?? 0);
        const rest = [...sorted.keys()];
        for (const { value, atLeast } of wanted) {
          const fits = (item: number) => (sorted[item] ?? 0) >= value === atLeast;
          const expected = atLeast ? rest.find(fits) : rest.findLast(fits);
          expect(atLeast ? pool.takeAtLeast(value) : pool.takeBelow(value)).toBe(expected);
          if (expected !== undefined) rest.splice(rest.indexOf(expected), 1);
        }
      }),
    );
  });
});
