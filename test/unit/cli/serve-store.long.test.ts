import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { StoreProfile } from '../../../cli/doctor/profile.ts';
import { useTempFolders } from '../../support/temp-folder.ts';
import { cli } from './harness.ts';

const tempFolder = useTempFolders();
const url = 'http://127.0.0.1:1';
const profile: StoreProfile = {
  formatVersion: 1,
  probedAt: '2026-11-28T10:00:00.000Z',
  endpoint: url,
  region: 'us-east-1',
  bucket: 'first',
  usable: true,
  failed: [],
  warnings: [],
  holds: {
    checksumEnforced: true,
    lengthEnforced: true,
    startAfter: 'exact',
    listOrder: 'utf8',
    listConsistency: 'strong',
    maxPutBytes: null,
    partRules: { multipart: true, uploadPartCopy: true },
    clockSkewMs: 0,
  },
};

/** Without a public URL, no server starts. */
const start = async (data: string, ...store: string[]) => {
  const place = store[0] ? ['--store', store[0], '--bucket', String(store[1])] : [];
  return (await cli(['serve', '--data', data, ...place])).err;
};
const isNext = expect.stringContaining('--public-url');
const isTested = expect.stringContaining("The store couldn't be tested");

it('a folder whose objects are in a bucket is served with it alone, until its file is renamed', async () => {
  const data = tempFolder();
  const file = join(data, 'store-profile.json');
  writeFileSync(file, JSON.stringify(profile));
  expect(await start(data, url, 'first')).toEqual(isNext);
  // Another path is refused for what it is.
  expect(await start(data, `${url}/path`, 'first')).toEqual(isNext);

  const wayOut = `Start it with that store. If you moved the objects, or its URL changed, first rename ${file}.\n`;
  const refusal = (given: string) =>
    `error: The objects of ${data} are in bucket first at ${url}, not in ${given}.\n${wayOut}`;
  expect(await start(data)).toBe(refusal('its own store'));
  for (const [at, bucket] of [
    [url, 'second'],
    ['http://127.0.0.1:2', 'first'],
  ] as const)
    expect(await start(data, at, bucket)).toBe(refusal(`bucket ${bucket} at ${at}`));

  renameSync(file, `${file}.old`);
  expect(await start(data)).toEqual(isNext);
  expect(await start(data, url, 'second')).toEqual(isTested);
});

it('a folder with objects of its own is served with no bucket, until they are renamed', async () => {
  const data = tempFolder();
  const objects = join(data, 'store', 'objects');
  // What an object leaves that was deleted.
  mkdirSync(join(objects, 'ab'), { recursive: true });
  expect(await start(data, url, 'first')).toEqual(isTested);
  writeFileSync(join(objects, 'ab', 'cd'), '');
  expect(await start(data)).toEqual(isNext);
  expect(await start(data, url, 'first')).toBe(
    `error: The objects of ${data} are in its own store, not in bucket first at ${url}.\n` +
      `Start it with that store. If you moved the objects, or its URL changed, first rename ${objects}.\n`,
  );
  // A version that didn't know this rule has left them there.
  const file = join(data, 'store-profile.json');
  writeFileSync(file, JSON.stringify(profile));
  expect(await start(data, url, 'first')).toEqual(isNext);
  renameSync(file, `${file}.old`);
  renameSync(objects, `${objects}.old`);
  expect(await start(data, url, 'first')).toEqual(isTested);
});
