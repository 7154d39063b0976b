import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, basic, bodyOf, expectProblem, expectStatus, jsonOf } from '../../api.ts';
import { newOid, objectOf, type Place, push } from '../../lfs.ts';
import type { Subject } from '../../subject.ts';

const pageShape = z.strictObject({
  names: z.array(
    z.strictObject({
      oid: z.string(),
      sizeBytes: z.int(),
      path: z.string().nullable(),
      inUseBy: z.string().nullable(),
      commit: z.string().nullable(),
      committedAt: z.iso.datetime().nullable(),
      state: z.enum(['stored', 'scheduled', 'deleting', 'gone']),
      dueAt: z.iso.datetime().optional(),
    }),
  ),
  sum: z.strictObject({ objectCount: z.int(), bytes: z.int() }),
  madeAt: z.iso.datetime(),
  branch: z.string().nullable(),
  commit: z.string().nullable(),
  nextCursor: z.string().nullable(),
});
const signedShape = z.strictObject({ url: z.string(), headers: z.record(z.string(), z.string()) });

interface Named {
  readonly oid: string;
  readonly sizeBytes: number;
  readonly seconds?: number;
  readonly commit?: string;
  readonly ref?: string;
  readonly path?: string;
}

const head = { version: 1, madeAtMs: Date.parse('2026-11-21T05:00:00Z'), branch: 'main', commit: 'c0ffee' };
const withHead = (rest: string) => gzipSync(`${JSON.stringify(head)}\n${rest}`);

export const fileOf = (names: readonly Named[]) =>
  withHead(
    names
      .map(({ oid, sizeBytes, seconds = '', commit = '', ref = '', path = '' }) =>
        [oid, sizeBytes, seconds, commit, ref, `${JSON.stringify(path).slice(1, -1)}\n`].join('\t'),
      )
      .join(''),
  );

/** Signs a file's URL as who asks, and sends the file, unless it's only signed. */
export async function sendNames(api: Api, path: string, file: Buffer, who: Record<string, string>) {
  const body = { bytes: file.length, sha256: createHash('sha256').update(file).digest('hex') };
  const signed = bodyOf(await api.as(who, 'POST', path, body), 200, signedShape);
  return () => api.follow(signed.url, { method: 'PUT', headers: signed.headers, body: file });
}

