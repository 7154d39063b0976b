import { describe, expect, it } from 'vitest';
import { hashUnits, secondsOf, unitsOf } from '../../../../../lambda/domain/export/units.ts';
import type { OrderedPart } from '../../../../../lambda/domain/export/work-order.ts';

const pace = { workers: 4, bytesPerSecond: 100, requestSeconds: 1, requestsAtOnce: 10 };
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
    expect(secondsOf(upload(1, 500), pace)).toBe(5);
    expect(secondsOf(upload(1, 1), pace)).toBeCloseTo(0.2);
    expect(secondsOf(copy(1), pace)).toBeCloseTo(0.1);
  });

  it('that is a shard, what its own parts take, and three requests', () => {
    const parts = [upload(1, 500), copy(2)];
    const shard: OrderedPart = { kind: 'shard', volume: 0, number: 1, sizeBytes: 5, parts };
    expect(secondsOf(shard, pace)).toBe(5);
    expect(secondsOf({ ...shard, parts: [copy(1)] }, pace)).toBeCloseTo(0.4);
  });
});

describe('units', () => {
  it('have all parts in their order, and take nearly the same time', () => {
    const parts = Array.from({ length: 1000 }, (_, index) => upload(index + 1, 100 * (1 + (index % 3))));
    const seconds = parts.reduce((sum, part) => sum + secondsOf(part, pace), 0);
    const units = [...unitsOf(parts, { seconds, pace })];
    expect(units.flat()).toEqual(parts);
    const target = seconds / 400;
    for (const unit of units)
      expect(unit.reduce((sum, part) => sum + secondsOf(part, pace), 0)).toBeLessThanOrEqual(
        Math.max(target, 5),
      );
    expect(units.length).toBeLessThanOrEqual(801);
    expect(units.length).toBeGreaterThan(300);
  });

  it('take two seconds, if there is less to do', () => {
    const parts = Array.from({ length: 60 }, (_, index) => copy(index + 1));
    const units = [...unitsOf(parts, { seconds: 6, pace })];
    // A tenth of a second each, which adds up to a little more than two.
    expect(units.map((unit) => unit.length)).toEqual([19, 19, 19, 3]);
    expect([...unitsOf([], { seconds: 0, pace })]).toEqual([]);
  });

  it('of one part that takes very long have that part', () => {
    const units = [...unitsOf([upload(1, 100_000), upload(2, 100_000)], { seconds: 2000, pace })];
    expect(units.length).toBe(2);
  });
});

describe('units of hashing', () => {
  const objects = (count: number, sizeBytes: number) =>
    Array.from({ length: count }, (_, index) => ({ oid: String(index), sizeBytes, etag: 'e', key: 'k' }));

  it('have all objects, at most a thousand of them, or a four-hundredth', () => {
    const small = objects(2500, 0);
    const units = [...hashUnits(small, { pace })];
    expect(units.map((unit) => unit.length)).toEqual([1000, 1000, 500]);
    expect(units.flat()).toEqual(small);
    expect([...hashUnits(objects(800_000, 0), { pace })].length).toBe(400);
    expect([...hashUnits([], { pace })]).toEqual([]);
  });

  it('take ten seconds of reading, or a four-hundredth of all', () => {
    expect([...hashUnits(objects(20, 500), { pace })].map((unit) => unit.length)).toEqual(
      Array.from({ length: 10 }, () => 2),
    );
    expect([...hashUnits(objects(4, 5000), { pace })].length).toBe(4);
    expect([...hashUnits(objects(90_000, 1000), { pace })].length).toBeLessThanOrEqual(801);
  });
});
