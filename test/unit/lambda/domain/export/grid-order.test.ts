import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gridOrder } from '../../../../../lambda/domain/export/grid-order.ts';
import { gridBound } from '../../../../support/grid-bound.ts';

const cellBytes = 100;
const sizesOf = (sizes: readonly number[]) => ({
  heads: new Float64Array(sizes.length).fill(1),
  data: Float64Array.from(sizes),
  totals: Float64Array.from(sizes, (size) => size + 1),
});
const orderOf = (sizes: readonly number[], startByte = 0) =>
  [...gridOrder(sizesOf(sizes), { cellBytes, startByte })].map((index) => sizes[index]);

describe('gridOrder', () => {
  it('has every object once', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400)), fc.nat(1000), (sizes, startByte) => {
        const order = gridOrder(sizesOf(sizes), { cellBytes, startByte });
        expect([...order].sort((a, b) => a - b)).toEqual([...sizes.keys()]);
      }),
    );
  });

  it('fills up to the edge with small objects, then takes the large one that just carries over', () => {
    // From 40 on no remainder reaches 100. Behind the 7, at 48, that of 155 does. From 4 on again none does, and none
    // will: 210 comes when no small one fits any more.
    expect(orderOf([155, 210, 5, 7, 99], 40)).toEqual([7, 155, 5, 210, 99]);
  });

  it('takes the smallest remainder that carries', () => {
    expect(orderOf([190, 150, 160], 55)[0]).toBe(150);
  });
});

describe('gridBound', () => {
  it('is never above what an order reaches', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(500), { maxLength: 40 }), (sizes) => {
        const order = [...gridOrder(sizesOf(sizes), { cellBytes, startByte: 0 })];
        let at = 0;
        let cells = 0;
        for (const index of order) {
          const [start, end] = [at + 1, at + 1 + (sizes[index] ?? 0)];
          cells += Math.max(0, Math.floor(end / cellBytes) - Math.ceil(start / cellBytes));
          at = end;
        }
        const bound = gridBound({ sizes: Float64Array.from(sizes), archiveBytes: at, cellBytes });
        expect(at - cells * cellBytes).toBeGreaterThanOrEqual(bound);
      }),
    );
  });
});
