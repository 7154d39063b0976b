import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { SourceGoneError } from '../../../../../lambda/core/store/rules/archive-store.ts';
import { Crc32s } from '../../../../../lambda/subjects/exports/crc32s.ts';
import {
  addProgress,
  crc32sKey,
  type ExportProgress,
  noProgress,
} from '../../../../../lambda/subjects/exports/rules/job.ts';
import type { HeadPiece } from '../../../../../lambda/subjects/exports/rules/orders.ts';
import { exportSettingsFor } from '../../../../../lambda/subjects/exports/rules/settings.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';

const mebibyte = 1024 ** 2;
const path = { tenant: 'acme', exportId: 'first' };

/** Who finds CRC-32s, and an object of this size whose bytes go on behind the part. */
async function world(sizeBytes: number, { storeTells = true, tellsCrc32 = true } = {}) {
  const archives = new MemoryArchiveStore({ tellsCrc32: storeTells });
  const bytes = Buffer.alloc(sizeBytes, 'an object ');
  const source = await archives.putSource('acme/app/object', bytes);
  const deps = { archives, exportSettings: { ...exportSettingsFor('s3', { workers: 1 }), tellsCrc32 } };
  const crc32s = new Crc32s(deps, { path, round: 1, unit: 3 });
  const head: HeadPiece = { kind: 'head', member: { name: 'a', sizeBytes }, crc32At: 16, source };
  const works: ExportProgress[] = [];
  const onPart = async (work: ExportProgress) => void works.push(work);
  const find = async (ownBytes = 0, of = head, { by = crc32s, isOver = false } = {}) =>
    by.of(of, bytes.subarray(0, ownBytes), await by.told(of), { onPart, isOver: () => isOver });
  return { archives, bytes, deps, crc32s, head, find, works, crc32: crc32(bytes) };
}

describe('the CRC-32 of an object', () => {
  it('that is whole in its part is that of these bytes, and takes nothing else', async () => {
    const { archives, crc32s, head, find, crc32 } = await world(9 * mebibyte);
    const { source: _, ...whole } = head;
    expect(await find(9 * mebibyte, whole)).toEqual({ crc32, requests: 0, hashedBytes: 0 });
    expect([archives.count('readInto'), archives.count('createUpload')]).toEqual([0, 0]);
    expect(crc32s.found).toEqual([[16, crc32]]);
  });

  it('is that of a copy if it is large, and nothing is left', async () => {
    const { archives, crc32s, find, crc32 } = await world(mebibyte);
    expect(await find(5)).toEqual({ crc32, requests: 1, hashedBytes: mebibyte });
    await find();
    expect([archives.count('copyPart'), archives.count('readInto')]).toEqual([2, 0]);
    expect(archives.openUploads).toMatchObject([{ parts: 2 }]);
    await crc32s.end();
    expect(archives.openUploads).toEqual([]);
  });

  it.each([
    ['is small', mebibyte - 1, {}, 1],
    ['is in a store that tells none', 9 * mebibyte, { tellsCrc32: false }, 3],
    ['is in a store that should tell, and does not', 9 * mebibyte, { storeTells: false }, 3],
    ['is empty', 0, {}, 0],
  ])('is read if it %s, through a buffer of a piece', async (_title, sizeBytes, options, requests) => {
    const { archives, find, works, crc32 } = await world(sizeBytes, options);
    const { readInto } = archives;
    let largest = 0;
    archives.readInto = (from, range, into) => {
      largest = Math.max(largest, into.buffer.byteLength);
      return readInto.call(archives, from, range, into);
    };
    // Its pieces count as they come.
    expect(await find()).toEqual({ crc32, requests: 0, hashedBytes: 0 });
    expect(works.reduce(addProgress, noProgress)).toEqual({
      ...noProgress,
      requests,
      hashedBytes: sizeBytes,
    });
    expect(archives.count('readInto')).toBe(requests);
    expect(largest).toBe(Math.min(sizeBytes, 4 * mebibyte));
  });

  it('is read from where its part ends', async () => {
    const { archives, find, crc32 } = await world(9 * mebibyte, { tellsCrc32: false });
    expect(await find(5 * mebibyte + 1)).toEqual({ crc32, requests: 0, hashedBytes: 5 * mebibyte + 1 });
    expect(archives.count('readInto')).toBe(1);
  });

  it('is read over several runs if it is too large for one, each byte once', async () => {
    const { archives, deps, find, head, works, crc32 } = await world(9 * mebibyte, { tellsCrc32: false });
    const found = [];
    // The time of each run is over after its first piece.
    for (let run = 0; run < 2; run += 1) {
      const by = new Crc32s(deps, { path, round: 1, unit: 3 });
      await by.recall();
      found.push(await find(mebibyte, head, { by, isOver: true }));
      await by.put(false);
    }
    expect(found).toEqual([undefined, { crc32, requests: 0, hashedBytes: mebibyte }]);
    expect(archives.count('readInto')).toBe(2);
    expect(works.map(({ hashedBytes }) => hashedBytes)).toEqual([4 * mebibyte, 4 * mebibyte]);
  });

  it('whose head begins in another part is put down by that one', async () => {
    const { crc32s, head, find, crc32 } = await world(10);
    const { crc32At: _, ...rest } = head;
    expect(await find(0, rest)).toMatchObject({ crc32 });
    expect(crc32s.found).toEqual([]);
  });

  it('leaves nothing if the object is gone', async () => {
    const { archives, crc32s, find } = await world(2 * mebibyte);
    await archives.delete(['acme/app/object']);
    await expect(find()).rejects.toThrow(SourceGoneError);
    await crc32s.end();
    expect(archives.openUploads).toEqual([]);
  });

  it.each([true, false])('is known to the next worker, all of a unit or not: %s', async (isWhole) => {
    const { archives, deps, crc32s, head, find } = await world(10);
    const part = { kind: 'upload', pieces: [{ kind: 'zeros', sizeBytes: 1 }, head] } as const;
    await find();
    await crc32s.put(isWhole);
    expect(await archives.head(crc32sKey(path, { round: 1, unit: 3, isWhole }))).toBeDefined();
    const next = new Crc32s(deps, { path, round: 1, unit: 3 });
    expect(next.has(part)).toBe(false);
    await next.recall();
    expect([next.has(part), next.found]).toEqual([true, crc32s.found]);
  });
});
