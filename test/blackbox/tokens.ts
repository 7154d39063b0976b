import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Answer,
  type Api,
  allPages,
  basic,
  bearer,
  bodyOf,
  expectLfsError,
  expectProblem,
  expectStatus,
  jsonOf,
  pageQuery,
  type TestTenant,
} from './api.ts';
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
      expectStatus(made, 201);
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

    it('for files that start with something says so, and is none that manages a tenant', async () => {
      const { tenant } = await api().newTenant();
      const made = await api().newToken(tenant, { scope: 'write', prefix: 'users/7/' });
      const listed = jsonOf(await api().manage('GET', tokensOf(tenant))) as { tokens: object[] };
      expect(listed.tokens.filter((token) => 'prefix' in token)).toMatchObject([{ prefix: 'users/7/' }]);
      const shown = await api().as(bearer(made.token), 'GET', '/v1/session');
      expect([shown.status, jsonOf(shown)]).toMatchObject([200, { scope: 'write', prefix: 'users/7/' }]);
      const refused = async (body: object, why: RegExp) =>
        expectProblem(await api().manage('POST', tokensOf(tenant), body), 422, why);
      await refused({ scope: 'manage', prefix: 'users/7/' }, /prefix: .* with the scope manage/);
      await refused({ scope: 'write', prefix: '' }, /prefix: can't be empty/);
      for (const prefix of ['../', '/etc', 'a//', 'a\\b', 'cafe\u0301/', '_usage/', 'x'.repeat(801)])
        await refused({ scope: 'write', prefix }, /prefix: must be the start of a valid file name/);
    });

    it('is listed in pages, each once, in the order of creation', async () => {
      const { tenant } = await api().newTenant();
      for (let made = 0; made < 3; made += 1) await api().newToken(tenant, { scope: 'read' });
      const page = async (query: string) =>
        bodyOf(await api().manage('GET', tokensOf(tenant) + query), 200, tokenPage);
      const idsOf = ({ tokens }: z.output<typeof tokenPage>) => tokens.map(({ tokenId }) => tokenId);
      const ids = await allPages(2, (cursor) => page(`?${pageQuery(2, cursor)}`), idsOf);
      expect(ids).toEqual(idsOf(await page('')));
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
      expectLfsError(await postBatch(api(), place, upload(), basic(tenant.readToken)), 403, /write scope/);
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
      expectStatus(made, 201);
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
  });
}

const consoleHeader = { 'lfs-quota-console': '1' };

/** Begins a session of the console. @returns the headers that the console then sends. */
export async function signIn(
  api: Api,
  credentials: Record<string, string>,
): Promise<{ cookie: string; 'lfs-quota-console': string }> {
  const answer = await api.send({ method: 'POST', path: '/v1/session', headers: credentials });
  expect(answer.status, answer.text).toBe(201);
  return { cookie: cookieOf(answer).split(';')[0] ?? '', ...consoleHeader };
}

function cookieOf(answer: Answer): string {
  const set = answer.headers['set-cookie'] ?? [];
  expect(set).toHaveLength(1);
  return set[0] ?? '';
}

