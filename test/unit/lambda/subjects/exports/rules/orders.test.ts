import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { s3Limits } from '../../../../../../lambda/core/store/rules/store-kind.ts';
import { tarFormat, zipFormat } from '../../../../../../lambda/subjects/exports/rules/archive-formats.ts';
import { entrySizesOf, Layout } from '../../../../../../lambda/subjects/exports/rules/layout.ts';
import { memberName } from '../../../../../../lambda/subjects/exports/rules/objects.ts';
import {
  isHashedByCopy,
  plannedParts,
  unitsOf,
} from '../../../../../../lambda/subjects/exports/rules/orders.ts';
import {
  figuresOf,
  partFigures,
  planExport,
  secondsOf,
} from '../../../../../../lambda/subjects/exports/rules/plan.ts';
import { quickestSettings } from '../../../../../../lambda/subjects/exports/rules/settings.ts';
import { Random } from '../../../../../support/random.ts';
import {
  contentStore,
  readArchive,
  readRange,
  subject,
} from '../../../../../support/subjects/exports/export-archive.ts';

const formats = [tarFormat({ modifiedAtMs: 0 }), zipFormat({ modifiedAtMs: 0 })];
const volume = { number: 1, of: 1 };

describe.each(formats)('a layout of $name', (format) => {
  const layoutOf = (contents: readonly Uint8Array[]) => {
    const store = contentStore(contents);
    const sizes = entrySizesOf(store.objects, format);
    const order = Uint32Array.from(store.objects.keys()).reverse();
    return { store, layout: new Layout({ ...store, sizes, format, subject, volume }, () => order) };
  };

  it('gives any range of the archive', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 1500 }), { maxLength: 6 }),
        fc.array(fc.nat(), { minLength: 2, maxLength: 2 }),
        (contents, cuts) => {
          const { layout, store } = layoutOf(contents);
          const whole = readArchive(layout, store.bytesOf);
          expect(whole.length).toBe(layout.sizeBytes);
          const [startByte = 0, endByte = 0] = cuts
            .map((cut) => cut % (whole.length + 1))
            .sort((a, b) => a - b);
          const range = readRange(layout, { startByte, endByte }, store.bytesOf);
          expect(range.equals(whole.subarray(startByte, endByte))).toBe(true);
        },
      ),
    );
  });

  it('begins with a manifest, and an index that leads to each object', () => {
    const contents = ['one', 'three', '', 'seven'].map((text) => Buffer.from(text));
    const { layout, store } = layoutOf(contents);
    const whole = readArchive(layout, store.bytesOf);
    const contentAt = (place: number) => {
      const { dataStart, dataEnd } = layout.boundsAt(place);
      return whole.subarray(dataStart, dataEnd).toString();
    };
    expect([0, 1].map((place) => layout.entryAt(place).name)).toEqual([
      'lfs/export/manifest-1.json',
      'lfs/export/index-1.txt',
    ]);
    expect(JSON.parse(contentAt(0))).toMatchObject({
      path: 'acme/app',
      startedAt: '2026-11-22T12:00:00.000Z',
      objects: 4,
      bytes: 13,
      missing: [],
    });
    const lines = contentAt(1)
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ +/));
    expect(lines.map(([oid]) => oid)).toEqual(store.objects.map(({ oid }) => oid));
    for (const [index, object] of store.objects.entries()) {
      const [, size, at] = (lines[index] ?? []).map(Number);
      expect(whole.subarray(at, (at ?? 0) + (size ?? 0)).equals(store.bytesOf(object))).toBe(true);
    }
  });

  it('has the objects in the order that it is given', () => {
    const { layout, store } = layoutOf(['a', 'b', 'c'].map((text) => Buffer.from(text)));
    const whole = { startByte: 0, endByte: layout.sizeBytes };
    const names = [...layout.dataIn(whole)].map(({ object }) => memberName(object));
    expect(names).toEqual([...store.objects].reverse().map(memberName));
  });

  it('makes a long index in pieces', () => {
    const contents = Array.from({ length: 12_000 }, (_, index) => Buffer.from(String(index)));
    const { layout, store } = layoutOf(contents);
    const whole = readArchive(layout, store.bytesOf);
    const { dataStart, dataEnd } = layout.boundsAt(1);
    expect(dataEnd - dataStart).toBe(12_000 * 99);
    expect(whole.subarray(dataStart, dataEnd).toString().split('\n').length).toBe(12_001);
  });
});

const mib = 1024 ** 2;
const pace = { bytesPerSecond: 75e6, requestSeconds: 0.1, requestsAtOnce: 32 };

