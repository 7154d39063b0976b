import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Api, expectProblem, expectStatus } from '../../api.ts';
import { FilesPlace, sevens, type Upload } from './place.ts';

const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex');

const times = (states: readonly (string | number)[], of: string | number) =>
  states.filter((state) => state === of).length;
const at = (uploads: readonly Upload[], index: number) => uploads[index] as Upload;

/** Ten ways by which a client might get more than its limit. After each, what counts is what the store has. */
export function holeTests(api: () => Api): void {
  describe('a limit has no hole', () => {
    it('for a file whose size nobody says', async () => {
      const place = await FilesPlace.of(api());
      expectProblem(await place.ask('POST', 'uploads', { body: { files: [{ name: 'x' }] } }), 422, /bytes/);
      expect(await place.atRest()).toBe(0);
    });

    it('for a file of no bytes', async () => {
      const place = await FilesPlace.of(api());
      const zero = await place.one({ name: 'zero', bytes: 0 });
      expect([await place.put(zero, sevens(1000)), await place.put(zero, sevens(0))]).toEqual([403, 200]);
      expect(await place.atRest()).toBe(0);
      expect(await place.usage()).toMatchObject({ fileCount: 1, bytes: 0 });
    });

    it('for twenty at once of which one fits', async () => {
      const place = await FilesPlace.of(api());
      const all = Array.from({ length: 20 }, (_, index) => ({ name: `race/${index}`, bytes: 900_000 }));
      const uploads = await Promise.all(all.map((file) => place.one(file)));
      const states = uploads.map(({ state }) => state);
      expect([times(states, 'upload'), times(states, 'over-limit')]).toEqual([1, 19]);
      const refused = uploads.filter(({ state }) => state === 'over-limit');
      for (const each of refused)
        expect(each).toMatchObject({ limit: 'tenant', limitBytes: 1_000_000, shortBytes: 800_000 });
      const passed = uploads.find(({ state }) => state === 'upload') as Upload;
      expect(await place.put(passed, sevens(900_000))).toBe(200);
      expect(await place.atRest()).toBe(900_000);
    });

    it('for two halves of more than fits', async () => {
      const place = await FilesPlace.of(api());
      const { uploads, allUpload } = await place.request([
        { name: 'h1', bytes: 600_000 },
        { name: 'h2', bytes: 600_000 },
      ]);
      expect([...uploads.map(({ state }) => state), allUpload]).toEqual(['upload', 'over-limit', false]);
      expect(await place.put(at(uploads, 0), sevens(600_000))).toBe(200);
      expect(await place.one({ name: 'h2', bytes: 600_000 })).toMatchObject({ state: 'over-limit' });
      expect(await place.atRest()).toBe(600_000);
    });

    it('for other bytes than were asked for, or without the condition', async () => {
      const place = await FilesPlace.of(api());
      const sized = await place.one({ name: 'w', bytes: 500 });
      expect(await place.put(sized, sevens(501))).toBe(403);
      expect(await place.put(sized, sevens(499))).toBe(403);
      const { 'If-None-Match': _, 'if-none-match': __, ...others } = sized.headers ?? {};
      expect(await place.put(sized, sevens(500), others)).toBe(403);
      const hashed = await place.one({ name: 'sha', bytes: 700, sha256: sha256(Buffer.alloc(700)) });
      expect(await place.put(hashed, sevens(700))).toBe(400);
      expect(await place.atRest()).toBe(0);
    });

    it('for a file that is replaced later', async () => {
      const place = await FilesPlace.of(api());
      const { uploads } = await place.request([
        { name: 'one', bytes: 1000 },
        { name: 'two', bytes: 10 },
      ]);
      // Two sizes of one name.
      const larger = await place.one({ name: 'two', bytes: 2000 });
      expect(await place.put(at(uploads, 0), sevens(1000))).toBe(200);
      expect(await place.put(at(uploads, 0), sevens(1000))).toBe(412);
      expect([await place.put(at(uploads, 1), sevens(10)), await place.put(larger, sevens(2000))]).toEqual([
        200, 412,
      ]);
      expect(await place.atRest()).toBe(1010);
    });

    it('for a PUT that comes after the delete', async () => {
      const place = await FilesPlace.of(api());
      const upload = await place.store('w', sevens(900_000));
      expectStatus(await place.ask('DELETE', 'files?name=w'), 202);
      await expect.poll(() => place.usage()).toMatchObject({ fileCount: 0 });
      expect(await place.put(upload, sevens(900_000))).toBe(412);
      expect(await place.atRest()).toBe(0);
      // All of it is free.
      expect(await place.one({ name: 'next', bytes: 1_000_000 })).toMatchObject({ state: 'upload' });
      expect(await place.atRest()).toBe(0);
    });

    it('for any name', async () => {
      const place = await FilesPlace.of(api());
      const bad = ['../x', 'a//b', 'a/./b', '/a', 'a/', '__proto__', '_parts/x', 'a\u0000b', 'a\\b'];
      for (const name of [...bad, 'cafe\u0301', 'x'.repeat(801)]) {
        const answer = await place.ask('POST', 'uploads', { body: { files: [{ name, bytes: 1 }] } });
        expectProblem(answer, 422, /^files\.0\.name: must be /);
      }
      const good = [
        'Café',
        'café',
        'CAFÉ',
        'a b',
        'a+b%2F&<>"\'',
        '日本語/😀.png',
        `${'x'.repeat(199)}/`.repeat(4).slice(0, -1),
      ];
      for (const name of [...good, 'constructor', '10', 'a:b c']) await place.store(name, sevens(1));
      expect(await place.atRest()).toBe(10);
      expect(await place.usage()).toMatchObject({ fileCount: 10, bytes: 10 });
    });

    it('for thirty requests of one name at once', async () => {
      const place = await FilesPlace.of(api());
      const storm = await Promise.all(
        Array.from({ length: 30 }, () => place.one({ name: 'storm', bytes: 1000 })),
      );
      expect(storm.map(({ state }) => state)).toEqual(storm.map(() => 'upload'));
      const statuses = await Promise.all(storm.map((upload) => place.put(upload, sevens(1000))));
      // Some stores refuse more than a few at once.
      for (const status of statuses) expect([200, 409, 412, 429, 503]).toContain(status);
      expect(times(statuses, 200)).toBe(1);
      expect(await place.atRest()).toBe(1000);
    });

    it('for what was issued before the limit was lowered', async () => {
      const place = await FilesPlace.of(api());
      const issued = await place.one({ name: 'low', bytes: 500_000 });
      const path = `/v1/tenants/${place.own.tenant}`;
      expectStatus(await api().manage('PATCH', path, { limitBytes: 100_000 }), 200);
      expect(await place.put(issued, sevens(500_000))).toBe(200);
      expect(await place.one({ name: 'more', bytes: 1 })).toMatchObject({
        state: 'over-limit',
        limitBytes: 100_000,
      });
      expect(await place.atRest()).toBe(500_000);
    });
  });
}
