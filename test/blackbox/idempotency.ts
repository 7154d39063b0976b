import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Api, basic, bearer, jsonOf, newName } from './api.ts';
import { expectLfsError, expectProblem } from './errors.ts';
import type { Answer } from './exchange.ts';
import { newOid, objectsIn, postBatch } from './lfs.ts';

/** Creates that a client repeats because it lost the answer. */
export function idempotencyTests(api: () => Api): void {
  const create = (path: string, body: object, key: string): Promise<Answer> =>
    api().send({
      method: 'POST',
      path,
      headers: {
        ...bearer(api().target.adminToken),
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify(body),
    });
  const tokensOf = (tenant: string) => `/v1/tenants/${tenant}/tokens`;

  describe('a create with an Idempotency-Key', () => {
    it('of a tenant is answered as the first one, however often it comes', async () => {
      const [key, body] = [randomUUID(), { tenant: newName(), limitBytes: 7 }];
      const first = await create('/v1/tenants', body, key);
      expect([first.status, first.headers['location']]).toEqual([201, `/v1/tenants/${body.tenant}`]);
      const again = await Promise.all([1, 2, 3].map(() => create('/v1/tenants', body, key)));
      for (const answer of again) expect([answer.status, jsonOf(answer)]).toEqual([201, jsonOf(first)]);
      expectProblem(await create('/v1/tenants', body, randomUUID()), 409, /exists already/);
      expectProblem(await api().manage('POST', '/v1/tenants', body), 409, /exists already/);
    });

    it('of a tenant creates it once when all come at once', async () => {
      const [key, body] = [randomUUID(), { tenant: newName() }];
      const answers = await Promise.all(Array.from({ length: 5 }, () => create('/v1/tenants', body, key)));
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    });

    it('of a token gives the same secret, and one token', async () => {
      const tenant = await api().newTenant();
      const [path, key] = [tokensOf(tenant.tenant), randomUUID()];
      const body = { scope: 'read', label: 'ci' };
      const answers = await Promise.all([1, 2, 3].map(() => create(path, body, key)));
      answers.push(await create(path, body, `"${key}"`));
      const [first] = answers.map(jsonOf);
      for (const answer of answers) expect([answer.status, jsonOf(answer)]).toEqual([201, first]);
      const listed = jsonOf(await api().manage('GET', path)) as { tokens: unknown[] };
      expect(listed.tokens).toHaveLength(3);
      const { token } = first as { token: string };
      const download = { operation: 'download', objects: [{ oid: newOid(), size: 1 }] };
      objectsIn(await postBatch(api(), { ...tenant, repo: 'game' }, download, basic(token)));
      expect((jsonOf(await create(path, body, randomUUID())) as { token: string }).token).not.toBe(token);
    });

    it('does not bring a revoked token back', async () => {
      const tenant = await api().newTenant();
      const [path, key] = [tokensOf(tenant.tenant), randomUUID()];
      const created = await create(path, { scope: 'read' }, key);
      const { token } = jsonOf(created) as { token: string };
      expect((await api().manage('DELETE', created.headers['location'] ?? '')).status).toBe(204);
      expectProblem(await create(path, { scope: 'read' }, key), 409, /revoked/);
      const download = { operation: 'download', objects: [{ oid: newOid(), size: 1 }] };
      expectLfsError(await postBatch(api(), { ...tenant, repo: 'game' }, download, basic(token)), 401);
    });

    it('is refused with another body, and is of its tenant alone', async () => {
      const [one, other] = [await api().newTenant(), await api().newTenant()];
      const key = randomUUID();
      const first = await create(tokensOf(one.tenant), { scope: 'read' }, key);
      expectProblem(await create(tokensOf(one.tenant), { scope: 'write' }, key), 422, /another body/);
      const second = await create(tokensOf(other.tenant), { scope: 'read' }, key);
      expect(second.status).toBe(201);
      expect(jsonOf(second)).not.toMatchObject({ token: (jsonOf(first) as { token: string }).token });
    });

    it.each(['', ' ', 'two words', 'ü', 'x'.repeat(256)])('can not have the key %.20j', async (key) => {
      const answer = await create('/v1/tenants', { tenant: newName() }, key);
      expectProblem(answer, 400, /Idempotency-Key/);
    });
  });
}
