import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tarFormat } from '../../../../../../lambda/subjects/exports/rules/archive-formats.ts';
import { entrySizesOf, Layout } from '../../../../../../lambda/subjects/exports/rules/layout.ts';
import {
  freeBound,
  freeOrder,
  gridOrder,
  gridParts,
  LeastFilled,
  SortedPool,
} from '../../../../../../lambda/subjects/exports/rules/parts.ts';
import { contentStore, subject } from '../../../../../support/subjects/exports/export-archive.ts';
import { gridBound } from '../../../../../support/subjects/exports/grid-bound.ts';

describe('free order', () => {
  const min = 100;
  const sizesOf = (sizes: readonly number[]) => ({
    heads: new Float64Array(sizes.length).fill(1),
    data: Float64Array.from(sizes),
    totals: Float64Array.from(sizes, (size) => size + 1),
  });
  const orderOf = (sizes: readonly number[]) => {
    const { order, copied } = freeOrder(sizesOf(sizes), { partBytesMin: min });
    return {
      sizes: [...order].map((index) => sizes[index]),
      copied: [...order].map((index) => copied[index]),
    };
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
});

describe('grid order', () => {
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
});

const format = tarFormat({ modifiedAtMs: 0 });
const { objects } = contentStore([Buffer.alloc(1000)]);
const sizes = entrySizesOf(objects, format);
const layout = new Layout(
  { objects, sizes, format, subject, volume: { number: 1, of: 1 } },
  () => new Uint32Array(1),
);
const { dataStart } = layout.boundsAt(2);
const kindsIn = (startByte: number, endByte: number, cellBytes: number) =>
  [...gridParts(layout, { startByte, endByte }, cellBytes)].map((part) =>
    part.kind === 'copy' ? part.source : part.kind,
  );

it('copies the cells that lie in an object', () => {
  expect(kindsIn(dataStart - 200, dataStart + 1100, 400)).toEqual([
    'upload',
    { startByte: 200, endByte: 600 },
    { startByte: 600, endByte: 1000 },
    'upload',
  ]);
});

it('copies an object of one cell whole, but no range of it', () => {
  expect(kindsIn(dataStart, dataStart + 1000, 1000)).toEqual([undefined]);
  expect(kindsIn(dataStart, dataStart + 900, 1000)).toEqual(['upload']);
  expect(kindsIn(dataStart, dataStart + 900, 999)).toEqual([{ startByte: 0, endByte: 900 }]);
});

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
