import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Answer,
  type Api,
  allPages,
  basic,
  bearer,
  bodyOf,
  comparable,
  expectLfsError,
  expectProblem,
  expectStatus,
  jsonOf,
  newName,
  pageQuery,
} from '../../api.ts';
import { lfsHeaders, lfsType, type Place } from '../../lfs.ts';
import type { Subject } from '../../subject.ts';

const wireLock = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{40}[0-9A-Za-z]{12}$/),
  path: z.string(),
  locked_at: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  owner: z.strictObject({ name: z.string() }),
});
const oneLock = z.strictObject({ lock: wireLock });
const conflict = z.strictObject({ lock: wireLock, message: z.string().min(10), request_id: z.string() });
const lockList = z.strictObject({ locks: z.array(wireLock), next_cursor: z.string().optional() });
const verified = z.strictObject({
  ours: z.array(wireLock),
  theirs: z.array(wireLock),
  next_cursor: z.string().optional(),
});
const managed = z.strictObject({
  locks: z.array(
    z.strictObject({
      id: z.string(),
      path: z.string(),
      owner: z.string(),
      ownerName: z.string(),
      lockedAt: z.iso.datetime(),
    }),
  ),
  nextCursor: z.string().nullable(),
});

interface Member {
  readonly tokenId: string;
  readonly token: string;
}

