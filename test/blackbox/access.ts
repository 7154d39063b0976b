import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Api, basic, bearer, newName, type TestTenant } from './api.ts';
import { comparable, expectLfsError, expectProblem } from './errors.ts';
import type { Answer } from './exchange.ts';
import { batchPath, lfsHeaders, newOid, objectsIn } from './lfs.ts';

const unknownToken = `lfsq_${'0'.repeat(40)}`;
/** A token that nobody has, and that nobody has tried before. */
const anotherUnknownToken = () => `lfsq_${randomBytes(20).toString('hex')}`;

/** Authorization headers that identify nobody. */
const badCredentials: Readonly<Record<string, Record<string, string>>> = {
  none: {},
  'an empty header': { authorization: '' },
  'a token that nobody has': bearer(unknownToken),
  'such a token as a password': basic(anotherUnknownToken()),
  'an empty password': basic(''),
  'Basic without a colon': { authorization: `Basic ${Buffer.from('any').toString('base64')}` },
  'Basic that is no base64': { authorization: 'Basic ***' },
  'another scheme': { authorization: 'Digest username="any"' },
  'no scheme': { authorization: unknownToken },
  'a scheme without credentials': { authorization: 'Bearer' },
  'two tokens': { authorization: `Bearer ${unknownToken} ${unknownToken}` },
  'a very long token': bearer('x'.repeat(7000)),
  'bytes beyond ASCII': { authorization: 'Bearer \u00e9\u00ff' },
};

const cases = Object.entries(badCredentials);

