import { randomUUID } from 'node:crypto';
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
  newName,
  pageQuery,
} from './api.ts';
import {
  admitted,
  ask,
  newOid,
  objectOf,
  objectsIn,
  pointer,
  postBatch,
  postVerify,
  push,
  put,
  serves,
} from './lfs.ts';
import type { Subject } from './subject.ts';
import * as subjects from './subjects.ts';
import { signIn } from './tokens.ts';

/** The management API's tenants. */
export function tenantTests(api: () => Api): void {
  const create = (body: unknown) => api().manage('POST', '/v1/tenants', body);

  describe('a tenant', () => {
    it('is created with all that is known of it, and shown', async () => {
      const tenant = newName();
      const created = await create({ tenant, limitBytes: 1000, plan: 'small' });
      expect(created.status).toBe(201);
      expect(created.headers['content-type']).toBe('application/json');
      expect(jsonOf(created)).toEqual({
        tenant,
        plan: 'small',
        limitBytes: 1000,
        downloadLimitBytes: null,
        reposMustExist: false,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        usage: expect.objectContaining({ storedBytes: 0, objectCount: 0, source: 'cache' }),
      });
      const shown = await api().manage('GET', `/v1/tenants/${tenant}`);
      expect([shown.status, jsonOf(shown)]).toEqual([200, jsonOf(created)]);
    });

    it('has no limit and no plan unless it is given one', async () => {
      const tenant = newName();
      expect(jsonOf(await create({ tenant }))).toMatchObject({ limitBytes: null, plan: null });
    });

    it('of a lost table takes no uploads before a time, and says so', async () => {
      const tenant = newName();
      const uploadsFrom = '2100-01-01T00:00:00Z';
      expect(jsonOf(await create({ tenant, uploadsFrom }))).toMatchObject({ uploadsFrom });
      const { token } = bodyOf(
        await api().manage('POST', `/v1/tenants/${tenant}/tokens`, { scope: 'write' }),
        201,
        z.object({ token: z.string() }),
      );
      const place = { tenant, writeToken: token, readToken: token, repo: 'game' };
      const upload = await postBatch(api(), place, {
        operation: 'upload',
        objects: [{ oid: newOid(), size: 1 }],
      });
      expectLfsError(upload, 429, /was restored from a backup.*uploads again from 2100-01-01 00:00 UTC/);
      expect(Number(upload.headers['retry-after'])).toBeGreaterThan(200);
      const download = await postBatch(api(), place, {
        operation: 'download',
        objects: [{ oid: newOid(), size: 1 }],
      });
      expect(download.status).toBe(200);
      expectProblem(await create({ tenant: newName(), uploadsFrom: 'soon' }), 422, /^uploadsFrom: /);
    });

    it('is no lost one', async () => {
      const { tenant } = await api().newTenant({});
      const wrong = await api().manage('GET', '/v1/lost-tenants?cursor=cff');
      // A store may take any token for a place in its list.
      if (wrong.status !== 200) expectProblem(wrong, 422, /cursor: must be the nextCursor/);
      const answer = await api().manage('GET', '/v1/lost-tenants');
      const page = bodyOf(answer, 200, z.object({ tenants: z.array(z.string()), nextCursor: z.null() }));
      expect(page.tenants).not.toContain(tenant);
    });

    it('is created once', async () => {
      const { tenant } = await api().newTenant({ limitBytes: 5 });
      expectProblem(await create({ tenant, limitBytes: 6 }), 409, new RegExp(tenant));
      expect(jsonOf(await api().manage('GET', `/v1/tenants/${tenant}`))).toMatchObject({ limitBytes: 5 });
    });

    it('is created by one of many who try at once', async () => {
      const tenant = newName();
      const tries = await Promise.all(Array.from({ length: 8 }, () => create({ tenant })));
      expect(tries.map(({ status }) => status).sort()).toEqual([
        201,
        ...Array.from({ length: 7 }, () => 409),
      ]);
    });

    it.each([
      ...['', '-a', 'a-', 'UPPER', 'a.b', 'a_b', 'a/b', '..', 'a b', 'é', 'a\n', 'x'.repeat(41)],
      ...['v1', 'health', 'assets', 7, null, undefined, ['a'], {}],
    ])('can not be called %j', async (tenant) => {
      expectProblem(await create({ tenant }), 422, /^tenant: /);
    });

    it.each([-1, 1.5, 2 ** 53, 1e300, '5', true, [], {}])('can not have the limit %j', async (limitBytes) => {
      expectProblem(await create({ tenant: newName(), limitBytes }), 422, /^limitBytes: /);
      const { tenant } = await api().newTenant();
      expectProblem(
        await api().manage('PATCH', `/v1/tenants/${tenant}`, { limitBytes }),
        422,
        /^limitBytes: /,
      );
    });

    it('can have any limit up to 2^53 − 1 bytes', async () => {
      const limitBytes = Number.MAX_SAFE_INTEGER;
      expect(jsonOf(await create({ tenant: newName(), limitBytes }))).toMatchObject({ limitBytes });
    });

    it('gets another limit and plan, each without the other', async () => {
      const { tenant } = await api().newTenant({ limitBytes: 5, plan: 'small' });
      const patch = async (change: object) => {
        const answer = await api().manage('PATCH', `/v1/tenants/${tenant}`, change);
        expect(answer.status, answer.text).toBe(200);
        return jsonOf(answer);
      };
      expect(await patch({ limitBytes: 7 })).toMatchObject({ limitBytes: 7, plan: 'small' });
      expect(await patch({ plan: 'large' })).toMatchObject({ limitBytes: 7, plan: 'large' });
      expect(await patch({ limitBytes: null })).toMatchObject({ limitBytes: null, plan: 'large' });
      expect(await patch({ limitBytes: 0, plan: null })).toMatchObject({ limitBytes: 0, plan: null });
    });

    it.each([
      [{}, /limitBytes, downloadLimitBytes, plan, reposMustExist, storageClass or suspended/],
      [{ suspended: 'downloads' }, /^suspended: must be pushes, all or null/],
      [{ suspended: 'all', suspendedMessage: 'x'.repeat(201) }, /^suspendedMessage: /],
      [{ suspendedMessage: 'Pay.' }, /set suspended to pushes or all/],
      [{ suspended: null, suspendedMessage: 'Pay.' }, /set suspended to pushes or all/],
      [{ limit: 5 }, /limit/],
      [{ tenant: 'renamed' }, /tenant/],
      [{ plan: '' }, /^plan: /],
      [{ plan: 'x'.repeat(101) }, /^plan: /],
      [null, /expected object/],
      [[], /expected object/],
    ])('is not changed by %j', async (change, detail) => {
      const { tenant } = await api().newTenant({ limitBytes: 5 });
      expectProblem(await api().manage('PATCH', `/v1/tenants/${tenant}`, change), 422, detail);
    });

    it.runIf(serves('lfs'))('takes no pushes while they are suspended, and all else', async () => {
      const place = await api().newPlace();
      const [stored, begun] = [objectOf(10), objectOf(20)];
      await push(api(), place, [stored]);
      const links = await admitted(api(), place, begun);
      const at = `/v1/tenants/${place.tenant}`;
      const set = async (body: object) => jsonOf(await api().manage('PATCH', at, body));
      const upload = () => postBatch(api(), place, { operation: 'upload', objects: [pointer(objectOf(5))] });
      const sentence = 'Pay your invoice: https://example.com/pay';
      const suspended = { suspended: 'pushes', suspendedMessage: sentence };
      expect(await set(suspended)).toMatchObject(suspended);
      expectLfsError(
        await upload(),
        403,
        new RegExp(`^Uploads to ${place.tenant} are suspended. ${sentence}$`),
      );
      // What was admitted before ends as it would.
      expectStatus(await put(api(), links.upload, begun.content), 200);
      expectStatus(await postVerify(api(), links.verify, pointer(begun)), 200);
      for (const object of [stored, begun])
        expect(await ask(api(), place, 'download', object)).toHaveProperty('actions.download');
      await signIn(api(), basic(place.readToken));
      const shown = await api().as(basic(place.readToken), 'GET', `${at}/subscription`);
      expect(jsonOf(shown)).toMatchObject(suspended);
      const { token } = await api().newToken(place.tenant, { scope: 'manage' });
      expectStatus(await api().as(bearer(token), 'DELETE', `${at}/repos/game/objects/${stored.oid}`), 202);
      expect(await set({ suspended: 'pushes' })).not.toHaveProperty('suspendedMessage');
      expectLfsError(await upload(), 403, /Ask the operator of this server.$/);
      expect(await set({ suspended: null })).not.toHaveProperty('suspended');
      objectsIn(await upload());
    });

    it('is reconciled when that is asked for', async () => {
      const { tenant } = await api().newTenant();
      const asked = await api().manage('POST', `/v1/tenants/${tenant}/reconcile`);
      expect([asked.status, jsonOf(asked)]).toEqual([202, { tenant, queued: true }]);
    });
  });
}

