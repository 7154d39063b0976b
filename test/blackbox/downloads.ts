import { beforeAll, describe, expect, it } from 'vitest';
import { type Api, basic } from './api.ts';
import { ask, batch, newOid, objectOf, objectsIn, type Place, pointer, postBatch, push } from './lfs.ts';

/** Downloads of what is stored. */
export function downloadTests(api: () => Api): void {
  describe('a download', () => {
    const [object, other, empty] = [objectOf(1000), objectOf(10), objectOf(0)];
    let place: Place;
    const get = (href: string, headers: Record<string, string> = {}) =>
      api().follow(href, { method: 'GET', headers });

    beforeAll(async () => {
      place = { ...(await api().newTenant()), repo: 'game' };
      await push(api(), place, [object, other, empty]);
    });

    it('is offered to whoever may read', async () => {
      const body = { operation: 'download', objects: [pointer(object)] };
      const answer = await postBatch(api(), place, body, basic(place.readToken));
      expect(objectsIn(answer)).toEqual([
        {
          ...pointer(object),
          authenticated: true,
          actions: {
            download: {
              href: expect.stringContaining(object.oid),
              header: expect.any(Object),
              expires_in: expect.any(Number),
            },
          },
        },
      ]);
    });

    it('gives the very bytes', async () => {
      const answers = await batch(api(), place, 'download', [object, other, empty]);
      for (const { oid, content } of [object, other, empty]) {
        const action = answers.get(oid)?.actions?.download;
        const got = await get(action?.href ?? '', action?.header);
        expect(got.status).toBe(200);
        expect(got.bytes.equals(content)).toBe(true);
      }
    });

    it.each([
      ['bytes=0-9', 0, 10],
      ['bytes=500-', 500, 1000],
      ['bytes=-3', 997, 1000],
      ['bytes=999-5000', 999, 1000],
    ])('is resumed by %s', async (range, from, to) => {
      const { actions } = await ask(api(), place, 'download', object);
      const got = await get(actions?.download?.href ?? '', { range });
      expect(got.status).toBe(206);
      expect(got.headers['content-range']).toBe(`bytes ${from}-${to - 1}/1000`);
      expect(got.bytes.equals(object.content.subarray(from, to))).toBe(true);
    });

    it('beyond the end gives nothing', async () => {
      const { actions } = await ask(api(), place, 'download', object);
      expect((await get(actions?.download?.href ?? '', { range: 'bytes=1000-' })).status).toBe(416);
    });

    it('of what is missing is a 404 of that object, and the others go on', async () => {
      const missing = { oid: newOid(), size: 7 };
      const answers = await batch(api(), place, 'download', [missing, object]);
      const error = { code: 404, message: expect.stringMatching(/not stored/) };
      expect(answers.get(missing.oid)).toEqual({ ...missing, error });
      expect(answers.get(object.oid)).toHaveProperty('actions.download');
    });

    it('of another size than is stored is a 422 of that object, and the others go on', async () => {
      const wrong = { oid: object.oid, size: 999 };
      const answers = await batch(api(), place, 'download', [wrong, other]);
      const error = { code: 422, message: expect.stringMatching(/1000 bytes.*999/) };
      expect(answers.get(wrong.oid)).toEqual({ ...wrong, error });
      expect(answers.get(other.oid)).toHaveProperty('actions.download');
    });

    it('is of the repo’s own objects', async () => {
      const elsewhere = { ...(await api().newTenant()), repo: 'game' };
      for (const foreign of [elsewhere, { ...place, repo: 'other' }]) {
        expect((await ask(api(), foreign, 'download', object)).error?.code).toBe(404);
      }
    });

    it('is offered by a link that is good for nothing else', async () => {
      const { actions } = await ask(api(), place, 'download', object);
      const href = actions?.download?.href ?? '';
      for (const method of ['PUT', 'DELETE']) {
        const answer = await api().follow(href, { method, body: object.content });
        expect(answer.status, answer.text).toBe(403);
      }
      const moved = href.replace(object.oid, other.oid);
      expect((await get(moved)).status).toBe(403);
      expect((await get(href)).status).toBe(200);
    });
  });
}
