import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import {
  hostCheckMs,
  mayPush,
  mustSignInAgain,
  signedInMs,
} from '../../../../../lambda/frame/access/rules/tokens.ts';
import { findSession, findToken } from '../../../../../lambda/frame/access/tokens.ts';
import type { GitHost, GitHostKind } from '../../../../../lambda/subjects/hosts/rules/git-hosts.ts';
import { signInHostsOf, webUrlOf } from '../../../../../lambda/subjects/hosts/rules/git-hosts.ts';
import {
  authorizeUrl,
  isIssuer,
  isStillAllowed,
  loginKeptMs,
  nextPattern,
  organizationsOf,
  tenantOfView,
  waysIn,
} from '../../../../../lambda/subjects/sign-in/rules/sign-in.ts';
import { finishSignIn, startSignIn } from '../../../../../lambda/subjects/sign-in/sign-in.ts';
import { createSignInHosts } from '../../../../../lambda/subjects/sign-in/sign-in-hosts.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { type StandInHost, standInApp, startStandInHost } from '../../../../support/git-host.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';

const redirectUri = 'https://lfs.example.com/sign-in/forge';
const ada = { id: 1, login: 'ada' };
const grace = { id: 2, login: 'grace' };

const allowed = {
  tenant: 'acme',
  host: 'forge',
  organizationId: '42',
  name: 'acme-games',
  owners: 'manage',
  members: 'read',
  collaborators: false,
  sinceMs: 1,
} as const;

