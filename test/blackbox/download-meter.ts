import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, basic, jsonOf } from './api.ts';
import { expectLfsError, expectProblem } from './errors.ts';
import { newOid, objectOf, objectsIn, type Place, pointer, postBatch, push } from './lfs.ts';

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
export function downloadMeterTests(api: () => Api): void {
  describe('the meter of downloads', () => {
    const [large, small] = [objectOf(700), objectOf(300)];
    let place: Place;
    const pathOf = (tenant: string, query = '') => `/v1/tenants/${tenant}/downloads${query}`;
    const read = async (query = '') => {
      const answer = await api().manage('GET', pathOf(place.tenant, query));
      expect(answer.status, answer.text).toBe(200);
      return pageShape.parse(jsonOf(answer));
    };
    const pull = (
      objects: readonly { oid: string; size: number }[],
      more: { repo?: string; token?: string } = {},
    ) => {
      const { repo = place.repo, token = place.readToken } = more;
      const body = { operation: 'download', objects: objects.map(pointer) };
      return postBatch(api(), { ...place, repo }, body, basic(token));
    };

    beforeAll(async () => {
      place = { ...(await api().newTenant()), repo: 'game' };
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
      const limit = (downloadLimitBytes: number | null) =>
        api().manage('PATCH', `/v1/tenants/${place.tenant}`, { downloadLimitBytes });
      const changed = await limit(2900);
      expect([changed.status, jsonOf(changed)]).toMatchObject([
        200,
        { downloadLimitBytes: 2900, limitBytes: null },
      ]);
      const refused = await pull([large, small]);
      expectLfsError(
        refused,
        509,
        /used up: 1\.95 KiB of 2\.83 KiB were offered, and this asks for 1000 B\./,
      );
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

    it.each(['from=2026-13-01', 'from=2026-02-30', 'to=yesterday', 'from=', 'since=2026-01-01', 'cursor=x'])(
      'is not read by %s',
      async (query) => {
        expectProblem(await api().manage('GET', pathOf(place.tenant, `?${query}`)), 422);
      },
    );
  });
}