const none = {
  throughBytes: 0,
  copiedBytes: 0,
  shards: 0,
  gets: 0,
  uploads: 0,
  copies: 0,
  hashedBytes: 0,
};

interface SomePart {
  readonly number: number;
  readonly seconds: number;
}

/** Uploaded parts of these sizes. */
function parts(sizes: readonly number[]): SomePart[] {
  return sizes.map((throughBytes, index) => ({
    number: index + 1,
    seconds: secondsOf(
      { ...none, uploads: 1, throughBytes },
      { pace: { ...pace, workers: 1 }, tellsCrc32: true },
    ),
  }));
}

/** The parts of each unit, and the seconds that each takes. */
function share(all: readonly SomePart[], workers: number) {
  const secondsOfAll = (some: readonly SomePart[]) => some.reduce((sum, { seconds }) => sum + seconds, 0);
  const units = [...unitsOf(all, { seconds: secondsOfAll(all), pace: { ...pace, workers } })];
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

  it.each([
    [1.2, 1],
    [4.2, 1],
    [4.8, 2],
    [60, 4],
  ])('of about three seconds: of %d s for each worker are made %i', (seconds, each) => {
    const count = Math.round((40 * seconds * 75e6) / mib);
    const { units } = share(parts(Array.from({ length: count }, () => mib)), 40);
    expect(units.length).toBe(40 * each);
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

const slow = {
  pace: { workers: 4, bytesPerSecond: 100, requestSeconds: 1, requestsAtOnce: 10 },
  tellsCrc32: true,
};

describe('a part takes a worker', () => {
  it('as long as its bytes, or its requests', () => {
    expect(secondsOf({ ...none, uploads: 1, gets: 1, throughBytes: 500 }, slow)).toBe(5);
    expect(secondsOf({ ...none, uploads: 1, gets: 1, throughBytes: 1 }, slow)).toBeCloseTo(0.2);
    expect(secondsOf({ ...none, copies: 1, copiedBytes: 1e6 }, slow)).toBeCloseTo(0.1);
  });

  it('that has the head of an object whose bytes go on behind it, a request, or as long as these are read', () => {
    const part = { ...none, uploads: 1, gets: 1, throughBytes: 1, copies: 1, hashedBytes: 500 };
    expect(secondsOf(part, slow)).toBeCloseTo(0.3);
    expect(secondsOf(part, { ...slow, tellsCrc32: false })).toBeCloseTo(5.01);
  });

  it('that is a shard, what its own parts take, and three requests', () => {
    const shard = { ...none, shards: 1, copies: 1 };
    expect(secondsOf({ ...shard, uploads: 1, gets: 1, throughBytes: 500 }, slow)).toBe(5);
    expect(secondsOf({ ...shard, copies: 2 }, slow)).toBeCloseTo(0.4);
  });
});

describe('the parts of a plan', () => {
  it.each(['if-needed', 'always'] as const)('are those of its figures, with shards %s', (shards) => {
    const objects = Array.from({ length: 40 }, (_, index) => {
      const oid = index.toString(16).padStart(64, '0');
      return { oid, sizeBytes: index * 7 * mib, etag: '"e"', key: `acme/app/${oid}` };
    });
    const format = tarFormat({ modifiedAtMs: 0 });
    const plan = planExport({ objects, format, subject }, { ...quickestSettings(s3Limits), shards });
    if (plan.kind !== 'planned') throw new Error(plan.kind);
    const figures = figuresOf(plan.volumes);
    const told = { ...none };
    const planned = [...plannedParts(plan.volumes, slow)];
    for (const [index, { volume, number, part, layout, seconds }] of planned.entries()) {
      const own = partFigures(part, layout);
      expect([volume, number, seconds]).toEqual([0, index + 1, secondsOf(own, slow)]);
      for (const [name, value] of Object.entries(own)) told[name as keyof typeof told] += value;
    }
    expect(figures).toMatchObject(told);
    expect(figures.shards > 0).toBe(shards === 'always');
  });
});

describe('the store tells the CRC-32 of an object', () => {
  it('from a mebibyte to what it copies in one request, if it tells any', () => {
    const sizes = [mib - 1, mib, 5120 * mib, 5120 * mib + 1];
    const told = (tellsCrc32: boolean) =>
      sizes.map((sizeBytes) => isHashedByCopy({ sizeBytes }, { tellsCrc32 }));
    expect(told(true)).toEqual([false, true, true, false]);
    expect(told(false)).toEqual([false, false, false, false]);
  });
});
