import { hash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Api,
  allPages,
  bearer,
  bodyOf,
  comparable,
  expectProblem,
  expectStatus,
  jsonOf,
  newName,
  pageQuery,
  type TestTenant,
} from '../../api.ts';
import { type LfsObject, newOid, objectOf, type Place, push } from '../../lfs.ts';
import type { Subject } from '../../subject.ts';

const exportShape = z.object({
  exportId: z.string().regex(/^[0-9a-f]{24}$/),
  tenant: z.string(),
  repo: z.string().nullable(),
  state: z.enum(['planning', 'hashing', 'copying', 'done', 'explained', 'failed', 'cancelled', 'expired']),
  archives: z.array(z.object({ name: z.string(), url: z.string().nullable() })),
  countsAgainstQuota: z.literal(false),
});
const pageShape = z.object({ exports: z.array(exportShape), nextCursor: z.string().nullable() });

/** How exports are asked for, shown and deleted, whatever becomes of them. */
function exportTests(api: () => Api): void {
  let own: TestTenant;
  let other: TestTenant;
  beforeAll(async () => {
    [own, other] = [await api().newTenant(), await api().newTenant()];
  });

  const pathOf = (tenant: string, exportId?: string) =>
    `/v1/tenants/${tenant}/exports${exportId === undefined ? '' : `/${exportId}`}`;
  const send = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
    api().send({
      method,
      path,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const started = async (tenant: string, body: unknown = {}) => {
    return bodyOf(await api().manage('POST', pathOf(tenant), body), 202, exportShape);
  };

  describe('an export', () => {
    it('is begun, shown, listed and deleted, by the operator and by any token of the tenant', async () => {
      const { tenant } = own;
      for (const token of [own.readToken, own.writeToken, api().target.adminToken]) {
        const { exportId } = bodyOf(
          await send('POST', pathOf(tenant), bearer(token), { dryRun: true }),
          202,
          exportShape,
        );
        const shown = await send('GET', pathOf(tenant, exportId), bearer(token));
        expect(exportShape.parse(jsonOf(shown))).toMatchObject({ exportId, tenant, repo: null });
        const listed = pageShape.parse(jsonOf(await send('GET', pathOf(tenant), bearer(token))));
        expect(listed.exports[0]?.exportId).toBe(exportId);
        for (let times = 0; times < 2; times += 1) {
          const deleted = await send('DELETE', pathOf(tenant, exportId), bearer(token));
          expect(deleted.status, deleted.text).toBe(200);
          // It may have ended, or be gone, by then.
          expect(['cancelled', 'explained']).toContain(exportShape.parse(jsonOf(deleted)).state);
        }
      }
    });

    it('is begun once for an Idempotency-Key', async () => {
      const { tenant } = await api().newTenant();
      const headers = { ...bearer(api().target.adminToken), 'idempotency-key': randomUUID() };
      const begin = (body: unknown) => send('POST', pathOf(tenant), headers, body);
      const answers = await Promise.all([1, 2, 3].map(() => begin({})));
      const ids = answers.map((answer) => exportShape.parse(jsonOf(answer)).exportId);
      expect(new Set(ids).size).toBe(1);
      expectProblem(await begin({ format: 'zip' }), 422, /another body/);
    });

    it('is listed page by page, the newest first', async () => {
      const { tenant } = await api().newTenant();
      const ids = [];
      for (let index = 0; index < 3; index += 1) ids.push((await started(tenant)).exportId);
      const page = async (cursor: string | undefined) =>
        bodyOf(await api().manage('GET', `${pathOf(tenant)}?${pageQuery(2, cursor)}`), 200, pageShape);
      const seen = await allPages(2, page, (found) => found.exports.map(({ exportId }) => exportId));
      // Two that begin in the same millisecond have no order.
      expect([...seen].sort()).toEqual([...ids].sort());
      const times = seen.map((id) => id.slice(0, 12));
      expect(times).toEqual([...times].sort().reverse());
    });

    it('needs a place, of which a tenant has three, and leaves it when it is deleted', async () => {
      const { tenant } = await api().newTenant();
      const ids = [];
      for (let index = 0; index < 3; index += 1) ids.push((await started(tenant)).exportId);
      const full = await api().manage('POST', pathOf(tenant), {});
      expectProblem(full, 409, /Delete an export, or wait/);
      for (const id of ids) expect(full.text).toMatch(new RegExp(`${id} until \\d{4}-\\d\\d-\\d\\dT`));
      await api().manage('DELETE', pathOf(tenant, ids[0]));
      await started(tenant);
    });

    it('is of the one repo that a token is for', async () => {
      const tokens = await api().newTenant();
      const { tenant } = tokens;
      for (const repo of ['game', 'film']) await push(api(), { ...tokens, repo }, [objectOf(10)]);
      const { token } = await api().newToken(tenant, { scope: 'write', repos: ['game'] });
      const [oneRepo, read] = [bearer(token), bearer(tokens.readToken)];
      const start = (body: object, who = oneRepo) =>
        send('POST', pathOf(tenant), who, { ...body, dryRun: true });
      expect((await start({})).status).toBe(403);
      expect((await start({ repo: 'film' })).status).toBe(404);
      const { exportId } = bodyOf(await start({ repo: 'game' }), 202, exportShape);
      const ids = [];
      for (const body of [{ repo: 'film' }, {}])
        ids.push(bodyOf(await start(body, read), 202, exportShape).exportId);
      const { text } = await send('GET', pathOf(tenant), oneRepo);
      expect(text).toContain(exportId);
      for (const id of ids) {
        expect(text).not.toContain(id);
        expect((await send('GET', pathOf(tenant, id), oneRepo)).status).toBe(404);
        expect((await send('GET', pathOf(tenant, id), read)).status).toBe(200);
      }
    });

    it('is not there for others, who cannot tell it from none', async () => {
      const { exportId } = await started(own.tenant, { dryRun: true });
      for (const [method, path] of [
        ['GET', pathOf(own.tenant)],
        ['GET', pathOf(own.tenant, exportId)],
        ['DELETE', pathOf(own.tenant, exportId)],
        ['POST', pathOf(own.tenant)],
      ] as const) {
        const refused = await send(method, path, bearer(other.readToken), {});
        expectProblem(refused, 404, /tenant doesn't exist/);
        const absent = path.replace(own.tenant, newName());
        expect(comparable(await send(method, absent, bearer(other.readToken), {}))).toEqual(
          comparable(refused),
        );
        expectProblem(await send(method, path, {}, {}), 401);
      }
      // Nor is it one of another tenant.
      for (const method of ['GET', 'DELETE'])
        expectProblem(await api().manage(method, pathOf(other.tenant, exportId)), 404, /no export/);
    });

    it.each(['0'.repeat(24), 'x', '0'.repeat(25), '%2e%2e', `${'0'.repeat(23)}G`])(
      'has an id that is one: %s is not found',
      async (exportId) => {
        for (const method of ['GET', 'DELETE'])
          expectProblem(await api().manage(method, pathOf(own.tenant, exportId)), 404);
      },
    );

    it.each([
      { body: { repo: '../x' }, detail: /^repo: must be/ },
      { body: { format: 'rar' }, detail: /^format: / },
      { body: { prefer: 'speed' }, detail: /^prefer/ },
      { body: { dryrun: true }, detail: /dryrun/ },
      { body: { dryRun: 'true' }, detail: /^dryRun: / },
      { body: { objects: [] }, detail: /^objects: must have 1 to 15000 objects/ },
      { body: { objects: [{ oid: 'x' }] }, detail: /^objects\.0\.oid: must be 64/ },
      { body: { objects: [{ oid: newOid(), name: '../x' }] }, detail: /^objects\.0\.name: must be/ },
      { body: { objects: [1, 2].map(() => ({ oid: newOid(), name: 'x' })) }, detail: /two objects/ },
      { body: [], detail: /\w/ },
    ])('is refused for $body', async ({ body, detail }) => {
      expectProblem(await api().manage('POST', pathOf(own.tenant), body), 422, detail);
    });

    it('of a repo that has nothing is refused', async () => {
      expectProblem(await api().manage('POST', pathOf(own.tenant), { repo: 'nothing' }), 404, /no repo/);
    });

    it('ends with its tenant', async () => {
      const { tenant, readToken } = await api().newTenant();
      const { exportId } = await started(tenant);
      expect((await api().manage('DELETE', `/v1/tenants/${tenant}`)).status).toBe(202);
      const begin = await api().manage('POST', pathOf(tenant), {});
      // The tenant may be gone by then, or still be seen by the operator.
      expect([404, 409]).toContain(begin.status);
      expect([401, 404]).toContain((await send('GET', pathOf(tenant), bearer(readToken))).status);
      const shown = await api().manage('GET', pathOf(tenant, exportId));
      if (shown.status === 200)
        expect(['cancelled', 'expired']).toContain(exportShape.parse(jsonOf(shown)).state);
      else expectProblem(shown, 404);
    });
  });
}

const jobShape = z.object({
  exportId: z.string(),
  state: z.string(),
  failure: z.object({ message: z.string() }).nullable(),
  progress: z.object({ share: z.number().nullable(), unitsDone: z.number(), units: z.number() }),
  plan: z.object({ objectCount: z.number(), archiveBytes: z.number(), copiedBytes: z.number() }).nullable(),
  archives: z.array(z.object({ name: z.string(), sizeBytes: z.number(), url: z.string().nullable() })),
});

type Job = z.output<typeof jobShape>;

const mebibyte = 1024 ** 2;
const waitMs = 120_000;
const open: readonly string[] = ['planning', 'copying'];

/** The files of a tar, by name → SHA-256. */
function filesOfTar(tar: Buffer): Record<string, string> {
  const text = (at: number, length: number) => tar.toString('latin1', at, at + length).replace(/\0.*$/s, '');
  const files: Record<string, string> = {};
  for (let at = 0; at < tar.length && tar[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    files[text(at, 100)] = hash('sha256', tar.subarray(at + 512, at + 512 + size), 'hex');
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

/** The files of a zip that its directory names, by name → SHA-256. */
function filesOfZip(zip: Buffer): Record<string, string> {
  const files: Record<string, string> = {};
  for (let at = zip.readUInt32LE(zip.length - 22 + 16); zip.readUInt32LE(at) === 0x02014b50; ) {
    const [nameLength, head] = [zip.readUInt16LE(at + 28), zip.readUInt32LE(at + 42)];
    const start = head + 30 + zip.readUInt16LE(head + 26) + zip.readUInt16LE(head + 28);
    const content = zip.subarray(start, start + zip.readUInt32LE(at + 24));
    files[zip.toString('utf8', at + 46, at + 46 + nameLength)] = hash('sha256', content, 'hex');
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return files;
}

/** Under which name an archive has an object. */
const nameOf = ({ oid }: Pick<LfsObject, 'oid'>) =>
  `lfs/objects/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`;

/** Begins an export of a tenant. @returns it, once it has ended. */
async function exported(api: Api, tenant: string, body: object): Promise<Job> {
  const path = `/v1/tenants/${tenant}/exports`;
  const { exportId } = bodyOf(await api.manage('POST', path, body), 202, jobShape);
  for (const endMs = Date.now() + waitMs; ; await sleep(250)) {
    const job = jobShape.parse(jsonOf(await api.manage('GET', `${path}/${exportId}`)));
    if (!open.includes(job.state)) return job;
    if (Date.now() > endMs) throw new Error(`The export is still ${job.state}.`);
  }
}

/** What exports make: archives that have every object, are downloaded by URL, and go when they are deleted. */
function archiveTests(api: () => Api): void {
  let place: Place;
  let objects: readonly LfsObject[];

  beforeAll(async () => {
    place = await api().newPlace();
    objects = [0, 1, 7, 5 * mebibyte, 5 * mebibyte + 1, 12 * mebibyte].map(objectOf);
    await push(api(), place, objects);
  }, waitMs);

  const path = (exportId = '') => `/v1/tenants/${place.tenant}/exports${exportId && `/${exportId}`}`;
  const ended = (body: object) => exported(api(), place.tenant, body);

  describe('an archive', () => {
    it.each(['tar', 'zip'] as const)(
      '%s: has every object, and is gone when it is deleted',
      { timeout: 2 * waitMs },
      async (format) => {
        const job = await ended({ repo: 'game', format });
        expect(job).toMatchObject({ state: 'done', failure: null, progress: { share: 1 } });
        expect(job.plan?.objectCount).toBe(objects.length);
        const [archive] = job.archives;
        expect(archive?.name).toBe(`${place.tenant}-game.${format}`);
        const download = await api().follow(archive?.url ?? '', { method: 'GET' });
        expect(download.status).toBe(200);
        expect(download.bytes.length).toBe(archive?.sizeBytes);
        const files = format === 'tar' ? filesOfTar(download.bytes) : filesOfZip(download.bytes);
        expect(files).toMatchObject(Object.fromEntries(objects.map((each) => [nameOf(each), each.oid])));
        expect(Object.keys(files).length).toBe(objects.length + 2);

        expectStatus(await api().manage('DELETE', path(job.exportId)), 200);
        const again = async () => (await api().follow(archive?.url ?? '', { method: 'GET' })).status;
        await expect.poll(again, { timeout: waitMs, interval: 500 }).toBe(404);
      },
    );

    it('of some objects has them under the names that were given', { timeout: waitMs }, async () => {
      const [, one, two] = objects;
      const wanted = [{ oid: one?.oid, name: 'a/one.bin' }, { oid: two?.oid }];
      const job = await ended({ repo: 'game', objects: wanted });
      expect(job).toMatchObject({ state: 'done', plan: { objectCount: 2 } });
      const download = await api().follow(job.archives[0]?.url ?? '', { method: 'GET' });
      const files = filesOfTar(download.bytes);
      expect(files['a/one.bin']).toBe(one?.oid);
      expect(Object.keys(files).length).toBe(4);
      await api().manage('DELETE', path(job.exportId));
    });

    it('that is a dry run is planned, and not made', { timeout: waitMs }, async () => {
      const job = await ended({ dryRun: true });
      expect(job).toMatchObject({ state: 'explained', archives: [], plan: { objectCount: objects.length } });
    });

    it('is not seen by what is counted', { timeout: waitMs }, async () => {
      const job = await ended({ repo: 'game' });
      const refreshed = await api().manage('GET', `/v1/tenants/${place.tenant}/subscription?refresh=true`);
      expect(jsonOf(refreshed)).toMatchObject({ repos: [{ repo: 'game', objectCount: objects.length }] });
      expect((await api().manage('DELETE', path(job.exportId))).status).toBe(200);
      expectProblem(await api().manage('DELETE', path('0'.repeat(24))), 404);
    });
  });
}

/** All that the suite asks of this subject. */
export const exportsSubject: Subject = {
  callers: {
    'GET /v1/tenants/{tenant}/exports': 'reader',
    'POST /v1/tenants/{tenant}/exports': 'reader',
    'GET /v1/tenants/{tenant}/exports/{exportId}': 'reader',
    'DELETE /v1/tenants/{tenant}/exports/{exportId}': 'reader',
  },
  lists: ['exports'],
  places: {
    fill: async (api, { tenant, repos }) => {
      const ids: string[] = [];
      for (let count = 0; ; count += 1) {
        const wish = count === 0 ? {} : { repo: repos[count % repos.length] };
        const begun = await api.manage('POST', `/v1/tenants/${tenant}/exports`, wish);
        if (begun.status !== 202) return ids;
        ids.push(exportShape.parse(jsonOf(begun)).exportId);
      }
    },
    ask: async (api, { tenant, repo }, who) => {
      const answer = await api.as(who, 'POST', `/v1/tenants/${tenant}/exports`, { repo });
      expectProblem(answer, 409, /All export slots/);
      return answer;
    },
  },
  ofAdopted: {
    title: 'is exported',
    test: async (api, { tenant, repo, objects }) => {
      const job = await exported(api, tenant, { repo, format: 'tar' });
      expect(job).toMatchObject({ state: 'done', plan: { objectCount: objects.length } });
      const archive = await api.follow(job.archives[0]?.url ?? '', { method: 'GET' });
      const files = filesOfTar(archive.bytes);
      expect(files).toMatchObject(Object.fromEntries(objects.map((each) => [nameOf(each), each.oid])));
      const deleted = await api.manage('DELETE', `/v1/tenants/${tenant}/exports/${job.exportId}`);
      expect(deleted.status).toBe(200);
    },
  },
  tests: (api) => {
    describe('exports', () => exportTests(api));
    archiveTests(api);
  },
};
