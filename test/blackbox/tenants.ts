import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, bearer, jsonOf, newName } from './api.ts';
import { expectProblem } from './errors.ts';

const tenantPage = z.strictObject({
  tenants: z.array(z.object({ tenant: z.string() })),
  next: z.string().nullable(),
});

/** The management API's tenants. */
export function tenantTests(api: () => Api): void {
  const create = (body: unknown) => api().manage('POST', '/v1/tenants', body);

  describe('a tenant', () => {
    it('is created with all that is known of it, and shown', async () => {
      const tenant = newName();
      const created = await create({ tenant, limitBytes: 1000, plan: 'small' });
      expect(created.status).toBe(201);
      expect(created.headers['content-type']).toBe('application/json');
      expect(jsonOf(created)).toEqual({
        tenant,
        plan: 'small',
        limitBytes: 1000,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        usage: expect.objectContaining({ storedBytes: 0, objectCount: 0, source: 'cache' }),
      });
      const shown = await api().manage('GET', `/v1/tenants/${tenant}`);
      expect([shown.status, jsonOf(shown)]).toEqual([200, jsonOf(created)]);
    });

    it('has no limit and no plan unless it is given one', async () => {
      const tenant = newName();
      expect(jsonOf(await create({ tenant }))).toMatchObject({ limitBytes: null, plan: null });
    });

    it('is created once', async () => {
      const { tenant } = await api().newTenant({ limitBytes: 5 });
      expectProblem(await create({ tenant, limitBytes: 6 }), 409, new RegExp(tenant));
      expect(jsonOf(await api().manage('GET', `/v1/tenants/${tenant}`))).toMatchObject({ limitBytes: 5 });
    });

    it.each([
      ...['', '-a', 'a-', 'UPPER', 'a.b', 'a_b', 'a/b', '..', 'a b', 'é', 'a\n', 'x'.repeat(41)],
      ...['v1', 'health', 'assets', 7, null, undefined, ['a'], {}],
    ])('can not be called %j', async (tenant) => {
      expectProblem(await create({ tenant }), 422, /^tenant: /);
    });

    it.each([-1, 1.5, 2 ** 53, 1e300, '5', true, [], {}])('can not have the limit %j', async (limitBytes) => {
      expectProblem(await create({ tenant: newName(), limitBytes }), 422, /^limitBytes: /);
      const { tenant } = await api().newTenant();
      expectProblem(
        await api().manage('PATCH', `/v1/tenants/${tenant}`, { limitBytes }),
        422,
        /^limitBytes: /,
      );
    });

    it('can have any limit up to 2^53 − 1 bytes', async () => {
      const limitBytes = Number.MAX_SAFE_INTEGER;
      expect(jsonOf(await create({ tenant: newName(), limitBytes }))).toMatchObject({ limitBytes });
    });

    it('gets another limit and plan, each without the other', async () => {
      const { tenant } = await api().newTenant({ limitBytes: 5, plan: 'small' });
      const patch = async (change: object) => {
        const answer = await api().manage('PATCH', `/v1/tenants/${tenant}`, change);
        expect(answer.status, answer.text).toBe(200);
        return jsonOf(answer);
      };
      expect(await patch({ limitBytes: 7 })).toMatchObject({ limitBytes: 7, plan: 'small' });
      expect(await patch({ plan: 'large' })).toMatchObject({ limitBytes: 7, plan: 'large' });
      expect(await patch({ limitBytes: null })).toMatchObject({ limitBytes: null, plan: 'large' });
      expect(await patch({ limitBytes: 0, plan: null })).toMatchObject({ limitBytes: 0, plan: null });
    });

    it.each([
      [{}, /limitBytes or plan/],
      [{ limit: 5 }, /limit/],
      [{ tenant: 'renamed' }, /tenant/],
      [{ plan: '' }, /^plan: /],
      [{ plan: 'x'.repeat(101) }, /^plan: /],
      [null, /expected object/],
      [[], /expected object/],
    ])('is not changed by %j', async (change, detail) => {
      const { tenant } = await api().newTenant({ limitBytes: 5 });
      expectProblem(await api().manage('PATCH', `/v1/tenants/${tenant}`, change), 422, detail);
    });

    it('that does not exist is neither shown nor changed', async () => {
      for (const tenant of [newName(), 'UPPER', '..', '%2e%2e', 'a%2fb', 'x'.repeat(3000), '%00']) {
        const path = `/v1/tenants/${tenant}`;
        expectProblem(await api().manage('GET', path), 404);
        expectProblem(await api().manage('PATCH', path, { limitBytes: 5 }), 404);
        expectProblem(await api().manage('POST', `${path}/reconcile`), 404);
        expectProblem(await api().manage('GET', `${path}/repos`), 404);
        expectProblem(await api().manage('GET', `${path}/subscription`), 404);
      }
    });

    it('is recounted when that is asked for', async () => {
      const { tenant } = await api().newTenant();
      const asked = await api().manage('POST', `/v1/tenants/${tenant}/reconcile`);
      expect([asked.status, jsonOf(asked)]).toEqual([202, { tenant, queued: true }]);
    });
  });

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
      let after = 'bb';
      for (let page = 0; after !== ''; page += 1) {
        expect(page, 'pages that do not end').toBeLessThan(1000);
        const { tenants, next } = await list(`limit=2&after=${after}`);
        expect(tenants.length).toBeLessThanOrEqual(2);
        names.push(...tenants.map(({ tenant }) => tenant));
        after = next ?? '';
      }
      expect(names).toEqual([...new Set(names)].sort());
      expect(names).toEqual(expect.arrayContaining(made));
    });

    it.each(['0', '-1', '1.5', '1001', 'many', '', '1&limit=2', '0x10', '1e2', ' 5'])(
      'has no pages of %j',
      async (limit) => {
        const path = `/v1/tenants?limit=${limit.replace(' ', '%20')}`;
        expectProblem(await api().manage('GET', path), 422, /limit/);
      },
    );

    it.each(['UPPER', 'x'.repeat(3000), '%00', '%ff', '..', 'a&after=b'])(
      'does not go on after %j, which is no name',
      async (after) => {
        expectProblem(await api().manage('GET', `/v1/tenants?after=${after}`), 422, /after/);
      },
    );

    it('goes on after a name that is none of theirs', async () => {
      expect((await list(`after=${'z'.repeat(40)}`)).next).toBe(null);
    });
  });

  describe('a body', () => {
    it.each([
      ['', 400],
      ['{', 400],
      ['{"tenant":"a"}x', 400],
      ['"a"', 422],
      ['[['.repeat(100_000), 400],
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
