import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeAlike, readAll } from '../../../../bench/push/alike.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();

it('every file below a folder is read, whole', async () => {
  const folder = tempFolder();
  mkdirSync(join(folder, 'a', 'b'), { recursive: true });
  writeFileSync(join(folder, 'a', 'small'), 'x');
  writeFileSync(join(folder, 'a', 'b', 'large'), Buffer.alloc(2_500_000));
  writeFileSync(join(folder, 'empty'), '');
  expect(await readAll(folder)).toBe(2_500_001);
  expect(await readAll(folder, Buffer.alloc(1000))).toBe(2_500_001);
});

it('conditions that cannot be made alike end the run', async () => {
  const folder = tempFolder();
  await expect(makeAlike({ flushed: folder, warmed: [folder] })).resolves.toBeUndefined();
  await expect(makeAlike({ flushed: folder, warmed: [join(folder, 'absent')] })).rejects.toThrow('ENOENT');
});