/** File locks, as git-lfs and as who administers them sees them. */
function lockTests(api: () => Api): void {
  const newMember = async (tenant: string, grant: object): Promise<Member> => {
    return bodyOf(
      await api().manage('POST', `/v1/tenants/${tenant}/tokens`, { scope: 'write', ...grant }),
      201,
      z.object({ tokenId: z.string(), token: z.string() }),
    );
  };
  const lfsPath = ({ tenant, repo }: Place, rest: string) => `/${tenant}/${repo}.git/info/lfs/locks${rest}`;
  const ask = async (place: Place, method: 'GET' | 'POST', rest: string, token: string, body?: unknown) => {
    const answer = await api().send({
      method,
      path: lfsPath(place, rest),
      headers: { ...lfsHeaders, ...basic(token, 'somebody') },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    expect(answer.headers['content-type']).toBe(lfsType);
    return answer;
  };
  const lock = (place: Place, token: string, path: string) =>
    ask(place, 'POST', '', token, { path, ref: { name: 'refs/heads/main' } });
  const take = async (place: Place, token: string, path: string) =>
    bodyOf(await lock(place, token, path), 201, oneLock).lock;
  const unlock = (place: Place, token: string, id: string, body: object = {}) =>
    ask(place, 'POST', `/${id}/unlock`, token, { ref: { name: 'refs/heads/main' }, ...body });
  const list = async (place: Place, token: string, query = '') =>
    bodyOf(await ask(place, 'GET', query, token), 200, lockList);
  const pathsOf = (locks: readonly { path: string }[]) => locks.map(({ path }) => path).sort();

  describe('a file lock', () => {
    it('is taken in the name of the token’s user, and never of the name that a client sends', async () => {
      const place = await api().newPlace();
      for (const [grant, name] of [
        [{ user: 'ada' }, 'ada'],
        [{ user: 'bob', label: 'laptop' }, 'bob'],
        [{ label: 'build machine' }, 'build machine'],
      ] as const) {
        const { token } = await newMember(place.tenant, grant);
        expect(await take(place, token, `art/${name}.psd`)).toMatchObject({
          path: `art/${name}.psd`,
          owner: { name },
        });
      }
      const { tokenId, token } = await newMember(place.tenant, {});
      expect((await take(place, token, 'a.bin')).owner.name).toBe(`token ${tokenId.slice(0, 4)}…`);
    });

    it('is taken once, and whoever comes later is told who has it since when', async () => {
      const place = await api().newPlace();
      const [ada, bob] = [
        await newMember(place.tenant, { user: 'ada' }),
        await newMember(place.tenant, { user: 'bob' }),
      ];
      const taken = await take(place, ada.token, 'a b/ä.bin');
      expect(Math.abs(Date.parse(taken.locked_at) - Date.now())).toBeLessThan(120_000);
      for (const { token } of [bob, ada]) {
        const answer = bodyOf(await lock(place, token, 'a b/ä.bin'), 409, conflict);
        expect(answer.lock).toEqual(taken);
        expect(answer.message).toMatch(/^ada locked a b\/ä\.bin on \d{4}-\d\d-\d\d at \d\d:\d\d UTC\.$/);
      }
    });

    it('is won by exactly one of 50 requests, many of them at the same time', {
      timeout: 60_000,
    }, async () => {
      const place = await api().newPlace();
      const members = [
        await newMember(place.tenant, { user: 'ada' }),
        await newMember(place.tenant, { user: 'bob' }),
      ];
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          lock(place, members[index % 2]?.token ?? '', 'contested.bin'),
        ),
      );
      const [won] = answers.filter(({ status }) => status === 201);
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      const winner = oneLock.parse(jsonOf(won ?? (answers[0] as Answer))).lock;
      for (const answer of answers)
        if (answer !== won) expect(bodyOf(answer, 409, conflict).lock).toEqual(winner);
      const unlocks = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          unlock(place, members[index % 2]?.token ?? '', winner.id, { force: true }),
        ),
      );
      expect(unlocks.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(unlocks.filter(({ status }) => status === 404)).toHaveLength(49);
      expect(await list(place, place.readToken)).toEqual({ locks: [] });
    });

    it('is of one repo, whatever branch it is asked for', async () => {
      const place = await api().newPlace();
      const other = { ...place, repo: 'other' };
      await take(place, place.writeToken, 'a.bin');
      await take(other, place.writeToken, 'a.bin');
      const branch = { path: 'a.bin', ref: { name: 'refs/heads/topic' } };
      expect((await ask(place, 'POST', '', place.writeToken, branch)).status).toBe(409);
      const found = await list(place, place.writeToken, '?refspec=refs%2Fheads%2Ftopic');
      expect(pathsOf(found.locks)).toEqual(['a.bin']);
    });

    it('is released by its owner alone, with any token of that user, and is free then', async () => {
      const place = await api().newPlace();
      const [ada, alsoAda, bob] = [
        await newMember(place.tenant, { user: 'ada' }),
        await newMember(place.tenant, { user: 'ada', scope: 'manage' }),
        await newMember(place.tenant, { user: 'bob' }),
      ];
      const taken = await take(place, ada.token, 'a.bin');
      expectLfsError(
        await unlock(place, bob.token, taken.id),
        403,
        /^ada locked a\.bin on .*Ask ada to unlock it, or run: git lfs unlock --force a\.bin$/,
      );
      expect(bodyOf(await unlock(place, alsoAda.token, taken.id, { force: false }), 200, oneLock)).toEqual({
        lock: taken,
      });
      expectLfsError(await unlock(place, ada.token, taken.id), 404, /Lock not found/);
      const next = await take(place, bob.token, 'a.bin');
      expectLfsError(await unlock(place, ada.token, taken.id, { force: true }), 404, /another one was taken/);
      expect((await list(place, place.readToken)).locks).toEqual([next]);
    });

    it('that is taken away by force is audited', async () => {
      const place = await api().newPlace();
      const { id } = await take(place, place.writeToken, 'a.psd');
      const manage = await newMember(place.tenant, { scope: 'manage' });
      expect((await unlock(place, manage.token, id)).status).toBe(403);
      expect((await unlock(place, manage.token, id, { force: true })).status).toBe(200);
      const audit = await api().manage('GET', `/v1/tenants/${place.tenant}/audit?action=lock.force`);
      expect(jsonOf(audit)).toMatchObject({
        entries: [
          {
            by: { tokenId: manage.tokenId },
            target: { repo: 'game', lockId: id },
            outcome: 'succeeded',
            before: { path: 'a.psd' },
          },
        ],
      });
    });

    it('is taken away by force by whoever may push', async () => {
      const place = await api().newPlace();
      const ada = await newMember(place.tenant, { user: 'ada' });
      const taken = await take(place, ada.token, 'a.bin');
      expectLfsError(await unlock(place, place.readToken, taken.id, { force: true }), 403, /write scope/);
      expect(bodyOf(await unlock(place, place.writeToken, taken.id, { force: true }), 200, oneLock)).toEqual({
        lock: taken,
      });
      expect(await list(place, place.readToken)).toEqual({ locks: [] });
    });

    it('is taken and released with a token that may push, and seen with any', async () => {
      const place = await api().newPlace();
      expectLfsError(await lock(place, place.readToken, 'a.bin'), 403, /write scope/);
      const taken = await take(place, place.writeToken, 'a.bin');
      expectLfsError(await unlock(place, place.readToken, taken.id), 403, /write scope/);
      expect((await list(place, place.readToken)).locks).toEqual([taken]);
    });

    it('is found by its path, by its id, or by both', async () => {
      const place = await api().newPlace();
      const [one, other] = [
        await take(place, place.writeToken, 'a,b&c d.bin'),
        await take(place, place.writeToken, 'other.bin'),
      ];
      const encoded = encodeURIComponent(one.path);
      for (const query of [`?path=${encoded}`, `?id=${one.id}`, `?path=${encoded}&id=${one.id}&limit=1`])
        expect(await list(place, place.readToken, query)).toEqual({ locks: [one] });
      const staleId = `${one.id.slice(0, 40)}${'0'.repeat(12)}`;
      // An empty filter is none.
      expect(await list(place, place.readToken, `?id=&path=${encoded}`)).toEqual({ locks: [one] });
      expect((await list(place, place.readToken, '?path=&id=&cursor=&limit=')).locks).toHaveLength(2);
      for (const query of ['?path=nothing.bin', '?id=1', `?id=${staleId}`, `?path=${encoded}&id=${other.id}`])
        expect(await list(place, place.readToken, query)).toEqual({ locks: [] });
    });

    it('is listed and verified in pages, each once, own ones apart', async () => {
      const place = await api().newPlace();
      const [ada, alsoAda, bob] = [
        await newMember(place.tenant, { user: 'ada' }),
        await newMember(place.tenant, { user: 'ada' }),
        await newMember(place.tenant, { user: 'bob' }),
      ];
      for (const path of ['1', '2', '3']) await take(place, ada.token, path);
      for (const path of ['4', '5']) await take(place, bob.token, path);
      const listed = await allPages(
        2,
        (cursor) => list(place, ada.token, `?${pageQuery(2, cursor)}`),
        ({ locks }) => pathsOf(locks),
      );
      expect(listed.sort()).toEqual(['1', '2', '3', '4', '5']);
      const looked = await allPages(
        2,
        async (cursor) => {
          const body = { ref: { name: 'refs/heads/main' }, limit: 2, ...(cursor && { cursor }) };
          return bodyOf(await ask(place, 'POST', '/verify', alsoAda.token, body), 200, verified);
        },
        (page) => (['ours', 'theirs'] as const).flatMap((of) => page[of].map(({ path }) => [of, path])),
      );
      const of = (whose: string) => looked.filter(([each]) => each === whose).map(([, path]) => path);
      expect([of('ours').sort(), of('theirs').sort()]).toEqual([
        ['1', '2', '3'],
        ['4', '5'],
      ]);
    });

    it('is verified without a ref, without a page size, and for those who may only read', async () => {
      const place = await api().newPlace();
      await take(place, place.writeToken, 'a.bin');
      for (const body of [{}, { ref: null }, { ref: { name: '' }, limit: 0 }, { limit: 100_000 }]) {
        const answer = bodyOf(await ask(place, 'POST', '/verify', place.readToken, body), 200, verified);
        expect([answer.ours, pathsOf(answer.theirs)]).toEqual([[], ['a.bin']]);
      }
    });

    it.each([
      ['', '{"path":', 400, /isn't valid JSON/],
      ['', {}, 422, /^Invalid lock request: path: /],
      ['', { path: '' }, 422, /path: must have 1 to 1024 characters/],
      ['', { path: 'a\nb' }, 422, /no control characters/],
      ['', { path: 7 }, 422, /path: /],
      ['/verify', { cursor: 'x' }, 422, /cursor: must be the next_cursor/],
      ['/verify', { limit: -1 }, 422, /limit: must be a whole number/],
      ['/verify', '[]', 422, /Invalid/],
      [`/${'0'.repeat(52)}/unlock`, { force: 'yes' }, 422, /force: /],
      [`/${'0'.repeat(52)}/unlock`, {}, 404, /Lock not found/],
      ['/1/unlock', { force: true }, 404, /Lock not found/],
    ] as const)('is not asked for at %s with %j', async (rest, body, status, says) => {
      expectLfsError(await ask(shared, 'POST', rest, shared.writeToken, body), status, says);
    });

    it('has a path of 1,024 characters at most, of any kind', async () => {
      const path = 'ä😀'.repeat(512);
      expect((await take(shared, shared.writeToken, path)).path).toBe(path);
      expectLfsError(await lock(shared, shared.writeToken, `${path}x`), 422, /path: must have 1 to 1024/);
    });

    it.each(['?cursor=x', '?limit=-1', '?limit=x', '?limit=1.5'])('is not listed with %s', async (query) => {
      expectLfsError(
        await ask(shared, 'GET', query, shared.readToken),
        422,
        /Invalid lock request: (cursor|limit): /,
      );
    });

    it('is of a file that a repo can have', async () => {
      const place = await api().newPlace();
      const own = ['a', 'art/hero.psd', '.gitattributes', '..a/b..', 'a/...', 'C:', 'ab:/c', ' '];
      for (const path of own) expect((await take(place, place.writeToken, path)).path).toBe(path);
      for (const path of [
        ...['.', '..', '/', '/abs/x', '../x', './a', 'a/../b', 'a/./b', 'a/..', 'a//b', 'dir/', 'C:/Users/x'],
        ...['..\\x', 'a\\\\b', '\\abs', 'dir\\', 'c:\\Users\\x'],
      ])
        expectLfsError(
          await lock(place, place.writeToken, path),
          422,
          /^Invalid lock request: path: must be the file's path from the root of the repo, such as art\/hero\.psd\.$/,
        );
      expect(pathsOf((await list(place, place.readToken)).locks)).toEqual([...own].sort());
    });

    it('is of one file, with slashes or backslashes', async () => {
      const place = await api().newPlace();
      const taken = await take(place, place.writeToken, 'Content\\Maps\\A.umap');
      expect(taken.path).toBe('Content/Maps/A.umap');
      for (const path of ['Content/Maps/A.umap', 'Content\\Maps/A.umap']) {
        expect((await lock(place, place.writeToken, path)).status).toBe(409);
        const query = `?path=${encodeURIComponent(path)}`;
        for (const filter of [query, `${query}&id=${taken.id}`])
          expect(await list(place, place.readToken, filter)).toEqual({ locks: [taken] });
        const managedPath = `/v1/tenants/${place.tenant}/repos/${place.repo}/locks${query}`;
        expect(jsonOf(await api().manage('GET', managedPath))).toMatchObject({ locks: [{ id: taken.id }] });
      }
    });

    it('is verified and released without a body', async () => {
      const place = await api().newPlace();
      const taken = await take(place, place.writeToken, 'a.bin');
      const found = bodyOf(await ask(place, 'POST', '/verify', place.writeToken), 200, verified);
      expect(found.ours).toEqual([taken]);
      expectLfsError(await ask(place, 'POST', '', place.writeToken), 422, /path: /);
      const path = `/${taken.id}/unlock`;
      expect(bodyOf(await ask(place, 'POST', path, place.writeToken, ' '), 200, oneLock)).toEqual({
        lock: taken,
      });
    });

    it('is of one user, whatever spaces are around the name', async () => {
      const place = await api().newPlace();
      const [ada, alsoAda] = [
        await newMember(place.tenant, { user: ' Ada Lovelace\u00a0 ' }),
        await newMember(place.tenant, { user: 'Ada Lovelace' }),
      ];
      const taken = await take(place, ada.token, 'a.bin');
      expect(taken.owner.name).toBe('Ada Lovelace');
      expect((await unlock(place, alsoAda.token, taken.id)).status).toBe(200);
      const refused = await api().manage('POST', `/v1/tenants/${place.tenant}/tokens`, {
        scope: 'write',
        user: '  ',
      });
      expectProblem(refused, 422, /1 to 100 characters/);
    });

    it('is asked for by a client that takes the media type of the LFS API', async () => {
      const headers = { ...lfsHeaders, ...basic(shared.writeToken) };
      const request = { method: 'POST', path: lfsPath(shared, ''), body: '{"path":"a"}' };
      const other = { ...headers, 'content-type': 'text/plain;charset=UTF-8' };
      expect((await api().send({ ...request, headers: other })).status).toBe(201);
      expectLfsError(await api().send({ ...request, headers: { ...headers, accept: 'text/html' } }), 406);
      const large = `{"path":"a","ref":"${'x'.repeat(1_048_576)}"}`;
      expectLfsError(await api().send({ ...request, body: large, headers }), 413);
      const { 'content-type': _, ...bare } = headers;
      const get = { method: 'GET', path: lfsPath(shared, '') };
      expect((await api().send({ ...get, headers: bare })).status).toBe(200);
      expectLfsError(await api().send({ ...get, headers: { ...bare, accept: 'text/html' } }), 406);
    });

    it('is nothing for strangers, nor for a token of other repos', async () => {
      const place = await api().newPlace();
      const taken = await take(place, place.writeToken, 'a.bin');
      const stranger = await api().newTenant();
      const elsewhere = await newMember(place.tenant, { repos: ['art'] });
      for (const [method, rest, body] of [
        ['POST', '', { path: 'b.bin' }],
        ['GET', '', undefined],
        ['POST', '/verify', {}],
        ['POST', `/${taken.id}/unlock`, { force: true }],
      ] as const) {
        expectLfsError(await ask(place, method, rest, `lfsq_${newName()}`, body), 401);
        const absent = { ...place, tenant: 'no-such-tenant' };
        const wanted = comparable(await ask(absent, method, rest, stranger.writeToken, body));
        // By a 404 to this one question git-lfs would take it, for good, that there are no locks.
        expect(wanted).toMatchObject({ status: rest === '/verify' ? 403 : 404 });
        for (const token of [stranger.writeToken, elsewhere.token])
          expect(comparable(await ask(place, method, rest, token, body))).toEqual(wanted);
      }
      expect((await list(place, place.readToken)).locks).toEqual([taken]);
    });
  });

  let shared: Place;
  beforeAll(async () => {
    shared = await api().newPlace();
  });

  describe('the locks of a repo', () => {
    const locksOf = ({ tenant, repo }: Place, query = '') =>
      `/v1/tenants/${tenant}/repos/${repo}/locks${query}`;
    const listed = async (place: Place, query = '', headers = bearer(api().target.adminToken)) =>
      bodyOf(await api().send({ method: 'GET', path: locksOf(place, query), headers }), 200, managed);
    const release = async (place: Place, query = '') =>
      jsonOf(await api().manage('DELETE', locksOf(place, query)));
    const prepared = async () => {
      const place = await api().newPlace();
      const [ada, build] = [
        await newMember(place.tenant, { user: 'ada', label: 'laptop' }),
        await newMember(place.tenant, { label: 'build' }),
      ];
      for (const path of ['1', '2', '3']) await take(place, ada.token, path);
      for (const path of ['4', '5']) await take(place, build.token, path);
      return { place, ada, build };
    };

    it('are listed with their owners, in pages, all or those of an owner or a path', async () => {
      const { place, build } = await prepared();
      const all = await listed(place);
      expect(all.nextCursor).toBeNull();
      expect(all.locks.map(({ path, owner, ownerName }) => [path, owner, ownerName]).sort()).toEqual([
        ...['1', '2', '3'].map((path) => [path, 'ada', 'ada']),
        ...['4', '5'].map((path) => [path, build.tokenId, 'build']),
      ]);
      expect(await listed({ ...place, repo: 'game.git' }, '', basic(place.readToken))).toEqual(all);
      for (const [filter, wanted] of [
        ['', ['1', '2', '3', '4', '5']],
        ['&owner=ada', ['1', '2', '3']],
        [`&owner=${build.tokenId}`, ['4', '5']],
        ['&owner=build', []],
        ['&path=2', ['2']],
        ['&path=2&owner=ada', ['2']],
        ['&path=4&owner=ada', []],
      ] as const) {
        const found = await allPages(
          2,
          (cursor) => listed(place, `?${pageQuery(2, cursor)}${filter}`),
          ({ locks }) => pathsOf(locks),
        );
        expect(found.sort()).toEqual(wanted);
      }
    });

    it('are released in bulk, those of an owner, of a path, or all', async () => {
      const { place, build } = await prepared();
      const { tenant, repo } = place;
      const pathsLeft = async () => pathsOf((await listed(place)).locks);
      expect(await release(place, '?owner=nobody')).toEqual({
        tenant,
        repo,
        releasedCount: 0,
        hasMore: false,
      });
      expect(await release(place, '?path=1')).toEqual({ tenant, repo, releasedCount: 1, hasMore: false });
      expect(await release(place, '?path=2&owner=nobody')).toMatchObject({ releasedCount: 0 });
      expect(await pathsLeft()).toEqual(['2', '3', '4', '5']);
      expect(await release(place, '?owner=ada')).toMatchObject({ releasedCount: 2 });
      expect(await pathsLeft()).toEqual(['4', '5']);
      expect(await release({ ...place, repo: 'other' })).toMatchObject({ repo: 'other', releasedCount: 0 });
      expect(await release(place)).toEqual({ tenant, repo, releasedCount: 2, hasMore: false });
      expect(await pathsLeft()).toEqual([]);
      await take(place, build.token, '1');
    });

    it('are released in bulk by those who manage the tenant', async () => {
      const { place } = await prepared();
      const manager = await newMember(place.tenant, { scope: 'manage' });
      const request = { method: 'DELETE', path: locksOf(place) };
      for (const token of [place.writeToken, place.readToken])
        expectProblem(await api().send({ ...request, headers: bearer(token) }), 403);
      const released = await api().send({ ...request, headers: bearer(manager.token) });
      expect(jsonOf(released)).toMatchObject({ releasedCount: 5 });
    });

    it.each(['?dryRun=true', '?onwer=ada', '?owner=', '?path='])(
      'are not released with %s',
      async (query) => {
        expectProblem(await api().manage('DELETE', locksOf(shared, query)), 422);
      },
    );

    it('are not listed of nobody', async () => {
      expectProblem(await api().manage('GET', locksOf(shared, '?owner=')), 422);
    });

    it('are not shown to a token of other repos, nor of what cannot be a repo', async () => {
      const { token } = await newMember(shared.tenant, { repos: ['art'] });
      const get = (place: Place) => api().as(bearer(token), 'GET', locksOf(place));
      expectProblem(await get(shared), 404);
      expect((await get({ ...shared, repo: 'art' })).status).toBe(200);
      for (const method of ['GET', 'DELETE'])
        expectProblem(await api().manage(method, locksOf({ ...shared, repo: '%2e%2e' })), 404);
    });
  });
}

/** All that the suite asks of this subject. */
export const locksSubject: Subject = {
  callers: {
    'GET /{tenant}/{repo}/info/lfs/locks': 'git',
    'POST /{tenant}/{repo}/info/lfs/locks': 'git',
    'POST /{tenant}/{repo}/info/lfs/locks/verify': 'locks',
    'POST /{tenant}/{repo}/info/lfs/locks/{lockId}/unlock': 'git',
    'GET /v1/tenants/{tenant}/repos/{repo}/locks': 'reader',
    'DELETE /v1/tenants/{tenant}/repos/{repo}/locks': 'manager',
  },
  lists: ['repos/game/locks'],
  leaves: async (api, place) =>
    expectStatus(
      await api.send({
        method: 'POST',
        path: `/${place.tenant}/${place.repo}/info/lfs/locks`,
        headers: { ...lfsHeaders, ...basic(place.writeToken) },
        body: JSON.stringify({ path: `${place.repo}.psd` }),
      }),
      201,
    ),
  tests: (api) => {
    describe('locks', () => lockTests(api));
  },
};
