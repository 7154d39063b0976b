import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, bearer, jsonOf, newName } from './api.ts';
import { expectProblem } from './errors.ts';

const tenantPage = z.strictObject({
  tenants: z.array(z.object({ tenant: z.string() })),
  nextCursor: z.string().nullable(),
});

/** The list of tenants, and the management API's bodies. */
export function tenantListTests(api: () => Api): void {
  describe('the list of tenants', () => {
    const list = async (query: string) => {
      const answer = await api().manage('GET', `/v1/tenants?${query}`);
      expect(answer.status, answer.text).toBe(200);
      return tenantPage.parse(jsonOf(answer));
    };

    it('is read in pages, each tenant once, by name', async () => {
      const made = [];
      for (let index = 0; index < 5; index += 1) made.push((await api().newTenant()).tenant);
      const names: string[] = [];
      let cursor = '';
      for (let page = 0; page === 0 || cursor !== ''; page += 1) {
        expect(page, 'pages that do not end').toBeLessThan(1000);
        const { tenants, nextCursor } = await list(`limit=2${cursor && `&cursor=${cursor}`}`);
        expect(tenants.length).toBeLessThanOrEqual(2);
        names.push(...tenants.map(({ tenant }) => tenant));
        cursor = nextCursor ?? '';
      }
      expect(names).toEqual([...new Set(names)].sort());
      expect(names).toEqual(expect.arrayContaining(made));
    });

    it.each(['0', '-1', '1.5', '1001', 'many', '', '1&limit=2', '0x10', '1e2', ' 5'])(
      'has no pages of %j',
      async (limit) => {
        const path = `/v1/tenants?limit=${limit.replace(' ', '%20')}`;
        expectProblem(await api().manage('GET', path), 422, /^limit: /);
      },
    );

    it.each(['', 'acme', 'x'.repeat(3000), '%00', '%ff', '..', 'c0', 'cABCD', `c${'61'.repeat(1001)}`])(
      'does not go on after %j, which is no cursor',
      async (cursor) => {
        expectProblem(await api().manage('GET', `/v1/tenants?cursor=${cursor}`), 422, /^cursor: /);
      },
    );

    it('takes no parameter that it does not know', async () => {
      expectProblem(await api().manage('GET', '/v1/tenants?after=a'), 422, /after/);
    });
  });

  describe('a body', () => {
    it.each([
      ['', 400],
      ['{', 400],
      ['{"tenant":"a"}x', 400],
      ['"a"', 422],
      ['[['.repeat(30_000), 400],
      ['[['.repeat(100_000), 413],
      [`${' '.repeat(1024 * 1024)}{}`, 413],
    ])('%.20j gets a %i', async (body, status) => {
      const headers = { ...bearer(api().target.adminToken), 'content-type': 'application/json' };
      expectProblem(await api().send({ method: 'POST', path: '/v1/tenants', headers, body }), status);
    });

    it.each([undefined, 'text/plain', 'application/x-www-form-urlencoded', 'application/vnd.git-lfs+json'])(
      'of type %s gets a 415',
      async (type) => {
        const headers = { ...bearer(api().target.adminToken), ...(type && { 'content-type': type }) };
        const body = JSON.stringify({ tenant: newName() });
        const answer = await api().send({ method: 'POST', path: '/v1/tenants', headers, body });
        expectProblem(answer, 415, /application\/json/);
      },
    );

    it('may name a charset', async () => {
      const headers = {
        ...bearer(api().target.adminToken),
        'content-type': 'Application/JSON; charset=utf-8',
      };
      const body = JSON.stringify({ tenant: newName() });
      expect((await api().send({ method: 'POST', path: '/v1/tenants', headers, body })).status).toBe(201);
    });
  });
}
