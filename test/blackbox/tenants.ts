import { describe, expect, it } from 'vitest';
import { type Api, jsonOf, newName } from './api.ts';
import { expectProblem } from './errors.ts';

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
        downloadLimitBytes: null,
        reposMustExist: false,
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

    it('is created by one of many who try at once', async () => {
      const tenant = newName();
      const tries = await Promise.all(Array.from({ length: 8 }, () => create({ tenant })));
      expect(tries.map(({ status }) => status).sort()).toEqual([
        201,
        ...Array.from({ length: 7 }, () => 409),
      ]);
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
      [{}, /limitBytes, downloadLimitBytes, plan or reposMustExist/],
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
}
