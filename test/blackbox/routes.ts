import { hash } from 'node:crypto';
import { brotliDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { routes } from '../../lambda/routes.ts';
import { anyCharacter } from '../support/any-character.ts';
import {
  type Api,
  basic,
  bearer,
  comparable,
  expectLfsError,
  expectProblem,
  jsonOf,
  type TestTenant,
} from './api.ts';
import { batchPath, lfsHeaders, lfsType, newOid, objectOf, objectsIn, push, serves } from './lfs.ts';
import { subscriptionOf } from './subscription.ts';
import { signIn } from './tokens.ts';

/** Of the LFS API, those with a body. */
const lfsPosts = routes
  .filter(({ method, path }) => method === 'POST' && path.includes('/info/lfs/') && !path.endsWith('/locks'))
  .map(({ path }) => path);

/** Of those, what no other method has. */
const lfsPostsAlone = lfsPosts.filter((path) => routes.filter((route) => route.path === path).length === 1);

/** Routes that are always there, and those that are not. */
export function otherRouteTests(api: () => Api): void {
  describe('a route', () => {
    it('to the health of the API is open to all, and shows the release', async () => {
      for (const headers of [{}, bearer('nobody')]) {
        const answer = await api().as(headers, 'GET', '/health');
        const { status, version, ...rest } = jsonOf(answer) as Record<string, unknown>;
        expect([answer.status, status, Object.keys(rest)]).toEqual([200, 'ok', ['commit']]);
        expect(version).toMatch(/^(dev|\d+\.\d+\.\d+.*)$/);
      }
    });

    it('of LFS that is none is a 404', async () => {
      for (const rest of ['lockers', 'objects', 'locksmith/verifies', 'locks/verify/unlock/x']) {
        const path = `/acme/game.git/info/lfs/${rest}`;
        const says = `Not an LFS endpoint: ${path}. Set lfs.url to a URL such as …/acme/game.git/info/lfs`;
        expect(jsonOf(await api().as(lfsHeaders, 'GET', path))).toMatchObject({ message: says });
      }
    });

    const locks = serves('locks') ? ['locks', 'locks/verify', 'locks/1/unlock'] : [];
    it.each(['objects/batch', ...locks])(
      'of LFS without /info/lfs says how lfs.url must end: %s',
      async (rest) => {
        const path = `/acme/game.git/${rest}`;
        const message = /lfs\.url must end with .*\/info\/lfs.*to …\/acme\/game\.git\/info\/lfs$/;
        for (const wrong of [
          path,
          `/acme//game.git/info/lfs/${rest}`,
          `/acme/team/game.git/info/lfs/${rest}`,
        ])
          expectLfsError(
            await api().send({ method: 'POST', path: wrong, headers: lfsHeaders }),
            404,
            message,
          );
      },
    );

    it('that is none is a 404 with a problem in words', async () => {
      const headers = bearer(api().target.adminToken);
      for (const [method, path] of [
        ['GET', '/nowhere'],
        ['GET', '/assets'],
        ['GET', '/health/'],
        ['GET', '/v1'],
        ['GET', '/v1/tenants/'],
        ['GET', '/v1/tenants/acme/nothing'],
        ['GET', '/.git/config'],
      ] as const) {
        expectProblem(await api().send({ method, path, headers }), 404, /Route not found/);
      }
    });

    it('answers another method with a 405 that names its own', async () => {
      const headers = bearer(api().target.adminToken);
      for (const [method, path, allow] of [
        ['POST', '/openapi.json', 'GET'],
        ['POST', '/', 'GET'],
        ['PUT', '/v1/session', 'GET, POST, DELETE'],
        ['PUT', '/v1/tenants', 'GET, POST'],
        ['DELETE', '/v1/tenants', 'GET, POST'],
        ['PUT', '/v1/tenants/acme', 'GET, PATCH, DELETE'],
        ['POST', '/v1/tenants/acme/subscription', 'GET'],
        ['PUT', '/v1/tenants/acme/reservations', 'GET, DELETE'],
        ['GET', '/v1/tenants/acme/reconcile', 'POST'],
      ] as const) {
        const answer = await api().send({ method, path, headers });
        expectProblem(answer, 405);
        expect(answer.headers['allow']).toBe(allow);
      }
    });

    it.each(lfsPosts)('of the LFS API reads JSON, whatever it is called: %s', async (route) => {
      const { tenant, writeToken } = await api().newTenant();
      const path = route
        .replace('{tenant}', tenant)
        .replace('{repo}', 'game')
        .replaceAll(/\{\w+\}/g, '0');
      const { 'content-type': type, ...bare } = { ...lfsHeaders, ...basic(writeToken) };
      const sent = async (given: object) => {
        const headers = { ...bare, ...given, 'x-lfs-verify-token': writeToken };
        return comparable(await api().send({ method: 'POST', path, headers, body: '{"path":"a","oid":7}' }));
      };
      const usual = await sent({ 'content-type': type });
      for (const other of [{}, { 'content-type': 'text/plain;charset=UTF-8' }, { 'content-type': 'x' }])
        expect(await sent(other)).toEqual(usual);
    });

    it('of the LFS API is of one method', async () => {
      const { tenant, writeToken } = await api().newTenant();
      const headers = { ...lfsHeaders, ...basic(writeToken) };
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
        for (const route of lfsPostsAlone) {
          const path = route.replace('{tenant}', tenant).replaceAll(/\{\w+\}/g, 'a');
          const answer = await api().send({ method, path, headers });
          expectLfsError(answer, 405);
          expect(answer.headers['allow']).toBe('POST');
        }
        const path = `/${tenant}/game/info/lfs/nothing`;
        expectLfsError(await api().send({ method, path, headers }), 404);
      }
    });

    it('to the description of the API names each route and this server', async () => {
      const answer = await api().send({ method: 'GET', path: '/openapi.json' });
      expect(answer.status).toBe(200);
      const document = z
        .object({
          openapi: z.literal('3.1.0'),
          servers: z.array(z.object({ url: z.string() })),
          paths: z.record(z.string(), z.record(z.string(), z.unknown())),
        })
        .parse(jsonOf(answer));
      expect(document.servers).toEqual([{ url: api().target.url }]);
      const described = Object.entries(document.paths).flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
      );
      expect(described.sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
    });
  });
}

