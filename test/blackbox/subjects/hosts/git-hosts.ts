import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { StandInHost } from '../../../support/git-host.ts';
import {
  type Api,
  basic,
  bearer,
  bodyOf,
  comparable,
  expectLfsError,
  expectProblem,
  expectStatus,
  jsonOf,
  newName,
} from '../../api.ts';
import {
  ask,
  batchPath,
  lfsHeaders,
  objectOf,
  objectsIn,
  type Place,
  pointer,
  push,
  serves,
} from '../../lfs.ts';
import type { Subject } from '../../subject.ts';

const linkedShape = z.object({
  repo: z.string(),
  gitHost: z
    .strictObject({
      host: z.string(),
      repo: z.string(),
      repoId: z.string().nullable(),
      readThrough: z.literal(true).optional(),
      since: z.iso.datetime(),
    })
    .optional(),
});

/** Who is refused is not asked for again so soon, so each that is refused has a token of their own. */
const newToken = () => `forge-token-${randomBytes(16).toString('hex')}`;

/** People who come with their own tokens for a git host. */
function gitHostTests(api: () => Api): void {
  describe('a repo of a git host', () => {
    const stored = objectOf(3000);
    let place: Place;
    let name: string;
    let repoId: number;
    let host: StandInHost;
    let tokens: Record<'ada' | 'grace' | 'mallory', string>;

    const repoPath = (repo = place.repo) => `/v1/tenants/${place.tenant}/repos/${repo}`;
    const change = (gitHost: unknown, repo?: string) => api().manage('PATCH', repoPath(repo), { gitHost });
    const map = async (more: object = {}) => {
      return bodyOf(await change({ host: 'forge', repo: name, ...more }), 200, linkedShape).gitHost;
    };
    const send = (password: string | undefined, path: string, body?: object, method = 'POST') =>
      api().send({
        method,
        path,
        headers: { ...lfsHeaders, ...(password === undefined ? {} : basic(password)) },
        ...(body && { body: JSON.stringify(body) }),
      });
    const download = (password: string | undefined, of: { tenant?: string; repo?: string } = {}) =>
      send(password, batchPath({ tenant: of.tenant ?? place.tenant, repo: of.repo ?? place.repo }), {
        operation: 'download',
        objects: [pointer(stored)],
      });
    /** Another token of Ada's, of which nothing is known yet. */
    const newTokenOfAda = () => {
      const token = newToken();
      host.person({ id: 1, login: 'ada', token });
      return token;
    };
    const locks = (rest = '') => `/${place.tenant}/${place.repo}.git/info/lfs/locks${rest}`;

    beforeEach(async ({ skip }) => {
      const { gitHost } = api().target;
      if (!gitHost) return skip('it has no git host that we can speak for');
      host = gitHost;
      tokens = { ada: newToken(), grace: newToken(), mallory: newToken() };
      const own = await api().newTenant();
      place = { ...own, repo: 'game' };
      expectStatus(await api().manage('POST', `/v1/tenants/${own.tenant}/repos`, { repo: 'game' }), 201);
      await push(api(), place, [stored]);
      await push(api(), { ...place, repo: 'film' }, [objectOf(20)]);
      repoId = 70_000 + Math.floor(Math.random() * 1e9);
      name = `${own.tenant}/game`;
      host.person({ id: 1, login: 'ada', token: tokens.ada });
      host.person({ id: 2, login: 'grace', token: tokens.grace });
      host.person({ id: 3, login: 'mallory', token: tokens.mallory });
      host.repository(name, { id: repoId, people: { ada: 'write', grace: 'read' } });
    });

    it('lets nobody in by the host until it is linked, and does not ask it', async () => {
      const before = host.requests.length;
      expectLfsError(await download(tokens.ada), 401, /no access to this repo on forge/);
      expect(host.requests).toHaveLength(before);
    });

    it('is linked, shown, and learns its number from the first who comes', async () => {
      expect(await map()).toMatchObject({ host: 'forge', repo: name, repoId: null });
      const [object] = objectsIn(await download(tokens.ada));
      expect(object?.actions?.download).toBeDefined();
      const shown = linkedShape.parse(jsonOf(await api().manage('GET', repoPath())));
      expect(shown.gitHost).toMatchObject({ host: 'forge', repo: name, repoId: String(repoId) });
      const page = jsonOf(await api().manage('GET', `/v1/tenants/${place.tenant}/repos`));
      const { repos } = z.object({ repos: z.array(linkedShape) }).parse(page);
      const names = new Map(repos.map(({ repo, gitHost }) => [repo, gitHost?.repo]));
      expect([names.get('game'), names.get('film')]).toEqual([name, undefined]);
    });

    describe('that is linked', () => {
      beforeEach(async () => {
        await map();
        // It learns its number.
        await download(tokens.ada);
      });

      it('lets a person do what they may do there, with Basic or Bearer, and no more', async () => {
        const object = objectOf(500);
        expect(
          (await ask(api(), { ...place, writeToken: tokens.ada }, 'upload', object)).actions?.upload,
        ).toBeDefined();
        const bearing = await api().send({
          method: 'POST',
          path: batchPath(place),
          headers: { ...lfsHeaders, ...bearer(tokens.grace) },
          body: JSON.stringify({ operation: 'download', objects: [pointer(stored)] }),
        });
        expect(objectsIn(bearing)[0]?.actions?.download).toBeDefined();
        const upload = { operation: 'upload', objects: [pointer(object)] };
        expectLfsError(
          await send(tokens.grace, batchPath(place), upload),
          403,
          /grace \(forge\) has read access there/,
        );
      });

      it.runIf(serves('locks'))('has no locks of who only reads', async () => {
        const lock = await send(tokens.grace, locks(), { path: 'a.psd' });
        expectLfsError(lock, 403, /grace \(forge\) has read access there/);
      });

      it('lets a person push for good: what they upload is stored and verified', async () => {
        const object = objectOf(700);
        await push(api(), { ...place, writeToken: tokens.ada }, [object]);
        expect(
          (await ask(api(), { ...place, writeToken: tokens.ada }, 'upload', object)).actions,
        ).toBeUndefined();
      });

      it.runIf(serves('locks'))(
        'has locks of people, whom nobody can take for the user of a token',
        async () => {
          const taken = await send(tokens.ada, locks(), { path: 'level.psd' });
          expect(taken.status, taken.text).toBe(201);
          expect(taken.text).toContain('ada (forge)');
          const { token } = await api().newToken(place.tenant, { scope: 'write', user: 'forge:1' });
          const verified = async (password: string) => {
            const answer = await send(password, locks('/verify'), {});
            const shape = z.object({ ours: z.array(z.unknown()), theirs: z.array(z.unknown()) });
            const { ours, theirs } = shape.parse(jsonOf(answer));
            return [ours.length, theirs.length];
          };
          expect(await verified(tokens.ada)).toEqual([1, 0]);
          expect(await verified(token)).toEqual([0, 1]);
          const { lock } = z.object({ lock: z.object({ id: z.string() }) }).parse(jsonOf(taken));
          expectLfsError(await send(token, locks(`/${lock.id}/unlock`), {}), 403, /ada \(forge\)/);
          expectStatus(await send(tokens.ada, locks(`/${lock.id}/unlock`), {}), 200);
        },
      );

      it('meters and audits people by their number', async () => {
        await download(tokens.grace);
        if (serves('downloads')) {
          const metered = await api().manage('GET', `/v1/tenants/${place.tenant}/downloads`);
          expect(metered.text).toContain('"forge:2"');
        }
        if (serves('locks')) {
          const { token } = await api().newToken(place.tenant, { scope: 'write' });
          const taken = await send(token, locks(), { path: 'forced.psd' });
          const { lock } = z.object({ lock: z.object({ id: z.string() }) }).parse(jsonOf(taken));
          expect((await send(tokens.ada, locks(`/${lock.id}/unlock`), { force: true })).status).toBe(200);
        }
        const audit = await api().manage('GET', `/v1/tenants/${place.tenant}/audit`);
        const { entries } = z
          .object({ entries: z.array(z.object({ action: z.string(), by: z.unknown(), after: z.unknown() })) })
          .parse(jsonOf(audit));
        const forced = entries.find(({ action }) => action === 'lock.force');
        if (serves('locks'))
          expect(forced?.by).toEqual({ kind: 'identity', tokenId: 'forge:1', name: 'ada' });
        const linked = entries.find(({ action }) => action === 'repo.update');
        expect(linked?.after).toMatchObject({ gitHost: { host: 'forge', repo: name } });
        for (const token of Object.values(tokens)) expect(audit.text).not.toContain(token);
      });

      it('tells nobody else that it is one: they get the answer of a repo that is absent', async () => {
        const absent = await download(newToken(), { repo: 'absent' });
        expectLfsError(absent, 401, /no access to this repo on forge/);
        const others = [
          await download(tokens.mallory),
          await download(newToken()),
          await download(tokens.ada, { repo: 'film' }),
          await download(tokens.ada, { tenant: newName() }),
        ];
        for (const other of others) expect(comparable(other)).toEqual(comparable(absent));
      });

      it('is of no use to people on other routes', async () => {
        for (const path of [`/v1/tenants/${place.tenant}/subscription`, repoPath()])
          expectProblem(await api().as(basic(tokens.ada), 'GET', path), 401);
      });

      it('lets in nobody of a repository that everybody can read, unless they may push', async () => {
        const open = `${name}-open`;
        host.repository(open, { id: repoId + 1, isPrivate: false, people: { ada: 'write' } });
        await map({ repo: open });
        expectLfsError(await download(tokens.mallory), 401);
        expect(objectsIn(await download(tokens.ada))[0]?.actions?.download).toBeDefined();
      });

      it('lets in nobody of another repository that has taken its name', async () => {
        await map();
        await download(tokens.ada);
        host.repository(name, { id: repoId + 2, people: { mallory: 'write' } });
        const [token, login] = [newToken(), 'mallory'];
        host.person({ id: 3, login, token });
        expectLfsError(await download(token), 401);
        host.repository(name, { id: repoId, people: { ada: 'write', grace: 'read' } });
      });

      it('is held to the number that was given with the mapping', async () => {
        expect(await map({ repoId: '1' })).toMatchObject({ repoId: '1' });
        expectLfsError(await download(newTokenOfAda()), 401);
        expect(await map({ repoId: String(repoId) })).toMatchObject({ repoId: String(repoId) });
        expect((await download(tokens.ada)).status).toBe(200);
      });

      it.runIf(serves('downloads'))(
        'downloads from there what is missing here, once that is set, and says why it cannot',
        async () => {
          const [upstream, nowhere] = [objectOf(900), objectOf(901)];
          host.objects.set(upstream.oid, { size: upstream.size, href: 'https://forge.example/signed' });
          const asked = { operation: 'download', objects: [stored, upstream, nowhere].map(pointer) };
          const offered = async (token = tokens.grace) => {
            const found = new Map(
              objectsIn(await send(token, batchPath(place), asked)).map((each) => [each.oid, each]),
            );
            return [stored, upstream, nowhere].map(({ oid }) => found.get(oid));
          };
          expect((await map())?.readThrough).toBeUndefined();
          expect((await offered())[1]?.error?.code).toBe(404);
          expect((await map({ readThrough: true }))?.readThrough).toBe(true);
          const [first, second, third] = await offered();
          expect(first?.actions?.download).toBeDefined();
          expect(second?.actions?.download?.href).toBe('https://forge.example/signed');
          expect(third?.error).toEqual({ code: 404, message: expect.stringMatching(/here or on forge/) });
          expect((await offered(place.writeToken))[1]?.error?.code).toBe(404);
          host.state = 'down';
          try {
            const [stays, fails] = await offered();
            expect(stays?.actions?.download).toBeDefined();
            expect(fails?.error).toEqual({
              code: 404,
              message: expect.stringMatching(/forge gave no valid/),
            });
          } finally {
            host.state = 'up';
          }
          const before = host.requests.length;
          await download(tokens.grace);
          expect(host.requests.slice(before)).toEqual([]);
          expect((await map())?.readThrough).toBeUndefined();
          expect((await offered())[1]?.error?.code).toBe(404);
        },
      );

      it('keeps what the host said for a while, and asks once for many', async () => {
        await map();
        const before = host.requests.length;
        for (let times = 0; times < 3; times += 1) expect((await download(tokens.ada)).status).toBe(200);
        expect(host.requests.slice(before).filter((each) => each.includes('/user'))).toHaveLength(1);
      });

      it('ends for who loses their token there, no later than what the host said is kept', {
        timeout: 120_000,
      }, async () => {
        const token = newTokenOfAda();
        expect((await download(token)).status).toBe(200);
        host.revoke(token);
        await sleep((api().target.hostUserKeptMs ?? 0) + 500);
        expectLfsError(await download(token), 401);
      });

      it('lets nobody in while the host is down or wants to be left alone, and says so', async () => {
        const token = newTokenOfAda();
        host.state = 'down';
        try {
          const down = await download(token);
          expectLfsError(down, 503, /Can't reach forge to check your token/);
          expect(down.headers['retry-after']).toBe('5');
          host.state = 'limited';
          const limited = await download(newTokenOfAda());
          expectLfsError(limited, 429, /forge limits token checks/);
          expect(limited.headers['retry-after']).toBe('7');
          // Tokens of the tenant need no host.
          expect((await download(place.writeToken)).status).toBe(200);
        } finally {
          host.state = 'up';
        }
      });

      it('ends a client that repeats a bad token, and asks the host no more than once for it', async () => {
        const token = newToken();
        const before = host.requests.length;
        const statuses = [];
        for (let times = 0; times < 5; times += 1) statuses.push((await download(token)).status);
        expect(statuses).toEqual([401, 401, 401, 403, 403]);
        expect(host.requests.slice(before).filter((each) => each.includes('/user'))).toHaveLength(1);
      });

      it('never sees a token of ours', async () => {
        const before = host.requests.length;
        await download(place.writeToken);
        await download(`lfsq_${'x'.repeat(43)}`);
        await download(undefined);
        expect(host.requests).toHaveLength(before);
      });

      it.each<[string, unknown, number]>([
        ['another host', { host: 'github', repo: 'acme/game' }, 422],
        ['an address', { host: 'forge', repo: 'https://git.example.com/acme/game' }, 422],
        ['another path', { host: 'forge', repo: 'acme/../../user' }, 422],
        ['one segment', { host: 'forge', repo: 'game' }, 422],
        ['.git', { host: 'forge', repo: 'acme/game.git' }, 422],
        ['no repository', { host: 'forge' }, 422],
        ['a number that is none', { host: 'forge', repo: 'acme/game', repoId: 'x' }, 422],
        ['something besides', { host: 'forge', repo: 'acme/game', url: 'https://evil.example' }, 422],
        ['a text', 'acme/game', 422],
      ])('cannot be linked to %s', async (_what, gitHost, status) => {
        expectProblem(await change(gitHost), status);
      });

      it('has to be there, and is linked by who manages the tenant alone', async () => {
        expectProblem(await change({ host: 'forge', repo: name }, 'absent'), 404);
        expectProblem(await change(null, 'absent'), 404);
        const body = JSON.stringify({ gitHost: null });
        const type = { 'content-type': 'application/json' };
        const asked = { method: 'PATCH', path: repoPath(), body };
        const person = await api().send({ ...asked, headers: { ...basic(tokens.ada), ...type } });
        expectProblem(person, 401);
        const writer = await api().send({ ...asked, headers: { ...basic(place.writeToken), ...type } });
        expectProblem(writer, 403);
      });

      it('ends at once when it is linked no longer, and with a delete', async () => {
        await map();
        const token = newTokenOfAda();
        expect((await download(token)).status).toBe(200);
        const ended = await change(null);
        expect(linkedShape.parse(jsonOf(ended)).gitHost).toBeUndefined();
        expectLfsError(await download(token), 401);
        await map();
        const again = newTokenOfAda();
        expect((await download(again)).status).toBe(200);
        expect((await api().manage('DELETE', repoPath())).status).toBe(202);
        expectLfsError(await download(again), 401);
      });
    });
  });

  describe('a tenant of an organization', () => {
    let place: Place;
    let host: StandInHost;
    let organization: string;
    const stored = objectOf(3000);
    const newTokenOf = (login: string, id: number) => {
      const token = newToken();
      host.person({ id, login, token });
      return token;
    };
    const at = () => `/v1/tenants/${place.tenant}/git-host`;
    const download = (repo: string, token?: string) =>
      api().send({
        method: 'POST',
        path: batchPath({ ...place, repo }),
        headers: { ...lfsHeaders, ...(token === undefined ? {} : basic(token)) },
        body: JSON.stringify({ operation: 'download', objects: [pointer(stored)] }),
      });

    beforeEach(async ({ skip }) => {
      const { gitHost } = api().target;
      if (!gitHost) return skip('it has no git host that we can speak for');
      host = gitHost;
      place = { ...(await api().newTenant()), repo: 'game' };
      organization = `org-${place.tenant}`;
      host.repository(`${organization}/game`, { id: 81, people: { ada: 'write' } });
      host.repository(`${organization}/site`, { id: 82, isPrivate: false, people: { ada: 'write' } });
    });

    it('is linked once, shown, changed and unlinked', async () => {
      expectProblem(await api().manage('GET', at()), 404);
      expectProblem(await api().manage('DELETE', at()), 404);
      for (const body of [
        { host: 'absent', organization },
        { host: 'forge', organization: 'https://forge.example/acme' },
        { host: 'forge', organization: 'a/b' },
        { host: 'forge', organization: '..' },
        { host: 'forge', organization: '' },
        { host: 'forge' },
        { host: 'forge', organization, publicRead: {} },
        { host: 'forge', organization, repo: 'game' },
      ])
        expectProblem(await api().manage('PUT', at(), body), 422);
      const linked = await api().manage('PUT', at(), { host: 'forge', organization });
      expect([linked.status, jsonOf(linked)]).toEqual([
        200,
        {
          tenant: place.tenant,
          host: 'forge',
          organization,
          publicRead: null,
          since: expect.stringMatching(/Z$/),
        },
      ]);
      expect(jsonOf(await api().manage('GET', at()))).toEqual(jsonOf(linked));
    });

    describe('that is linked', () => {
      beforeEach(async () => {
        expectStatus(await api().manage('PUT', at(), { host: 'forge', organization }), 200);
        const ada = newTokenOf('ada', 11);
        for (const repo of ['game', 'site']) await push(api(), { ...place, repo, writeToken: ada }, [stored]);
      });

      it('lets its people push to a second repo without a step, and shows what it is', async () => {
        expect((await download('site', newTokenOf('ada', 11))).status).toBe(200);
        const shown = jsonOf(await api().manage('GET', `/v1/tenants/${place.tenant}/repos/site`));
        expect(shown).toMatchObject({
          gitHost: { host: 'forge', repo: `${organization}/site`, repoId: '82', ofTenant: true },
        });
      });

      it('tells strangers the same of every repo', async () => {
        const told = await download('game', newTokenOf('mallory', 13));
        expectLfsError(told, 401);
        for (const repo of ['site', 'absent', newName()])
          expect(comparable(await download(repo, newTokenOf('mallory', 13)))).toEqual(comparable(told));
        const asNobody = await download('game');
        for (const repo of ['site', 'absent'])
          expect(comparable(await download(repo))).toEqual(comparable(asNobody));
      });

      it.runIf(serves('downloads'))(
        'has what is public there only below a ceiling, which who manages it cannot set too high',
        async () => {
          const { token } = await api().newToken(place.tenant, { scope: 'manage' });
          const set = (monthlyLimitBytes: number | null) => {
            const body = { host: 'forge', organization, publicRead: { monthlyLimitBytes } };
            return api().as(bearer(token), 'PUT', at(), body);
          };
          for (const tooMuch of [null, 2 ** 50]) expectProblem(await set(tooMuch), 403);
          expectStatus(await set(10_000), 200);
          expect((await download('site')).status).toBe(200);
          expectLfsError(await download('game'), 401);
          expectStatus(await set(3000), 200);
          expectLfsError(await download('site'), 509);
          const audited = await api().manage('GET', `/v1/tenants/${place.tenant}/audit?action=tenant.link`);
          const { entries } = jsonOf(audited) as { entries: { after: unknown }[] };
          expect(entries[0]).toMatchObject({
            before: { publicRead: { monthlyLimitBytes: 10_000 } },
            after: { publicRead: { monthlyLimitBytes: 3000 } },
          });
        },
      );

      it('refuses a repository that has the name of one that was used', async () => {
        host.repository(`${organization}/game`, { id: 91, people: { ada: 'write' } });
        expectLfsError(await download('game', newTokenOf('ada', 11)), 401);
        host.repository(`${organization}/game`, { id: 81, people: { ada: 'write' } });
        expect((await download('game', newTokenOf('ada', 11))).status).toBe(200);
      });

      it('ends for all of them at once', async () => {
        const ada = newTokenOf('ada', 11);
        expect((await download('game', ada)).status).toBe(200);
        expectStatus(await api().manage('DELETE', at()), 204);
        expectLfsError(await download('game', ada), 401);
        expectLfsError(await download('site'), 401);
        expectProblem(await api().manage('GET', at()), 404);
      });
    });
  });
}

/** All that the suite asks of this subject. */
export const hostsSubject: Subject = {
  callers: {
    'GET /v1/tenants/{tenant}/git-host': 'manager',
    'PUT /v1/tenants/{tenant}/git-host': 'manager',
    'DELETE /v1/tenants/{tenant}/git-host': 'manager',
  },
  tests: gitHostTests,
};
