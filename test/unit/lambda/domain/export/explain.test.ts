import { describe, expect, it } from 'vitest';
import { breakEvenCopyBytes, explainExport } from '../../../../../lambda/domain/export/explain.ts';
import { explainText } from '../../../../../lambda/domain/export/explain-text.ts';
import { quickestSettings } from '../../../../../lambda/domain/export/plan-settings.ts';
import { r2Limits, s3Limits } from '../../../../../lambda/domain/export/store-limits.ts';
import { tarFormat } from '../../../../../lambda/domain/export/tar-format.ts';
import { subject } from '../../../../support/export-archive.ts';

const rates = {
  prices: { write: 5e-6, read: 4e-7, gbToStore: 0, workerSecond: 1.33334e-5 },
  pace: { workers: 4, bytesPerSecond: 75e6, requestSeconds: 0.1, requestsAtOnce: 64 },
};
const objectsOf = (count: number, sizeBytes: number) =>
  Array.from({ length: count }, (_, index) => {
    const oid = index.toString(16).padStart(64, '0');
    return { oid, sizeBytes, etag: '"e"', key: `acme/app/${oid}` };
  });
const input = (count: number, sizeBytes: number) => ({
  objects: objectsOf(count, sizeBytes),
  format: tarFormat({ modifiedAtMs: 0 }),
  subject,
});

describe('explainExport', () => {
  it('tells what each way takes', () => {
    const [stream, free, grid] = explainExport(input(1000, 70e6), quickestSettings(s3Limits), rates);
    if (stream?.kind !== 'possible' || free?.kind !== 'possible' || grid?.kind !== 'possible')
      throw new Error('All ways are possible on S3.');
    expect(stream).toMatchObject({ way: 'stream', throughBytes: stream.archiveBytes, copies: 0, volumes: 1 });
    expect(stream.seconds).toBeCloseTo(stream.archiveBytes / 75e6 / 4, 6);
    // 1,044 parts with 2,043 GETs, create and complete, 933 s of a worker.
    expect(stream.requests).toBe(stream.gets + stream.uploads + 2);
    expect(stream.dollars).toBeCloseTo(
      stream.gets * 4e-7 + (stream.uploads + 2) * 5e-6 + stream.seconds * 4 * 1.33334e-5,
      9,
    );
    expect(free.throughBytes / free.archiveBytes).toBeCloseTo((5 * 1024 ** 2) / 70e6, 3);
    expect(free.throughBytes + free.copiedBytes).toBe(free.archiveBytes);
    expect(free.seconds).toBeLessThan(stream.seconds / 5);
    // The shards' parts are copied once more, which moves no byte through a worker.
    expect(grid).toMatchObject({ shards: expect.any(Number), archiveBytes: free.archiveBytes });
    expect(grid.throughBytes + grid.copiedBytes).toBe(grid.archiveBytes);
  });

  it('charges for bytes to a store outside', () => {
    const outside = { ...rates, prices: { ...rates.prices, gbToStore: 0.09 } };
    const [stream, free] = explainExport(input(100, 70e6), quickestSettings(r2Limits), outside);
    expect(free).toEqual({ kind: 'not-in-this-store', way: 'copy-free' });
    expect(stream?.kind === 'possible' && stream.dollars).toBeGreaterThan(0.09 * 7);
  });

  it.each([
    [0, '$0.00'],
    [0.000027, '$0.000027'],
    [0.25, '$0.25'],
    [1, '$1.00'],
    [12.345, '$12.35'],
  ])('writes %d dollars as %s', (dollars, text) => {
    const [stream] = explainExport(input(3, 20e6), quickestSettings(s3Limits), rates);
    if (stream?.kind !== 'possible') throw new Error('It is always possible.');
    expect(explainText([{ ...stream, dollars }])).toContain(` requests, ${text}, about `);
  });

  it('is put into words', () => {
    const text = explainText([
      ...explainExport(input(3, 20e6), quickestSettings(r2Limits), rates),
      ...explainExport(input(1, 5 * 1024 ** 4), quickestSettings(r2Limits), rates).slice(0, 1),
    ]);
    expect(text.split('\n')).toEqual([
      'Read and upload everything: 57.23 MiB of 57.23 MiB through the workers (100.0 %), 6 requests, $0.000027, about 1 s.',
      'Copy in parts of any size: not possible, this store wants parts of one size.',
      expect.stringMatching(
        /^Copy in parts of one size: [\d.]+ MiB of 57.23 MiB through the workers \([\d.]+ %\), \d+ requests, /,
      ),
      'Read and upload everything: not possible, 0000000000000000000000000000000000000000000000000000000000000000 with 5 TiB is larger than an archive may be.',
      '',
    ]);
  });
});

describe('breakEvenCopyBytes', () => {
  it('is some 44 MB on S3, and the smallest part where bytes cost much', () => {
    const settings = quickestSettings(s3Limits);
    expect(breakEvenCopyBytes(settings, rates)).toBeGreaterThan(40e6);
    expect(breakEvenCopyBytes(settings, rates)).toBeLessThan(50e6);
    const outside = { ...rates, prices: { ...rates.prices, gbToStore: 0.09 } };
    expect(breakEvenCopyBytes(settings, outside) - 5 * 1024 ** 2).toBeLessThan(120_000);
  });

  it('is where dollars are the least', () => {
    const settings = quickestSettings(s3Limits);
    const dollarsOf = (sizeBytes: number, copyFromBytes: number) => {
      const [, free] = explainExport(input(500, sizeBytes), { ...settings, copyFromBytes }, rates);
      return free?.kind === 'possible' ? free.dollars : Number.NaN;
    };
    const copyFromBytes = breakEvenCopyBytes(settings, rates);
    expect(dollarsOf(30e6, copyFromBytes)).toBeLessThan(dollarsOf(30e6, 5 * 1024 ** 2));
    expect(dollarsOf(60e6, copyFromBytes)).toBeLessThan(dollarsOf(60e6, 100e6));
  });
});
