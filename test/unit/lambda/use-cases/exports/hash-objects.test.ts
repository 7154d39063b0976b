import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { exportSettingsFor } from '../../../../../lambda/domain/export/export-settings.ts';
import { SourceGoneError } from '../../../../../lambda/ports/archive-store.ts';
import { hashObjects } from '../../../../../lambda/use-cases/exports/hash-objects.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';

const mebibyte = 1024 ** 2;
const path = { tenant: 'acme', exportId: 'first' };

/** Hashes objects of these sizes. @param options.others sizes of objects that aren't in the store. */
async function hash(
  sizes: readonly number[],
  {
    storeTells = true,
    tellsCrc32 = true,
    isOver = (): boolean => false,
    prepare = async (_archives: MemoryArchiveStore) => {},
    others = [] as readonly number[],
  } = {},
) {
  const archives = new MemoryArchiveStore({ tellsCrc32: storeTells });
  const expected = new Map<string, number>();
  const objects = others.map((sizeBytes, index) => ({
    oid: `other ${index}`,
    sizeBytes,
    key: `acme/app/other ${index}`,
    etag: '"other"',
  }));
  for (const [index, sizeBytes] of sizes.entries()) {
    const [oid, bytes] = [String(index), Buffer.alloc(sizeBytes, `object ${index}`)];
    const source = await archives.putSource(`acme/app/${oid}`, bytes);
    objects.push({ oid, sizeBytes, ...source });
    expected.set(oid, crc32(bytes));
  }
  await prepare(archives);
  const exportSettings = { ...exportSettingsFor('s3', { workers: 1 }), tellsCrc32 };
  const told: { hashedBytes: number; requests: number }[] = [];
  const onObject = async (work: (typeof told)[number]) => void told.push(work);
  const run = hashObjects(
    { archives, exportSettings },
    { path, round: 1, unit: 0, objects, onObject, isOver },
  );
  const found = await run.catch((error: unknown) => error);
  const requests = told.reduce((sum, work) => sum + work.requests, 0);
  return { archives, found, expected, told, requests };
}

describe('the CRC-32 of objects', () => {
  it('is that of a copy for large ones, and small ones are read', async () => {
    const { archives, found, expected, told } = await hash([0, 1, mebibyte - 1, mebibyte, 2 * mebibyte]);
    expect(found).toEqual(expected);
    expect([archives.count('copyPart'), archives.count('readInto')]).toEqual([2, 2]);
    // Of nothing nothing is read.
    expect(told.map(({ hashedBytes, requests }) => [hashedBytes, requests])).toEqual(
      expect.arrayContaining([
        [0, 0],
        [1, 1],
        [mebibyte, 1],
      ]),
    );
    expect(archives.openUploads).toEqual([]);
  });

  it('of an object that is read in pieces takes as many requests', async () => {
    const sizes = [4 * mebibyte, 4 * mebibyte + 1, 9 * mebibyte];
    const { archives, found, expected, told } = await hash(sizes, { tellsCrc32: false });
    expect(found).toEqual(expected);
    expect(archives.count('createUpload')).toBe(0);
    expect(told.map(({ requests }) => requests).sort()).toEqual([1, 2, 3]);
    expect(archives.count('readInto')).toBe(6);
  });

  it('is read through a buffer of a piece, or of a smaller object', async () => {
    const buffers = new Set<number>();
    const prepare = async (archives: MemoryArchiveStore) => {
      const readInto = archives.readInto.bind(archives);
      archives.readInto = (source, range, into) => {
        buffers.add(into.buffer.byteLength);
        return readInto(source, range, into);
      };
    };
    await hash([3, 9 * mebibyte], { tellsCrc32: false, prepare });
    expect(buffers).toEqual(new Set([3, 4 * mebibyte]));
  });

  it('is that of a copy up to what a store copies in one request, and of no more copies than an upload has parts', async () => {
    const numbers: number[] = [];
    const prepare = async (archives: MemoryArchiveStore) => {
      archives.copyPart = async (_upload, { number, sizeBytes }) => {
        numbers.push(number);
        return { number, sizeBytes, etag: '"copy"', crc32: 7 };
      };
      archives.readInto = () => Promise.reject(new Error('This one is read.'));
    };
    const ofMany = (count: number, sizeBytes: number) =>
      hash([], { prepare, others: Array.from({ length: count }, () => sizeBytes) });
    const copyBytesMax = 5 * 1024 ** 3;
    expect((await ofMany(1, copyBytesMax)).found).toEqual(new Map([['other 0', 7]]));
    expect((await ofMany(1, copyBytesMax + 1)).found).toEqual(new Error('This one is read.'));
    numbers.length = 0;
    expect((await ofMany(10_001, mebibyte)).found).toEqual(new Error('This one is read.'));
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 1));
  });

  it('is read where the store does not tell that of a copy', async () => {
    const { archives, found, expected, requests } = await hash([5 * mebibyte], { storeTells: false });
    expect(found).toEqual(expected);
    expect([archives.count('copyPart'), archives.count('readInto'), requests]).toEqual([1, 2, 3]);
  });

  it('is not found if the time is over before, and nothing is left', async () => {
    for (const sizes of [
      [1, 2],
      [2 * mebibyte, 2 * mebibyte],
    ]) {
      let looks = 0;
      const isOver = () => {
        looks += 1;
        return looks > 1;
      };
      const { archives, found } = await hash(sizes, { isOver });
      expect(found).toBeUndefined();
      expect(archives.openUploads).toEqual([]);
    }
  });

  it('leaves nothing if an object is gone', async () => {
    const prepare = (archives: MemoryArchiveStore) => archives.delete(['acme/app/1']);
    const { archives, found } = await hash([2 * mebibyte, 2 * mebibyte], { prepare });
    expect(found).toBeInstanceOf(SourceGoneError);
    expect(archives.openUploads).toEqual([]);
  });
});
