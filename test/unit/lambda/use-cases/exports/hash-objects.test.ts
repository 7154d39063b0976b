import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { exportSettingsFor } from '../../../../../lambda/domain/export/export-settings.ts';
import { SourceGoneError } from '../../../../../lambda/ports/archive-store.ts';
import { hashObjects } from '../../../../../lambda/use-cases/exports/hash-objects.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';

const mebibyte = 1024 ** 2;
const path = { tenant: 'acme', exportId: 'first' };

/** Hashes objects of these sizes. */
async function hash(
  sizes: readonly number[],
  {
    storeTells = true,
    tellsCrc32 = true,
    isOver = (): boolean => false,
    prepare = async (_archives: MemoryArchiveStore) => {},
  } = {},
) {
  const archives = new MemoryArchiveStore({ tellsCrc32: storeTells });
  const expected = new Map<string, number>();
  const objects = [];
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
