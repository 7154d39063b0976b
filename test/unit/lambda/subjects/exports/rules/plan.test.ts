import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { r2Limits, s3Limits } from '../../../../../../lambda/core/store/rules/store-kind.ts';
import { tarFormat, zipFormat } from '../../../../../../lambda/subjects/exports/rules/archive-formats.ts';
import type { StoredObject } from '../../../../../../lambda/subjects/exports/rules/objects.ts';
import {
  figuresOf,
  planExport,
  pricesOf,
  type VolumePlan,
} from '../../../../../../lambda/subjects/exports/rules/plan.ts';
import {
  type PlanSettings,
  quickestSettings,
  type Way,
} from '../../../../../../lambda/subjects/exports/rules/settings.ts';
import {
  contentStore,
  executePlan,
  readArchive,
  subject,
} from '../../../../../support/subjects/exports/export-archive.ts';

const tar = tarFormat({ modifiedAtMs: 0 });
const zip = zipFormat({ modifiedAtMs: 0 });
const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;

/** A store whose parts are so small that a few kilobytes need all rules. */
const smallLimits = {
  partBytesMin: 100,
  partBytesMax: 20_000,
  partsMax: 400,
  objectBytesMax: 60_000,
  wantsEqualParts: false,
};

function smallSettings(way: Way, overrides: Partial<PlanSettings> = {}): PlanSettings {
  return {
    limits: { ...smallLimits, wantsEqualParts: way === 'copy-grid' },
    way,
    cellBytes: 100,
    uploadBytesMax: 300,
    copyBytesMax: 700,
    shardBytesMax: 2000,
    shards: 'if-needed',
    ...overrides,
  };
}

function planned(input: Parameters<typeof planExport>[0], settings: PlanSettings): readonly VolumePlan[] {
  const plan = planExport(input, settings);
  if (plan.kind !== 'planned') throw new Error(plan.kind);
  return plan.volumes;
}

/** Objects of these sizes. Their bytes are never read. */
function sizedObjects(sizes: readonly number[]): StoredObject[] {
  return sizes.map((sizeBytes, index) => {
    const oid = index.toString(16).padStart(64, '0');
    return { oid, sizeBytes, etag: '"e"', key: `acme/app/${oid}` };
  });
}

/** Sizes around the smallest part, and some that are cut several times. */
const size = fc.oneof(
  fc.integer({ min: 0, max: 250 }),
  fc.constantFrom(0, 1, 99, 100, 101, 199, 200, 201),
  fc.integer({ min: 0, max: 6000 }),
);
const contents = fc.array(
  fc
    .tuple(size, fc.nat(255))
    .map(([length, seed]) => Uint8Array.from({ length }, (_, at) => (at * 7 + seed) % 251)),
  { maxLength: 25 },
);

describe.each([tar, zip])('a plan of $name', (format) => {
  describe.each(['stream', 'copy-free', 'copy-grid'] as const)('by %s', (way) => {
    it.each(['if-needed', 'always'] as const)(
      'makes the archive, byte for byte, with shards %s',
      (shards) => {
        fc.assert(
          fc.property(contents, (made) => {
            const store = contentStore(made);
            const settings = smallSettings(way, { shards });
            for (const volume of planned({ ...store, format, subject }, settings)) {
              const archive = executePlan(volume, { ...store, limits: settings.limits });
              expect(archive.equals(readArchive(volume.layout, store.bytesOf))).toBe(true);
              if (shards === 'always') expect(volume.hasShards).toBe(true);
            }
          }),
          { numRuns: 60 },
        );
      },
    );

    it('is the same for the same list', () => {
      const objects = sizedObjects([5, 1000, 700, 0, 99, 100, 101, 4000]);
      const parts = () =>
        planned({ objects, format, subject }, smallSettings(way)).map((volume) => [...volume.parts()]);
      expect(parts()).toEqual(parts());
    });
  });

  it('has every object in exactly one volume', () => {
    fc.assert(
      fc.property(contents, (made) => {
        const { objects } = contentStore(made);
        const settings = smallSettings('copy-free', { limits: { ...smallLimits, objectBytesMax: 20_000 } });
        const volumes = planned({ objects, format, subject }, settings);
        expect(volumes.flatMap(({ layout }) => layout.objects)).toEqual(objects);
        for (const { layout } of volumes) expect(layout.sizeBytes).toBeLessThanOrEqual(20_000);
        expect(volumes.every(({ layout }) => layout.objects.length > 0)).toBe(objects.length > 0);
      }),
    );
  });
});

it.each([tar, zip])(
  'volumes of $name have room for the lines and records of many small objects',
  (format) => {
    const objects = sizedObjects(Array.from({ length: 3000 }, () => 1));
    const limits = { ...smallLimits, objectBytesMax: 300_000 };
    const volumes = planned({ objects, format, subject }, smallSettings('copy-free', { limits }));
    expect(volumes.length).toBeGreaterThan(1);
    expect(Math.max(...volumes.map(({ layout }) => layout.sizeBytes))).toBeLessThanOrEqual(300_000);
    // Nor is much of them left empty.
    expect(volumes[0]?.layout.sizeBytes).toBeGreaterThan(270_000);
  },
);

