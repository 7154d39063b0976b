import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createSpace, readDisk } from '../../../local/space.ts';
import { useTempFolders } from '../../support/temp-folder.ts';

const tempFolder = useTempFolders();

/** A disk of 60 MB, of which 3 MB stay free. */
const sizeBytes = 60_000_000;
const mb = 1_000_000;
const untilMs = 1_000;

describe('the space for uploads', () => {
  let freeBytes: number;
  let nowMs: number;
  let folder: string;
  let stored: Set<string>;
  let looks: number;
  let take: (sizes: Record<string, number>) => { lacking: string[]; freeBytes: number };
  let leave: (key: string) => void;

  beforeEach(() => {
    freeBytes = 33 * mb;
    nowMs = 0;
    stored = new Set();
    folder = tempFolder();
    mkdirSync(join(folder, 'uploads'));
    mkdirSync(join(folder, 'multipart'));
    looks = 0;
    const head = (key: string) => {
      looks += 1;
      return stored.has(key) ? {} : undefined;
    };
    const space = createSpace(
      { folder, head },
      () => nowMs,
      () => ({ folder, freeBytes, sizeBytes }),
    );
    leave = space.leaveSpace;
    take = (sizes) => {
      const uploads = Object.entries(sizes).map(([key, diskBytes]) => ({ key, diskBytes }));
      const { lacking, ...rest } = space.takeSpace(uploads, untilMs);
      return { lacking: lacking.map(({ key }) => key), ...rest };
    };
  });

  it('is what is free, but for what the table needs, in the order of the request', () => {
    expect(take({ a: 20 * mb, b: 20 * mb, c: 10 * mb })).toEqual({ lacking: ['b'], freeBytes: 0 });
  });

  it('is promised until the object is stored, once for each key', () => {
    expect(take({ a: 20 * mb }).freeBytes).toBe(10 * mb);
    expect(take({ a: 20 * mb }).freeBytes).toBe(10 * mb);
    expect(take({ b: 11 * mb })).toEqual({ lacking: ['b'], freeBytes: 10 * mb });
    stored.add('a');
    freeBytes -= 20 * mb;
    expect(take({ b: 10 * mb })).toEqual({ lacking: [], freeBytes: 0 });
  });

  it('is not kept twice for the parts of a file that have arrived', () => {
    take({ film: 20 * mb, other: 2 * mb });
    for (const [id, key] of Object.entries({ one: 'film', two: 'of an upload of before' })) {
      mkdirSync(join(folder, 'multipart', id), { recursive: true });
      writeFileSync(join(folder, 'multipart', id, 'upload.json'), JSON.stringify({ id, key }));
      writeFileSync(join(folder, 'multipart', id, '00001'), Buffer.alloc(8 * mb));
    }
    freeBytes -= 16 * mb;
    expect(take({ a: 1 }).freeBytes).toBe(0);
    freeBytes += 3 * mb;
    expect(take({ a: 3 * mb })).toEqual({ lacking: [], freeBytes: 0 });
  });

  it('is promised until the upload can no longer come', () => {
    take({ a: 30 * mb });
    nowMs = untilMs;
    expect(take({ b: mb }).lacking).toEqual(['b']);
    nowMs = untilMs + 1;
    expect(take({ b: mb }).lacking).toEqual([]);
  });

  it("isn't taken twice by an upload that is arriving", () => {
    take({ a: 20 * mb });
    const file = join(folder, 'uploads', 'a');
    writeFileSync(file, Buffer.alloc(15 * mb));
    freeBytes -= 15 * mb;
    expect(take({ b: 10 * mb })).toEqual({ lacking: [], freeBytes: 0 });
    rmSync(file);
  });

  it('is free again once an upload has ended', () => {
    expect(take({ a: 30 * mb }).freeBytes).toBe(0);
    leave('b');
    leave('a');
    leave('a');
    expect(take({ b: 29 * mb })).toEqual({ lacking: [], freeBytes: mb });
  });

  it('is told without a look at all promises while there is enough', () => {
    freeBytes = 1_000_000 * mb;
    for (let each = 0; each < 30_000; each += 1) take({ [each]: 1 });
    expect(looks).toBeLessThan(100_000);
  });

  it('of a full disk is nothing, and of one that nobody can look at anything', () => {
    freeBytes = mb;
    expect(take({ a: 1 })).toEqual({ lacking: ['a'], freeBytes: 0 });
    freeBytes = Number.NaN;
    expect(take({ a: 1 }).lacking).toEqual([]);
  });
});

it('the disk of folders is the fullest of theirs', () => {
  const here = tempFolder();
  expect(readDisk(here)).toMatchObject({ folder: here, sizeBytes: expect.any(Number) });
  expect(readDisk(here).freeBytes).toBeLessThanOrEqual(readDisk(here).sizeBytes);
  expect(readDisk(join(here, 'nothing')).freeBytes).toBeNaN();
});
