import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, expectProblem } from '../../api.ts';
import { FilesPlace, sevens } from './place.ts';

const gib = 1024 ** 3;
const codeOf = (text: string) => z.looseObject({ code: z.string() }).parse(JSON.parse(text));

/** Files that one PUT can't carry. Nobody sends as much here. */
export function partTests(api: () => Api): void {
  describe('a file above 5 GiB', () => {
    it('gets a URL for each of its parts, and counts in full until it is canceled', async () => {
      const place = await FilesPlace.of(api(), 10 * gib);
      const upload = await place.one({ name: 'film', bytes: 6 * gib });
      const { parts = [], uploadId = '' } = upload;
      expect([upload.state, upload.url, parts.length]).toEqual(['upload', undefined, 100]);
      expect(parts.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(6 * gib);
      expect((await place.counted())?.committedBytes).toBe(6 * gib);
      expect(await place.one({ name: 'other', bytes: 5 * gib })).toMatchObject({ state: 'over-limit' });

      const [first] = parts;
      if (!first) throw new Error('There is no part.');
      expect(await place.put(first, sevens(first.bytes + 1))).toBe(403);
      expect(await place.put(first, sevens(first.bytes))).toBe(200);
      const again = await place.one({ name: 'film', bytes: 6 * gib });
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
          /^files\.0: a file in parts has/,
        );
      expectProblem(await ask([{ name: 'a', bytes: 5_000 * gib + 1 }]), 422, /can be up to 4\.88 TiB/);
      const many = await ask(Array.from({ length: 11 }, (_, at) => ({ name: `${at}`, bytes: 6 * gib })));
      expect([many.status, codeOf(many.text).code]).toEqual([413, 'too-many-files']);
    });
  });
}