/** What a browser holds instead of a token. */
export function sessionTests(api: () => Api): void {
  describe('sessions of the console', () => {
    let own: TestTenant;
    const at = () => `/v1/tenants/${own.tenant}`;
    const get = (headers: Record<string, string>, path = `${at()}/subscription`) =>
      api().as(headers, 'GET', path);

    beforeAll(async () => {
      own = await api().newTenant({ limitBytes: 1_000_000 });
    });

    it('are a cookie that no script can read and no other site sends', async () => {
      const answer = await api().send({ method: 'POST', path: '/v1/session', headers: basic(own.readToken) });
      const [pair, ...attributes] = cookieOf(answer).split('; ');
      const { port } = new URL(api().target.url);
      // Plain HTTP on loopback, where `Secure` would not be kept. A stack behind a proxy does not know of that.
      const isPlain = pair?.startsWith(`lfsq-${port}=`) === true;
      const name = isPlain ? `lfsq-${port}` : '__Host-lfsq';
      expect(pair).toMatch(new RegExp(`^${name}=[0-9a-f]{16}\\.lfss_[A-Za-z0-9]{40}$`));
      expect(attributes).toEqual([
        'Max-Age=43200',
        'Path=/',
        'HttpOnly',
        'SameSite=Strict',
        ...(isPlain ? [] : ['Secure']),
      ]);
      expect(answer.text).not.toContain('lfss_');
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(jsonOf(answer)).toMatchObject({
        kind: 'tenant',
        tenant: own.tenant,
        scope: 'read',
        repos: null,
      });
    });

    it('say whose they are, and last as long as their token at most', async () => {
      const { tokenId, token } = await api().newToken(own.tenant, {
        scope: 'write',
        label: 'artists',
        user: 'ada',
        repos: ['game'],
        expiresInSeconds: 600,
      });
      const whose = jsonOf(await get(await signIn(api(), bearer(token)), '/v1/session'));
      expect(whose).toMatchObject({
        kind: 'tenant',
        tenant: own.tenant,
        tokenId,
        scope: 'write',
        label: 'artists',
        user: 'ada',
        repos: ['game'],
      });
      const { expiresAt } = z.object({ expiresAt: z.string() }).parse(whose);
      expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(600_000);
      const operator = await signIn(api(), bearer(api().target.adminToken));
      expect(jsonOf(await get(operator, '/v1/session'))).toMatchObject({
        kind: 'operator',
        tenant: null,
        scope: null,
        limitContactUrl: null,
      });
      expect((await get(operator, '/v1/tenants?limit=1')).status).toBe(200);
    });

    it('count only with the header that a page of another origin cannot send, for reads too', async () => {
      const session = await signIn(api(), basic(own.readToken));
      const { cookie } = session;
      const refused: Record<string, string>[] = [
        { cookie },
        { cookie, 'lfs-quota-console': '0' },
        { ...session, 'sec-fetch-site': 'same-site' },
        { ...session, 'sec-fetch-site': 'cross-site' },
        { ...session, 'sec-fetch-site': 'none' },
        { ...session, cookie: `${cookie}; ${cookie}` },
        { ...session, cookie: cookie.slice(0, -1) },
        { ...session, cookie: cookie.replace(/=[0-9a-f]{16}/, '=operator') },
        { ...consoleHeader, ...bearer(cookie.split('=')[1] ?? '') },
        { ...session, ...bearer('lfsq_wrong') },
      ];
      const [first, ...others] = await Promise.all(refused.map((headers) => get(headers)));
      if (!first) throw new Error('nothing was asked');
      expectProblem(first, 401);
      for (const answer of others) expect([answer.status, answer.text]).toEqual([401, first.text]);
      expect((await get({ ...session, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
      expect((await get(session)).status).toBe(200);
    });

    it('cannot be used by a page on another port: its preflight is not answered', async () => {
      const { cookie } = await signIn(api(), basic(own.readToken));
      const answer = await api().send({
        method: 'OPTIONS',
        path: `${at()}/subscription`,
        headers: {
          cookie,
          origin: 'http://127.0.0.1:1',
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'lfs-quota-console',
        },
      });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    });

    it('end at once when their token is revoked', async () => {
      const { tokenId, token } = await api().newToken(own.tenant, { scope: 'manage' });
      const session = await signIn(api(), bearer(token));
      expect((await get(session, `${at()}/tokens`)).status).toBe(200);
      expect((await api().manage('DELETE', `${at()}/tokens/${tokenId}`)).status).toBe(204);
      for (const path of ['/v1/session', `${at()}/tokens`, `${at()}/subscription`])
        expectProblem(await get(session, path), 401);
      // The page tells whom this happened to. Who has no session isn't told so.
      expect(jsonOf(await get(session, '/v1/session'))).toMatchObject({ code: 'session-ended' });
      expect(jsonOf(await get({}, '/v1/session'))).toMatchObject({ code: 'unauthorized' });
    });

    it('end at once when somebody signs out, and only that one', async () => {
      const [left, stays] = [
        await signIn(api(), basic(own.readToken)),
        await signIn(api(), basic(own.readToken)),
      ];
      const out = await api().as(left, 'DELETE', '/v1/session');
      expect(out.status).toBe(204);
      expect(cookieOf(out)).toMatch(/^[^=]+=; Max-Age=0; Path=\/; HttpOnly; SameSite=Strict/);
      expectProblem(await get(left), 401);
      expectProblem(await api().as(left, 'DELETE', '/v1/session'), 401);
      expect((await get(stays)).status).toBe(200);
    });

    it('end with their tenant', async () => {
      const gone = await api().newTenant();
      const session = await signIn(api(), basic(gone.writeToken));
      expect((await api().manage('DELETE', `/v1/tenants/${gone.tenant}`)).status).toBe(202);
      expectProblem(await get(session, '/v1/session'), 401);
    });

    it('do what their token may do, in its name', async () => {
      const { tokenId, token } = await api().newToken(own.tenant, { scope: 'manage', user: 'grace' });
      const session = await signIn(api(), bearer(token));
      expectStatus(
        await api().send({
          method: 'POST',
          path: `${at()}/tokens`,
          headers: { ...session, 'content-type': 'application/json', 'idempotency-key': 'from-the-console' },
          body: JSON.stringify({ scope: 'read', label: 'made in the console' }),
        }),
        201,
      );
      const { entries } = z
        .object({ entries: z.array(z.object({ action: z.string(), by: z.unknown() })) })
        .parse(jsonOf(await get(session, `${at()}/audit?limit=1`)));
      expect(entries).toEqual([{ action: 'token.create', by: { kind: 'token', tokenId, name: 'grace' } }]);
    });
  });
}
