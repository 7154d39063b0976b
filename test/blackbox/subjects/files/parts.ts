import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, expectProblem } from '../../api.ts';
import { FilesPlace, sevens, type Upload } from './place.ts';

const [mib, gib] = [1024 ** 2, 1024 ** 3];
const codeOf = (text: string) => z.looseObject({ code: z.string() }).parse(JSON.parse(text));

/** Files that one PUT can't carry. Nobody sends as much here. */
export function partTests(api: () => Api): void {
  // What is above 5 GiB goes as these do. Twice as much of a disk is kept for each, until its upload ends.
  describe('a file in parts', () => {
    it('gets a URL for each of its parts, and counts in full until it is canceled', async () => {
      const place = await FilesPlace.of(api(), gib);
      const film = { name: 'film', bytes: 600 * mib, inParts: true };
      const upload = await place.one(film);
      const { parts = [], uploadId = '' } = upload;
      expect([upload.state, upload.url, parts.length]).toEqual(['upload', undefined, 100]);
      expect(parts.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(film.bytes);
      expect((await place.counted())?.committedBytes).toBe(film.bytes);
      expect(await place.one({ name: 'other', bytes: 500 * mib })).toMatchObject({ state: 'over-limit' });

      const [first] = parts;
      if (!first) throw new Error('There is no part.');
      expect(await place.put(first, sevens(first.bytes + 1))).toBe(403);
      expect(await place.put(first, sevens(first.bytes))).toBe(200);
      const again = await place.one(film);
      expect([again.uploadId, again.parts?.[0]]).toEqual([
        uploadId,
        { number: 1, bytes: first.bytes, stored: true },
      ]);
      const early = await place.ask('POST', `uploads/${uploadId}`, { body: { name: 'film' } });
      expect([early.status, codeOf(early.text)]).toMatchObject([
        409,
        { code: 'parts-missing', detail: 'PUT the other parts of film first: 2 to 100.' },
      ]);

      expect((await place.cancel(uploadId)).status).toBe(202);
      expect(await place.put(first, sevens(first.bytes))).toBe(404);
      expect(await place.atRest()).toBe(0);
      const ended = await place.ask('POST', `uploads/${uploadId}`, { body: { name: 'film' } });
      expect([ended.status, codeOf(ended.text).code]).toEqual([404, 'file-not-stored']);
    });

    it('has neither SHA-256 nor type, and no more parts than an answer can have', async () => {
      const place = await FilesPlace.of(api(), null);
      const ask = (files: readonly object[]) => place.ask('POST', 'uploads', { body: { files } });
      for (const more of [{ sha256: 'a'.repeat(64) }, { contentType: 'a/b' }])
        expectProblem(
          await ask([{ name: 'a', bytes: 6 * gib, ...more }]),
          422,
          /^files\.0: a file in parts, such as/,
        );
      const some = { bytes: 200 * mib, inParts: true };
      expect(await place.one({ name: 'c', ...some, sha256: 'a'.repeat(64) })).not.toHaveProperty('parts');
      expect(await place.one({ name: 'd', ...some })).toHaveProperty('parts');
      expectProblem(await ask([{ name: 'a', bytes: 5_000 * gib + 1 }]), 422, /can be up to 4\.88 TiB/);
      const many = await ask(Array.from({ length: 11 }, (_, at) => ({ name: `${at}`, bytes: 6 * gib })));
      expect([many.status, codeOf(many.text).code]).toEqual([413, 'too-many-files']);
    });
  });
}

/** Of a server that takes 5 MiB in one PUT. */
export const smallParts = {
  settings: { objectBytesMax: 5 * mib, clockSkewMs: 100 },
  queueTiming: { quietMs: 100, quietMaxMs: 200, spacingMs: 100 },
};
/** Three parts, the last one of 1,234 bytes. */
const content = randomBytes(10 * mib + 1234);

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

/** Sends a file of three parts, and asks whether it's there. */
export async function sendInParts(api: Api): Promise<void> {
  const place = await FilesPlace.of(api, 20 * mib);
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
  expect(content.equals((await api.follow(url, { method: 'GET' })).bytes)).toBe(true);
  expect(await place.one(asked)).toMatchObject({ state: 'name-taken', storedBytes: content.length });
  expect(await place.atRest()).toBe(content.length);
}