function nameTests(api: () => Api): void {
  const [kept, old, lost] = [objectOf(10), objectOf(30), objectOf(20)];
  const commit = '91c0e2f4b8d7a6c5e4f3021b9a8d7c6e5f403122';
  const file = fileOf([
    { oid: kept.oid, sizeBytes: 10, path: 'Art/Héro "1".psd', ref: 'main', commit, seconds: 2000 },
    { oid: old.oid, sizeBytes: 30, path: 'Art/old.psd', commit, seconds: 1000 },
    { oid: lost.oid, sizeBytes: 20 },
  ]);
  let own: Place;
  let manager: Record<string, string>;
  const pathOf = (repo = 'game') => `/v1/tenants/${own.tenant}/repos/${repo}/names`;
  const list = async (query = '', who = manager) =>
    bodyOf(await api().as(who, 'GET', pathOf() + query), 200, pageShape);
  const oidsOf = ({ names }: z.output<typeof pageShape>) => names.map(({ oid }) => oid);

  beforeAll(async () => {
    own = { ...(await api().newTenant()), repo: 'game' };
    manager = basic((await api().newToken(own.tenant, { scope: 'manage' })).token);
    await push(api(), own, [kept, old]);
  });

  it('are there once they were sent, and not before', async () => {
    expectProblem(await api().as(manager, 'GET', pathOf()), 404, /lfs-quota repo names/);
    expectProblem(await api().as(manager, 'PATCH', pathOf(), { forReaders: true }), 404);
    let put: Awaited<ReturnType<typeof sendNames>> | undefined;
    await expect
      .poll(
        async () => {
          put = await sendNames(api(), pathOf(), file, manager).catch(() => undefined);
          return put !== undefined;
        },
        { timeout: 120_000, interval: 1000 },
      )
      .toBe(true);
    expectProblem(await api().as(manager, 'GET', pathOf()), 404, /aren't stored/);
    expect((await put?.())?.status).toBe(200);
    expect(await list()).toEqual({
      names: [
        {
          oid: old.oid,
          sizeBytes: 30,
          path: 'Art/old.psd',
          inUseBy: null,
          commit,
          committedAt: '1970-01-01T00:16:40Z',
          state: 'stored',
        },
        {
          oid: lost.oid,
          sizeBytes: 20,
          path: null,
          inUseBy: null,
          commit: null,
          committedAt: null,
          state: 'gone',
        },
        {
          oid: kept.oid,
          sizeBytes: 10,
          path: 'Art/Héro "1".psd',
          inUseBy: 'main',
          commit,
          committedAt: '1970-01-01T00:33:20Z',
          state: 'stored',
        },
      ],
      sum: { objectCount: 3, bytes: 60 },
      madeAt: '2026-11-21T05:00:00Z',
      branch: 'main',
      commit: 'c0ffee',
      nextCursor: null,
    });
  });

  it('are searched, sorted, and read page by page', async () => {
    expect(oidsOf(await list(`?search=${encodeURIComponent('HÉRO')}`))).toEqual([kept.oid]);
    expect(oidsOf(await list(`?search=${old.oid.slice(0, 12)}`))).toEqual([old.oid]);
    expect((await list('?search=nothing')).sum).toEqual({ objectCount: 0, bytes: 0 });
    expect(oidsOf(await list('?inUse=true'))).toEqual([kept.oid]);
    expect(oidsOf(await list('?inUse=false'))).toEqual([old.oid, lost.oid]);
    expect(oidsOf(await list('?sort=newest'))).toEqual([kept.oid, old.oid, lost.oid]);
    expect(oidsOf(await list('?sort=oldest'))).toEqual([old.oid, kept.oid, lost.oid]);
    for (const sort of ['size', 'newest', 'oldest']) {
      const pages: string[] = [];
      let cursor: string | null = '';
      do {
        const page: z.output<typeof pageShape> = await list(
          `?sort=${sort}&limit=1${cursor && `&cursor=${cursor}`}`,
        );
        expect(page.sum.objectCount).toBe(3);
        pages.push(...oidsOf(page));
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(pages).toEqual(oidsOf(await list(`?sort=${sort}`)));
    }
  });

  it('are for managers, until readers may see them', async () => {
    const reader = basic((await api().newToken(own.tenant, { scope: 'read' })).token);
    const elsewhere = basic((await api().newToken(own.tenant, { scope: 'read', repos: ['film'] })).token);
    const refused = await api().as(reader, 'GET', pathOf());
    expectProblem(refused, 403);
    expect(jsonOf(refused)).toMatchObject({ code: 'scope-too-small' });
    const since = (body: object) => expect.objectContaining(body);
    expect(jsonOf(await api().as(manager, 'PATCH', pathOf(), { forReaders: true }))).toEqual(
      since({ forReaders: true }),
    );
    const audited = await api().as(manager, 'GET', `/v1/tenants/${own.tenant}/audit?limit=1`);
    expect(jsonOf(audited)).toMatchObject({
      entries: [{ action: 'names.change', before: { forReaders: false }, after: { forReaders: true } }],
    });
    expect(await list('', reader)).toEqual(await list());
    expectProblem(await api().as(elsewhere, 'GET', pathOf()), 404);
    // They stay so when the next file comes.
    const collector = basic((await api().newToken(own.tenant, { scope: 'gc' })).token);
    expect((await (await sendNames(api(), pathOf(), file, collector))()).status).toBe(200);
    expect((await list('', reader)).sum.objectCount).toBe(3);
    expect(jsonOf(await api().as(manager, 'PATCH', pathOf(), { forReaders: false }))).toEqual(
      since({ forReaders: false }),
    );
    expectProblem(await api().as(reader, 'GET', pathOf()), 403);
  });

  it('say which object is going to be deleted, and it can be kept', async () => {
    const objectPath = `/v1/tenants/${own.tenant}/repos/game/objects/${old.oid}`;
    expectStatus(await api().manage('DELETE', objectPath), 202);
    const [going] = (await list('?search=old.psd')).names;
    expect(going).toMatchObject({ oid: old.oid, state: 'scheduled', dueAt: expect.any(String) });
    const writer = basic((await api().newToken(own.tenant, { scope: 'write' })).token);
    expect(jsonOf(await api().as(writer, 'POST', `${objectPath}/keep`))).toEqual({
      tenant: own.tenant,
      repo: 'game',
      oid: old.oid,
      sizeBytes: 30,
    });
    expect((await list('?search=old.psd')).names).toMatchObject([{ state: 'stored' }]);
    const deletions = await api().manage('GET', `/v1/tenants/${own.tenant}/deletions`);
    expect(jsonOf(deletions)).toMatchObject({ deletions: [] });
    const absent = `/v1/tenants/${own.tenant}/repos/game/objects/${newOid()}/keep`;
    expectProblem(await api().as(writer, 'POST', absent), 404);
  });

  it.each([
    ['no gzip', Buffer.from('not a gzip')],
    ['another version', gzipSync('{"version":2,"madeAtMs":1}\n')],
    ['a cut line', withHead(`${'a'.repeat(64)}\t1`)],
    ['a line that is none', withHead('what\n')],
    ['half a file', file.subarray(0, file.length - 12)],
    ['a line without end', withHead('a'.repeat(10_000_000))],
    ['a line that is too long', withHead(`${kept.oid}\t1\t\t\t${'a'.repeat(500_000)}\t\n`)],
    ['a path that is no JSON', withHead(`${kept.oid}\t1\t\t\t\t\\x\n`)],
    ['an object named twice', withHead(`${kept.oid}\t1\t\t\t\t\n${kept.oid}\t2\t\t\t\t\n`)],
  ])('of %s are told to be unreadable', async (_, broken) => {
    expect((await (await sendNames(api(), pathOf(), broken, manager))()).status).toBe(200);
    expectProblem(await api().as(manager, 'GET', pathOf()), 404, /can't be read/);
  });

  it.each([
    { bytes: 0, sha256: newOid() },
    { bytes: 64 * 1024 ** 2 + 1, sha256: newOid() },
    { bytes: 1, sha256: 'AB' },
    { bytes: 1 },
  ])('refuse a file of %j', async (body) => {
    expectProblem(await api().as(manager, 'POST', pathOf(), body), 422);
  });

  it.each(['sort=path', 'search=', `search=${'a'.repeat(201)}`, 'inUse=no', 'cursor=c00', 'limit=0'])(
    'refuse the query %s',
    async (query) => expectProblem(await api().as(manager, 'GET', `${pathOf()}?${query}`), 422),
  );

  it('are those that were signed last, whatever an old URL brings', async () => {
    const late = await sendNames(api(), pathOf(), file, manager);
    const none = fileOf([]);
    expect((await (await sendNames(api(), pathOf(), none, manager))()).status).toBe(200);
    expect(await list()).toMatchObject({ names: [], sum: { objectCount: 0, bytes: 0 } });
    expect((await late()).status).toBe(200);
    expectProblem(await api().as(manager, 'GET', pathOf()), 404, /aren't stored/);
  });
}

/** All that the suite asks of this subject. */
export const namesSubject: Subject = {
  callers: {
    'GET /v1/tenants/{tenant}/repos/{repo}/names': 'reader',
    'POST /v1/tenants/{tenant}/repos/{repo}/names': 'collector',
    'PATCH /v1/tenants/{tenant}/repos/{repo}/names': 'manager',
  },
  tests: (api) => {
    describe('names of objects', () => nameTests(api));
  },
};
