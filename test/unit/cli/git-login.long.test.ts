import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, type Asked, cli, startServer, type TestServer } from './harness.ts';

/** What a login does to git, and what git knows without one. */

const token = `lfsq_${'t'.repeat(40)}`;
const session = {
  kind: 'tenant',
  tenant: 'acme',
  tokenId: '0f1e2d3c4b5a6978',
  scope: 'write',
  label: null,
  user: 'ada',
  repos: null,
  expiresAt: '2027-02-19T05:00:00Z',
  limitContactUrl: null,
};

let home: string;
let server: TestServer;
let answerTo: (asked: Asked) => Answer;

/** Without a token it refuses to show a session, as each server does. */
const startLfsQuota = (answer: (asked: Asked) => Answer) =>
  startServer((asked) =>
    asked.authorization === undefined && asked.path.endsWith('/v1/session')
      ? { status: 401, body: { code: 'unauthorized' } }
      : answer(asked),
  );
/** With a git-lfs that is set up. */
const env = () => ({ XDG_CONFIG_HOME: home, HOME: home, PATH: `${home}:${process.env['PATH']}` });
const gitConfig = (...args: string[]) =>
  spawnSync('git', ['config', '--global', ...args], { env: env(), encoding: 'utf8' }).stdout;
const helpers = (of = server.url) => gitConfig('--get-all', `credential.${of}.helper`);
const logIn = (of = server.url, secret = token) => cli(['login', of], { env: env(), input: `${secret}\n` });

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'lfs-quota git-login-'));
  writeFileSync(join(home, 'git-lfs'), '#!/bin/sh\n', { mode: 0o755 });
  gitConfig('filter.lfs.smudge', 'git-lfs smudge -- %f');
  answerTo = () => ({ status: 200, body: session });
  server = await startLfsQuota((asked) => answerTo(asked));
});
afterEach(async () => {
  await server.close();
  rmSync(home, { recursive: true, force: true });
});

