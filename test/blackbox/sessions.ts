import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, basic, bearer, jsonOf, type TestTenant } from './api.ts';
import { expectProblem } from './errors.ts';
import type { Answer } from './exchange.ts';

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
      api().send({ method: 'GET', path, headers });

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
    });

    it('end at once when somebody signs out, and only that one', async () => {
      const [left, stays] = [
        await signIn(api(), basic(own.readToken)),
        await signIn(api(), basic(own.readToken)),
      ];
      const out = await api().send({ method: 'DELETE', path: '/v1/session', headers: left });
      expect(out.status).toBe(204);
      expect(cookieOf(out)).toMatch(/^[^=]+=; Max-Age=0; Path=\/; HttpOnly; SameSite=Strict/);
      expectProblem(await get(left), 401);
      expectProblem(await api().send({ method: 'DELETE', path: '/v1/session', headers: left }), 401);
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
      const made = await api().send({
        method: 'POST',
        path: `${at()}/tokens`,
        headers: { ...session, 'content-type': 'application/json', 'idempotency-key': 'from-the-console' },
        body: JSON.stringify({ scope: 'read', label: 'made in the console' }),
      });
      expect(made.status, made.text).toBe(201);
      const { entries } = z
        .object({ entries: z.array(z.object({ action: z.string(), by: z.unknown() })) })
        .parse(jsonOf(await get(session, `${at()}/audit?limit=1`)));
      expect(entries).toEqual([{ action: 'token.create', by: { kind: 'token', tokenId, name: 'grace' } }]);
    });
  });
}
