import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type Checkpoint, CheckpointFile } from '../../../../cli/du/checkpoint.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const scan: Checkpoint['scan'] = {
  bucket: 'few',
  prefix: '',
  endpoint: null,
  order: 'parallel',
  folders: null,
};

/** A scan that has just begun. */
const begun = (objects: number): Checkpoint => ({
  scan,
  beganMs: 1,
  savedMs: 2,
  runs: 1,
  activeMs: 1,
  objects,
  bytes: '0',
  requests: 0,
  failed: 0,
  throttled: 0,
  rest: { ranges: [{ after: null, last: null }], objectsExpected: null },
  folders: null,
});
const options = { everyMs: 1e9, onFailure: (error: unknown) => expect(error).toBeUndefined() };

it('goes on with what was saved, and with what it saved itself', async () => {
  const name = path.join(tempFolder(), 'scan');
  for (const objects of [1, 2]) {
    const file = await CheckpointFile.open(name, scan);
    expect(file.found?.objects).toBe(objects === 1 ? undefined : 1);
    file.begin(() => begun(objects), options);
    await file.end();
    await file.close();
  }
});

it('is refused to a second process, and never replaces what one wrote that it did not see', async () => {
  const name = path.join(tempFolder(), 'scan');
  const first = await CheckpointFile.open(name, scan);
  first.begin(() => begun(1), options);
  const lock = readFileSync(`${name}.lock`, 'utf8');
  writeFileSync(`${name}.lock`, JSON.stringify({ pid: process.ppid, host: hostname() }));
  await expect(CheckpointFile.open(name, scan)).rejects.toThrow(`in use by process ${process.ppid}`);
  writeFileSync(`${name}.lock`, lock);
  await first.end();
  const saved = readFileSync(name, 'utf8').replace('"objects":1', '"objects":2');
  writeFileSync(name, saved);
  await expect(first.end()).rejects.toThrow('Another process wrote');
  await first.close();
  expect(readFileSync(name, 'utf8')).toBe(saved);
});
