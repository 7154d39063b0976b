import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, basic, jsonOf, newName } from './api.ts';
import { expectLfsError, expectProblem } from './errors.ts';
import { newOid, objectsIn, postBatch } from './lfs.ts';

const tokenPage = z.object({
  tokens: z.array(z.object({ tokenId: z.string() })),
  nextCursor: z.string().nullable(),
});

/** Tokens of a tenant: made, listed, used and revoked. */
export function tokenTests(api: () => Api): void {
  const tokensOf = (tenant: string) => `/v1/tenants/${tenant}/tokens`;
  const download = () => ({ operation: 'download', objects: [{ oid: newOid(), size: 1 }] });
  const upload = () => ({ operation: 'upload', objects: [{ oid: newOid(), size: 1 }] });

  describe('a token', () => {
    let shared: string;
    beforeAll(async () => {
      shared = (await api().newTenant()).tenant;
    });

    it('is shown when it is made, and never again', async () => {
      const { tenant } = await api().newTenant();
      const made = await api().manage('POST', tokensOf(tenant), {
        scope: 'write',
        label: 'build machine',
        user: 'ada',
        repos: ['game', 'film'],
        expiresInSeconds: 7200,
      });
      expect(made.status, made.text).toBe(201);
      expect(jsonOf(made)).toEqual({
        tenant,
        tokenId: expect.stringMatching(/^[0-9a-f]{16}$/),
        token: expect.stringMatching(/^lfsq_[A-Za-z0-9]{32,}$/),
        scope: 'write',
        label: 'build machine',
        user: 'ada',
        repos: ['game', 'film'],
        createdAt: expect.stringMatching(/Z$/),
        expiresAt: expect.stringMatching(/Z$/),
        lastUsedAt: null,
      });
      const { createdAt, expiresAt } = jsonOf(made) as { createdAt: string; expiresAt: string };
      expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(7_200_000);
      const { token, tenant: _, ...known } = jsonOf(made) as Record<string, string>;
      expect(made.headers['location']).toBe(`${tokensOf(tenant)}/${known['tokenId']}`);
      const shown = await api().manage('GET', made.headers['location'] ?? '');
      expect([shown.status, jsonOf(shown)]).toEqual([200, known]);
      const listed = await api().manage('GET', tokensOf(tenant));
      expect(listed.status).toBe(200);
      expect(jsonOf(listed)).toEqual({ tokens: expect.arrayContaining([known]), nextCursor: null });
      expect((jsonOf(listed) as { tokens: unknown[] }).tokens).toHaveLength(3);
      expect(listed.text).not.toContain('lfsq_');
      expect(token).not.toContain(known['tokenId']);
    });

    it('is listed in pages, each once, in the order of creation', async () => {
      const { tenant } = await api().newTenant();
      for (let made = 0; made < 3; made += 1) await api().newToken(tenant, { scope: 'read' });
      const ids: string[] = [];
      let cursor: string | null = null;
      do {
        const query: string = cursor === null ? '' : `&cursor=${cursor}`;
        const answer = await api().manage('GET', `${tokensOf(tenant)}?limit=2${query}`);
        const page = tokenPage.parse(jsonOf(answer));
        expect(page.tokens.length).toBeLessThanOrEqual(2);
        ids.push(...page.tokens.map(({ tokenId }) => tokenId));
        cursor = page.nextCursor;
        expect(ids.length, 'pages that do not end').toBeLessThan(10);
      } while (cursor !== null);
      const all = tokenPage.parse(jsonOf(await api().manage('GET', tokensOf(tenant))));
      expect(ids).toEqual(all.tokens.map(({ tokenId }) => tokenId));
      expect(ids).toHaveLength(5);
    });

    it('is another each time', async () => {
      const { tenant } = await api().newTenant();
      const made = await Promise.all(
        Array.from({ length: 5 }, () => api().newToken(tenant, { scope: 'read' })),
      );
      expect(new Set(made.map(({ token }) => token)).size).toBe(5);
      expect(new Set(made.map(({ tokenId }) => tokenId)).size).toBe(5);
    });

    it('is refused from the moment it is revoked, and the others are not', async () => {
      const tenant = await api().newTenant();
      const { tokenId, token } = await api().newToken(tenant.tenant, { scope: 'write' });
      const place = { ...tenant, repo: 'game' };
      objectsIn(await postBatch(api(), place, download(), basic(token)));
      const path = `${tokensOf(tenant.tenant)}/${tokenId}`;
      expect((await api().manage('DELETE', path)).status).toBe(204);
      expectLfsError(await postBatch(api(), place, download(), basic(token)), 401);
      objectsIn(await postBatch(api(), place, download()));
      expectProblem(await api().manage('DELETE', path), 404);
      const listed = await api().manage('GET', tokensOf(tenant.tenant));
      expect(listed.text).not.toContain(tokenId);
    });

    it('is not revoked by way of another tenant, nor under an id that is none', async () => {
      const [one, other] = [await api().newTenant(), await api().newTenant()];
      const { tokenId, token } = await api().newToken(one.tenant, { scope: 'read' });
      for (const id of [tokenId, '0'.repeat(16), 'UPPER', '%2e%2e', '..', 'x'.repeat(3000), token]) {
        expectProblem(await api().manage('DELETE', `${tokensOf(other.tenant)}/${id}`), 404);
      }
      objectsIn(await postBatch(api(), { ...one, repo: 'game' }, download(), basic(token)));
    });

    it('that may only read does not upload, and all may download', async () => {
      const tenant = await api().newTenant();
      const place = { ...tenant, repo: 'game' };
      expectLfsError(await postBatch(api(), place, upload(), basic(tenant.readToken)), 403, /write token/);
      for (const token of [tenant.readToken, tenant.writeToken]) {
        objectsIn(await postBatch(api(), place, download(), basic(token)));
      }
      objectsIn(await postBatch(api(), place, upload(), basic(tenant.writeToken)));
    });

    it('is shown with its last use', async () => {
      const tenant = await api().newTenant();
      const { tokenId, token } = await api().newToken(tenant.tenant, { scope: 'read' });
      const lastUse = async () => {
        const shown = await api().manage('GET', `${tokensOf(tenant.tenant)}/${tokenId}`);
        return (jsonOf(shown) as { lastUsedAt: string | null }).lastUsedAt;
      };
      expect(await lastUse()).toBeNull();
      objectsIn(await postBatch(api(), { ...tenant, repo: 'game' }, download(), basic(token)));
      expect(Math.abs(Date.now() - Date.parse((await lastUse()) ?? ''))).toBeLessThan(5 * 60_000);
    });

    it('with the scope manage administers its tenant, but not its limit', async () => {
      const { tenant } = await api().newTenant();
      const { token } = await api().newToken(tenant, { scope: 'manage' });
      const headers = { ...basic(token), 'content-type': 'application/json' };
      const send = (method: string, path: string, body?: object) =>
        api().send({ method, path, headers, ...(body && { body: JSON.stringify(body) }) });
      const made = await send('POST', tokensOf(tenant), { scope: 'read' });
      expect(made.status, made.text).toBe(201);
      const path = made.headers['location'] ?? '';
      expect((await send('GET', path)).status).toBe(200);
      expect((await send('DELETE', path)).status).toBe(204);
      expect((await send('POST', `/v1/tenants/${tenant}/reconcile`)).status).toBe(202);
      expectProblem(await send('PATCH', `/v1/tenants/${tenant}`, { limitBytes: null }), 401);
      expectProblem(await send('DELETE', `/v1/tenants/${tenant}`), 401);
    });

    it.each([
      [{}, /^scope: /],
      [{ scope: 'admin' }, /^scope: /],
      [{ scope: ['read', 'write'] }, /^scope: /],
      [{ scope: 'read', label: '' }, /^label: /],
      [{ scope: 'read', label: 'a\u001b[31m' }, /^label: can't have invisible/],
      [{ scope: 'read', user: 'a\u202eb' }, /^user: can't have invisible/],
      [{ scope: 'read', label: 'x'.repeat(101) }, /^label: /],
      [{ scope: 'read', token: 'lfsq_chosen' }, /token/],
      [{ scope: 'read', user: '' }, /^user: /],
      [{ scope: 'read', repos: [] }, /^repos: /],
      [{ scope: 'read', repos: ['game', 'game'] }, /^repos: /],
      [{ scope: 'read', repos: ['..'] }, /^repos.*: /],
      [{ scope: 'manage', repos: ['game'] }, /^repos: .*whole tenant/],
      [{ scope: 'read', expiresInSeconds: 299 }, /^expiresInSeconds: .*365 days/],
      [{ scope: 'read', expiresInSeconds: 31_536_001 }, /^expiresInSeconds: /],
      [{ scope: 'read', expiresInSeconds: '1h' }, /^expiresInSeconds: /],
      ['read', /expected object/],
    ])('is not made of %j', async (body, detail) => {
      expectProblem(await api().manage('POST', tokensOf(shared), body), 422, detail);
    });

    it('may have any text as its label', async () => {
      const { tenant } = await api().newTenant();
      const label = 'ä 😀 "quoted" <b> \\';
      await api().manage('POST', tokensOf(tenant), { scope: 'read', label });
      const listed = jsonOf(await api().manage('GET', tokensOf(tenant)));
      expect(listed).toMatchObject({ tokens: expect.arrayContaining([expect.objectContaining({ label })]) });
    });

    it('is of a tenant that exists', async () => {
      for (const tenant of [newName(), 'UPPER', '%2e%2e']) {
        expectProblem(await api().manage('POST', tokensOf(tenant), { scope: 'read' }), 404);
        expectProblem(await api().manage('GET', tokensOf(tenant)), 404);
        expectProblem(await api().manage('DELETE', `${tokensOf(tenant)}/${'0'.repeat(16)}`), 404);
      }
    });
  });
}