describe.each<GitHostKind>(['github', 'gitlab', 'gitea'])('signing in with %s', (kind) => {
  let host: StandInHost;
  let setting: GitHost;
  let close: () => Promise<void>;
  let deps: Deps;
  let clock: ManualClock;
  const logged: { message: string; fields: unknown }[] = [];

  beforeAll(async () => {
    ({ host, withSignIn: setting, close } = await startStandInHost(kind));
    host.organization({ id: 42, name: 'acme-games', people: { ada: 'owner', grace: 'member' } });
    host.repository('acme-games/game', { id: 7, people: { grace: 'write' } });
    host.repository('acme-games/film', { id: 8, people: { grace: 'read' } });
    host.repository('acme-games/other', { id: 9, people: { grace: 'write' } });
  });
  afterAll(() => close());

  beforeEach(async () => {
    clock = new ManualClock();
    logged.length = 0;
    const log = (message: string, fields: unknown) => void logged.push({ message, fields });
    deps = memoryDeps({
      clock,
      gitHosts: [setting],
      log: { info: log, warn: log, error: log },
      signInHosts: createSignInHosts({
        nowMs: clock.nowMs.bind(clock),
        secretOf: async () => standInApp.clientSecret,
      }),
    });
    await deps.ledger.createTenant({
      tenant: 'acme',
      plan: null,
      limitBytes: null,
      createdAtMs: clock.nowMs(),
      scanned: { storedBytes: 0, objectCount: 0, scannedAtMs: clock.nowMs() },
      dueAtMs: clock.nowMs(),
    });
    await deps.users.allow(allowed);
    const link = async (repo: string, name: string, linkedId: string | null) =>
      deps.linkedRepos.put({
        tenant: 'acme',
        mark: { repo, host: 'forge', name, linkedId, sinceMs: clock.nowMs() },
      });
    await link('game', 'acme-games/game', '7');
    await link('film', 'acme-games/film', '8');
    // Another repository has its name now, and one whose number nobody knows yet.
    await link('other', 'acme-games/other', '999');
    await link('new', 'acme-games/game', null);
  });

  const start = async (next = '#acme') => {
    const started = await startSignIn(deps, { host: 'forge', next, addsOrganization: false, redirectUri });
    if (!started) throw new Error('It has no such host.');
    return started;
  };
  const comeIn = async (person: typeof ada, next?: string) => {
    const { cookie, url } = await start(next);
    return finishAt(host.approve(url, person), cookie);
  };
  const finishAt = (back: URL, cookie: string) =>
    finishSignIn(deps, {
      cookie,
      hostId: 'forge',
      code: back.searchParams.get('code') ?? '',
      state: back.searchParams.get('state') ?? '',
      issuer: undefined,
      redirectUri,
      held: undefined,
    });
  const signedIn = async (person: typeof ada, next?: string) => {
    const outcome = await comeIn(person, next);
    if (outcome.kind !== 'signed-in') throw new Error(JSON.stringify(outcome));
    return outcome;
  };

  it('makes an owner manage, and a member read and push where they can at the host', async () => {
    expect((await signedIn(ada)).token).toMatchObject({
      tenant: 'acme',
      scope: 'manage',
      repos: null,
      user: 'ada',
      hostUser: { id: 'forge:1', login: 'ada' },
      allowedBy: { organizationId: '42', role: 'owner', sinceMs: 1 },
    });
    const { token } = await signedIn(grace);
    expect(token).toMatchObject({ scope: 'read', repos: null, writeRepos: ['game'] });
    expect(['game', 'film', 'other', 'new'].map((repo) => mayPush(token, repo))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  it('asks the host about the first 50 linked repos by name, however many there are', async () => {
    for (let index = 0; index < 60; index += 1)
      await deps.linkedRepos.put({
        tenant: 'acme',
        mark: {
          repo: `more-${String(index).padStart(2, '0')}`,
          host: 'forge',
          name: `acme-games/more-${index}`,
          linkedId: String(100 + index),
          sinceMs: clock.nowMs(),
        },
      });
    const asked = vi.spyOn(deps.signInHosts, 'accessTo');
    expect((await signedIn(grace)).token).toMatchObject({ writeRepos: ['game'] });
    const names = asked.mock.calls.map(([input]) => input.names);
    expect(names.map(({ length }) => length)).toEqual([50]);
    // Without the one whose number nobody knows yet.
    expect(names[0]?.slice(0, 3)).toEqual(['acme-games/film', 'acme-games/game', 'acme-games/more-0']);
  });

  it('ends the token at the host, if the host can, and keeps and logs none of it', async () => {
    const given = host.given.length;
    await signedIn(grace);
    const [token = ''] = host.given.slice(given);
    expect(host.revoked.includes(token)).toBe(kind !== 'gitea');
    expect(JSON.stringify(logged)).not.toContain(token);
    expect(host.requests.every((request) => !request.includes(token))).toBe(true);
  });

  it('ends it also for whom nobody lets in', async () => {
    const given = host.given.length;
    expect(await comeIn({ id: 3, login: 'mallory' })).toMatchObject({ kind: 'rejected' });
    expect(host.revoked.includes(host.given[given] ?? '')).toBe(kind !== 'gitea');
  });

  it('lasts eight hours, however often somebody signs in again elsewhere', async () => {
    const { value } = await signedIn(grace);
    clock.advance(signedInMs / 2);
    const other = await signedIn(grace);
    expect(await findSession(deps, value)).toMatchObject({ token: { user: 'grace' } });
    clock.advance(signedInMs / 2);
    expect(await findSession(deps, value)).toBeUndefined();
    expect(await findSession(deps, other.value)).toBeDefined();
    expect(await deps.tokens.listUsers('acme')).toHaveLength(1);
  });

  it('ends all sessions of a user at once', async () => {
    const [one, two] = [await signedIn(grace), await signedIn(grace)];
    await deps.tokens.delete({ tenant: 'acme', tokenId: one.token.tokenId });
    expect(await findSession(deps, one.value)).toBeUndefined();
    expect(await findSession(deps, two.value)).toBeUndefined();
    await signedIn(grace);
    expect(await findSession(deps, one.value)).toBeUndefined();
  });

  it('is no token, whatever is presented', async () => {
    const { token, value } = await signedIn(grace);
    const guesses = [value, token.tokenId, token.secretSha256, `user\nacme\nforge:2`, value.split('.')[1]];
    for (const guess of guesses) expect(await findToken(deps, guess)).toBeUndefined();
    // Not even who knew its secret.
    await deps.tokens.putUser({
      ...token,
      tokenId: sha256Hex('known').slice(0, 16),
      secretSha256: sha256Hex('known'),
    });
    expect(await findToken(deps, 'known')).toBeUndefined();
  });

  it('never replaces a token', async () => {
    const { token } = await signedIn(grace);
    const { hostUser: _hostUser, allowedBy: _allowedBy, ...plain } = token;
    await deps.tokens.put({ ...plain, tokenId: 'f'.repeat(16) });
    await expect(deps.tokens.putUser({ ...token, tokenId: 'f'.repeat(16) })).rejects.toThrow('has the id');
  });

  it('ends when the host is asked too late', async () => {
    const { cookie, url } = await start();
    const back = host.approve(url, ada);
    clock.advance(loginKeptMs);
    expect(await finishAt(back, cookie)).toMatchObject({ reason: 'this browser has started no sign-in' });
  });

  it('lets nobody in while the tenant is deleted', async () => {
    await deps.ledger.closeTenant({ tenant: 'acme', closedAtMs: clock.nowMs() });
    expect(await comeIn(ada)).toMatchObject({ kind: 'rejected', reason: 'the tenant is deleted' });
  });

  it('is not kept from anybody by a host that does not end a token', async () => {
    const revoke = () => Promise.reject(new LedgerUnavailableError('It is only an example.'));
    deps = { ...deps, signInHosts: { ...deps.signInHosts, revoke } };
    expect((await signedIn(ada)).token.scope).toBe('manage');
    expect(logged.map(({ message }) => message)).toContain('token of a git host not revoked');
  });

  it('stores nothing of a cookie that lets anybody finish', async () => {
    const { cookie, url } = await start();
    const stored = JSON.stringify(await deps.users.takeLogin(sha256Hex(cookie)));
    const query = new URL(url).searchParams;
    for (const secret of [cookie, query.get('state') ?? '', query.get('code_challenge') ?? ''])
      expect(stored).not.toContain(secret);
    expect(stored).toContain(sha256Hex(cookie));
  });
});

describe('what a git host said of somebody', () => {
  const session = {
    sessionId: 's',
    parentId: 'p',
    secretSha256: '',
    boundTo: '',
    createdAtMs: 0,
    expiresAtMs: signedInMs,
    organizations: [{ host: 'forge', organizationId: '42', name: 'acme' }],
    organizationsAtMs: 0,
  };
  const token = {
    tokenId: 't',
    secretSha256: '',
    tenant: 'acme',
    scope: 'manage',
    label: null,
    user: 'ada',
    repos: null,
    createdAtMs: 0,
    expiresAtMs: null,
    lastUsedAtMs: null,
  } as const;
  const user = { ...token, hostUser: { id: 'forge:1', login: 'ada' } };

  it('is enough for changes for an hour, and is asked of nobody with a token', () => {
    expect(mustSignInAgain({ token: user, session }, hostCheckMs - 1)).toBe(false);
    expect(mustSignInAgain({ token: user, session }, hostCheckMs)).toBe(true);
    expect(mustSignInAgain({ token: user }, 0)).toBe(true);
    expect(mustSignInAgain({ token, session }, hostCheckMs)).toBe(false);
    expect(mustSignInAgain({ session }, hostCheckMs)).toBe(false);
  });

  it('tells their organizations for an hour', () => {
    expect(organizationsOf(session, 3_599_999)).toHaveLength(1);
    expect(organizationsOf(session, 3_600_000)).toEqual([]);
    expect(organizationsOf(undefined, 0)).toEqual([]);
  });
});

describe('what let somebody in', () => {
  const by = { host: 'forge', organizationId: '42', sinceMs: 1 };

  it.each([
    ['stays as it was', {}, true],
    ['was decided again', { sinceMs: 2 }, false],
    ['is of another organization', { organizationId: '43' }, false],
    ['is of another host', { host: 'other' }, false],
  ])('counts for as long as it is what it was then: it %s', (_, now, isAllowed) => {
    expect(
      isStillAllowed(
        [
          { ...allowed, host: 'x' },
          { ...allowed, ...now },
        ],
        by,
      ),
    ).toBe(isAllowed);
  });
});

describe('the ways in', () => {
  const hostUser = { id: 'forge:1', login: 'ada' };
  const member = { host: 'forge', organizationId: '42', name: 'acme', role: 'member' } as const;
  const owner = { ...member, role: 'owner' } as const;
  const of = (...organizations: (typeof member | typeof owner)[]) => ({ hostUser, organizations });

  it('are by number and host, never by name', () => {
    expect(waysIn(of(member), [allowed])).toMatchObject([{ tenant: 'acme', scope: 'read' }]);
    expect(waysIn(of(owner), [allowed])).toMatchObject([{ scope: 'manage', allowedBy: { role: 'owner' } }]);
    expect(waysIn(of(member), [{ ...allowed, organizationId: '43' }])).toEqual([]);
    expect(waysIn(of(member), [{ ...allowed, host: 'other' }])).toEqual([]);
    expect(waysIn(of(member), [{ ...allowed, members: null }])).toEqual([]);
  });

  it('are the best of each tenant', () => {
    const more = { ...allowed, organizationId: '43', members: 'write' } as const;
    const both = of(member, { ...member, organizationId: '43' } as unknown as typeof member);
    for (const list of [
      [allowed, more],
      [more, allowed],
    ])
      expect(waysIn(both, list)).toMatchObject([{ scope: 'write', allowedBy: { organizationId: '43' } }]);
  });
});

describe('addresses', () => {
  const hosts = (kind: GitHostKind, url: string) =>
    signInHostsOf([
      { id: 'h', kind, url, signIn: { clientId: 'c', clientSecretArn: 's' } },
      { id: 'i', kind, url },
    ]);

  it.each([
    ['github', 'https://api.github.com', 'https://github.com'],
    ['github', 'https://github.example.com/api/v3', 'https://github.example.com'],
    ['github', 'https://api.acme.ghe.com', 'https://acme.ghe.com'],
    ['gitlab', 'https://gitlab.com', 'https://gitlab.com'],
    ['gitea', 'https://git.example.com/forge', 'https://git.example.com/forge'],
  ] as const)('of %s at %s are below %s', (kind, url, web) => {
    const [host, ...others] = hosts(kind, url);
    if (!host) throw new Error('It has none.');
    expect(others).toEqual([]);
    expect(webUrlOf(host)).toBe(web);
    expect(authorizeUrl(host, { cookie: 'c', redirectUri })).toMatch(
      new RegExp(`^${web}/(login/)?oauth/authorize\\?`),
    );
    expect(isIssuer(host, `${new URL(web).origin}/login/oauth`)).toBe(true);
    for (const other of ['https://evil.example', `${new URL(web).origin}.evil.example`, 'no URL', ''])
      expect(isIssuer(host, other)).toBe(false);
  });

  it('to show afterwards are views, never URLs', () => {
    for (const next of ['#', '#acme', '#acme/objects?repo=game&by=oldest', '#_settings'])
      expect(nextPattern.test(next)).toBe(true);
    for (const next of [
      '',
      'acme',
      '/x',
      '//evil',
      'https://evil',
      '#a"b',
      '#a b',
      '#a\n',
      `#${'a'.repeat(201)}`,
    ])
      expect(nextPattern.test(next)).toBe(false);
    expect(['#acme', '#acme/x', '#acme?x', '#', '#_settings', '#Acme'].map(tenantOfView)).toEqual([
      'acme',
      'acme',
      'acme',
      undefined,
      undefined,
      undefined,
    ]);
  });
});
