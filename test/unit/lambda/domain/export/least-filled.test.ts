import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LeastFilled } from '../../../../../lambda/domain/export/least-filled.ts';

describe('LeastFilled', () => {
  it('always shows a bin that no other is below', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.array(fc.nat(100)), (bins, amounts) => {
        const filled = new LeastFilled(new Float64Array(bins));
        for (const amount of amounts) {
          expect(filled.fills[filled.least ?? -1]).toBe(Math.min(...filled.fills));
          filled.add(amount);
        }
        expect(filled.fills.reduce((sum, fill) => sum + fill, 0)).toBe(
          amounts.reduce((sum, each) => sum + each, 0),
        );
      }),
    );
  });

  it('shows none without bins', () => {
    expect(new LeastFilled(new Float64Array(0)).least).toBeUndefined();
  });
});
