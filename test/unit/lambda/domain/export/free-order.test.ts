import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { freeBound } from '../../../../../lambda/domain/export/free-bound.ts';
import { freeOrder } from '../../../../../lambda/domain/export/free-order.ts';

const min = 100;
const sizesOf = (sizes: readonly number[]) => ({
  heads: new Float64Array(sizes.length).fill(1),
  data: Float64Array.from(sizes),
  totals: Float64Array.from(sizes, (size) => size + 1),
});
const orderOf = (sizes: readonly number[]) => {
  const { order, copied } = freeOrder(sizesOf(sizes), { partBytesMin: min });
  return { sizes: [...order].map((index) => sizes[index]), copied: [...order].map((index) => copied[index]) };
};

describe('freeOrder', () => {
  it('has every object once', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400)), (sizes) => {
        const { order } = freeOrder(sizesOf(sizes), { partBytesMin: min });
        expect([...order].sort((a, b) => a - b)).toEqual([...sizes.keys()]);
      }),
    );
  });

  it('uploads small copyable objects before others, since each of them would need a run itself', () => {
    expect(orderOf([120, 500, 130, 600])).toEqual({ sizes: [120, 600, 130, 500], copied: [0, 1, 0, 1] });
  });

  it('puts the emptiest run before the largest object', () => {
    const { sizes } = orderOf([90, 60, 1000, 150, 200, 95]);
    expect(sizes.indexOf(60)).toBe(sizes.indexOf(1000) - 1);
  });

  it('copies nothing below the smallest part', () => {
    expect(orderOf([99, 1000]).copied).toEqual([0, 1]);
    expect(orderOf([100, 1000]).copied).toEqual([0, 1]);
    expect(orderOf([99]).copied).toEqual([0]);
  });
});

describe('freeBound', () => {
  it('is never above what any choice of uploads takes', () => {
    const sizes = fc.array(fc.integer({ min, max: 500 }), { maxLength: 30 });
    fc.assert(
      fc.property(sizes, fc.nat(5000), (made, otherBytes) => {
        const copyableSizes = Float64Array.from(made).sort();
        const bound = freeBound({ copyableSizes, otherBytes, partBytesMin: min });
        const uploaded = copyableSizes
          .subarray(0, bound.uploadedCount)
          .reduce((sum, bytes) => sum + bytes, 0);
        expect(bound.throughBytes).toBeGreaterThanOrEqual(uploaded + otherBytes);
        expect(bound.throughBytes).toBeLessThanOrEqual(Math.max(otherBytes, made.length * min));
      }),
    );
  });

  it('uploads what is smaller than two runs', () => {
    const copyableSizes = Float64Array.from([120, 150, 300, 300]);
    expect(freeBound({ copyableSizes, otherBytes: 0, partBytesMin: min })).toEqual({
      uploadedCount: 2,
      throughBytes: 270,
    });
  });
});
