import { hash } from 'node:crypto';
import { brotliDecompressSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Api, bearer, jsonOf, type TestTenant } from './api.ts';
import { expectProblem } from './errors.ts';
import { objectOf, push } from './lfs.ts';
import { signIn } from './sessions.ts';
import { subscriptionOf } from './subscription.ts';

/** The page for people, as a browser gets it, and what it then asks of the API. */
export function consoleTests(api: () => Api): void {
  describe('the console', () => {
    let page: string;
    let own: TestTenant;
    const get = (path: string, headers: Record<string, string> = {}) =>
      api().send({ method: 'GET', path, headers });

    beforeAll(async () => {
      own = await api().newTenant({ limitBytes: 1_000_000 });
      await push(api(), { ...own, repo: 'game' }, [objectOf(700)]);
      page = (await get('/')).text;
    });

    it('is a page in which nothing runs but what the same origin serves', async () => {
      const answer = await get('/');
      expect(answer.status).toBe(200);
      expect(answer.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
      });
      const policy = String(answer.headers['content-security-policy']).split('; ');
      expect(policy).toEqual(
        expect.arrayContaining([
          "default-src 'none'",
          "script-src 'self'",
          "style-src 'self'",
          "connect-src 'self'",
          "frame-ancestors 'none'",
          "require-trusted-types-for 'script'",
        ]),
      );
      expect(policy.join(' ')).not.toMatch(/unsafe|\*|http/);
      const { etag = '' } = answer.headers;
      const again = await get('/', { 'if-none-match': etag });
      expect([again.status, again.bytes.length]).toEqual([304, 0]);
    });

    it('has assets of its own, whole, and small for who takes them compressed', async () => {
      const named = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
      expect(named.map((path) => path.slice(path.lastIndexOf('.'))).sort()).toEqual([
        '.css',
        '.js',
        '.woff2',
      ]);
      for (const path of named) {
        const plain = await get(path);
        expect(plain.status, path).toBe(200);
        expect(plain.headers).toMatchObject({
          'content-type': expect.stringMatching(/^(text\/javascript|text\/css|font\/woff2)/),
          'cache-control': 'public, max-age=31536000, immutable',
          'x-content-type-options': 'nosniff',
        });
        // Each is named by its content.
        expect(path).toContain(hash('sha256', plain.bytes).slice(0, 16));
        const packed = await get(path, { 'accept-encoding': 'gzip, deflate, br' });
        const isPacked = packed.headers['content-encoding'] === 'br';
        expect(isPacked).toBe(!path.endsWith('.woff2'));
        const bytes = isPacked ? brotliDecompressSync(packed.bytes) : packed.bytes;
        expect(hash('sha256', bytes)).toBe(hash('sha256', plain.bytes));
      }
      expectProblem(await get('/assets/nothing.js'), 404);
    });

    it('signs in with a token, and reads by cookie and header what that token may, until it is revoked', async () => {
      const { tokenId, token } = await api().newToken(own.tenant, { scope: 'read' });
      const session = await signIn(api(), bearer(token));
      const { usage } = await subscriptionOf(api(), own.tenant, { headers: session });
      expect(usage?.committedBytes).toBe(700);
      const path = `/v1/tenants/${own.tenant}/subscription`;
      expectProblem(await get(path, { cookie: session.cookie }), 401);
      const other = await api().newTenant();
      expectProblem(await get(`/v1/tenants/${other.tenant}/subscription`, session), 404);
      expect(jsonOf(await get('/v1/session', session))).toMatchObject({ tenant: own.tenant, tokenId });
      expect((await api().manage('DELETE', `/v1/tenants/${own.tenant}/tokens/${tokenId}`)).status).toBe(204);
      expectProblem(await get(path, session), 401);
    });
  });
}
