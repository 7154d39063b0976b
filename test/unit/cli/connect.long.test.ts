import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { tokenIdOf } from '../../../lambda/accounts/rules/tokens.ts';
import { type Answer, type Asked, cli, startServer, type TestServer } from './harness.ts';

const newToken = {
  tenant: 'acme',
  tokenId: 'tok1',
  token: `lfsq_${'n'.repeat(40)}`,
  scope: 'write',
  label: null,
  user: null,
  repos: ['game'],
  createdAt: '2026-11-21T05:00:00Z',
  expiresAt: '2027-02-19T05:00:00Z',
  lastUsedAt: null,
};

describe('connect', () => {
  let home: string;
  let clone: string;
  let server: TestServer;
  let made: Answer;
  let used: Answer;
  /** What the service knows of a token, by its id. */
  let known: Record<string, object>;
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: clone, stdio: ['ignore', 'pipe', 'pipe'] })
      .toString()
      .trim();
  const connect = (...args: string[]) =>
    cli(['connect', 'acme', 'game', '--clone', clone, '--url', server.url, ...args], {
      env: { LFS_QUOTA_TOKEN: 'lfsq_given' },
    });
  const creations = () =>
    server.asked
      .filter(({ method, path }) => method === 'POST' && path.endsWith('/tokens'))
      .map(({ body }) => body);
  const revoked = () => server.asked.filter(({ method }) => method === 'DELETE').map(({ path }) => path);
  const kept = () => readFileSync(join(home, 'kept'), 'utf8');
  /** What git sends for the service from the folder of a clone. */
  const sentFrom = (folder: string) => {
    const input = `url=${server.url}\n\n`;
    return /^password=(.*)$/m.exec(
      execFileSync('git', ['-C', folder, 'credential', 'fill'], { input, encoding: 'utf8' }),
    )?.[1];
  };

  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), 'lfs-quota connect-'));
    clone = join(home, 'clone');
    vi.stubEnv('HOME', home);
    vi.stubEnv('GIT_CONFIG_NOSYSTEM', '1');
    execFileSync('git', ['init', '-q', clone], { stdio: 'ignore' });
    execFileSync('git', ['config', '--global', 'credential.helper', `store --file="${join(home, 'kept')}"`]);
    made = { status: 201, body: newToken };
    used = { status: 200, body: { objects: [] } };
    known = {};
    server = await startServer(({ method, path }: Asked) => {
      if (path.endsWith('/tokens')) return made;
      if (method === 'DELETE') return { status: 204 };
      const [, tokenId] = /\/tokens\/(.*)$/.exec(path) ?? [];
      if (tokenId === undefined) return used;
      const body = known[tokenId];
      return body ? { status: 200, body } : { status: 404, body: { code: 'token-not-found', title: '' } };
    });
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await server.close();
    rmSync(home, { recursive: true, force: true });
  });

  it('writes .lfsconfig, and gives git a new token for this repo alone', async () => {
    const { code, out } = await connect('--expires', '30d');
    expect(code).toBe(0);
    expect(git('config', '-f', '.lfsconfig', 'lfs.url')).toBe(`${server.url}/acme/game/info/lfs`);
    expect(kept()).toBe(
      `${server.url.replace('://', `://acme.game:${newToken.token}@`).replace(/:(\d+)$/, '%3a$1')}\n`,
    );
    expect(out).toContain('new, tok1: write, expires in 90 days\n');
    expect(out).toContain('git lfs track');
    expect(out + JSON.stringify(server.asked.map(({ path }) => path))).not.toContain(newToken.token);
    expect(creations()).toMatchObject([{ scope: 'write', repos: ['game'], expiresInSeconds: 30 * 86_400 }]);
    expect(server.asked.at(-1)).toMatchObject({
      path: '/acme/game/info/lfs/objects/batch',
      authorization: `Bearer ${newToken.token}`,
    });
    expect(statSync(join(home, 'kept')).mode & 0o077).toBe(0);
  });

  it('leaves the tokens of other repos of the service as they are', async () => {
    const other = join(home, 'other');
    const byHand = join(home, 'by hand');
    for (const folder of [other, byHand]) execFileSync('git', ['init', '-q', folder], { stdio: 'ignore' });
    const input = `url=${server.url}\nusername=any\npassword=lfsq_by_hand\n\n`;
    execFileSync('git', ['-C', byHand, 'credential', 'approve'], { input });

    await connect();
    made = { status: 201, body: { ...newToken, token: 'lfsq_other' } };
    await cli(['connect', 'acme', 'film', '--clone', other, '--url', server.url], {
      env: { LFS_QUOTA_TOKEN: 'lfsq_given' },
    });
    made = { status: 201, body: { ...newToken, token: 'lfsq_again' } };
    await connect();

    expect(sentFrom(clone)).toBe('lfsq_again');
    expect(sentFrom(other)).toBe('lfsq_other');
    expect(sentFrom(byHand)).toBe('lfsq_by_hand');
  });

  it('sends the same token from another clone of the repo, whatever else the helper has', async () => {
    const second = join(home, 'second');
    execFileSync('git', ['init', '-q', second], { stdio: 'ignore' });
    await connect();
    const input = `url=${server.url}\nusername=any\npassword=lfsq_by_hand\n\n`;
    execFileSync('git', ['credential', 'approve'], { cwd: home, input });
    known = { [tokenIdOf(newToken.token)]: newToken };
    const { out } = await connect('--clone', second);
    expect(out).toContain('unchanged, tok1');
    expect(sentFrom(second)).toBe(newToken.token);
  });

  it('can be done again, and sets what is asked for', async () => {
    await connect();
    const { code, out } = await connect('--read-only', '--user', 'ada', '--locks', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      tenant: 'acme',
      repo: 'game',
      lfsUrl: `${server.url}/acme/game/info/lfs`,
      tokenId: 'tok1',
    });
    expect(creations()[1]).toMatchObject({ scope: 'read', user: 'ada' });
    expect(git('config', '-f', '.lfsconfig', 'lfs.locksverify')).toBe('true');
  });

  it('says what comes next in a clone of what somebody else has connected', async () => {
    await connect();
    git('add', '.lfsconfig');
    git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.invalid', 'commit', '-qm', 'Connected');
    const { out } = await connect();
    expect(out).toContain('git lfs pull');
    expect(out).not.toContain('git lfs track');
  });

  it('uses the token that was given, if it may not make others', async () => {
    made = { status: 403, body: { code: 'forbidden', title: 'Forbidden' } };
    const { code, out } = await connect();
    expect(code).toBe(0);
    expect(out).toContain('the one you passed');
    expect(kept()).toContain('acme.game:lfsq_given@');
  });

  it('changes nothing if the token is refused', async () => {
    used = { status: 401, body: { message: 'Log in.' } };
    expect(await connect()).toMatchObject({
      code: 4,
      err: expect.stringContaining("error: This token can't access acme/game: Log in.\n"),
    });
    made = { status: 404, body: { code: 'tenant-not-found', title: 'Not found', detail: 'No tenant acme.' } };
    expect((await connect()).err).toContain('No tenant acme. (404)');
    expect(git('status', '--porcelain')).toBe('');
    expect(() => kept()).toThrow('ENOENT');
  });

  it('makes no token if git could not keep it, or if the address would not be used', async () => {
    execFileSync('git', ['config', '--global', '--unset', 'credential.helper']);
    expect((await connect()).err).toMatch(
      /Git has no credential helper.*\n.*git config --global credential.helper /,
    );
    git('config', 'lfs.url', 'https://example.com/other');
    expect((await connect()).err).toContain('config --unset lfs.url');
    const nowhere = relative(process.cwd(), home);
    expect((await connect('--clone', nowhere)).err).toContain(`No Git repository with files in ${home}.\n`);
    expect(server.asked).toEqual([]);
  });

  it.each([
    ['!true', `Git's credential helper "!true" didn't store the token.`],
    [
      'nothere',
      `Git's credential helper "nothere" didn't store the token: git: 'credential-nothere' is not a git command. See 'git --help'.\n`,
    ],
  ])('leaves no token behind if the helper is %s, and repeats what git said', async (helper, said) => {
    execFileSync('git', ['config', '--global', 'credential.helper', helper]);
    expect(await connect()).toMatchObject({ code: 1, err: expect.stringContaining(said) });
    expect(revoked()).toEqual(['/v1/tenants/acme/tokens/tok1']);
  });

  it('leaves no token behind if the service refuses it', async () => {
    used = { status: 404, body: { message: 'Repository not found.' } };
    expect((await connect()).code).toBe(3);
    expect(revoked()).toEqual(['/v1/tenants/acme/tokens/tok1']);
  });

  it('keeps the token that git has, if it can push for a week more', async () => {
    await connect();
    known[tokenIdOf(newToken.token)] = newToken;
    expect((await connect()).out).toContain('unchanged, tok1: write, expires in 90 days\n');
    expect(creations()).toHaveLength(1);
    for (const change of [{ expiresAt: '2026-11-25T05:00:00Z' }, { scope: 'read' }, { repos: ['film'] }]) {
      const before = creations().length;
      known[tokenIdOf(newToken.token)] = { ...newToken, ...change };
      expect((await connect()).out).toContain('new, tok1');
      expect(creations()).toHaveLength(before + 1);
    }
    expect(revoked()).toEqual([]);
  });

  it('creates a token for 90 days, for the user of the token that was passed', async () => {
    known[tokenIdOf('lfsq_given')] = { ...newToken, user: 'grace', scope: 'manage', repos: null };
    await connect();
    await connect('--user', 'ada', '--expires', 'never');
    expect(creations()).toMatchObject([
      { user: 'grace', expiresInSeconds: 90 * 86_400 },
      { user: 'ada', expiresInSeconds: null },
    ]);
  });

  it('keeps it with options too, if it is what they ask for', async () => {
    await connect('--user', 'ada');
    known[tokenIdOf(newToken.token)] = { ...newToken, user: 'ada' };
    expect((await connect('--user', 'ada')).out).toContain('unchanged, tok1');
    expect((await connect('--user', 'bob')).out).toContain('new, tok1');
    known[tokenIdOf(newToken.token)] = { ...newToken, scope: 'read' };
    expect((await connect('--read-only')).out).toContain('unchanged, tok1');
    expect(creations()).toHaveLength(2);
  });

  it('revokes the token of an earlier run that git had until now, and no other', async () => {
    await connect();
    const ours = { ...newToken, tokenId: 'tok0', label: `${userInfo().username} on ${hostname()}` };
    for (const [change, ends] of [
      [{ label: 'deploy' }, false],
      [{ repos: ['game', 'film'] }, false],
      [{ repos: null }, false],
      [{}, true],
    ] as const) {
      const before = revoked().length;
      known[tokenIdOf(newToken.token)] = { ...ours, ...change };
      expect((await connect('--expires', '30d')).code).toBe(0);
      expect(revoked().slice(before)).toEqual(ends ? ['/v1/tenants/acme/tokens/tok0'] : []);
    }
    used = { status: 404, body: { message: 'Repository not found.' } };
    await connect('--expires', '30d');
    expect(revoked().at(-1)).toBe('/v1/tenants/acme/tokens/tok1');
  });
});
