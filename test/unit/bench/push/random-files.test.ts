import { readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { checkPulled } from '../../../../bench/push/git-client.ts';
import { writeRandomFiles } from '../../../../bench/push/random-files.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();

it('the files of a case have their size, differ, and do not shrink', async () => {
  const folder = tempFolder();
  await writeRandomFiles(folder, { name: 'a case', files: 101, fileBytes: 4000 });
  const [first, last] = ['part-0/file-0.bin', 'part-1/file-100.bin'].map((name) =>
    readFileSync(join(folder, name)),
  );
  expect(first).toHaveLength(4000);
  expect(last).toHaveLength(4000);
  expect(first?.equals(last ?? Buffer.alloc(0))).toBe(false);
  expect(gzipSync(first ?? '').length).toBeGreaterThan(3900);
});

it('a larger file is written in chunks, and none of them twice', async () => {
  const folder = tempFolder();
  const chunkBytes = 16 * 1024 * 1024;
  await writeRandomFiles(folder, { name: 'a case', files: 1, fileBytes: chunkBytes + 1000 });
  const bytes = readFileSync(join(folder, 'part-0', 'file-0.bin'));
  expect(bytes).toHaveLength(chunkBytes + 1000);
  expect(bytes.subarray(0, 1000).equals(bytes.subarray(chunkBytes))).toBe(false);
});

it('a pull that left a pointer or a part of a file is noticed', async () => {
  const folder = tempFolder();
  const one = { name: 'a case', files: 3, fileBytes: 1000 };
  await writeRandomFiles(folder, one);
  expect(() => checkPulled(folder, one)).not.toThrow();
  truncateSync(join(folder, 'part-0', 'file-1.bin'), 130);
  expect(() => checkPulled(folder, one)).toThrow('2 of 3 files were pulled');
});
