import { randomBytes } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import { type EmbeddedStack, startEmbeddedStack } from '../../../../local/start.ts';
import { Api } from '../../../blackbox/api.ts';
import { FilesPlace, type Upload } from '../../../blackbox/subjects/files/place.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const adminToken = 'admin-token-of-this-test';
const mib = 1024 ** 2;
/** Three parts, the last one of 1,234 bytes. */
const content = randomBytes(10 * mib + 1234);

let stack: EmbeddedStack | undefined;
afterEach(async () => {
  await stack?.close();
  stack = undefined;
});

async function started(): Promise<FilesPlace> {
  stack = await startEmbeddedStack({
    port: 0,
    dataDir: tempFolder(),
    adminToken,
    settings: { objectBytesMax: 5 * mib, clockSkewMs: 100 },
    queueTiming: { quietMs: 100, quietMaxMs: 200, spacingMs: 100 },
  });
  return FilesPlace.of(new Api({ url: stack.url, adminToken }), 20 * mib);
}

/** @returns the statuses of the store. */
const send = (place: FilesPlace, { parts = [] }: Upload) =>
  Promise.all(
    parts.map((part) => {
      const from = (part.number - 1) * 5 * mib;
      return part.stored ? 'there' : place.put(part, content.subarray(from, from + part.bytes));
    }),
  );

const confirm = (place: FilesPlace, { uploadId = '' }: Upload) =>
  place.ask('POST', `uploads/${uploadId}`, { body: { name: 'film' } });

it('a file that one PUT cannot carry arrives in parts, byte for byte, and is counted', async () => {
  const place = await started();
  const asked = { name: 'film', bytes: content.length };
  const upload = await place.one(asked);
  const first = { ...upload, parts: upload.parts?.slice(0, 1) };
  expect(await send(place, first)).toEqual([200]);
  expect((await confirm(place, upload)).text).toContain('PUT the other parts of film first: 2 to 3.');
  const again = await place.one(asked);
  expect(await send(place, again)).toEqual(['there', 200, 200]);
  const all = await Promise.all([confirm(place, again), confirm(place, again)]);
  expect(all.map(({ status, text }) => [status, JSON.parse(text)])).toEqual([
    [200, asked],
    [200, asked],
  ]);
  expect((await confirm(place, again)).status).toBe(200);

  const found = await place.ask('POST', 'downloads', { body: { files: [{ name: 'film' }] } });
  const { url } = JSON.parse(found.text).downloads[0];
  expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(content)).toBe(true);
  expect(await place.one(asked)).toMatchObject({ state: 'name-taken', storedBytes: content.length });
  expect(await place.atRest()).toBe(content.length);
});