const tenantPage = z.strictObject({
  tenants: z.array(z.object({ tenant: z.string() })),
  nextCursor: z.string().nullable(),
});

/** What holds for all lists of the management API, and for its bodies. */
export function listTests(api: () => Api): void {
  describe('the list of tenants', () => {
    const list = async (query: string) => {
      return bodyOf(await api().manage('GET', `/v1/tenants?${query}`), 200, tenantPage);
    };

    it('is read in pages, each tenant once, by name', async () => {
      const made = [];
      for (let index = 0; index < 5; index += 1) made.push((await api().newTenant()).tenant);
      const names = await allPages(
        2,
        (cursor) => list(pageQuery(2, cursor)),
        ({ tenants }) => tenants.map(({ tenant }) => tenant),
      );
      expect(names).toEqual([...new Set(names)].sort());
      expect(names).toEqual(expect.arrayContaining(made));
    });
  });

  describe('a list', () => {
    let tenant: string;
    beforeAll(async () => {
      ({ tenant } = await api().newTenant());
    });
    const ofTenant = ['tokens', 'objects', 'deletions', 'reservations', 'audit', 'repos', 'scans'];
    const ofSubjects = Object.values<Subject>(subjects).flatMap(({ lists = [] }) => lists);
    const lists = ['', ...[...ofTenant, ...ofSubjects].map((what) => `/{tenant}/${what}`)];
    const get = (list: string, query: string) =>
      api().manage('GET', `/v1/tenants${list.replace('{tenant}', tenant)}?${query}`);

    it.each(lists)('/v1/tenants%s has pages of 1 to 1,000', async (list) => {
      for (const limit of ['0', '-1', '1.5', '1001', 'many', '', '1&limit=2', '0x10', '1e2', '%205'])
        expectProblem(await get(list, `limit=${limit}`), 422, /^limit: /);
    });

    it.each(lists)('/v1/tenants%s does not go on after what is no cursor', async (list) => {
      for (const cursor of ['', 'acme', 'x'.repeat(3000), '%00', '%ff', '..', 'c0', 'cABCD'])
        expectProblem(await get(list, `cursor=${cursor}`), 422, /^cursor: must be the nextCursor/);
    });

    it.each(lists)('/v1/tenants%s takes no parameter that it does not know', async (list) => {
      expectProblem(await get(list, 'nobody=1'), 422, /nobody/);
    });
  });

  describe('a body', () => {
    it.each([
      ['', 400],
      ['{', 400],
      ['{"tenant":"a"}x', 400],
      ['"a"', 422],
      ['[['.repeat(30_000), 400],
      ['[['.repeat(100_000), 413],
      [`${' '.repeat(1024 * 1024)}{}`, 413],
    ])('%.20j gets a %i', async (body, status) => {
      const headers = { ...bearer(api().target.adminToken), 'content-type': 'application/json' };
      expectProblem(await api().send({ method: 'POST', path: '/v1/tenants', headers, body }), status);
    });

    it.each([undefined, 'text/plain', 'application/x-www-form-urlencoded', 'application/vnd.git-lfs+json'])(
      'of type %s gets a 415',
      async (type) => {
        const headers = { ...bearer(api().target.adminToken), ...(type && { 'content-type': type }) };
        const body = JSON.stringify({ tenant: newName() });
        const answer = await api().send({ method: 'POST', path: '/v1/tenants', headers, body });
        expectProblem(answer, 415, /application\/json/);
      },
    );

    it('may name a charset', async () => {
      const headers = {
        ...bearer(api().target.adminToken),
        'content-type': 'Application/JSON; charset=utf-8',
      };
      const body = JSON.stringify({ tenant: newName() });
      expect((await api().send({ method: 'POST', path: '/v1/tenants', headers, body })).status).toBe(201);
    });
  });
}

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
      expectProblem(await create('/v1/tenants', body, randomUUID()), 409, /already exists/);
      expectProblem(await api().manage('POST', '/v1/tenants', body), 409, /already exists/);
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
