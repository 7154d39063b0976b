import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { lockFile } from '../../../cli/file-lock.ts';
import { useTempFolders } from '../../support/temp-folder.ts';

vi.mock(import('node:fs/promises'), async (original) => ({
  ...(await original()),
  link: async (from) => {
    const beside = String(from);
    // What a process that is killed here leaves.
    copyFileSync(beside, beside.replace(/[0-9a-f-]{36}/, 'killed'));
    throw Object.assign(new Error('Not on this file system.'), { code: 'EPERM' });
  },
}));

const tempFolder = useTempFolders();

it('locks on a file system that knows no links, and leaves nothing there', async () => {
  const file = path.join(tempFolder(), 'file');
  const lock = `${file}.lock`;
  const unlock = await lockFile(file, 'uses it');
  expect(readdirSync(path.dirname(file))).toEqual(['file.lock']);
  expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject({ pid: process.pid });
  await unlock();
  expect(existsSync(lock)).toBe(false);
  writeFileSync(lock, JSON.stringify({ pid: process.ppid, host: hostname() }));
  await expect(lockFile(file, 'uses it')).rejects.toThrow(`in use by process ${process.ppid}`);
});
