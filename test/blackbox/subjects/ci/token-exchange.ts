import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Api,
  basic,
  bodyOf,
  comparable,
  expectLfsError,
  expectProblem,
  jsonOf,
  newName,
  type TestTenant,
} from '../../api.ts';
import { newOid, objectOf, objectsIn, postBatch, push, serves } from '../../lfs.ts';
import type { Subject } from '../../subject.ts';

const ruleShape = z.strictObject({
  ruleId: z.string().regex(/^[0-9a-f]{16}$/),
  issuer: z.string(),
  match: z.record(z.string(), z.array(z.string())),
  scope: z.enum(['read', 'write']),
  repos: z.array(z.string()).nullable(),
  ttlSeconds: z.number(),
  createdAt: z.iso.datetime(),
  warning: z.null(),
});
const rulesShape = z.strictObject({ rules: z.array(ruleShape), issuers: z.array(z.string()) });
const tokenShape = z.strictObject({
  tenant: z.string(),
  token: z.string(),
  tokenId: z.string(),
  scope: z.string(),
  repos: z.array(z.string()).nullable(),
  expiresAt: z.iso.datetime(),
});

const githubIssuer = 'https://token.actions.githubusercontent.com';

/** Rules by which CI jobs get tokens, and the exchange itself. */
function tokenExchangeTests(api: () => Api): void {
  const rulesOf = (tenant: string) => `/v1/tenants/${tenant}/exchange-rules`;
  const exchange = (tenant: string, body: unknown, headers: Record<string, string> = {}) =>
    api().send({
      method: 'POST',
      path: `/v1/tenants/${tenant}/exchange`,
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const listed = async (tenant: string) => {
    return bodyOf(await api().manage('GET', rulesOf(tenant)), 200, rulesShape);
  };

  describe('a rule for identities', () => {
    let own: TestTenant;
    let issuer: string;
    beforeAll(async () => {
      own = await api().newTenant();
      issuer = (await listed(own.tenant)).issuers[0] ?? githubIssuer;
    });
    const valid = () => ({
      issuer,
      match: { repository_id: '7', ref: ['refs/heads/main', 'refs/tags/v*'] },
      scope: 'write',
    });

    it('is made, listed and deleted, by whoever manages the tenant', async () => {
      const { tenant } = await api().newTenant();
      const { token } = await api().newToken(tenant, { scope: 'manage' });
      const headers = { ...basic(token), 'content-type': 'application/json' };
      const body = { ...valid(), repos: ['game'], ttlSeconds: 600 };
      const rule = bodyOf(
        await api().send({
          method: 'POST',
          path: rulesOf(tenant),
          headers,
          body: JSON.stringify(body),
        }),
        201,
        ruleShape,
      );
      expect(rule).toMatchObject({
        ...body,
        match: { repository_id: ['7'], ref: ['refs/heads/main', 'refs/tags/v*'] },
      });
      expect((await listed(tenant)).rules).toEqual([rule]);
      const path = `${rulesOf(tenant)}/${rule.ruleId}`;
      expectProblem(await api().manage('DELETE', `${rulesOf(own.tenant)}/${rule.ruleId}`), 404);
      expect((await api().as(headers, 'DELETE', path)).status).toBe(204);
      expectProblem(await api().as(headers, 'DELETE', path), 404);
      expect((await listed(tenant)).rules).toEqual([]);
    });

    it.each<[object, RegExp]>([
      [{ issuer: 'https://evil.example' }, /^issuer: must be one of: /],
      [{ match: {} }, /^match: /],
      [{ match: { repository: 'acme/game' } }, /^match: .*repository_id or repository_owner_id/],
      [{ match: { repository_id: '7' } }, /^match: .*ref or environment/],
      [{ match: { repository_id: '*', ref: 'main' } }, /^match: .*\*/],
      [{ match: { repository_id: '7', ref: ['refs/heads/main', '*'] } }, /^match: .*before its \*/],
      [{ match: { repository_id: '7', ref: '' } }, /^match/],
      [{ match: { repository_id: 7, ref: 'main' } }, /^match/],
      [{ match: { repository_id: '7', ref: [] } }, /^match/],
      [{ match: 'repository_id' }, /^match/],
      [{ match: JSON.parse('{"__proto__":"x","repository_id":"7","ref":"main"}') }, /__proto__/],
      [{ match: { '': 'x', repository_id: '7', ref: 'main' } }, /^match/],
      [{ scope: 'manage' }, /^scope/],
      [{ scope: undefined }, /^scope/],
      [{ ttlSeconds: 43_201 }, /^ttlSeconds: .*12 hours/],
      [{ ttlSeconds: 299 }, /^ttlSeconds/],
      [{ repos: [] }, /^repos/],
      [{ extra: 1 }, /extra/],
    ])('is not made with %j', async (more, detail) => {
      expectProblem(await api().manage('POST', rulesOf(own.tenant), { ...valid(), ...more }), 422, detail);
    });

    it('is not made with more than 4 KiB', async () => {
      const values = Array.from({ length: 20 }, (_, index) => String(index).padEnd(255, 'x'));
      const body = { ...valid(), match: { ...valid().match, environment: values } };
      expectProblem(await api().manage('POST', rulesOf(own.tenant), body), 413, /larger than 4 KiB/);
    });
  });

  describe('the exchange of an identity', () => {
    let own: TestTenant;
    beforeAll(async () => {
      own = await api().newTenant();
    });

    it.each([
      ['{', 400],
      ['[]', 422],
      ['{}', 422],
      ['{"idToken":7}', 422],
      ['{"idToken":""}', 422],
      [`{"idToken":"${'x'.repeat(16_001)}"}`, 422],
      [`{"idToken":"${'x'.repeat(40_000)}"}`, 413],
      ['{"idToken":"x","tenant":"acme"}', 422],
    ])('is refused for a body like %.20s', async (body, status) => {
      expectProblem(await exchange(own.tenant, body), status);
    });

    it('is one and the same 401 for what is no identity, whatever the tenant', async () => {
      const answers = [];
      for (const idToken of ['x', 'a.b.c', own.writeToken, api().target.adminToken, unsigned()])
        for (const tenant of [own.tenant, newName(), 'No-Tenant']) {
          const answer = await exchange(tenant, { idToken });
          expectProblem(answer, 401, /Its audience must be/);
          answers.push(JSON.stringify(comparable(answer)).replaceAll(tenant, 'TENANT'));
        }
      const lengths = /"content-length":"\d+"/;
      expect(new Set(answers.map((answer) => answer.replace(lengths, ''))).size).toBe(1);
      expectProblem(await exchange(own.tenant, { idToken: 'x' }, basic(own.writeToken)), 401);
    });
  });

  describe('a job with an identity', () => {
    let own: TestTenant;
    const audience = () => `${api().target.ownUrl ?? api().target.url}/${own.tenant}`;
    const identity = (claims: object) =>
      api().target.issuer?.token({ aud: audience(), sub: 'repo:acme/game', ...claims }) ?? '';
    const main = { repository_id: '7', ref: 'refs/heads/main' };
    beforeAll(async () => {
      own = await api().newTenant();
    });

    it('gets a token that pushes to its repos, and is listed, until it is revoked', async ({ skip }) => {
      const issuer = api().target.issuer?.issuer;
      if (!issuer) return skip();
      expectProblem(await exchange(own.tenant, { idToken: identity(main) }), 401);
      const rule = { issuer, match: main, scope: 'write', repos: ['game'], ttlSeconds: 900 };
      expect((await api().manage('POST', rulesOf(own.tenant), rule)).status).toBe(201);
      const made = bodyOf(await exchange(own.tenant, { idToken: identity(main) }), 201, tokenShape);
      expect(made).toMatchObject({ tenant: own.tenant, scope: 'write', repos: ['game'] });
      expect(Math.abs(Date.parse(made.expiresAt) - Date.now() - 900_000)).toBeLessThan(120_000);
      const place = { tenant: own.tenant, writeToken: made.token, readToken: made.token, repo: 'game' };
      await push(api(), place, [objectOf(10)]);
      const download = { operation: 'download', objects: [{ oid: newOid(), size: 1 }] };
      expectLfsError(await postBatch(api(), { ...place, repo: 'film' }, download), 404);
      // A job approves no machine: that would outlive it.
      const approval = { userCode: 'BCDF-GHJK' };
      if (serves('invitations'))
        expectProblem(
          await api().as(basic(made.token), 'POST', `/v1/tenants/${own.tenant}/device`, approval),
          403,
        );
      const path = `/v1/tenants/${own.tenant}/tokens/${made.tokenId}`;
      const shown = jsonOf(await api().manage('GET', path));
      expect(shown).toMatchObject({ user: 'repo:acme/game', label: expect.stringMatching(/^rule /) });
      expect((await api().manage('DELETE', path)).status).toBe(204);
      expectLfsError(await postBatch(api(), place, download), 401);
    });

    it('gets one that only reads by a rule that only lets read', async ({ skip }) => {
      const issuer = api().target.issuer?.issuer;
      if (!issuer) return skip();
      const rule = { issuer, match: { repository_owner_id: '5' }, scope: 'read' };
      const made = await api().manage('POST', rulesOf(own.tenant), rule);
      expect(made.status).toBe(201);
      const answer = await exchange(own.tenant, {
        idToken: identity({ repository_owner_id: '5', ref: 'any' }),
      });
      const { token } = tokenShape.parse(jsonOf(answer));
      const place = { ...own, repo: 'any' };
      const batch = (operation: string) =>
        postBatch(api(), place, { operation, objects: [{ oid: newOid(), size: 1 }] }, basic(token));
      objectsIn(await batch('download'));
      expectLfsError(await batch('upload'), 403);
      const { ruleId } = ruleShape.parse(jsonOf(made));
      expect((await api().manage('DELETE', `${rulesOf(own.tenant)}/${ruleId}`)).status).toBe(204);
      expectLfsError(await batch('download'), 401);
    });

    it.each<[string, object]>([
      ['of another branch', { ref: 'refs/heads/other' }],
      ['of another repository', { repository_id: '8' }],
      ['for another tenant', { aud: 'https://lfs.example.com/other' }],
      ['that has expired', { exp: 1_700_000_000 }],
      ['of another issuer', { iss: githubIssuer }],
    ])('%s gets none', async (_what, claims) => {
      if (!api().target.issuer) return;
      const answer = await exchange(own.tenant, { idToken: identity({ ...main, ...claims }) });
      expectProblem(answer, 401, /gets no token/);
    });
  });
}

/** As an identity of GitHub looks, without a signature. */
function unsigned(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none', kid: 'k' })}.${part({ iss: githubIssuer, exp: 9e9 })}.`;
}

/** All that the suite asks of this subject. */
export const ciSubject: Subject = {
  callers: {
    'POST /v1/tenants/{tenant}/exchange': 'identity',
    'GET /v1/tenants/{tenant}/exchange-rules': 'manager',
    'POST /v1/tenants/{tenant}/exchange-rules': 'manager',
    'DELETE /v1/tenants/{tenant}/exchange-rules/{ruleId}': 'manager',
  },
  tests: tokenExchangeTests,
};