/** The page for people, as a browser gets it, and what it then asks of the API. */
export function consoleTests(api: () => Api): void {
  describe('the console', () => {
    let page: string;
    let own: TestTenant;
    const get = (path: string, headers: Record<string, string> = {}) => api().as(headers, 'GET', path);

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
      // Its script, and the parts that it starts with.
      expect([...new Set(named.map((path) => path.slice(path.lastIndexOf('.'))))].sort()).toEqual([
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
        // Each is named by its content: a script by the bundler's own hash.
        if (path.endsWith('.js')) expect(path).toMatch(/-[0-9A-Z]{8}\.js$/);
        else expect(path).toContain(hash('sha256', plain.bytes).slice(0, 16));
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

const runs = { numRuns: 200, interruptAfterTimeLimit: 15_000 };

/** Whatever is asked, the answer comes, is in the API's words, and is no failure of ours. */
export function anythingTests(api: () => Api): void {
  describe('whatever is asked', () => {
    let tenant: TestTenant;
    beforeAll(async () => {
      tenant = await api().newTenant({ limitBytes: 1_000_000 });
    });

    it('in the body of a batch, each oid is echoed once or the whole is refused', async () => {
      const path = () => batchPath({ tenant: tenant.tenant, repo: 'game' });
      await fc.assert(
        fc.asyncProperty(fc.oneof(batchText, anyBytes), async (body) => {
          const headers = { ...lfsHeaders, ...basic(tenant.writeToken) };
          const answer = await api().send({ method: 'POST', path: path(), headers, body });
          if (answer.status !== 200) {
            expect([400, 409, 413, 422, 429]).toContain(answer.status);
            expect(answer.headers['content-type']).toBe(lfsType);
            return;
          }
          const asked = JSON.parse(String(body)) as { objects: { oid: string }[] };
          const echoed = objectsIn(answer).map(({ oid }) => oid);
          expect(new Set(echoed)).toEqual(new Set(asked.objects.map(({ oid }) => oid)));
        }),
        runs,
      );
    });

    it('in the body of anything else, it is answered', async () => {
      const { adminToken } = api().target;
      const routes: readonly [method: string, path: string, headers: Record<string, string>][] = [
        ['POST', '/game/info/lfs/verify', { ...lfsHeaders, ...bearer(`lfsv_${newOid()}`) }],
        ['PATCH', '', { ...bearer(adminToken), 'content-type': 'application/json' }],
        ['POST', '/tokens', { ...bearer(adminToken), 'content-type': 'application/json' }],
      ];
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...routes), anyBytes, async ([method, rest, headers], body) => {
          const isLfs = rest.includes('lfs');
          const path = `${isLfs ? '' : '/v1/tenants'}/${tenant.tenant}${rest}`;
          const answer = await api().send({ method, path, headers, body });
          expect(isLfs ? [400, 401] : [200, 201, 400, 422]).toContain(answer.status);
        }),
        runs,
      );
    });

    it('by path, method and headers, it is answered', async () => {
      await fc.assert(
        fc.asyncProperty(anyRequest, async ({ method, target, accept, type, who, body }) => {
          const known = new Map([
            ['operator', bearer(api().target.adminToken).authorization],
            ['tenant', basic(tenant.writeToken).authorization],
          ]);
          const headers = { accept, 'content-type': type, authorization: known.get(who) ?? who };
          const at = target.replaceAll(ownTenant, tenant.tenant);
          const answer = await api().send({ method, path: at, headers, body });
          expect(answer.status).toBeGreaterThanOrEqual(200);
        }),
        runs,
      );
    });
  });
}

/** Anything that JSON can say, with the words of the API and numbers at the edges among it. */
const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<fc.JsonValue>('upload', 'download', 'sha256', 'basic', 0, -0, 2 ** 53, 1e300, [], {}),
);

const object = fc.record(
  {
    oid: fc.oneof(
      { weight: 4, arbitrary: fc.stringMatching(/^[0-9a-f]{64}$/) },
      fc.constant('1'.repeat(64)),
      fc.string(),
      anyJson,
    ),
    size: fc.oneof({ weight: 4, arbitrary: fc.nat({ max: 10_000 }) }, fc.double(), anyJson),
  },
  { noNullPrototype: true },
);

const batchBody = fc.record(
  {
    operation: fc.oneof({ weight: 4, arbitrary: fc.constantFrom('upload', 'download') }, anyJson),
    objects: fc.oneof({ weight: 4, arbitrary: fc.array(object, { maxLength: 6 }) }, anyJson),
    transfers: fc.oneof({ weight: 4, arbitrary: fc.constantFrom([], ['basic'], ['ssh', 'basic']) }, anyJson),
    hash_algo: fc.oneof({ weight: 8, arbitrary: fc.constant('sha256') }, anyJson),
    ref: anyJson,
  },
  { requiredKeys: ['operation', 'objects'], noNullPrototype: true },
);

const managementBody = fc.dictionary(
  fc.constantFrom('limitBytes', 'plan', 'scope', 'label', '__proto__', 'x'),
  fc.oneof(fc.constantFrom<fc.JsonValue>('read', 'write', 5), anyJson),
  { noNullPrototype: true },
);

/** A batch request's body in JSON, of which any part may be anything. */
const batchText = batchBody.map((body) => JSON.stringify(body));

const text = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.oneof(batchBody, object, managementBody).map((body) => JSON.stringify(body)),
  },
  fc.json(),
  fc.string({ unit: anyCharacter }),
  // A document that was cut off.
  fc.tuple(batchText, fc.nat()).map(([whole, at]) => whole.slice(0, at % whole.length)),
);