describe("git's settings", () => {
  const logInAs = (self: readonly [string, ...string[]], args: string[] = []) =>
    cli(['login', server.url, ...args], { env: env(), input: token, self });

  it('are set at a login, once, and end with it', async () => {
    gitConfig('--add', 'credential.helper', 'store');
    gitConfig('--add', `credential.${server.url}.helper`, 'cache');
    const before = gitConfig('--list');
    for (let times = 0; times < 2; times += 1) await logInAs(['lfs-quota']);
    expect(helpers()).toBe('\n!lfs-quota auth git-credential\n');
    await cli(['logout'], { env: env() });
    expect(gitConfig('--list')).toBe(before.replace(/^.*helper=cache\n/m, ''));
  });

  it.each([
    [
      ['/opt/node 24/node', '/srv/it’s mine/lfs-quota.js'],
      "!'/opt/node 24/node' '/srv/it’s mine/lfs-quota.js'",
    ],
    [
      ['C:\\Program Files\\nodejs\\node.exe', "C:\\Users\\O'Neil\\lfs-quota.js"],
      "!'C:\\Program Files\\nodejs\\node.exe' 'C:\\Users\\O'\\''Neil\\lfs-quota.js'",
    ],
  ] as const)('have a command that git’s shell reads as it is: %j', async (self, expected) => {
    await logInAs(self);
    expect(helpers()).toBe(`\n${expected} auth git-credential\n`);
    // git runs it by a shell.
    const words = `printf '%s|' ${expected.slice(1)}`;
    expect(execFileSync('sh', ['-c', words], { encoding: 'utf8' })).toBe(`${self.join('|')}|`);
  });

  it('have a copy of what npx runs from its cache', async () => {
    const cached = join(home, '.npm/_npx/c277/node_modules');
    const bin = join(cached, 'lfs-quota/bin/lfs-quota.js');
    const copied = join(home, 'lfs-quota/lfs-quota-npx/bin/lfs-quota.js');
    mkdirSync(dirname(bin), { recursive: true });
    mkdirSync(join(cached, '.bin'));
    symlinkSync(bin, join(cached, '.bin/lfs-quota'));
    for (const text of ['older', 'newer']) {
      writeFileSync(bin, text);
      await logInAs(['/usr/bin/node', join(cached, '.bin/lfs-quota')]);
      expect(helpers()).toBe(`\n!/usr/bin/node '${copied}' auth git-credential\n`);
      expect(readFileSync(copied, 'utf8')).toBe(text);
    }
    rmSync(bin);
    expect((await logInAs(['/usr/bin/node', join(cached, '.bin/lfs-quota')])).err).toMatch(
      /^Git can't use this login yet\. Can't copy lfs-quota to .*ENOENT/,
    );
    // npx of a folder links it into its cache.
    symlinkSync(join(home, 'git-lfs'), bin);
    await logInAs(['/usr/bin/node', join(cached, '.bin/lfs-quota')]);
    expect(helpers()).toContain(`'${join(home, 'git-lfs')}' auth git-credential`);
  });

  it('are set by an invitation too', async () => {
    const accepted = { ...session, createdAt: '2026-11-21T05:00:00Z', lastUsedAt: null, token };
    answerTo = ({ path }) =>
      path === '/v1/invitations/accept' ? { status: 201, body: accepted } : { status: 200, body: session };
    const link = `${server.url}/#_join/acme.lfsi_${'s'.repeat(40)}`;
    expect((await cli(['login', link, '--no-git'], { env: env() })).code).toBe(0);
    expect(helpers()).toBe('');
    expect((await cli(['login', link], { env: env() })).out).toContain('git     uses this login\n');
    expect(helpers()).toBe('\n!lfs-quota auth git-credential\n');
  });

  it('of a clone that was connected say after a logout that nobody is logged in', async () => {
    const input = `protocol=http\nhost=${new URL(server.url).host}\n\n`;
    const get = () => cli(['auth', 'git-credential', 'get'], { env: env(), input });
    await logInAs(['lfs-quota']);
    const [helper] = helpers().trim().split('\n');
    await cli(['logout'], { env: env() });
    expect(await get()).toEqual({ code: 0, out: '', err: '' });
    gitConfig('--add', `credential.${server.url}.helper`, String(helper));
    const err = `lfs-quota: You're not logged in to ${server.url}. Run: lfs-quota login ${server.url}\n`;
    expect(await get()).toEqual({ code: 0, out: '', err });
  });

  it('are left alone for the admin token, with --no-git, and where another helper was set since', async () => {
    expect((await logInAs(['lfs-quota'], ['--no-git'])).out).not.toContain('git ');
    expect(helpers()).toBe('');
    answerTo = () => ({ status: 200, body: { ...session, kind: 'operator', tenant: null, tokenId: null } });
    await logInAs(['lfs-quota']);
    expect(helpers()).toBe('');
    gitConfig('--add', `credential.${server.url}.helper`, 'cache');
    await cli(['logout'], { env: env() });
    expect(helpers()).toBe('cache\n');
  });

  it.each([
    ['since', '!/usr/bin/gh auth git-credential', '\n!/usr/bin/gh auth git-credential\n'],
    ['by another install', "!'/opt/my node/node' '/srv/my tools/bin/lfs-quota.js' auth git-credential", ''],
  ])('lose at a logout what a login has set, and nothing else: %s', async (_, line, left) => {
    const key = `credential.${server.url}.helper`;
    await logInAs(['/usr/bin/node', '/srv/node_modules/.bin/lfs-quota']);
    gitConfig('--add', key, line);
    await cli(['logout'], { env: env() });
    expect(helpers()).toBe(left);
    await logInAs(['lfs-quota']);
    gitConfig('--replace-all', key, '');
    gitConfig('--add', key, '!gh auth git-credential');
    await cli(['logout'], { env: env() });
    expect(helpers()).toBe('\n!gh auth git-credential\n');
  });

  it.each([
    ['there’s no git', () => ({ PATH: '/nowhere' }), "Can't run git"],
    ['they can’t be written', () => ({ GIT_CONFIG_GLOBAL: '/nowhere/gitconfig' }), '/nowhere/gitconfig'],
  ])('are no condition of a login: %s', async (_what, more, why) => {
    const { code, out, err } = await cli(['login', server.url], {
      env: { ...env(), ...more() },
      input: token,
    });
    expect(code).toBe(0);
    expect(out).not.toContain('git     uses');
    expect(err).toMatch(
      /^Git can't use this login yet\. .*\nIn each clone, run: lfs-quota connect TENANT REPO\n$/,
    );
    expect(err).toContain(why);
    expect(readFileSync(join(home, 'lfs-quota', 'credentials.json'), 'utf8')).toContain(token);
  });

  it.each([['filter.lfs.smudge'], ['']])('without git-lfs for it get a hint: %j', async (unset) => {
    const err = "git-lfs isn't set up. Install it, then run git lfs install: https://git-lfs.com\n";
    if (unset === '') writeFileSync(join(home, 'git-lfs'), '#!/bin/sh\nexit 1\n');
    else gitConfig('--unset', unset);
    expect(await logIn()).toMatchObject({ code: 0, err });
  });
});

describe('a token that git alone has', () => {
  const gitHas = (password: string) => {
    const script = `!f() { echo username=me; echo password=${password}; }; f`;
    gitConfig('--replace-all', `credential.${server.url}.helper`, script);
  };
  beforeEach(() => {
    execFileSync('git', ['init', '-q', home]);
    execFileSync('git', ['-C', home, 'config', 'lfs.url', `${server.url}/acme/game/info/lfs`]);
  });

  it.each([
    [['whoami'], {}],
    [['whoami', '--url', 'SERVER'], { folder: '/' }],
  ])('is used by %j', async (args, more) => {
    gitHas(token);
    const words = args.map((word) => word.replace('SERVER', server.url));
    expect(await cli(words, { env: env(), folder: home, ...more })).toMatchObject({ code: 0 });
    expect(server.asked.at(-1)?.authorization).toBe(`Bearer ${token}`);
  });

  it('is used in the clone of a server, beside a login at another', async () => {
    const other = await startLfsQuota(() => ({ status: 200, body: session }));
    await logIn(other.url, 'lfsq_other');
    gitHas(token);
    expect((await cli(['whoami'], { env: env(), folder: home })).out).toContain(server.url);
    expect(other.asked.at(-1)?.authorization).toBe('Bearer lfsq_other');
    await other.close();
  });

  it('is none of ours if it looks otherwise, and no question is asked for it', async () => {
    for (const password of ['ghp_of_another_service', '']) {
      gitHas(password);
      const asking = { GIT_ASKPASS: join(home, 'git-lfs'), SSH_ASKPASS: join(home, 'git-lfs') };
      const { code, err } = await cli(['whoami'], { env: { ...env(), ...asking }, folder: home });
      expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('No token. Log in') });
    }
    expect(server.asked).toEqual([]);
  });
});
