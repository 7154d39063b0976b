import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { StandInHost } from '../../../support/git-host.ts';
import {
  type Answer,
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
  type TestTenant,
} from '../../api.ts';
import { batchPath, lfsHeaders, lfsType, objectOf, pointer, push, serves } from '../../lfs.ts';
import type { Subject } from '../../subject.ts';
import { signIn as signInByToken } from '../../tokens.ts';

const consoleHeader = { 'lfs-quota-console': '1', 'content-type': 'application/json' };

const finishedShape = z.strictObject({
  tenant: z.string().nullable(),
  tenants: z.array(z.string()),
  next: z.string(),
});
const usersShape = z.object({
  organizations: z.array(z.object({ host: z.string(), organizationId: z.string(), name: z.string() })),
  users: z.array(z.looseObject({ userId: z.string(), hostUser: z.string(), scope: z.string() })),
  yours: z.array(z.object({ host: z.string(), organizationId: z.string(), name: z.string() })),
});

/** The cookies that an answer sets: name → value, '' for one that it removes. */
function cookiesOf({ headers }: Answer): Map<string, string> {
  return new Map(
    (headers['set-cookie'] ?? []).map((set) => {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      return [name, value];
    }),
  );
}

/** People who sign in with a git host. */
function signInTests(api: () => Api): void {
  describe('signing in with a git host', () => {
    const ada = { id: 801, login: 'ada-s' };
    const grace = { id: 802, login: 'grace-s' };
    const mallory = { id: 803, login: 'mallory-s' };
    const joan = { id: 804, login: 'joan-s' };
    let host: StandInHost;
    let own: TestTenant;
    let other: TestTenant;
    const organizationId = String(90_000 + Math.floor(Math.random() * 1e9));
    const otherId = String(Number(organizationId) + 1);
    const at = (tenant = own.tenant) => `/v1/tenants/${tenant}`;

    const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
      api().send({
        method: 'POST',
        path,
        headers: { ...consoleHeader, ...headers },
        body: JSON.stringify(body),
      });
    const start = async (next: string, more: object = {}, headers: Record<string, string> = {}) => {
      const answer = await post('/v1/sign-in', { host: 'forge', next, ...more }, headers);
      const { url } = bodyOf(answer, 200, z.strictObject({ url: z.string() }));
      const [[name, value] = ['', '']] = [...cookiesOf(answer)];
      return { url, name, cookie: `${name}=${value}`, set: answer.headers['set-cookie']?.[0] ?? '' };
    };
    const finish = (back: URL, cookie: string | undefined, change: object = {}) =>
      post(
        '/v1/sign-in/finish',
        {
          host: 'forge',
          code: back.searchParams.get('code'),
          state: back.searchParams.get('state'),
          ...change,
        },
        cookie === undefined ? {} : { cookie },
      );
    const comeIn = async (person: { id: number; login: string }, next = `#${own.tenant}`) => {
      const { url, cookie } = await start(next);
      return finish(host.approve(url, person), cookie);
    };
    /** The headers of a session. */
    const sessionOf = async (person: { id: number; login: string }, next?: string) => {
      const answer = await comeIn(person, next);
      bodyOf(answer, 200, finishedShape);
      const session = [...cookiesOf(answer)].find(([name]) => !name.includes('-login'));
      return { ...consoleHeader, cookie: session?.join('=') ?? '' };
    };
    const allow = (tenant: string, body: object) =>
      api().manage('PUT', `${at(tenant)}/organizations`, { host: 'forge', organizationId, ...body });
    const asSession = (headers: Record<string, string>, method: string, path: string, body?: object) =>
      api().send({ method, path, headers, ...(body && { body: JSON.stringify(body) }) });
    const organization = (people: Record<string, 'owner' | 'member'>, name = 'acme-games') =>
      host.organization({ id: Number(organizationId), name, people });
    const everybody = { 'ada-s': 'owner', 'grace-s': 'member' } as const;

    beforeEach(({ skip }) => skip(!api().target.signsIn, 'nobody can sign in there'));
    beforeAll(async () => {
      const { gitHost, signsIn } = api().target;
      if (!gitHost || !signsIn) return;
      host = gitHost;
      own = await api().newTenant();
      other = await api().newTenant();
      organization(everybody);
      expectStatus(await allow(own.tenant, {}), 200);
    });

    it('says with which hosts', async () => {
      const answer = await api().send({ method: 'GET', path: '/v1/sign-in' });
      expect(jsonOf(answer)).toMatchObject({ hosts: [{ id: 'forge', kind: 'gitea' }] });
    });

    it('sends the browser to the host, with a state, PKCE and a cookie that no script and no other site gets', async () => {
      const { url, set, name } = await start(`#${own.tenant}`);
      const query = new URL(url).searchParams;
      expect(query.get('code_challenge_method')).toBe('S256');
      expect(query.get('state')).toMatch(/^\w{43}$/);
      expect(query.get('redirect_uri')).toMatch(/\/sign-in\/forge$/);
      expect(set).toMatch(/; Max-Age=600; Path=\/; HttpOnly; SameSite=Strict/);
      expect(set).not.toContain(query.get('state') ?? '');
      expect(name).toMatch(/^(__Host-lfsq-login|lfsq-login-\d+)$/);
    });

    it('gives a session with the rights of the role, and ends the token of the host', async () => {
      const answer = await comeIn(ada);
      const body = bodyOf(answer, 200, finishedShape);
      expect(body).toEqual({ tenant: own.tenant, tenants: [own.tenant], next: `#${own.tenant}` });
      for (const token of host.given) expect(answer.text).not.toContain(token);
      const session = { ...consoleHeader, cookie: [...cookiesOf(answer)].at(-1)?.join('=') ?? '' };
      const shown = jsonOf(await asSession(session, 'GET', '/v1/session'));
      expect(shown).toMatchObject({
        tenant: own.tenant,
        scope: 'manage',
        user: 'ada-s',
        hostUser: 'forge:801',
      });
      const { expiresAt, changesUntil } = z
        .object({ expiresAt: z.string(), changesUntil: z.string() })
        .parse(shown);
      expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(8 * 3_600_000);
      expect(Date.parse(changesUntil) - Date.now()).toBeLessThanOrEqual(3_600_000);
      const member = jsonOf(await asSession(await sessionOf(grace), 'GET', '/v1/session'));
      expect(member).toMatchObject({ scope: 'read', user: 'grace-s' });
    });

    it('shows the operator’s sentence to those whom a suspended tenant would let in', async () => {
      const set = (body: object) => api().manage('PATCH', at(), body);
      expectStatus(await set({ suspended: 'all', suspendedMessage: 'Pay your invoice.' }), 200);
      expectProblem(await comeIn(ada), 403, new RegExp(`^${own.tenant} is suspended. Pay your invoice.`));
      expectProblem(await comeIn(mallory), 403, /^Start again/);
      expectStatus(await set({ suspended: null }), 200);
      await sessionOf(ada);
    });

    it('audits what somebody does by their number', async () => {
      const session = await sessionOf(ada);
      const created = await asSession(session, 'POST', `${at()}/tokens`, { scope: 'read' });
      expect(created.status, created.text).toBe(201);
      const audit = await api().manage('GET', `${at()}/audit?action=token.create`);
      const { entries } = z.object({ entries: z.array(z.object({ by: z.unknown() })) }).parse(jsonOf(audit));
      expect(entries[0]?.by).toEqual({ kind: 'identity', tokenId: 'forge:801', name: 'ada-s' });
      for (const token of host.given) expect(audit.text).not.toContain(token);
    });

    it('is shown to admins beside the tokens, and is ended by them', async () => {
      const [admin, session] = [await sessionOf(ada), await sessionOf(grace)];
      const { users, yours } = bodyOf(await asSession(admin, 'GET', `${at()}/users`), 200, usersShape);
      expect(users.map(({ hostUser }) => hostUser).sort()).toEqual(['forge:801', 'forge:802']);
      expect(yours).toEqual([{ host: 'forge', organizationId, name: 'acme-games' }]);
      const userId = users.find(({ hostUser }) => hostUser === 'forge:802')?.userId ?? '';
      const tokens = await api().manage('GET', `${at()}/tokens`);
      expect(tokens.text).not.toContain(userId);
      expectProblem(await api().manage('GET', `${at()}/tokens/${userId}`), 404);
      expectProblem(await api().manage('DELETE', `${at()}/tokens/${userId}`), 404);
      expectProblem(await api().manage('DELETE', `${at(other.tenant)}/users/${userId}`), 404);
      expectStatus(await asSession(session, 'GET', `${at()}/subscription`), 200);
      expect((await asSession(admin, 'DELETE', `${at()}/users/${userId}`)).status).toBe(204);
      expectProblem(await asSession(session, 'GET', `${at()}/subscription`), 401);
      for (const none of [userId, 'a'.repeat(3000), '0'])
        expectProblem(await api().manage('DELETE', `${at()}/users/${none}`), 404);
    });

    it('lets a member only read, and nobody use the session as a token or with git', async () => {
      const session = await sessionOf(grace);
      expectProblem(await asSession(session, 'POST', `${at()}/tokens`, { scope: 'read' }), 403);
      // A token would outlive what the host says of them.
      if (serves('invitations'))
        expectProblem(await asSession(session, 'POST', `${at()}/device`, { userCode: 'BCDF-GHJK' }), 403);
      expectProblem(await asSession(session, 'GET', `${at(other.tenant)}/subscription`), 404);
      const secret = session.cookie.slice(session.cookie.indexOf('=') + 1);
      for (const headers of [bearer(secret), basic(secret), basic(secret.split('.')[1] ?? '')])
        expectProblem(await api().as(headers, 'GET', `${at()}/subscription`), 401);
      const batch = await api().send({
        method: 'POST',
        path: batchPath({ tenant: own.tenant, repo: 'game' }),
        headers: { ...lfsHeaders, ...session, 'content-type': lfsType },
        body: JSON.stringify({ operation: 'download', objects: [pointer(objectOf(1))] }),
      });
      expectLfsError(batch, 401);
    });

    describe('refuses with the same words', () => {
      let refused: Answer;
      const expectRefused = (answer: Answer) => {
        expectProblem(answer, 403);
        expect(comparable(answer)).toEqual(comparable(refused));
        expect([...cookiesOf(answer).values()]).toEqual(['']);
      };
      beforeAll(async () => {
        if (!api().target.signsIn) return;
        refused = await comeIn(mallory);
        expectProblem(refused, 403);
      });

      it('whom no tenant lets in, whatever tenant they want', async () => {
        expectRefused(await comeIn(mallory, `#${newName()}`));
        expectRefused(await comeIn(mallory, '#'));
        expectRefused(await comeIn(mallory, `#${other.tenant}/repos`));
      });

      it('a wrong, an empty-handed and a foreign state', async () => {
        const [first, second] = [await start(`#${own.tenant}`), await start(`#${own.tenant}`)];
        const back = host.approve(first.url, ada);
        expectRefused(await finish(back, second.cookie));
        const third = await start(`#${own.tenant}`);
        expectRefused(await finish(host.approve(third.url, ada), third.cookie, { state: 'x'.repeat(43) }));
        // A wrong one has used it up.
        expectRefused(await finish(back, second.cookie));
      });

      it('what was used already', async () => {
        const { url, cookie } = await start(`#${own.tenant}`);
        const back = host.approve(url, ada);
        expectStatus(await finish(back, cookie), 200);
        expectRefused(await finish(back, cookie));
        const again = await start(`#${own.tenant}`);
        const state = new URL(again.url).searchParams.get('state');
        expectRefused(await finish(back, again.cookie, { state }));
      });

      it('of two that finish at the same time, one', async () => {
        const { url, cookie } = await start(`#${own.tenant}`);
        const back = host.approve(url, ada);
        const both = await Promise.all([finish(back, cookie), finish(back, cookie)]);
        expect(both.map(({ status }) => status).sort()).toEqual([200, 403]);
      });

      it('without a cookie, with one of another port, of another sign-in, of a session, or of nobody', async () => {
        const { url, cookie } = await start(`#${own.tenant}`);
        const back = host.approve(url, ada);
        expectRefused(await finish(back, undefined));
        const value = cookie.slice(cookie.indexOf('=') + 1);
        expectRefused(await finish(back, `lfsq-login-1=${value}`));
        expectRefused(await finish(back, `${cookie}; ${cookie}`));
        expectRefused(await finish(back, cookie.replace(/=lfsl_/, '=lfss_')));
        expectRefused(await finish(back, `${cookie.split('=')[0]}=lfsl_${'0'.repeat(40)}`));
        // None of these has used it up.
        expectStatus(await finish(back, cookie), 200);
      });

      it('from a page of another origin', async () => {
        const { url, cookie } = await start(`#${own.tenant}`);
        const back = host.approve(url, ada);
        const [code, state] = [back.searchParams.get('code'), back.searchParams.get('state')];
        const foreign = [
          { 'lfs-quota-console': '0' },
          { 'sec-fetch-site': 'cross-site' },
          { 'sec-fetch-site': 'same-site' },
        ];
        for (const headers of foreign) {
          expectRefused(
            await post('/v1/sign-in/finish', { host: 'forge', code, state }, { cookie, ...headers }),
          );
          expectRefused(await post('/v1/sign-in', { host: 'forge', next: '#' }, headers));
        }
      });

      it('what another host returned', async () => {
        const { url, cookie } = await start(`#${own.tenant}`);
        const back = host.approve(url, ada);
        expectRefused(await finish(back, cookie, { iss: 'https://evil.example' }));
        const mixedUp = await start(`#${own.tenant}`);
        const { length } = host.given;
        // The browser came back to the redirect URI of another host, which doesn't get the code.
        expectRefused(await finish(host.approve(mixedUp.url, ada), mixedUp.cookie, { host: 'honest' }));
        expect(host.given).toHaveLength(length);
        const again = await start(`#${own.tenant}`);
        const { origin: iss } = new URL(again.url);
        expectStatus(await finish(host.approve(again.url, ada), again.cookie, { iss }), 200);
      });

      it('the code of another host, of another app, and one for another verifier', async () => {
        const { cookie, url } = await start(`#${own.tenant}`);
        const back = host.approve(url, ada);
        expectRefused(await finish(back, cookie, { code: 'code-of-another-host' }));
        const [one, two] = [await start(`#${own.tenant}`), await start(`#${own.tenant}`)];
        const stolen = host.approve(one.url, ada).searchParams.get('code');
        const state = new URL(two.url).searchParams.get('state');
        expectRefused(await finish(host.approve(two.url, mallory), two.cookie, { code: stolen, state }));
      });

      it('who is no member any more, whatever they are called', async () => {
        organization({ 'ada-s': 'owner' });
        expectRefused(await comeIn(grace));
        organization(everybody);
        host.organization({ id: 1, name: 'acme-games', people: { 'mallory-s': 'owner' } });
        expectRefused(await comeIn(mallory));
      });

      it('who can only read a public repository that is linked', async () => {
        host.repository(`${own.tenant}/open`, { id: 71, isPrivate: false, people: {} });
        await push(api(), { ...own, repo: 'open' }, [objectOf(10)]);
        const link = { gitHost: { host: 'forge', repo: `${own.tenant}/open`, repoId: '71' } };
        expectStatus(await api().manage('PATCH', `${at()}/repos/open`, link), 200);
        expectStatus(await allow(own.tenant, { collaborators: true }), 200);
        expectRefused(await comeIn(mallory));
        expectStatus(await allow(own.tenant, {}), 200);
      });
    });

    it('knows an organization by its number when it is renamed', async () => {
      organization(everybody, 'acme-studios');
      expectStatus(await comeIn(grace), 200);
      organization(everybody);
    });

    it('ends at once for all when the organization is no longer allowed, or something else is', async () => {
      const session = await sessionOf(grace);
      const read = () => asSession(session, 'GET', `${at()}/subscription`);
      expectStatus(await read(), 200);
      expectStatus(await allow(own.tenant, { members: null }), 200);
      expectProblem(await read(), 401);
      expectProblem(await comeIn(grace), 403);
      expectStatus(await allow(own.tenant, {}), 200);
      expectProblem(await read(), 401);
      const again = await sessionOf(grace);
      const query = `?host=forge&organizationId=${organizationId}`;
      expect((await api().manage('DELETE', `${at()}/organizations${query}`)).status).toBe(204);
      expectProblem(await asSession(again, 'GET', `${at()}/subscription`), 401);
      expectProblem(await comeIn(grace), 403);
      expectProblem(await api().manage('DELETE', `${at()}/organizations${query}`), 404);
      expectStatus(await allow(own.tenant, {}), 200);
    });

    it('lets somebody outside the organization in to the linked repos that they can use, if that is allowed', async () => {
      host.repository(`${own.tenant}/game`, { id: 72, people: { 'joan-s': 'write', 'grace-s': 'write' } });
      await push(api(), { ...own, repo: 'game' }, [objectOf(11)]);
      await push(api(), { ...own, repo: 'film' }, [objectOf(12)]);
      const link = { gitHost: { host: 'forge', repo: `${own.tenant}/game`, repoId: '72' } };
      expectStatus(await api().manage('PATCH', `${at()}/repos/game`, link), 200);
      expectProblem(await comeIn(joan), 403);
      expectStatus(await allow(own.tenant, { collaborators: true }), 200);
      const session = await sessionOf(joan);
      const shown = jsonOf(await asSession(session, 'GET', '/v1/session'));
      expect(shown).toMatchObject({ scope: 'read', repos: ['game'], writeRepos: ['game'] });
      expectStatus(await asSession(session, 'GET', `${at()}/repos/game`), 200);
      expectProblem(await asSession(session, 'GET', `${at()}/repos/film`), 404);
      // Without a view of the tenant, nobody knows where to look.
      expectProblem(await comeIn(joan, '#'), 403);
      const member = jsonOf(await asSession(await sessionOf(grace), 'GET', '/v1/session'));
      expect(member).toMatchObject({ scope: 'read', repos: null, writeRepos: ['game'] });
      expectStatus(await allow(own.tenant, {}), 200);
    });

    it('lists the tenants where there are several, and gives a session for the one that is chosen', async () => {
      expectStatus(await allow(other.tenant, { owners: 'read' }), 200);
      const tenants = [own.tenant, other.tenant].sort();
      const choice = await comeIn(ada, '#');
      expect(bodyOf(choice, 200, finishedShape)).toEqual({ tenant: null, tenants, next: '#' });
      expect([...cookiesOf(choice).values()]).toEqual(['']);
      const session = await sessionOf(ada, `#${other.tenant}/repos`);
      expect(jsonOf(await asSession(session, 'GET', '/v1/session'))).toMatchObject({
        tenant: other.tenant,
        scope: 'read',
      });
      expectStatus(await api().manage('DELETE', at(other.tenant)), 202);
      expect(bodyOf(await comeIn(ada, '#'), 200, finishedShape)).toMatchObject({ tenant: own.tenant });
      expectProblem(await asSession(session, 'GET', `${at(other.tenant)}/subscription`), 401);
    });

    it('lets an admin allow only organizations that they are in', async () => {
      const body = { host: 'forge', organizationId: otherId };
      const put = (headers: Record<string, string>) =>
        asSession(headers, 'PUT', `${at()}/organizations`, body);
      expectProblem(await put(await sessionOf(ada)), 403, /Sign in with forge as a member/);
      const { token } = await api().newToken(own.tenant, { scope: 'manage' });
      const byToken = await signInByToken(api(), bearer(token));
      const session = { ...consoleHeader, cookie: byToken.cookie };
      expectProblem(await put(session), 403);
      expectProblem(await put({ ...bearer(token), 'content-type': 'application/json' }), 403);
      host.organization({ id: Number(otherId), name: 'acme-film', people: { 'ada-s': 'member' } });
      const { url, cookie } = await start(`#${own.tenant}/access`, { addsOrganization: true });
      const added = await finish(host.approve(url, ada), `${cookie}; ${session.cookie}`);
      expect(bodyOf(added, 200, finishedShape)).toMatchObject({ tenant: own.tenant, tenants: [] });
      const { yours } = bodyOf(await asSession(session, 'GET', `${at()}/users`), 200, usersShape);
      expect(yours.map(({ name }) => name).sort()).toEqual(['acme-film', 'acme-games']);
      expect(jsonOf(await put(session))).toMatchObject({
        name: 'acme-film',
        owners: 'manage',
        members: 'read',
      });
      const query = `?host=forge&organizationId=${otherId}`;
      expect((await asSession(session, 'DELETE', `${at()}/organizations${query}`)).status).toBe(204);
    });

    it('shows an organization to no session but one that manages the tenant', async () => {
      const read = await signInByToken(api(), bearer(own.readToken));
      const { token } = await api()
        .newToken(other.tenant, { scope: 'manage' })
        .catch(() => ({ token: '' }));
      const sessions = [undefined, read.cookie];
      if (token !== '') sessions.push((await signInByToken(api(), bearer(token))).cookie);
      for (const session of sessions) {
        const { url, cookie } = await start(`#${own.tenant}`, { addsOrganization: true });
        const all = session === undefined ? cookie : `${cookie}; ${session}`;
        expectProblem(await finish(host.approve(url, ada), all), 403);
      }
    });

    it.each<[string, object]>([
      ['another host', { host: 'github', next: '#' }],
      ['a URL', { host: 'forge', next: 'https://evil.example' }],
      ['a path', { host: 'forge', next: '//evil.example' }],
      ['a script', { host: 'forge', next: '#"><script>' }],
      ['no view', { host: 'forge' }],
      ['something besides', { host: 'forge', next: '#', redirectUri: 'https://evil.example' }],
    ])('starts with nothing but a host and a view: %s', async (_what, body) => {
      expectProblem(await post('/v1/sign-in', body), 422);
    });

    it('says that the host does not respond', async () => {
      const { url, cookie } = await start(`#${own.tenant}`);
      const back = host.approve(url, ada);
      host.state = 'down';
      try {
        expectProblem(await finish(back, cookie), 503, /Git host doesn't respond/);
      } finally {
        host.state = 'up';
      }
    });
  });
}

/** All that the suite asks of this subject. */
export const signInSubject: Subject = {
  callers: {
    'GET /v1/sign-in': 'all',
    // Who has no cookie of a sign-in is refused, whoever else they are: test/blackbox/sign-in.ts.
    'POST /v1/sign-in': 'all',
    'POST /v1/sign-in/finish': 'all',
    'GET /v1/tenants/{tenant}/users': 'manager',
    'DELETE /v1/tenants/{tenant}/users/{userId}': 'manager',
    'PUT /v1/tenants/{tenant}/organizations': 'manager',
    'DELETE /v1/tenants/{tenant}/organizations': 'manager',
  },
  tests: signInTests,
};
