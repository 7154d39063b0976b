import { describe, expect, it } from 'vitest';
import { planExport } from '../../../../../lambda/domain/export/plan-export.ts';
import { figuresOf, pricesOf } from '../../../../../lambda/domain/export/plan-figures.ts';
import { quickestSettings } from '../../../../../lambda/domain/export/plan-settings.ts';
import { s3Limits } from '../../../../../lambda/domain/export/store-limits.ts';
import { tarFormat } from '../../../../../lambda/domain/export/tar-format.ts';
import { subject } from '../../../../support/export-archive.ts';

const figures = {
  archiveBytes: 1000e6,
  throughBytes: 600e6,
  copiedBytes: 400e6,
  volumes: 2,
  shards: 3,
  gets: 40,
  uploads: 10,
  copies: 20,
};
const prices = { write: 5e-6, read: 4e-7, gbToStore: 0, workerSecond: 1e-3 };
const pace = { workers: 4, bytesPerSecond: 75e6, requestSeconds: 0.1, requestsAtOnce: 64 };
const priced = (changes: { prices?: Partial<typeof prices>; pace?: Partial<typeof pace> }) =>
  pricesOf(figures, { prices: { ...prices, ...changes.prices }, pace: { ...pace, ...changes.pace } });

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
      { requests: 80, seconds: 2, dollars: 40 * 4e-7 + 40 * 5e-6 + 8e-3 + 0.6 * 0.09 },
    ],
  ])('%s', (_title, changes, { requests, seconds, dollars }) => {
    const taken = priced(changes);
    expect(taken).toMatchObject({ requests, seconds });
    expect(taken.dollars).toBeCloseTo(dollars, 12);
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
