import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, bearer, jsonOf, newName, type TestTenant } from './api.ts';
import { comparable, expectProblem } from './errors.ts';
import { newOid } from './lfs.ts';

const exportShape = z.object({
  exportId: z.string().regex(/^[0-9a-f]{24}$/),
  tenant: z.string(),
  repo: z.string().nullable(),
  state: z.enum(['planning', 'hashing', 'copying', 'done', 'explained', 'failed', 'cancelled', 'expired']),
  archives: z.array(z.object({ name: z.string(), url: z.string().nullable() })),
  countsAgainstQuota: z.literal(false),
});
const pageShape = z.object({ exports: z.array(exportShape), nextCursor: z.string().nullable() });

/** How exports are asked for, shown and deleted, whatever becomes of them. */
export function exportTests(api: () => Api): void {
  let own: TestTenant;
  let other: TestTenant;
  beforeAll(async () => {
    [own, other] = [await api().newTenant(), await api().newTenant()];
  });

  const pathOf = (tenant: string, exportId?: string) =>
    `/v1/tenants/${tenant}/exports${exportId === undefined ? '' : `/${exportId}`}`;
  const send = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
    api().send({
      method,
      path,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const started = async (tenant: string, body: unknown = {}) => {
    const answer = await api().manage('POST', pathOf(tenant), body);
    expect(answer.status, answer.text).toBe(202);
    return exportShape.parse(jsonOf(answer));
  };

  describe('an export', () => {
    it('is begun, shown, listed and deleted, by the operator and by any token of the tenant', async () => {
      const { tenant } = own;
      for (const token of [own.readToken, own.writeToken, api().target.adminToken]) {
        const begun = await send('POST', pathOf(tenant), bearer(token), { dryRun: true });
        expect(begun.status, begun.text).toBe(202);
        const { exportId } = exportShape.parse(jsonOf(begun));
        const shown = await send('GET', pathOf(tenant, exportId), bearer(token));
        expect(exportShape.parse(jsonOf(shown))).toMatchObject({ exportId, tenant, repo: null });
        const listed = pageShape.parse(jsonOf(await send('GET', pathOf(tenant), bearer(token))));
        expect(listed.exports[0]?.exportId).toBe(exportId);
        for (let times = 0; times < 2; times += 1) {
          const deleted = await send('DELETE', pathOf(tenant, exportId), bearer(token));
          expect(deleted.status, deleted.text).toBe(200);
          // It may have ended, or be gone, by then.
          expect(['cancelled', 'explained']).toContain(exportShape.parse(jsonOf(deleted)).state);
        }
      }
    });

    it('is begun once for an Idempotency-Key', async () => {
      const { tenant } = await api().newTenant();
      const headers = { ...bearer(api().target.adminToken), 'idempotency-key': randomUUID() };
      const begin = (body: unknown) => send('POST', pathOf(tenant), headers, body);
      const answers = await Promise.all([1, 2, 3].map(() => begin({})));
      const ids = answers.map((answer) => exportShape.parse(jsonOf(answer)).exportId);
      expect(new Set(ids).size).toBe(1);
      expectProblem(await begin({ format: 'zip' }), 422, /another body/);
    });

    it('is listed page by page, the newest first', async () => {
      const { tenant } = await api().newTenant();
      const ids = [];
      for (let index = 0; index < 3; index += 1) ids.push((await started(tenant)).exportId);
      const seen: string[] = [];
      let query = '?limit=2';
      for (let page = 0; query !== '' && page < 9; page += 1) {
        const answer = pageShape.parse(jsonOf(await api().manage('GET', `${pathOf(tenant)}${query}`)));
        seen.push(...answer.exports.map(({ exportId }) => exportId));
        query = answer.nextCursor === null ? '' : `?limit=2&cursor=${answer.nextCursor}`;
      }
      // Two that begin in the same millisecond have no order.
      expect([...seen].sort()).toEqual([...ids].sort());
      expect(seen.map((id) => id.slice(0, 12))).toEqual(
        seen
          .map((id) => id.slice(0, 12))
          .sort()
          .reverse(),
      );
    });

    it('needs a place, of which a tenant has three, and leaves it when it is deleted', async () => {
      const { tenant } = await api().newTenant();
      const ids = [];
      for (let index = 0; index < 3; index += 1) ids.push((await started(tenant)).exportId);
      const full = await api().manage('POST', pathOf(tenant), {});
      expectProblem(full, 409, /Delete one, or wait/);
      for (const id of ids) expect(full.text).toContain(id);
      await api().manage('DELETE', pathOf(tenant, ids[0]));
      await started(tenant);
    });

    it('is not there for others, who cannot tell it from none', async () => {
      const { exportId } = await started(own.tenant, { dryRun: true });
      for (const [method, path] of [
        ['GET', pathOf(own.tenant)],
        ['GET', pathOf(own.tenant, exportId)],
        ['DELETE', pathOf(own.tenant, exportId)],
        ['POST', pathOf(own.tenant)],
      ] as const) {
        const refused = await send(method, path, bearer(other.readToken), {});
        expectProblem(refused, 404, /no such tenant/);
        const absent = path.replace(own.tenant, newName());
        expect(comparable(await send(method, absent, bearer(other.readToken), {}))).toEqual(
          comparable(refused),
        );
        expectProblem(await send(method, path, {}, {}), 401);
      }
      // Nor is it one of another tenant.
      for (const method of ['GET', 'DELETE'])
        expectProblem(await api().manage(method, pathOf(other.tenant, exportId)), 404, /no export/);
    });

    it.each(['0'.repeat(24), 'x', '0'.repeat(25), '%2e%2e', `${'0'.repeat(23)}G`])(
      'has an id that is one: %s is not found',
      async (exportId) => {
        for (const method of ['GET', 'DELETE'])
          expectProblem(await api().manage(method, pathOf(own.tenant, exportId)), 404);
      },
    );

    it.each([
      { body: { repo: '../x' }, detail: /^repo: must be/ },
      { body: { format: 'rar' }, detail: /^format: / },
      { body: { prefer: 'both' }, detail: /^prefer: / },
      { body: { dryrun: true }, detail: /dryrun/ },
      { body: { dryRun: 'true' }, detail: /^dryRun: / },
      { body: { objects: [] }, detail: /^objects: must name/ },
      { body: { objects: [{ oid: 'x' }] }, detail: /^objects\.0\.oid: must be 64/ },
      { body: { objects: [{ oid: newOid(), name: '../x' }] }, detail: /^objects\.0\.name: must be/ },
      { body: { objects: [1, 2].map(() => ({ oid: newOid(), name: 'x' })) }, detail: /two objects/ },
      { body: [], detail: /\w/ },
    ])('is refused for $body', async ({ body, detail }) => {
      expectProblem(await api().manage('POST', pathOf(own.tenant), body), 422, detail);
    });

    it('of a repo that has nothing is refused', async () => {
      expectProblem(await api().manage('POST', pathOf(own.tenant), { repo: 'nothing' }), 404, /no repo/);
    });

    it('ends with its tenant', async () => {
      const { tenant, readToken } = await api().newTenant();
      const { exportId } = await started(tenant);
      expect((await api().manage('DELETE', `/v1/tenants/${tenant}`)).status).toBe(202);
      const begin = await api().manage('POST', pathOf(tenant), {});
      // The tenant may be gone by then, or still be seen by the operator.
      expect([404, 409]).toContain(begin.status);
      expect([401, 404]).toContain((await send('GET', pathOf(tenant), bearer(readToken))).status);
      const shown = await api().manage('GET', pathOf(tenant, exportId));
      if (shown.status === 200)
        expect(['cancelled', 'expired']).toContain(exportShape.parse(jsonOf(shown)).state);
      else expectProblem(shown, 404);
    });
  });
}
