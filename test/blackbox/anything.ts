import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { anyBytes, anyRequest, batchText, ownTenant } from './any-request.ts';
import { type Api, basic, bearer, type TestTenant } from './api.ts';
import { batchPath, lfsHeaders, lfsType, newOid, objectsIn } from './lfs.ts';

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
