import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, basic, bodyOf, expectLfsError, expectProblem, expectStatus, jsonOf } from '../../api.ts';
import { ask, batch, newOid, objectOf, objectsIn, type Place, pointer, postBatch, push } from '../../lfs.ts';
import type { Subject } from '../../subject.ts';
import { publicRepoTests } from './public-repos.ts';

/** Downloads of what is stored. */
function downloadTests(api: () => Api): void {
  describe('a download', () => {
    const [object, other, empty] = [objectOf(1000), objectOf(10), objectOf(0)];
    let place: Place;
    const get = (href: string, headers: Record<string, string> = {}) =>
      api().follow(href, { method: 'GET', headers });

    beforeAll(async () => {
      place = await api().newPlace();
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
      const error = { code: 404, message: expect.stringMatching(/Object not found/) };
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
      const elsewhere = await api().newPlace();
      for (const foreign of [elsewhere, { ...place, repo: 'other' }]) {
        expect((await ask(api(), foreign, 'download', object)).error?.code).toBe(404);
      }
    });

    it('is offered by a link that is good for nothing else', async () => {
      const { actions } = await ask(api(), place, 'download', object);
      const href = actions?.download?.href ?? '';
      for (const method of ['PUT', 'DELETE']) {
        expectStatus(await api().follow(href, { method, body: object.content }), 403);
      }
      const moved = href.replace(object.oid, other.oid);
      expect((await get(moved)).status).toBe(403);
      expect((await get(href)).status).toBe(200);
    });
  });
}

const pageShape = z.strictObject({
  month: z.strictObject({
    month: z.string().regex(/^\d{4}-\d{2}$/),
    bytes: z.number(),
    objects: z.number(),
    limitBytes: z.number().nullable(),
    resetsAt: z.string().regex(/^\d{4}-\d{2}-01T00:00:00Z$/),
  }),
  downloads: z.array(
    z.strictObject({
      day: z.iso.date(),
      repo: z.string(),
      tokenId: z.string(),
      bytes: z.number(),
      objects: z.number(),
    }),
  ),
  nextCursor: z.string().nullable(),
});

/** What was offered for download, and how it ends. */
function downloadMeterTests(api: () => Api): void {
  describe('the meter of downloads', () => {
    const [large, small] = [objectOf(700), objectOf(300)];
    let place: Place;
    const pathOf = (tenant: string, query = '') => `/v1/tenants/${tenant}/downloads${query}`;
    const read = async (query = '') => {
      return bodyOf(await api().manage('GET', pathOf(place.tenant, query)), 200, pageShape);
    };
    const pull = (
      objects: readonly { oid: string; size: number }[],
      more: { repo?: string; token?: string } = {},
    ) => {
      const { repo = place.repo, token = place.readToken } = more;
      const body = { operation: 'download', objects: objects.map(pointer) };
      return postBatch(api(), { ...place, repo }, body, basic(token));
    };

    beforeEach(async () => {
      place = await api().newPlace();
      for (const repo of ['game', 'film']) await push(api(), { ...place, repo }, [large, small]);
    });

    it('shows nothing before anything was pulled, and no limit', async () => {
      expect(await read()).toMatchObject({
        month: { bytes: 0, objects: 0, limitBytes: null },
        downloads: [],
      });
    });

    it('counts what is offered, by repo and token; not what is not stored, and no push', async () => {
      objectsIn(await pull([large, small]));
      objectsIn(await pull([large, { oid: newOid(), size: 5_000_000 }]));
      objectsIn(await pull([{ ...small, size: 301 }]));
      objectsIn(await pull([small], { repo: 'film', token: place.writeToken }));
      const { month, downloads, nextCursor } = await read();
      expect(month).toMatchObject({ bytes: 2000, objects: 4, limitBytes: null });
      expect(nextCursor).toBeNull();
      expect(downloads.map(({ repo, bytes, objects }) => [repo, bytes, objects])).toEqual([
        ['film', 300, 1],
        ['game', 1700, 3],
      ]);
      expect(new Set(downloads.map(({ tokenId }) => tokenId)).size).toBe(2);
      expect((await read('?repo=film')).downloads).toHaveLength(1);
      expect((await read('?from=2020-01-01&to=2020-01-31')).downloads).toEqual([]);
      const first = await read('?limit=1');
      expect(first.downloads).toEqual(downloads.slice(0, 1));
      expect((await read(`?limit=1&cursor=${first.nextCursor}`)).downloads).toEqual(downloads.slice(1));
    });

    it('ends downloads at the limit of the month with one answer, and no push', async () => {
      for (const _ of [1, 2]) objectsIn(await pull([large, small]));
      const limit = (downloadLimitBytes: number | null) =>
        api().manage('PATCH', `/v1/tenants/${place.tenant}`, { downloadLimitBytes });
      const changed = await limit(2900);
      expect([changed.status, jsonOf(changed)]).toMatchObject([
        200,
        { downloadLimitBytes: 2900, limitBytes: null },
      ]);
      const refused = await pull([large, small]);
      expectLfsError(refused, 509, /used 1\.95 KiB of 2\.83 KiB, this needs 1000 B\./);
      const { month } = await read();
      expect(month).toMatchObject({ bytes: 2000, objects: 4, limitBytes: 2900 });
      expect(refused.text).toContain(month.resetsAt.slice(0, 10));
      objectsIn(await pull([large]));
      expectLfsError(await pull([small]), 509);
      await push(api(), place, [objectOf(10)]);
      expect((await limit(null)).status).toBe(200);
      objectsIn(await pull([small]));
      expect((await read()).month).toMatchObject({ bytes: 3000, limitBytes: null });
    });

    it.each(['from=2026-13-01', 'from=2026-02-30', 'to=yesterday', 'from='])(
      'is not read by %s',
      async (query) => {
        expectProblem(await api().manage('GET', pathOf(place.tenant, `?${query}`)), 422);
      },
    );
  });
}

/** All that the suite asks of this subject. */
export const downloadsSubject: Subject = {
  callers: {
    'POST /{tenant}/{repo}/info/lfs/objects/copies': 'git',
    'GET /v1/tenants/{tenant}/downloads': 'reader',
  },
  lists: ['downloads'],
  tests: (api) => {
    describe('downloads', () => downloadTests(api));
    downloadMeterTests(api);
    publicRepoTests(api);
  },
};
