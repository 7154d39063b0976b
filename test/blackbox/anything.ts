import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Api, basic, bearer, type TestTenant } from './api.ts';
import { batchPath, lfsHeaders, lfsType, newOid, objectsIn } from './lfs.ts';

const runs = { numRuns: 200, interruptAfterTimeLimit: 15_000 };

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

/** A batch request of which any part may be anything. */
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

const verifyBody = object;

const managementBody = fc.dictionary(
  fc.constantFrom('limitBytes', 'plan', 'scope', 'label', '__proto__', 'x'),
  fc.oneof(fc.constantFrom<fc.JsonValue>('read', 'write', 5), anyJson),
  { noNullPrototype: true },
);

const text = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.oneof(batchBody, verifyBody, managementBody).map((body) => JSON.stringify(body)),
  },
  fc.json(),
  fc.string({ unit: 'binary' }),
  // A document that was cut off.
  fc.tuple(batchBody, fc.nat()).map(([body, at]) => {
    const whole = JSON.stringify(body);
    return whole.slice(0, at % whole.length);
  }),
);

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
        fc.asyncProperty(
          fc.oneof(
            batchBody.map((body) => JSON.stringify(body)),
            anyBytes,
          ),
          async (body) => {
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
          },
        ),
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
      const words = [
        'v1',
        'tenants',
        'health',
        'game.git',
        'info',
        'lfs',
        'objects',
        'batch',
        'verify',
        'locks',
      ];
      const odd = [
        '',
        '.',
        '..',
        '%2e%2e',
        '%2f',
        '%00',
        '%',
        '%zz',
        '%ff',
        '%c3%a4',
        '{tenant}',
        '$default',
      ];
      const segment = fc.oneof(
        { weight: 6, arbitrary: fc.constantFrom(...words, 'subscription', 'tokens', 'repos', 'TENANT') },
        fc.constantFrom(...odd, 'subscription'),
        rawSegment,
        fc.string({ unit: 'binary' }).map((one) => encodeURIComponent(one)),
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
      const request = fc.record({
        method: fc.constantFrom('GET', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'),
        target: fc.tuple(path, query).map((parts) => parts.join('')),
        accept: fc.oneof(fc.constantFrom(lfsType, '*/*'), headerText),
        type: fc.oneof(fc.constantFrom(lfsType, 'application/json'), headerText),
        who: fc.oneof(fc.constantFrom('operator', 'tenant'), headerText),
        body: anyBytes,
      });
      await fc.assert(
        fc.asyncProperty(request, async ({ method, target, accept, type, who, body }) => {
          const known = new Map([
            ['operator', bearer(api().target.adminToken).authorization],
            ['tenant', basic(tenant.writeToken).authorization],
          ]);
          const headers = { accept, 'content-type': type, authorization: known.get(who) ?? who };
          const at = target.replaceAll('TENANT', tenant.tenant);
          const answer = await api().send({ method, path: at, headers, body });
          expect(answer.status).toBeGreaterThanOrEqual(200);
        }),
        runs,
      );
    });
  });
}
