import { describe, expect, it } from 'vitest';
import { hashUnits, secondsOf, unitsOf } from '../../../../../lambda/domain/export/units.ts';
import type { OrderedPart } from '../../../../../lambda/domain/export/work-order.ts';
import { Random } from '../../../../support/random.ts';

const mib = 1024 ** 2;
const pace = { bytesPerSecond: 75e6, requestSeconds: 0.1, requestsAtOnce: 32 };

function parts(sizes: readonly number[]): OrderedPart[] {
  return sizes.map((sizeBytes, index) => ({
    volume: 0,
    number: index + 1,
    sizeBytes,
    kind: 'upload',
    pieces: [],
  }));
}

/** The parts of each unit, and the seconds that each takes. */
function share(all: readonly OrderedPart[], workers: number) {
  const paceOfAll = { ...pace, workers };
  const secondsOfAll = (some: readonly OrderedPart[]) =>
    some.reduce((sum, part) => sum + secondsOf(part, paceOfAll), 0);
  const units = [...unitsOf(all, { seconds: secondsOfAll(all), pace: paceOfAll })];
  return { units, seconds: units.map(secondsOfAll), total: secondsOfAll(all) };
}

/** Seconds until all are done, if each worker takes the next unit when it is free. */
function wallOf(seconds: readonly number[], workers: number): number {
  const free = Array.from({ length: workers }, () => 0);
  for (const each of seconds) {
    const first = free.indexOf(Math.min(...free));
    free[first] = (free[first] ?? 0) + each;
  }
  return Math.max(...free);
}

describe('units', () => {
  it.each([1, 2, 3, 8, 16])('keep %i workers busy until the end, however large the export is', (workers) => {
    const random = new Random(workers);
    for (const count of [300, 600, 1500, 3000, 9000]) {
      const { units, seconds, total } = share(
        parts(Array.from({ length: count }, () => random.int(5 * mib, 6 * mib))),
        workers,
      );
      expect(units.flat().map(({ number }) => number)).toEqual(
        Array.from({ length: count }, (_, i) => i + 1),
      );
      expect(units.length).toBeLessThanOrEqual(400);
      expect(Math.min(...units.map(({ length }) => length))).toBeGreaterThan(0);
      expect(wallOf(seconds, workers) / (total / workers), `${count} parts`).toBeLessThan(1.1);
    }
  });

  it('are long enough to be worth a message', () => {
    const { units, seconds } = share(parts(Array.from({ length: 100 }, () => 5 * mib)), 100);
    expect(units.length).toBeGreaterThan(10);
    expect(Math.min(...seconds)).toBeGreaterThan(0.3);
  });

  it('of a part that takes longer than all others has that part', () => {
    const { units } = share(parts([mib, 5000 * mib, mib, mib]), 8);
    expect(units.length).toBeLessThanOrEqual(8);
    expect(units.flat().length).toBe(4);
  });

  it('of nothing are none, and of one part one', () => {
    expect(share([], 8).units).toEqual([]);
    expect(share(parts([5]), 8).units.length).toBe(1);
  });
});

const slow = { workers: 4, bytesPerSecond: 100, requestSeconds: 1, requestsAtOnce: 10 };
const source = { key: 'k', etag: 'e' };
const upload = (number: number, sizeBytes: number) => ({
  kind: 'upload' as const,
  volume: 0,
  number,
  sizeBytes,
  pieces: [{ kind: 'object' as const, source, range: { startByte: 0, endByte: sizeBytes } }],
});
const copy = (number: number) => ({ kind: 'copy' as const, volume: 0, number, sizeBytes: 1e6, source });

describe('a part takes a worker', () => {
  it('as long as its bytes, or its requests', () => {
    expect(secondsOf(upload(1, 500), slow)).toBe(5);
    expect(secondsOf(upload(1, 1), slow)).toBeCloseTo(0.2);
    expect(secondsOf(copy(1), slow)).toBeCloseTo(0.1);
  });

  it('that is a shard, what its own parts take, and three requests', () => {
    const parts = [upload(1, 500), copy(2)];
    const shard: OrderedPart = { kind: 'shard', volume: 0, number: 1, sizeBytes: 5, parts };
    expect(secondsOf(shard, slow)).toBe(5);
    expect(secondsOf({ ...shard, parts: [copy(1)] }, slow)).toBeCloseTo(0.4);
  });
});

describe('units of hashing', () => {
  const objects = (count: number, sizeBytes: number) =>
    Array.from({ length: count }, (_, index) => ({ oid: String(index), sizeBytes, etag: 'e', key: 'k' }));

  it('have all objects, at most a thousand of them, or a four-hundredth', () => {
    const small = objects(2500, 0);
    const units = [...hashUnits(small, { pace: slow })];
    expect(units.map((unit) => unit.length)).toEqual([1000, 1000, 500]);
    expect(units.flat()).toEqual(small);
    expect([...hashUnits(objects(800_000, 0), { pace: slow })].length).toBe(400);
    expect([...hashUnits([], { pace: slow })]).toEqual([]);
  });

  it('take ten seconds of reading, or a four-hundredth of all', () => {
    expect([...hashUnits(objects(20, 500), { pace: slow })].map((unit) => unit.length)).toEqual(
      Array.from({ length: 10 }, () => 2),
    );
    expect([...hashUnits(objects(4, 5000), { pace: slow })].length).toBe(4);
    expect([...hashUnits(objects(90_000, 1000), { pace: slow })].length).toBeLessThanOrEqual(801);
  });
});