/** A body: most often JSON that some route knows, sometimes none at all. */
const anyBytes = fc.oneof({ weight: 5, arbitrary: text }, fc.uint8Array({ maxLength: 200 }));

/** Characters that a header, or a path, can carry at all. */
const headerText = fc
  .string({ unit: fc.constantFrom(...visible(' ')), maxLength: 60 })
  .map((one) => one.trim());
const rawSegment = fc.string({
  unit: fc.constantFrom(...visible('!').filter((one) => !'/?#'.includes(one))),
});

function visible(from: string): string[] {
  const first = from.charCodeAt(0);
  return Array.from({ length: 0x7f - first }, (_, index) => String.fromCharCode(first + index));
}

/** Stands in a path for the name of the tenant that the test has made. */
const ownTenant = 'TENANT';

const words = ['v1', 'tenants', 'health', 'game.git', 'info', 'lfs', 'objects', 'batch', 'verify', 'locks'];
const odd = ['', '.', '..', '%2e%2e', '%2f', '%00', '%', '%zz', '%ff', '%c3%a4', '{tenant}'];
const segment = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(...words, 'subscription', 'tokens', 'repos', 'reservations', ownTenant),
  },
  fc.constantFrom(...odd, 'subscription'),
  rawSegment,
  fc.string({ unit: anyCharacter }).map((one) => encodeURIComponent(one)),
);
const shapes = ['/v1/tenants/*', '/v1/tenants/*/*', '/*/*/info/lfs/objects/batch', '/*/*/info/lfs/*'];
const path = fc.oneof(
  fc.array(segment, { maxLength: 7 }).map((parts) => `/${parts.join('/')}`),
  fc
    .tuple(fc.constantFrom(...shapes), fc.array(segment, { minLength: 3, maxLength: 3 }))
    .map(([shape, parts]) => parts.reduce((filled, part) => filled.replace('*', () => part), shape)),
);
const query = fc.oneof(
  fc.constant(''),
  rawSegment.map((one) => `?${one}`),
);

/**
 * A request of any route or none, by anybody: `who` is the operator, the tenant's own, or the text of a header.
 */
const anyRequest = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'),
  target: fc.tuple(path, query).map((parts) => parts.join('')),
  accept: fc.oneof(fc.constantFrom(lfsType, '*/*'), headerText),
  type: fc.oneof(fc.constantFrom(lfsType, 'application/json'), headerText),
  who: fc.oneof(fc.constantFrom('operator', 'tenant'), headerText),
  body: anyBytes,
});
