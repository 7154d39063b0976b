import { createServer, type RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { createHostClient } from '../../../../../lambda/subjects/hosts/git-hosts.ts';
import type { GitHostKind } from '../../../../../lambda/subjects/hosts/rules/git-hosts.ts';
import { GitHostUnavailableError } from '../../../../../lambda/subjects/hosts/rules/host-client.ts';
import { close, listen, serve } from '../../../../support/serve.ts';

const nowMs = 1_800_000_000_000;
const token = 'github_pat_0123456789';
const hostUser = { id: 1234, login: 'ada', name: 'Ada', email: null };

type Answer = { status?: number; headers?: Record<string, string>; body?: unknown };

describe('what a git host says of a person', () => {
  let requests: { path: string; headers: Record<string, unknown> }[] = [];
  /** Asks a host of a kind that answers these paths. */
  async function ask(kind: GitHostKind, answers: Record<string, Answer>, name = 'acme/game') {
    requests = [];
    const url = await serve(({ url: path = '', headers }, response) => {
      requests.push({ path, headers });
      const { status = 200, headers: more = {}, body = {} } = answers[path] ?? { status: 404 };
      response.writeHead(status, more).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    const host = { id: 'forge', kind, url };
    return createHostClient({ nowMs: () => nowMs }).ask({ host, name, token, isKnown: false });
  }

  const repository = (permissions: object | undefined, more: object = {}) => ({
    body: {
      id: 77,
      full_name: 'acme/game',
      owner: { id: 5, login: 'acme' },
      private: true,
      archived: false,
      permissions,
      ...more,
    },
  });

  describe.each([
    ['github', ''],
    ['gitea', '/api/v1'],
  ] as const)('%s', (kind, base) => {
    const paths = (found: Answer, user: Answer = { body: hostUser }) => ({
      [`${base}/user`]: user,
      [`${base}/repos/acme/game`]: found,
    });
    const granted = (access: string, isPublic = false) => ({
      kind: 'granted',
      grant: { hostUser: { id: 'forge:1234', login: 'ada' }, access },
      linkedId: '77',
      organizationId: '5',
      isPublic,
    });

    it.each<[object | undefined, object, unknown]>([
      [{ admin: false, push: true, pull: true }, {}, granted('write')],
      [{ admin: false, push: false, pull: true }, {}, granted('read')],
      [{ push: true, pull: true }, { archived: true }, granted('read')],
      [{ push: true, pull: true }, { archived: undefined }, granted('write')],
      [{ push: true, pull: true }, { private: false }, granted('write', true)],
      [{ push: false, triage: true, pull: true }, { private: false }, granted('read', true)],
      [{ push: false, triage: false, pull: true }, { private: false }, refused('not-a-member')],
      [{ push: false, pull: false }, {}, refused('no-access')],
      [undefined, {}, refused('no-access')],
      [undefined, { private: false }, refused('no-access')],
    ])('with the permissions %j and %j says %j', async (permissions, more, expected) => {
      expect(await ask(kind, paths(repository(permissions, more)))).toEqual(expected);
      expect(requests.map(({ path }) => path).sort()).toEqual([`${base}/repos/acme/game`, `${base}/user`]);
      for (const { headers } of requests)
        expect(headers).toMatchObject({ authorization: `Bearer ${token}`, 'user-agent': 'lfs-quota' });
    });

    it.each<[Answer, unknown]>([
      [{ status: 401 }, refused('token-rejected')],
      [{ status: 403 }, refused('token-too-small')],
      [{ status: 403, headers: { 'x-github-sso': 'required' } }, refused('token-too-small')],
      [{ status: 403, headers: { 'x-ratelimit-remaining': '12' } }, refused('token-too-small')],
      [{ status: 404 }, refused('no-access')],
      [{ status: 451 }, refused('no-access')],
      [{ status: 301, headers: { location: '/repositories/77' } }, refused('moved')],
      [{ status: 307, headers: { location: 'https://elsewhere.example/' } }, refused('moved')],
      [
        limitedAnswer(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(nowMs / 1000 + 90) }),
        limited(90_000),
      ],
      [limitedAnswer(403, { 'retry-after': '30' }), limited(30_000)],
      [limitedAnswer(429, { 'retry-after': '0' }), limited(1_000)],
      [limitedAnswer(429, { 'retry-after': '9999' }), limited(300_000)],
      [limitedAnswer(429, {}), limited(60_000)],
      [limitedAnswer(429, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }), limited(60_000)],
    ])('to %j of the repository means %j, whoever it is', async (found, expected) => {
      expect(await ask(kind, paths(found))).toEqual(expected);
      // What it says of the person counts first.
      expect(await ask(kind, paths(repository({ push: true, pull: true }), found))).toEqual(expected);
    });

    it.each<[string, Answer]>([
      ['an error', { status: 500 }],
      ['that it is busy', { status: 503, headers: { 'retry-after': '3' } }],
      ['too late', { status: 408 }],
      ['a page', { body: '<html>' }],
      ['nothing', { body: '' }],
      ['something else', { body: [] }],
      ['no number', repository({ push: true, pull: true }, { id: '77' })],
      ['no whole number', repository({ push: true, pull: true }, { id: 7.5 })],
      ['a permission that is a text', repository({ push: 'false', pull: true })],
      [
        'a repository that is neither private nor not',
        repository({ push: true, pull: true }, { private: 'no' }),
      ],
      ['more than 100 kB', repository({ push: true, pull: true }, { description: 'x'.repeat(100_000) })],
    ])('is unavailable if it answers %s', async (_what, found) => {
      await expect(ask(kind, paths(found))).rejects.toThrow(GitHostUnavailableError);
    });

    it.each([
      { id: 0, login: 'ada' },
      { login: 'ada' },
      { id: 5 },
      { id: 5, login: '\u0007 ' },
      { id: 5, login: 7 },
    ])('is unavailable if it calls the person %j', async (body) => {
      const found = repository({ push: true, pull: true });
      await expect(ask(kind, paths(found, { body }))).rejects.toThrow(GitHostUnavailableError);
    });

    it('gives nobody a name of many lines', async () => {
      const login = `a\n\u202eb\u0000${'x'.repeat(200)}`;
      const found = await ask(
        kind,
        paths(repository({ push: true, pull: true }), { body: { id: 5, login } }),
      );
      expect(found).toMatchObject({ grant: { hostUser: { id: 'forge:5', login: `ab${'x'.repeat(98)}` } } });
    });
  });

  describe('gitlab', () => {
    const user = { body: { id: 1234, username: 'ada', state: 'active' } };
    const path = '/api/v4/projects/acme%2Fsub%2Fgame';
    const members = `${path}/members/all/1234`;
    const project = (project_access: unknown, group_access: unknown, more: object = {}) => ({
      body: {
        id: 77,
        namespace: { id: 5 },
        visibility: 'private',
        permissions: { project_access, group_access },
        ...more,
      },
    });
    const level = (access_level: unknown, state = 'active') => ({
      access_level,
      notification_level: 3,
      state,
    });
    const asked = (found: Answer, member?: Answer) =>
      ask(
        'gitlab',
        { '/api/v4/user': user, [path]: found, ...(member && { [members]: member }) },
        'acme/sub/game',
      );
    const granted = (access: string, isPublic = false) => ({
      kind: 'granted',
      grant: { hostUser: { id: 'forge:1234', login: 'ada' }, access },
      linkedId: '77',
      organizationId: '5',
      isPublic,
    });

    it.each<[string, Answer, Answer | undefined, unknown]>([
      ['a developer', project(level(30), null), undefined, granted('write')],
      ['one of its group', project(null, level(50)), undefined, granted('write')],
      [
        'one of what all can read',
        project(level(30), null, { visibility: 'public' }),
        undefined,
        granted('write', true),
      ],
      [
        'one of what who signs in can read',
        project(level(30), null, { visibility: 'internal' }),
        undefined,
        granted('write'),
      ],
      ['the higher of two', project(level(10), level(30)), undefined, granted('write')],
      ['one of an archive', project(level(40), null, { archived: true }), undefined, granted('read')],
      ['a reporter', project(level(20), null), undefined, granted('read')],
      ['a planner', project(level(15), null), undefined, refused('not-a-member')],
      ['a guest', project(level(10), null), undefined, refused('not-a-member')],
      ['nobody', project(null, null), undefined, refused('not-a-member')],
      [
        'somebody of whom it tells nothing',
        project(null, null, { permissions: null }),
        undefined,
        refused('not-a-member'),
      ],
      ['one by an invited group', project(null, null), { body: level(30) }, granted('write')],
      ['a reporter who is more by a group', project(level(20), null), { body: level(40) }, granted('write')],
      [
        'one by a group, without a word of how things stand',
        project(null, null),
        { body: { access_level: 30 } },
        granted('write'),
      ],
      [
        'one who awaits approval',
        project(null, null),
        { body: level(30, 'awaiting') },
        refused('not-a-member'),
      ],
      ['one where members cannot be seen', project(level(20), null), { status: 403 }, granted('read')],
      [
        'one where the rest is limited',
        project(level(20), null),
        { status: 429, headers: { 'retry-after': '4' } },
        limited(4000),
      ],
    ])('lets in %s as it should', async (_who, found, member, expected) => {
      expect(await asked(found, member)).toEqual(expected);
    });

    it('asks of members only whom the project does not tell to be developers', async () => {
      await asked(project(level(30), null), { body: level(50) });
      expect(requests.map((each) => each.path).sort()).toEqual([path, '/api/v4/user']);
      await asked(project(level(20), null));
      expect(requests.map((each) => each.path)).toContain(members);
    });

    it.each<[string, Answer]>([
      ['a level that is a text', project(level('30'), null)],
      ['permissions that are a list', project(null, null, { permissions: [] })],
      ['a broken list of members', project(null, null)],
    ])('is unavailable if it answers %s', async (what, found) => {
      const member = what.startsWith('a broken') ? { body: { access_level: null } } : undefined;
      await expect(asked(found, member)).rejects.toThrow(GitHostUnavailableError);
    });

    it('refuses by its statuses', async () => {
      expect(await asked({ status: 404 })).toEqual(refused('no-access'));
      expect(await asked({ status: 302, headers: { location: '/users/sign_in' } })).toEqual(refused('moved'));
      expect(await ask('gitlab', { '/api/v4/user': { status: 401 } })).toEqual(refused('token-rejected'));
    });
  });

  it.each<[string, RequestListener]>([
    ['never', () => undefined],
    [
      'with half of it',
      (request, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{');
        setTimeout(() => request.socket.destroy(), 20);
      },
    ],
    [
      'drop by drop',
      (_request, response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('is unknown if it answers %s, and the error tells no address and no token', async (_how, listener) => {
    const url = await serve(listener);
    const client = createHostClient({ nowMs: () => nowMs }, { timeoutMs: 300 });
    const asking = client.ask({
      host: { id: 'forge', kind: 'github', url },
      name: 'acme/game',
      token,
      isKnown: false,
    });
    const error: unknown = await asking.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GitHostUnavailableError);
    const text = `${error} ${JSON.stringify((error as Error).cause)}`;
    expect(text).not.toContain(token);
    expect(text).not.toContain('127.0.0.1');
  });

  describe.each([
    ['github', '/repos/acme/game'],
    ['gitea', '/api/v1/repos/acme/game'],
    ['gitlab', '/api/v4/projects/acme%2Fgame'],
  ] as const)('%s, for somebody without a token', (kind, at) => {
    async function look(found: Answer) {
      requests = [];
      const url = await serve(({ url: path = '', headers }, response) => {
        requests.push({ path, headers });
        const { status = 200, headers: more = {}, body = {} } = path === at ? found : { status: 404 };
        response.writeHead(status, more).end(JSON.stringify(body));
      });
      const host = { id: 'forge', kind, url };
      return createHostClient({ nowMs: () => nowMs }).look({ host, name: 'acme/game' });
    }

    it('has a number if it is to be seen, and is asked once, with no token', async () => {
      expect(await look({ body: { id: 77 } })).toEqual({ linkedId: '77' });
      expect(requests.map(({ path }) => path)).toEqual([at]);
      expect(requests[0]?.headers).not.toHaveProperty('authorization');
    });

    it.each([401, 403, 404, 451, 301])('is not to be seen if it answers %i', async (status) => {
      expect(await look({ status })).toEqual({ linkedId: null });
    });

    it.each<Answer>([
      { status: 429 },
      { status: 403, headers: { 'x-ratelimit-remaining': '0' } },
      { status: 500 },
      { body: { id: 'x' } },
    ])('is not known of if it answers %j', async (found) => {
      await expect(look(found)).rejects.toThrow(GitHostUnavailableError);
    });
  });

  it('is unknown if nothing is there', async () => {
    const server = createServer({ keepAliveTimeout: 60_000 });
    const url = `http://127.0.0.1:${await listen(server)}`;
    await close(server);
    const client = createHostClient({ nowMs: () => nowMs });
    await expect(
      client.ask({ host: { id: 'forge', kind: 'gitea', url }, name: 'acme/game', token, isKnown: false }),
    ).rejects.toThrow(/returned an unexpected response: ECONNREFUSED/);
  });

  /** A GitHub that answers when it is told to, and a client that lets a token wait for a slot. */
  async function heldHost(waitMs: number, isHeld = (_by: string) => true) {
    const held: (() => void)[] = [];
    const order: string[] = [];
    const url = await serve((request, response) => {
      const body = request.url === '/user' ? hostUser : repository({ push: true, pull: true }).body;
      const by = (request.headers.authorization ?? '').replace('Bearer ', '');
      const answer = () => void response.end(JSON.stringify(body));
      if (!isHeld(by)) return answer();
      order.push(by);
      held.push(answer);
    });
    const client = createHostClient({ nowMs: () => nowMs }, { waitMs });
    const ask = (isKnown: boolean, { by = token, id = 'forge' } = {}) =>
      client.ask({ host: { id, kind: 'github', url }, name: 'acme/game', token: by, isKnown });
    /** Answers so many requests, once they are there. */
    const release = async (count: number) => {
      while (held.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
      for (const answer of held.splice(0, count)) answer();
    };
    return { ask, release, order };
  }
  const expectGranted = async (asked: readonly ReturnType<Awaited<ReturnType<typeof heldHost>>['ask']>[]) => {
    for (const answer of await Promise.all(asked)) expect(answer.kind).toBe('granted');
  };

  it('is asked about sixteen tokens at a time, four of them known, and about more once those are answered', async () => {
    const { ask: askAs, release } = await heldHost(20);
    const guesses = Array.from({ length: 12 }, () => askAs(false));
    // As any token that the host doesn't let in.
    expect(await askAs(false)).toEqual(refused('too-many-new'));
    const known = Array.from({ length: 4 }, () => askAs(true));
    expect(await askAs(true)).toEqual(limited(2_000));
    // Another host is not full.
    const other = askAs(false, { id: 'other' });
    await release(34);
    await expectGranted([...guesses, ...known, other]);
    const again = askAs(false);
    await release(2);
    await expectGranted([again]);
  });

  it('lets a token wait for a slot, and a known one first', async () => {
    const { ask: askAs, release, order } = await heldHost(60_000);
    const asking = Array.from({ length: 16 }, () => askAs(true));
    asking.push(askAs(false, { by: 'guess' }), askAs(true, { by: 'known' }));
    await release(32);
    await release(4);
    await expectGranted(asking);
    expect(order.slice(32, 34)).toEqual(['known', 'known']);
  });

  it('never sees the password that the process knows as its own', async () => {
    const never = 'a password of our own';
    const client = createHostClient({ nowMs: () => nowMs }, { neverSha256: sha256Hex(never) });
    const url = await serve((_request, response) => response.end('{}'));
    const host = { id: 'forge', kind: 'gitea', url } as const;
    const asked = requests.length;
    expect(await client.ask({ host, name: 'acme/game', token: never, isKnown: false })).toEqual(
      refused('token-rejected'),
    );
    expect(requests).toHaveLength(asked);
  });

  it.each([
    ['github', 'application/vnd.github+json', '2022-11-28'],
    ['gitea', 'application/json', undefined],
    ['gitlab', 'application/json', undefined],
  ] as const)('of %s is asked for as %s', async (kind, accept, version) => {
    await ask(kind, {});
    expect(requests.length).toBeGreaterThan(0);
    for (const { headers } of requests) {
      expect(headers['accept']).toBe(accept);
      expect(headers['x-github-api-version']).toBe(version);
    }
  });

  it('is asked about one more token for each that was answered', async () => {
    const { ask: askAs, release } = await heldHost(20, (by) => by !== 'first');
    const asking = Array.from({ length: 15 }, () => askAs(true));
    await expectGranted([askAs(true, { by: 'first' })]);
    asking.push(askAs(true));
    expect(await askAs(true)).toEqual(limited(2_000));
    await release(32);
    await expectGranted(asking);
  });
});

function refused(reason: string) {
  return { kind: 'refused', reason };
}

function limited(retryAfterMs: number) {
  return { kind: 'limited', retryAfterMs };
}

function limitedAnswer(status: number, headers: Record<string, string>): Answer {
  return { status, headers };
}
