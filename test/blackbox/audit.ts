import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Api,
  bearer,
  bodyOf,
  comparable,
  expectProblem,
  expectStatus,
  jsonOf,
  newName,
  type TestTenant,
} from './api.ts';
import { objectOf, push } from './lfs.ts';

const fields = z.record(z.string(), z.json());
const entryShape = z.strictObject({
  time: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  requestId: z.string().min(1),
  by: z.strictObject({
    kind: z.enum(['operator', 'token', 'identity']),
    tokenId: z.string().nullable(),
    name: z.string().nullable(),
  }),
  action: z.string(),
  target: fields,
  asked: fields.nullable(),
  outcome: z.enum(['started', 'succeeded', 'denied', 'failed']),
  reason: z.string().nullable(),
  before: fields.nullable(),
  after: fields.nullable(),
});
const pageShape = z.strictObject({ entries: z.array(entryShape), nextCursor: z.string().nullable() });

/** Who did what to a tenant. */
export function auditTests(api: () => Api): void {
  describe('the audit', () => {
    let own: TestTenant;
    let other: TestTenant;
    let manage: { tokenId: string; token: string };
    const at = () => `/v1/tenants/${own.tenant}`;
    const read = async (query = '', headers: Record<string, string> = bearer(manage.token)) => {
      return bodyOf(await api().as(headers, 'GET', `${at()}/audit${query}`), 200, pageShape);
    };
    const newest = async () => {
      const [entry] = (await read('?limit=1')).entries;
      if (!entry) throw new Error('nothing was audited');
      return entry;
    };

    beforeAll(async () => {
      own = await api().newTenant({ limitBytes: 1_000_000 });
      other = await api().newTenant();
      manage = await api().newToken(own.tenant, { scope: 'manage', user: 'ada' });
      await push(api(), { ...own, repo: 'game' }, [objectOf(50)]);
    });

    it('begins with the tenant, and has no secrets', async () => {
      const { entries, nextCursor } = await read();
      expect(nextCursor).toBeNull();
      expect(entries.map(({ action }) => action)).toEqual([
        'token.create',
        'token.create',
        'token.create',
        'tenant.create',
      ]);
      expect(entries.at(-1)).toMatchObject({
        by: { kind: 'operator', tokenId: null },
        outcome: 'succeeded',
        asked: { tenant: own.tenant, limitBytes: 1_000_000 },
        after: { limitBytes: 1_000_000 },
      });
      expect(entries[0]).toMatchObject({ after: { tokenId: manage.tokenId, scope: 'manage', user: 'ada' } });
      const text = JSON.stringify(entries);
      for (const { token } of [manage, { token: own.writeToken }, { token: own.readToken }])
        expect(text).not.toContain(token.slice(5));
    });

    it('tells who changed what, from what to what', async () => {
      expectStatus(await api().manage('PATCH', at(), { limitBytes: 2_000_000, plan: 'team' }), 200);
      expect(await newest()).toMatchObject({
        by: { kind: 'operator' },
        action: 'tenant.update',
        asked: { limitBytes: 2_000_000, plan: 'team' },
        outcome: 'succeeded',
        before: { limitBytes: 1_000_000, plan: null },
        after: { limitBytes: 2_000_000, plan: 'team' },
      });
      const revoked = await api().as(bearer(manage.token), 'DELETE', `${at()}/tokens/${'0'.repeat(16)}`);
      expectProblem(revoked, 404);
      expect(await newest()).toMatchObject({
        by: { kind: 'token', tokenId: manage.tokenId, name: 'ada' },
        action: 'token.revoke',
        target: { tokenId: '0'.repeat(16) },
        outcome: 'denied',
        reason: 'token-not-found',
      });
    });

    it('has nothing of reads, dry runs and what nobody was allowed to do', async () => {
      const before = await read();
      await api().manage('GET', at());
      await api().manage('DELETE', `${at()}?dryRun=true`);
      await api().manage('PATCH', at(), { limit: 5 });
      for (const token of [own.writeToken, other.writeToken])
        await api().as(bearer(token), 'DELETE', `${at()}/repos/game`);
      expect(await read()).toEqual(before);
    });

    it('is read a page at a time, by day and by action', async () => {
      const { entries } = await read('', bearer(api().target.adminToken));
      const paged = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const page: z.output<typeof pageShape> = await read(`?limit=2${cursor && `&cursor=${cursor}`}`);
        paged.push(...page.entries);
        cursor = page.nextCursor;
      }
      expect(paged).toEqual(entries);
      expect((await read('?action=tenant.create')).entries).toEqual(entries.slice(-1));
      expect((await read('?to=2020-01-01')).entries).toEqual([]);
      const day = entries[0]?.time.slice(0, 10);
      expect((await read(`?from=${day}`)).entries.length).toBeGreaterThan(0);
      for (const query of ['?from=yesterday', '?action=token.steal'])
        expectProblem(await api().as(bearer(manage.token), 'GET', `${at()}/audit${query}`), 422);
    });

    it('is for the operator and who manages the tenant; to others there is no such tenant', async () => {
      const ask = (tenant: string, headers: Record<string, string>) =>
        api().as(headers, 'GET', `/v1/tenants/${tenant}/audit`);
      for (const token of [own.writeToken, own.readToken])
        expectProblem(await ask(own.tenant, bearer(token)), 403);
      expectProblem(await ask(own.tenant, {}), 401);
      const foreign = (await api().newToken(other.tenant, { scope: 'manage' })).token;
      const refused = await ask(own.tenant, bearer(foreign));
      expectProblem(refused, 404);
      expect(comparable(await ask(newName(), bearer(foreign)))).toEqual(comparable(refused));
      expectProblem(await api().manage('GET', `/v1/tenants/${newName()}/audit`), 404);
    });

    it('outlives the tenant, for the operator', async () => {
      const gone = await api().newTenant();
      expectStatus(await api().manage('DELETE', `/v1/tenants/${gone.tenant}`), 202);
      const answer = await api().manage('GET', `/v1/tenants/${gone.tenant}/audit?limit=1`);
      expect(answer.status, answer.text).toBe(200);
      expect(pageShape.parse(jsonOf(answer)).entries).toMatchObject([
        { action: 'tenant.delete', outcome: 'succeeded' },
      ]);
    });
  });
}
