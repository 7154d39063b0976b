import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { tokenIdOf } from '../../../lambda/frame/access/rules/tokens.ts';
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

const session = {
  kind: 'tenant',
  tenant: 'acme',
  tokenId: 'tok9',
  scope: 'write',
  label: null,
  user: 'ada',
  repos: null,
  expiresAt: '2026-12-21T05:00:00Z',
  limitContactUrl: null,
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
  const connectAt = (folder: string, ...args: string[]) =>
    cli(['connect', 'acme', 'game', '--clone', folder, '--url', server.url, ...args], { env: env() });
  const connect = (...args: string[]) => connectAt(clone, ...args);
  const file = () => join(home, 'logins', 'credentials.json');
  const env = () => ({ HOME: home, LFS_QUOTA_TOKEN: 'lfsq_given', LFS_QUOTA_CONFIG: file() });
  const creations = () =>
    server.asked
      .filter(({ method, path }) => method === 'POST' && path.endsWith('/tokens'))
      .map(({ body }) => body);
  const revoked = () => server.asked.filter(({ method }) => method === 'DELETE').map(({ path }) => path);
  const kept = () => JSON.parse(readFileSync(file(), 'utf8')) as object;
  const setting = (folder: string, name: string) =>
    execFileSync('git', ['-C', folder, 'config', '--get-all', `credential.${server.url}.${name}`], {
      encoding: 'utf8',
    });
  /** What git sends for the service from the folder of a clone: it asks with the user name that is set there. */
  const sentFrom = async (folder: string) => {
    expect(setting(folder, 'helper')).toBe('\n!lfs-quota auth git-credential\n');
    const host = new URL(server.url).host;
    const input = `protocol=http\nhost=${host}\nusername=${setting(folder, 'username').trim()}\n\n`;
    const { out } = await cli(['auth', 'git-credential', 'get'], { env: env(), input });
    return /^password=(.*)$/m.exec(out)?.[1];
  };

  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), 'lfs-quota connect-'));
    clone = join(home, 'clone');
    vi.stubEnv('HOME', home);
    vi.stubEnv('GIT_CONFIG_NOSYSTEM', '1');
    execFileSync('git', ['init', '-q', clone], { stdio: 'ignore' });
    execFileSync('git', ['config', '--global', 'credential.helper', '!false']);
    execFileSync('git', ['config', '--global', 'filter.lfs.smudge', 'git-lfs smudge -- %f']);
    made = { status: 201, body: newToken };
    used = { status: 200, body: { objects: [] } };
    known = {};
    server = await startServer(({ method, path, authorization }: Asked) => {
      if (authorization === undefined) return { status: 401, body: { code: 'unauthorized' } };
      if (path.endsWith('/tokens')) return made;
      if (path === '/v1/session') return { status: 200, body: session };
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
    expect(kept()).toEqual({ logins: {}, git: { [server.url]: { 'acme.game': newToken.token } } });
    expect(await sentFrom(clone)).toBe(newToken.token);
    expect(git('config', '--global', '--list')).not.toContain(server.url);
    expect(out).toContain('new, tok1: write, expires in 90 days\n');
    expect(out).toContain('git lfs track');
    expect(out + JSON.stringify(server.asked.map(({ path }) => path))).not.toContain(newToken.token);
    expect(creations()).toMatchObject([{ scope: 'write', repos: ['game'], expiresInSeconds: 30 * 86_400 }]);
    expect(server.asked.at(-1)).toMatchObject({
      path: '/acme/game/info/lfs/objects/batch',
      authorization: `Bearer ${newToken.token}`,
    });
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, 'logins')).mode & 0o077).toBe(0);
  });

  it('makes git-lfs offer the transfer lfs-quota in this clone, once', async () => {
    const settings = () => git('config', '--local', '--get-regexp', '^lfs\\.customtransfer\\.').split('\n');
    const named = (name: string) => `lfs.customtransfer.lfs-quota.${name}`;
    await connect();
    await connect('--read-only');
    expect(settings()).toEqual([
      `${named('path')} lfs-quota`,
      `${named('args')} agent`,
      `${named('concurrent')} false`,
      `${named('direction')} upload`,
    ]);
    expect(git('config', '-f', '.lfsconfig', '--list')).not.toContain('customtransfer');
    // From a checkout, in a folder with a space: git-lfs quotes the path, and its shell reads the arguments.
    await cli(['connect', 'acme', 'game', '--clone', clone, '--url', server.url], {
      env: env(),
      self: ['/opt/node 24/node', '/srv/my checkout/bin/lfs-quota.js'],
    });
    expect(settings()).toEqual([
      `${named('path')} /opt/node 24/node`,
      `${named('args')} '/srv/my checkout/bin/lfs-quota.js' agent`,
      `${named('concurrent')} false`,
      `${named('direction')} upload`,
    ]);
    expect(setting(clone, 'helper')).toBe(
      "\n!'/opt/node 24/node' '/srv/my checkout/bin/lfs-quota.js' auth git-credential\n",
    );
  });

  it('warns without git-lfs', async () => {
    const warning = "git-lfs isn't set up. Install it, then run git lfs install: https://git-lfs.com\n";
    const bin = join(home, 'bin');
    mkdirSync(bin);
    symlinkSync(execFileSync('which', ['git'], { encoding: 'utf8' }).trim(), join(bin, 'git'));
    vi.stubEnv('PATH', bin);
    expect(await connect()).toMatchObject({ code: 0, err: warning });
    writeFileSync(join(bin, 'git-lfs'), '#!/bin/sh\n', { mode: 0o755 });
    expect(await connect()).toMatchObject({ code: 0, err: '' });
  });

  it('leaves the tokens of other repos of the service as they are', async () => {
    const other = join(home, 'other');
    execFileSync('git', ['init', '-q', other], { stdio: 'ignore' });
    await connect();
    made = { status: 201, body: { ...newToken, token: 'lfsq_other' } };
    await cli(['connect', 'acme', 'film', '--clone', other, '--url', server.url], { env: env() });
    made = { status: 201, body: { ...newToken, token: 'lfsq_again' } };
    await connect();
    expect(await sentFrom(clone)).toBe('lfsq_again');
    expect(await sentFrom(other)).toBe('lfsq_other');
  });

  it('sends the same token from another clone of the repo', async () => {
    const second = join(home, 'second');
    execFileSync('git', ['init', '-q', second], { stdio: 'ignore' });
    await connect();
    known = { [tokenIdOf(newToken.token)]: newToken };
    const { out } = await connectAt(second);
    expect(out).toContain('unchanged, tok1');
    expect(await sentFrom(second)).toBe(newToken.token);
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

  describe('in a clone that stopped before it had its files', () => {
    /** `git clone` leaves it so if git-lfs can't download: the commit is there, and no index. */
    const stopped = (lfsUrl: string) => {
      git('config', '-f', '.lfsconfig', 'lfs.url', lfsUrl);
      writeFileSync(join(clone, 'a.txt'), 'a');
      git('add', '.');
      git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.invalid', 'commit', '-qm', 'Connected');
      rmSync(join(clone, '.git', 'index'));
      rmSync(join(clone, 'a.txt'));
      rmSync(join(clone, '.lfsconfig'));
    };
    const restored = () => git('ls-files').split('\n');

    it('says how to get them: there’s nothing to pull into', async () => {
      stopped(`${server.url}/acme/game/info/lfs`);
      const { code, out } = await connect();
      expect(code).toBe(0);
      expect(out).toContain('Next:\n  git lfs install && git reset --hard ');
      expect(out).not.toContain('git lfs pull');
      git('reset', '--quiet', '--hard');
      expect(restored()).toEqual(['.lfsconfig', 'a.txt']);
      expect(git('status', '--porcelain')).toBe('');
      expect((await connect()).out).toContain('git lfs pull');
    });

    it('of another server says so: a reset brings its .lfsconfig back', async () => {
      stopped('https://elsewhere.example.com/acme/game/info/lfs');
      const [, command = ''] = /Next:\n(.*)\n/.exec((await connect()).out) ?? [];
      expect(command).toContain('Then connect again');
      execFileSync('sh', ['-c', command], { cwd: clone, stdio: 'ignore' });
      expect(restored()).toEqual(['.lfsconfig', 'a.txt']);
      expect((await connect()).code).toBe(0);
      expect(git('config', '-f', '.lfsconfig', 'lfs.url')).toBe(`${server.url}/acme/game/info/lfs`);
    });
  });

  it('uses the token that was given, if it may not make others', async () => {
    made = { status: 403, body: { code: 'forbidden', title: 'Forbidden' } };
    const { code, out } = await connect();
    expect(code).toBe(0);
    expect(out).toContain('yours, tok9: write, expires in 30 days, locks belong to ada\n');
    expect(await sentFrom(clone)).toBe('lfsq_given');
  });

  it('stores nothing more of a login, which git gets too', async () => {
    made = { status: 403, body: { code: 'forbidden', title: 'Forbidden' } };
    const given = { LFS_QUOTA_CONFIG: file() };
    await cli(['login', server.url], { env: given, input: 'lfsq_mine\n' });
    const { code } = await cli(['connect', 'acme', 'game', '--clone', clone], { env: given });
    expect(code).toBe(0);
    const logins = { [server.url]: { token: 'lfsq_mine', tenant: 'acme' } };
    expect(kept()).toEqual({ logins, git: { [server.url]: {} } });
    expect(await sentFrom(clone)).toBe('lfsq_mine');
  });

  it('changes nothing if the token is refused', async () => {
    used = { status: 401, body: { message: 'Log in.' } };
    expect(await connect()).toMatchObject({
      code: 4,
      err: expect.stringContaining("error: This token can't access acme/game: Log in.\n"),
    });
    made = { status: 404, body: { code: 'tenant-not-found', title: 'Not found', detail: 'No tenant acme.' } };
    expect((await connect()).err).toContain('Tenant "acme" not found');
    expect(git('status', '--porcelain')).toBe('');
    expect(() => kept()).toThrow('ENOENT');
  });

  it('makes no token if the address would not be used', async () => {
    git('config', 'lfs.url', 'https://example.com/other');
    expect((await connect()).err).toContain('config --unset lfs.url');
    const nowhere = relative(process.cwd(), home);
    expect((await connectAt(nowhere)).err).toContain(`No Git repository with files in ${home}.\n`);
    expect(server.asked).toEqual([]);
  });

  it('leaves no token behind if it cannot be stored', async () => {
    symlinkSync('/proc/nothing', join(home, 'nowhere'));
    const broken = { ...env(), LFS_QUOTA_CONFIG: join(home, 'nowhere', 'credentials.json') };
    const result = await cli(['connect', 'acme', 'game', '--clone', clone, '--url', server.url], {
      env: broken,
    });
    expect(result).toMatchObject({
      code: 1,
      err: expect.stringContaining("Can't use your credentials file"),
    });
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