describe('a plan for S3', () => {
  const settings = quickestSettings(s3Limits);
  const plan = (sizes: readonly number[], format = tar) =>
    planned({ objects: sizedObjects(sizes), format, subject }, settings);

  it('copies an object of the smallest part whole, and one byte less not at all', () => {
    const min = 5 * mebibyte;
    // Two objects too small to copy fill the runs before those that can be copied.
    const [volume] = plan([min - 1, min - 1, min - 1, min, min + 1]);
    const copies = [...(volume?.parts() ?? [])].filter((part) => part.kind === 'copy');
    expect(copies.map(({ object, source }) => [object.sizeBytes, source])).toContainEqual([min, undefined]);
    expect(copies.every(({ object }) => object.sizeBytes >= min)).toBe(true);
  });

  it.each<Way>(['copy-free', 'copy-grid'])('uses shards for one part too many: %s', (way) => {
    // So large that all fits one archive.
    const wantsEqualParts = way === 'copy-grid';
    const limits = { ...smallLimits, partsMax: 10_000, objectBytesMax: 1e9, wantsEqualParts };
    const most = { limits, shardBytesMax: 20_000 };
    const lists = fc.array(size, { minLength: 10, maxLength: 25 }).map(sizedObjects);
    fc.assert(
      fc.property(lists, (objects) => {
        const input = { objects, format: tar, subject };
        const [whole] = planned(input, smallSettings(way, most));
        const parts = [...(whole?.parts() ?? [])].length;
        fc.pre(parts > 10);
        for (const partsMax of [parts - 1, parts, parts + 1]) {
          const volumes = planned(input, smallSettings(way, { ...most, limits: { ...limits, partsMax } }));
          expect(volumes.map(({ hasShards }) => hasShards)).toEqual([partsMax < parts]);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('that copies nothing has one more archive for one part too many, as shards are copied, too', () => {
    const objects = sizedObjects(Array.from({ length: 40 }, () => 1000));
    const input = { objects, format: tar, subject };
    const limits = { ...smallLimits, partsMax: 10_000, objectBytesMax: 1e9 };
    const [whole] = planned(input, smallSettings('stream', { limits }));
    const parts = [...(whole?.parts() ?? [])].length;
    for (const partsMax of [2 * parts, parts - 1]) {
      const volumes = planned(input, smallSettings('stream', { limits: { ...limits, partsMax } }));
      expect(volumes.length > 1).toBe(partsMax < parts);
      expect(volumes.some(({ hasShards }) => hasShards)).toBe(false);
    }
  });

  it('divides large copies, and uses shards beyond 10,000 parts', () => {
    const [one] = plan([1024 * gibibyte]);
    expect(one?.hasShards).toBe(false);
    const partBytes = [...(one?.parts() ?? [])].map(({ startByte, endByte }) => endByte - startByte);
    expect(Math.max(...partBytes)).toBeLessThanOrEqual(256 * mebibyte);
    expect(partBytes.length).toBeLessThan(4096 + 5);
    const [volume] = plan([4 * 1024 * gibibyte]);
    expect(volume?.hasShards).toBe(true);
    const parts = [...(volume?.parts() ?? [])];
    // All but the first and the last lie in the object.
    expect(parts.filter(({ kind }) => kind === 'shard').length).toBe(2);
    expect(parts[1]).toMatchObject({ kind: 'copy', startByte: 1000 * mebibyte, endByte: 2000 * mebibyte });
  });

  it('makes several volumes beyond 10,000 shards', () => {
    const volumes = plan(Array.from({ length: 6 }, () => 4 * 1024 * gibibyte));
    expect(volumes.length).toBe(3);
    for (const { layout, parts } of volumes) {
      expect(layout.sizeBytes).toBeLessThanOrEqual(10_000 * 1000 * mebibyte);
      expect([...parts()].length).toBeLessThanOrEqual(10_000);
    }
    expect(figuresOf(volumes)).toMatchObject({ volumes: 3, copiedBytes: expect.any(Number) });
  });

  it('knows archives of zip beyond 4 GiB and 65,535 files', () => {
    const [large] = plan([5 * gibibyte, 100, 5 * gibibyte], zip);
    expect(large?.layout.sizeBytes).toBeGreaterThan(10 * gibibyte);
    const [many] = plan(
      Array.from({ length: 66_000 }, () => 1),
      zip,
    );
    expect(Buffer.from(many?.layout.endBytes() ?? []).readUInt32LE(0)).toBe(0x06064b50);
  });

  it('leaves nothing out when it has nothing to copy', () => {
    expect(figuresOf(plan([]))).toMatchObject({ copies: 0, gets: 0, uploads: 1 });
    expect(figuresOf(plan([0, 0, 7]))).toMatchObject({ copies: 0, gets: 1, uploads: 1 });
  });
});

describe('a plan for R2', () => {
  it('ends a volume below 5 TiB', () => {
    const objects = sizedObjects(Array.from({ length: 3 }, () => 2 * 1024 * gibibyte));
    const volumes = planned({ objects, format: tar, subject }, quickestSettings(r2Limits));
    expect(volumes.map(({ layout }) => layout.objects.length)).toEqual([2, 1]);
  });

  it('says which object fits no archive', () => {
    const objects = sizedObjects([1, 5 * 1024 * gibibyte - 5 * gibibyte]);
    const plan = planExport({ objects, format: tar, subject }, quickestSettings(r2Limits));
    expect(plan).toEqual({ kind: 'object-too-large', object: objects[1] });
  });
});

describe('planExport refuses', () => {
  const input = { objects: sizedObjects([1, 2]), format: tar, subject };

  it('what the store would refuse', () => {
    const settings = quickestSettings(s3Limits);
    const refused = (overrides: Partial<PlanSettings>, message: RegExp) =>
      expect(() => planExport(input, { ...settings, ...overrides })).toThrow(message);
    refused({ limits: r2Limits }, /copy-grid/);
    refused({ cellBytes: 5 * mebibyte - 1 }, /cellBytes/);
    refused({ uploadBytesMax: 10 * mebibyte - 1 }, /uploadBytesMax/);
    refused({ copyBytesMax: 5 * gibibyte + 1 }, /copyBytesMax/);
    refused({ shardBytesMax: 5 * gibibyte + 1 }, /shardBytesMax/);
  });

  it('oids that repeat, and names that are wrong or repeat', () => {
    const [one, two] = sizedObjects([1, 2]) as [StoredObject, StoredObject];
    const refused = (objects: StoredObject[], message: RegExp) =>
      expect(() => planExport({ ...input, objects }, quickestSettings(s3Limits))).toThrow(message);
    refused([one, one], /sorted by oid/);
    refused([two, one], /sorted by oid/);
    refused([{ ...one, name: '../x' }], /name/);
    refused(
      [
        { ...one, name: 'x' },
        { ...two, name: 'x' },
      ],
      /Two objects/,
    );
  });
});

const figures = {
  archiveBytes: 1000e6,
  throughBytes: 600e6,
  copiedBytes: 400e6,
  volumes: 2,
  shards: 3,
  gets: 40,
  uploads: 10,
  copies: 20,
  hashedBytes: 0,
};
const prices = { write: 5e-6, read: 4e-7, gbToStore: 0, workerSecond: 1e-3 };
const pace = { workers: 4, bytesPerSecond: 75e6, requestSeconds: 0.1, requestsAtOnce: 64 };
const settings = { prices, pace, tellsCrc32: true };
const priced = (changes: { prices?: Partial<typeof prices>; pace?: Partial<typeof pace> }) =>
  pricesOf(figures, {
    ...settings,
    prices: { ...prices, ...changes.prices },
    pace: { ...pace, ...changes.pace },
  });

describe('what a plan takes', () => {
  it.each([
    // 40 writes: 30 parts, and two for each upload. 8 s of a worker for the bytes.
    ['bytes decide the time', {}, { requests: 80, seconds: 2, dollars: 40 * 4e-7 + 40 * 5e-6 + 8e-3 }],
    [
      'requests do',
      { pace: { requestSeconds: 64 } },
      { requests: 80, seconds: 20, dollars: 40 * 4e-7 + 40 * 5e-6 + 80e-3 },
    ],
    [
      'bytes to a store outside cost',
      { prices: { gbToStore: 0.09 } },
      { requests: 80, seconds: 2, dollars: 40 * 4e-7 + 40 * 5e-6 + 8e-3 + (0.6e9 / 2 ** 30) * 0.09 },
    ],
  ])('%s', (_title, changes, { requests, seconds, dollars }) => {
    const taken = priced(changes);
    expect(taken).toMatchObject({ requests, seconds });
    expect(taken.dollars).toBeCloseTo(dollars, 12);
  });

  it('of a zip is also the time in which a worker reads what the store does not hash', () => {
    const zip = { ...figures, hashedBytes: 900e6 };
    expect(pricesOf(zip, settings)).toMatchObject({ requests: 80, seconds: 2 });
    expect(pricesOf(zip, { ...settings, tellsCrc32: false })).toMatchObject({ requests: 80, seconds: 5 });
  });

  it('is little of an archive in the quickest way', () => {
    const objects = Array.from({ length: 1000 }, (_, index) => {
      const oid = index.toString(16).padStart(64, '0');
      return { oid, sizeBytes: 70e6, etag: '"e"', key: `acme/app/${oid}` };
    });
    const input = { objects, format: tarFormat({ modifiedAtMs: 0 }), subject };
    const plan = planExport(input, quickestSettings(s3Limits));
    if (plan.kind !== 'planned') throw new Error('It fits.');
    const { archiveBytes, throughBytes, copiedBytes } = figuresOf(plan.volumes);
    expect(throughBytes + copiedBytes).toBe(archiveBytes);
    expect(throughBytes / archiveBytes).toBeCloseTo((5 * 1024 ** 2) / 70e6, 3);
  });
});
