import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, bearer, jsonOf, newName, type TestTenant } from './api.ts';
import { comparable, expectProblem } from './errors.ts';
import type { Answer } from './exchange.ts';
import { objectOf, push } from './lfs.ts';

const objectPage = z.strictObject({
  objects: z.array(
    z.strictObject({
      repo: z.string(),
      oid: z.string(),
      sizeBytes: z.number(),
      // Every store that there is says when.
      storedAt: z.iso.datetime(),
    }),
  ),
  others: z.array(z.strictObject({ repo: z.string(), objectCount: z.number(), sizeBytes: z.number() })),
  nextCursor: z.string().nullable(),
});

/** The list of what a tenant stores. */
export function objectTests(api: () => Api): void {
  describe('the list of objects', () => {
    const stored = [1, 2, 3, 4, 0].map((size, index) => ({
      ...objectOf(size),
      repo: index < 2 ? 'art' : 'game',
    }));
    const shown = stored
      .map(({ repo, oid, size }) => ({ repo, oid, sizeBytes: size }))
      .sort((a, b) => (a.repo + a.oid < b.repo + b.oid ? -1 : 1));
    let own: TestTenant;
    let other: TestTenant;
    const get = (query: string, token: string, tenant = own.tenant) =>
      api().send({ method: 'GET', path: `/v1/tenants/${tenant}/objects${query}`, headers: bearer(token) });
    const list = async (query = '', token = own.readToken) => {
      const answer = await get(query, token);
      expect(answer.status, answer.text).toBe(200);
      return pageIn(answer);
    };
    /** Without the times, once they were looked at. */
    const pageIn = (answer: Answer) => {
      const { objects, others, nextCursor } = objectPage.parse(jsonOf(answer));
      for (const { storedAt } of objects)
        expect(Math.abs(Date.now() - Date.parse(storedAt))).toBeLessThan(30 * 60_000);
      return { objects: objects.map(({ storedAt: _, ...object }) => object), others, nextCursor };
    };

    beforeAll(async () => {
      [own, other] = [await api().newTenant(), await api().newTenant()];
      for (const repo of ['art', 'game'])
        await push(
          api(),
          { ...own, repo },
          stored.filter((object) => object.repo === repo),
        );
    });

    it('has what was just pushed, for the operator and any token of the tenant', async () => {
      for (const token of [own.readToken, own.writeToken, api().target.adminToken])
        expect(await list('', token)).toEqual({ objects: shown, others: [], nextCursor: null });
      const ofOther = pageIn(await get('', other.readToken, other.tenant));
      expect(ofOther).toEqual({ objects: [], others: [], nextCursor: null });
    });

    it('of a repo has no others', async () => {
      const inGame = shown.filter(({ repo }) => repo === 'game');
      for (const name of ['game', 'game.git'])
        expect(await list(`?repo=${name}`)).toEqual({ objects: inGame, others: [], nextCursor: null });
      expect(await list('?repo=gam')).toEqual({ objects: [], others: [], nextCursor: null });
    });

    it.each(['', '&repo=game'])('is read in pages, each object once (%j)', async (filter) => {
      const found: unknown[] = [];
      let cursor = '';
      for (let page = 0; page === 0 || cursor !== ''; page += 1) {
        expect(page, 'pages that do not end').toBeLessThan(10);
        const { objects, nextCursor } = await list(`?limit=2${filter}${cursor && `&cursor=${cursor}`}`);
        expect(objects.length).toBeLessThanOrEqual(2);
        found.push(...objects);
        cursor = nextCursor ?? '';
      }
      expect(found).toEqual(shown.filter(({ repo }) => filter === '' || repo === 'game'));
    });

    it('is not there for others, who cannot tell it from none', async () => {
      const refused = await get('', other.readToken);
      expectProblem(refused, 404, /no such tenant/);
      expect(comparable(await get('', other.readToken, newName()))).toEqual(comparable(refused));
      expectProblem(await get('', 'nobody'), 401);
    });

    it.each(['c', 'c0', 'art/1', `c${'61'.repeat(1022)}`, `c${'61'.repeat(1023)}`, `c${'ff'.repeat(400)}`])(
      'does not go on after %.20j, which is no cursor',
      async (cursor) => {
        expectProblem(await get(`?cursor=${cursor}`, own.readToken), 422, /^cursor: /);
      },
    );

    it.each(['c00', 'cff', 'c7e7e', 'c0a', `c${'/'.charCodeAt(0).toString(16)}`])(
      'is answered after %j, whatever that is',
      async (cursor) => {
        await list(`?cursor=${cursor}`);
      },
    );

    it.each(['?repo=', '?repo=..', '?repo=a%2fb', '?limit=0', '?limit=1001', '?prefix=a'])(
      'is refused for %s',
      async (query) => {
        expectProblem(await get(query, own.readToken), 422);
      },
    );
  });
}