/** Who may ask, and what the others are told. */
export function accessTests(api: () => Api): void {
  let own: TestTenant;
  let other: TestTenant;
  beforeAll(async () => {
    [own, other] = [await api().newTenant(), await api().newTenant()];
  });

  const download = () => ({ operation: 'download', objects: [{ oid: newOid(), size: 1 }] });
  const post = (path: string, headers: Record<string, string>, body: object): Promise<Answer> =>
    api().send({
      method: 'POST',
      path,
      headers: { ...lfsHeaders, ...headers },
      body: JSON.stringify(body),
    });
  const lfs = ({ tenant }: { tenant: string }, headers: Record<string, string>) =>
    post(batchPath({ tenant, repo: 'game' }), headers, download());
  const verify = (tenant: string, headers: Record<string, string>) =>
    post(`/${tenant}/game/info/lfs/verify`, headers, { oid: newOid(), size: 1 });
  /** Of a tenant, and what its own tokens may read of it. */
  const read = (tenant: string, what: string, headers: Record<string, string>) =>
    api().send({ method: 'GET', path: `/v1/tenants/${tenant}/${what}`, headers });
  const readable = ['subscription', 'repos', 'reservations', 'exports'];

  describe('access to the LFS routes', () => {
    it.each(cases)('is refused with a 401 that makes a client ask: %s', async (_name, headers) => {
      const { tenant } = own;
      expectLfsError(await lfs({ tenant }, headers), 401, /token/);
      expectLfsError(await verify(tenant, headers), 401, /token/);
    });

    it('tells nobody without a token whether a tenant exists', async () => {
      const { tenant } = own;
      for (const headers of [{}, bearer(anotherUnknownToken())]) {
        const [present, absent] = [await lfs({ tenant }, headers), await lfs({ tenant: newName() }, headers)];
        expect(comparable(absent)).toEqual(comparable(present));
      }
    });

    it('ends with a 403 when a client keeps sending the same bad token', async () => {
      const [tenant, token] = [own.tenant, anotherUnknownToken()];
      const answers = [];
      for (let times = 0; times < 12; times += 1) answers.push(await lfs({ tenant }, basic(token)));
      expectLfsError(answers.at(0) as Answer, 401);
      expectLfsError(answers.at(-1) as Answer, 403, /revoked, expired or mistyped/);
      expectLfsError(await lfs({ tenant }, basic(anotherUnknownToken())), 401);
    });

    it('is the same with Basic under any user name, and with Bearer', async () => {
      const { tenant, readToken } = own;
      const ways = [
        ...['any', '', 'jane@example.org', tenant, 'ü', 'x'.repeat(1000)].map((user) =>
          basic(readToken, user),
        ),
        bearer(readToken),
        { authorization: `bearer  ${readToken} ` },
        { authorization: basic(readToken).authorization.replace('Basic', 'BASIC') },
      ];
      for (const headers of ways) objectsIn(await lfs({ tenant }, headers));
    });

    it('of another tenant looks like one to a tenant that is absent', async () => {
      for (const token of [own.readToken, own.writeToken]) {
        const foreign = await lfs(other, basic(token));
        expectLfsError(foreign, 404);
        for (const tenant of [newName(), 'UPPER', 'v1', 'x'.repeat(41), '%2e%2e']) {
          expect(comparable(await lfs({ tenant }, basic(token)))).toEqual(comparable(foreign));
        }
      }
    });

    it('is no matter of the operator’s token', async () => {
      const { tenant } = own;
      expectLfsError(await lfs({ tenant }, basic(api().target.adminToken)), 401);
    });
  });

  describe('access to the management API', () => {
    const operatorsOnly = (tenant: string): [string, string][] => [
      ['GET', '/v1/tenants'],
      ['POST', '/v1/tenants'],
      ['GET', `/v1/tenants/${tenant}`],
      ['PATCH', `/v1/tenants/${tenant}`],
      ['DELETE', `/v1/tenants/${tenant}`],
    ];
    const managersOnly = (tenant: string): [string, string][] => [
      ['GET', `/v1/tenants/${tenant}/tokens`],
      ['POST', `/v1/tenants/${tenant}/tokens`],
      ['DELETE', `/v1/tenants/${tenant}/tokens/${'0'.repeat(16)}`],
      ['POST', `/v1/tenants/${tenant}/reconcile`],
      ['DELETE', `/v1/tenants/${tenant}/repos/game`],
      ['DELETE', `/v1/tenants/${tenant}/repos/game/objects/${newOid()}`],
    ];

    it.each(cases)('is refused with a 401: %s', async (_name, headers) => {
      const { tenant } = own;
      for (const [method, path] of [...operatorsOnly(tenant), ...managersOnly(tenant)]) {
        expectProblem(await api().send({ method, path, headers }), 401, /token/);
      }
      for (const what of readable) expectProblem(await read(tenant, what, headers), 401, /token/);
    });

    it('is the operator’s, by Basic too; a tenant’s token is told which one is needed', async () => {
      const { tenant, writeToken } = own;
      for (const [method, path] of operatorsOnly(tenant)) {
        expectProblem(await api().send({ method, path, headers: bearer(writeToken) }), 401, /admin token/);
      }
      for (const [method, path] of managersOnly(tenant)) {
        const answer = await api().send({ method, path, headers: bearer(writeToken) });
        expectProblem(answer, 403, /admin token, or a token of .* with the scope manage/);
      }
      const headers = basic(api().target.adminToken, 'operator');
      expect((await api().send({ method: 'GET', path: '/v1/tenants', headers })).status).toBe(200);
    });

    it.each(readable)(
      'to its %s is the tenant’s own too; another’s looks like one that is absent',
      async (what) => {
        for (const headers of [basic(own.readToken), bearer(own.writeToken)]) {
          expect((await read(own.tenant, what, headers)).status).toBe(200);
          const foreign = await read(other.tenant, what, headers);
          expectProblem(foreign, 404);
          for (const tenant of [newName(), 'UPPER', 'v1', 'x'.repeat(3000), '%2e%2e', '%00']) {
            expect(comparable(await read(tenant, what, headers))).toEqual(comparable(foreign));
          }
        }
      },
    );
  });
}
