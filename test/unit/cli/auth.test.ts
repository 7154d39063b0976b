import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, type Asked, cli, startServer, type TestServer } from './harness.ts';

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
const problem = (status: number, code: string): Answer => ({
  status,
  body: { type: `urn:lfs-quota:problem:${code}`, code, title: 'Refused', status, detail: 'It is so.' },
});

/** Without a token it refuses to show a session, as each server does. */
const startLfsQuota = (answer: (asked: Asked) => Answer) =>
  startServer((asked) =>
    asked.authorization === undefined && asked.path.endsWith('/v1/session')
      ? problem(401, 'unauthorized')
      : answer(asked),
  );

let home: string;
let server: TestServer;
let answerTo: (asked: Asked) => Answer;
const file = () => join(home, 'lfs-quota', 'credentials.json');
const env = () => ({ XDG_CONFIG_HOME: home });
const stored = () => JSON.parse(readFileSync(file(), 'utf8')) as object;
const logIn = (of = server.url, secret = token) =>
  cli(['login', of, '--no-git'], { env: env(), input: `${secret}\n` });

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'lfs-quota auth-'));
  answerTo = () => ({ status: 200, body: session });
  server = await startLfsQuota((asked) => answerTo(asked));
});
afterEach(async () => {
  await server.close();
  rmSync(home, { recursive: true, force: true });
});

describe('login', () => {
  it('stores a token that the server takes, in a file that only its user can read', async () => {
    const { code, out, err } = await logIn();
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe(
      `Logged in.\nserver  ${server.url}\ntenant  acme\nuser    ada\ntoken   0f1e2d3c4b5a6978: write, expires in 90 days\n`,
    );
    expect(stored()).toEqual({ logins: { [server.url]: { token, tenant: 'acme' } }, git: {} });
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, 'lfs-quota')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(home, 'lfs-quota'))).toEqual(['credentials.json']);
    expect(server.asked).toMatchObject([
      { path: '/v1/session', authorization: undefined },
      { path: '/v1/session', authorization: `Bearer ${token}` },
    ]);
  });

  it('takes the lfs.url of a repo as well, and asks at a terminal without showing what is typed', async () => {
    const questions: string[] = [];
    const { code } = await cli(['login', `${server.url}/acme/game/info/lfs`, '--with-token', '--no-git'], {
      env: env(),
      ask: async () => '',
      askSecret: async (question) => {
        questions.push(question);
        return ` ${token} `;
      },
    });
    expect(code).toBe(0);
    expect(questions).toEqual([`Token for ${server.url}: `]);
    expect(stored()).toMatchObject({ logins: { [server.url]: { token } } });
  });

  it('stores nothing that the server refuses, or that is no token', async () => {
    answerTo = () => problem(401, 'unauthorized');
    expect(await logIn()).toMatchObject({
      code: 4,
      err: expect.stringContaining(`lfs-quota login ${server.url}`),
    });
    for (const input of ['', ' \n']) expect((await logIn(server.url, input)).code).toBe(2);
    expect((await logIn(server.url, 'two words')).err).not.toContain('two words');
    expect(existsSync(file())).toBe(false);
  });

  it.each<[number, object | string]>([
    [501, '<html>'],
    [403, ''],
    [401, { message: 'Log in.' }],
    [200, '<html>'],
    [200, session],
    [404, problem(404, 'not-found').body as object],
  ])('asks for no token, and sends none, where %i %j is answered: it is no server', async (status, body) => {
    const other = await startServer(() => ({ status, body }));
    const { code, err } = await cli(['login', `${other.url}/acme`, '--with-token'], {
      env: env(),
      askSecret: () => Promise.reject(new Error('Asked.')),
    });
    expect(code).not.toBe(0);
    expect(err).toBe(
      `error: ${other.url}/acme isn't an lfs-quota server: it returned ${status}.\nCheck the URL. Use the server's, or a repo's lfs.url.\n`,
    );
    expect(other.asked).toMatchObject([{ path: '/acme/v1/session', authorization: undefined }]);
    await other.close();
  });

  it('keeps one login for each server, and says who one is by the clone, or if there is one', async () => {
    const other = await startLfsQuota(() => ({ status: 200, body: { ...session, tenant: 'lab' } }));
    await logIn();
    expect((await cli(['whoami'], { env: env() })).out).toContain(`server  ${server.url}\n`);
    await logIn(other.url, 'lfsq_other');
    expect(await cli(['whoami'], { env: env() })).toMatchObject({
      code: 2,
      err: expect.stringMatching(/logged in to 2 servers.*--url http/),
    });
    execFileSync('git', ['init', '-q', home]);
    execFileSync('git', ['-C', home, 'config', 'lfs.url', `${other.url}/lab/game/info/lfs`]);
    expect((await cli(['whoami'], { env: env(), folder: home })).out).toContain('tenant  lab\n');
    expect(other.asked.at(-1)?.authorization).toBe('Bearer lfsq_other');
    await other.close();
  });

  it.each([
    [{ LFS_QUOTA_TOKEN: 'x' }, []],
    [{ LFS_QUOTA_URL: 'http://127.0.0.1:1' }, []],
    [{}, ['--token', 'x']],
    [{}, ['--url', 'http://127.0.0.1:1']],
  ])('is not used with %j %j', async (more, args) => {
    await logIn();
    const before = server.asked.length;
    expect((await cli(['whoami', ...args], { env: { ...env(), ...more } })).code).not.toBe(0);
    expect(server.asked.length).toBe(before);
  });

  it('sends no token to the server of a clone that is not logged in to', async () => {
    await logIn();
    const evil = await startServer(() => ({ status: 200, body: session }));
    execFileSync('git', ['init', '-q', home]);
    execFileSync('git', ['-C', home, 'config', 'lfs.url', `${evil.url}/acme/game/info/lfs`]);
    for (const more of [{}, { LFS_QUOTA_TOKEN: 'x', LFS_QUOTA_URL: server.url }]) {
      const { code, err } = await cli(['usage'], { env: { ...env(), ...more }, folder: home });
      expect(code).toBe(2);
      expect(err).toContain(`This clone uses ${evil.url}, not ${server.url}. Log in there`);
    }
    await cli(['usage', 'acme'], { env: env(), folder: home });
    expect(evil.asked).toEqual([]);
    await evil.close();
  });

  it('by a code waits until an admin has approved it', async () => {
    let polls = 0;
    answerTo = ({ path }) => {
      if (path === '/v1/device') {
        const expiresAt = '2026-11-21T05:10:00Z';
        return { status: 201, body: { userCode: 'BCDF-GHJK', token, expiresAt, intervalSeconds: 5 } };
      }
      polls += 1;
      if (polls === 2) return { status: 503 };
      return polls > 3 ? { status: 200, body: session } : problem(401, 'unauthorized');
    };
    const { code, out, err } = await cli(['login', server.url, '--no-git'], {
      env: env(),
      ask: async () => '',
    });
    expect(code).toBe(0);
    expect(err).toContain(
      `Open this link where you're signed in, or ask a tenant admin to:\n  ${server.url}/#_device/BCDF-GHJK\n`,
    );
    expect(out).toContain('Logged in.');
    expect(out + err).not.toContain(token);
    expect(server.asked[1]).toMatchObject({
      authorization: undefined,
      body: { machine: expect.any(String) },
    });
    expect(stored()).toMatchObject({ logins: { [server.url]: { token } } });
  });

  it('by a code ends when that has expired', async () => {
    let nowMs = Date.parse('2026-11-21T05:00:00Z');
    answerTo = ({ path }) =>
      path === '/v1/device'
        ? {
            status: 201,
            body: { userCode: 'BCDF-GHJK', token, expiresAt: '2026-11-21T05:10:00Z', intervalSeconds: 5 },
          }
        : problem(401, 'unauthorized');
    const sleep = async () => {
      nowMs += 60_000;
    };
    const result = await cli(['login', server.url], {
      env: env(),
      ask: async () => '',
      sleep,
      now: () => nowMs,
    });
    expect(result).toMatchObject({ code: 1, err: expect.stringContaining('The code expired.') });
    expect(existsSync(file())).toBe(false);
  });
});

describe('the only login', () => {
  const pathOf = async (line: string, more: object = {}) => {
    answerTo = () => problem(404, 'not-found');
    const before = server.asked.length;
    const { err } = await cli(line.split(' '), { env: { ...env(), ...more }, folder: home });
    return server.asked[before]?.path ?? err;
  };
  const missing = expect.stringContaining('error: Missing argument: ');

  it.each([
    ['usage', '/v1/tenants/acme/subscription'],
    ['usage lab', '/v1/tenants/lab/subscription'],
    ['repo show game', '/v1/tenants/acme/repos/game'],
    ['repo show acme', missing],
    ['repo limit acme 5GiB', missing],
    ['repo show', missing],
    ['usage --token x', missing],
    ['usage --url http://127.0.0.1:1', missing],
  ])('is whose tenant %s is about outside a clone', async (line, expected) => {
    await logIn();
    expect(await pathOf(line)).toEqual(expected);
  });

  it('names none if it is the operator’s, if there are more, or with a token of the environment', async () => {
    expect(await pathOf('usage')).toEqual(missing);
    answerTo = () => ({ status: 200, body: { ...session, kind: 'operator', tenant: null, tokenId: null } });
    await logIn();
    expect(await pathOf('usage')).toEqual(missing);
    answerTo = () => ({ status: 200, body: session });
    await logIn();
    expect(await pathOf('usage', { LFS_QUOTA_TOKEN: 'x' })).toEqual(missing);
    answerTo = () => ({ status: 200, body: session });
    await logIn(`${server.url}/lfs`);
    expect(await pathOf('usage')).toEqual(missing);
  });
});

describe('logout', () => {
  it('deletes the stored tokens of one server', async () => {
    await logIn();
    await logIn('http://127.0.0.1:1');
    expect((await cli(['logout', `${server.url}/`], { env: env() })).out).toContain(
      `Logged out of ${server.url}.`,
    );
    expect(stored()).toEqual({ logins: {}, git: {} });
    expect((await cli(['whoami'], { env: env() })).code).toBe(2);
  });
});

describe('login LINK', () => {
  const link = () => `${server.url}/#_join/acme.lfsi_${'s'.repeat(40)}`;
  const accepted = { ...session, createdAt: '2026-11-21T05:00:00Z', lastUsedAt: null, token };

  it('accepts an invitation, logs in, and says what comes next', async () => {
    answerTo = ({ path }) =>
      path === '/v1/invitations/accept'
        ? { status: 201, body: { ...accepted, repos: ['game'] } }
        : { status: 200, body: session };
    const { code, out } = await cli(['login', link(), '--no-git', '--user', 'ada'], { env: env() });
    expect(code).toBe(0);
    expect(out).toContain(
      '\nNext:\n  git clone URL     # if your team uses it already\n  lfs-quota connect acme game     # in a new repository\n',
    );
    expect(out).not.toContain(token);
    expect(server.asked[0]).toMatchObject({
      authorization: undefined,
      body: { secret: `acme.lfsi_${'s'.repeat(40)}`, user: 'ada' },
    });
    expect(stored()).toMatchObject({ logins: { [server.url]: { token, tenant: 'acme' } } });
  });

  it.each([
    ['repo', 'acme', ['$(evil)'], 'lfs-quota connect acme REPO '],
    ['tenant', 'a; evil', null, 'lfs-quota connect TENANT REPO '],
  ])('says nothing to paste that the maker of a link thought up: %s', async (_what, tenant, repos, next) => {
    answerTo = ({ path }) =>
      path === '/v1/invitations/accept'
        ? { status: 201, body: { ...accepted, tenant, repos } }
        : { status: 200, body: { ...session, repos: ['\u001b[2J'] } };
    const { out } = await cli(['login', link(), '--no-git'], { env: env() });
    expect(out).toContain(next);
    expect(out).not.toContain('evil');
    expect(out).not.toContain('\u001b');
  });

  it('stores no login whose tenant would be more lines for git', async () => {
    answerTo = ({ path }) =>
      path === '/v1/invitations/accept'
        ? { status: 201, body: accepted }
        : { status: 200, body: { ...session, tenant: 'x\nhost=github.com' } };
    expect(await cli(['login', link(), '--no-git'], { env: env() })).toMatchObject({
      code: 1,
      err: expect.stringContaining('returned an invalid tenant name'),
    });
    expect(existsSync(file())).toBe(false);
  });

  it('repeats a request that had no answer, and none that was refused', async () => {
    answerTo = () => (server.asked.length < 3 ? { status: 503 } : problem(404, 'invitation-not-found'));
    expect((await cli(['login', link(), '--no-git'], { env: env() })).code).toBe(3);
    expect(server.asked).toHaveLength(3);
    expect(existsSync(file())).toBe(false);
  });
});

describe('auth git-credential', () => {
  const ask = async (action: string, fields: Record<string, string>, said = '') => {
    const input = `${Object.entries(fields)
      .map(([name, value]) => `${name}=${value}\n`)
      .join('')}\n`;
    const { code, out, err } = await cli(['auth', 'git-credential', action], { env: env(), input });
    expect({ code, err }).toEqual({ code: 0, err: said });
    return out;
  };
  const of = () => ({ protocol: 'http', host: new URL(server.url).host });

  it('gives git the token of a login, for that server alone', async () => {
    expect(await ask('get', of())).toBe('');
    await logIn();
    expect(await ask('get', of())).toBe(`username=acme\npassword=${token}\n`);
    expect(await ask('get', { ...of(), username: 'any', path: 'acme/game' })).toBe(
      `username=any\npassword=${token}\n`,
    );
    expect(await ask('get', { ...of(), username: 'constructor' })).toBe(
      `username=constructor\npassword=${token}\n`,
    );
    for (const other of [
      { protocol: 'https' },
      { host: '127.0.0.1' },
      { host: `${of().host}.evil.example` },
      { host: 'github.com' },
    ])
      expect(await ask('get', { ...of(), ...other })).toBe('');
  });

  it('never gives it the admin token', async () => {
    answerTo = () => ({ status: 200, body: { ...session, kind: 'operator', tenant: null, tokenId: null } });
    await logIn();
    expect(await ask('get', of())).toBe('');
  });

  it('stores and erases what git says, for servers that are logged in to', async () => {
    await ask('store', { ...of(), username: 'u', password: 'p' });
    expect(existsSync(file())).toBe(false);
    await logIn();
    await ask('store', { ...of(), username: 'acme', password: token });
    await ask('store', { protocol: 'https', host: 'github.com', username: 'u', password: 'p' });
    expect(stored()).toMatchObject({ git: {} });
    await ask('store', { ...of(), username: 'u', password: 'p' });
    expect(await ask('get', { ...of(), username: 'u' })).toBe('username=u\npassword=p\n');
    await ask('erase', { ...of(), username: 'u', password: 'another' });
    expect(await ask('get', { ...of(), username: 'u' })).toBe('username=u\npassword=p\n');
    await ask('erase', { ...of(), username: 'u', password: 'p' });
    expect(await ask('get', { ...of(), username: 'u' })).toBe(`username=u\npassword=${token}\n`);
  });

  it('tells what became of a token that a server rejects, until the next login', async () => {
    const said = `lfs-quota: Your token for acme was revoked or expired. Run: lfs-quota login ${server.url}\n`;
    const rejected = { ...of(), username: 'acme', password: token };
    await logIn();
    expect(await ask('erase', rejected)).toBe('');
    for (let times = 0; times < 2; times += 1) expect(await ask('get', of(), said)).toBe('');
    // The only login is still known: it isn't "no token", and no token of another kind.
    answerTo = () => problem(401, 'unauthorized');
    for (const command of [['whoami'], ['usage', 'acme'], ['token', 'create', 'acme', '--scope', 'read']])
      expect(await cli(command, { env: env() })).toMatchObject({
        code: 4,
        err: `error: Your token for acme was revoked or expired.\nLog in again: lfs-quota login ${server.url}\n`,
      });
    answerTo = () => ({ status: 200, body: session });
    await logIn();
    expect(await ask('get', of())).toBe(`username=acme\npassword=${token}\n`);
    expect(JSON.stringify(stored())).not.toContain('isRejected');
  });

  it('takes a token again that was rejected once, if git says that it works', async () => {
    await logIn();
    await ask('erase', { ...of(), username: 'acme', password: token });
    await ask('store', { ...of(), username: 'acme', password: token });
    expect(await ask('get', of())).toBe(`username=acme\npassword=${token}\n`);
  });

  it('tells it of a token that connect gave git, unless a login takes its place', async () => {
    const ofGit = { ...of(), username: 'acme.game', password: 'lfsq_git' };
    const said = `lfs-quota: Your token for acme.game was revoked or expired. Run: lfs-quota login ${server.url}\n`;
    const folder = dirname(file());
    mkdirSync(folder, { recursive: true });
    const write = (logins: object) =>
      writeFileSync(file(), JSON.stringify({ logins, git: { [server.url]: { 'acme.game': 'lfsq_git' } } }));
    write({});
    expect(await ask('erase', ofGit, said)).toBe('');
    write({ [server.url]: { token, tenant: 'acme' } });
    expect(await ask('erase', ofGit)).toBe('');
    expect(await ask('get', { ...of(), username: 'acme.game' })).toContain(token);
  });

  it('of two servers below one another is the inner one’s', async () => {
    await logIn();
    await logIn(`${server.url}/lfs`, 'lfsq_inner');
    expect(await ask('get', { ...of(), path: 'lfs/acme/game' })).toContain('lfsq_inner');
    expect(await ask('get', { ...of(), path: 'lfsx/acme/game' })).toContain(token);
  });
});

describe('a clone', () => {
  beforeEach(async () => {
    await logIn();
    // As little as git takes for a clone: it would run processes to make one.
    for (const each of ['objects', 'refs']) mkdirSync(join(home, '.git', each), { recursive: true });
    writeFileSync(join(home, '.git', 'HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(join(home, '.lfsconfig'), `[lfs]\n\turl = ${server.url}/acme/game/info/lfs\n`);
    answerTo = () => problem(404, 'not-found');
  });

  it.each([
    ['usage', '/v1/tenants/acme/subscription'],
    ['usage lab', '/v1/tenants/lab/subscription'],
    ['repo show', '/v1/tenants/acme/repos/game'],
    ['repo show film', '/v1/tenants/acme/repos/film'],
    ['repo show lab film', '/v1/tenants/lab/repos/film'],
    ['repo limit 1GiB --yes', '/v1/tenants/acme/repos/game'],
    ['repo limit film 1GiB --yes', '/v1/tenants/acme/repos/film'],
    ['lock list', '/v1/tenants/acme/repos/game/locks?limit=1000'],
    ['token show 0f1e2d3c4b5a6978', '/v1/tenants/acme/tokens/0f1e2d3c4b5a6978'],
    ['invite', '/v1/tenants/acme/invitations'],
    ['gc --cancel', '/v1/tenants/acme/repos/game/gc'],
  ])('is what %s is asked for', async (line, path) => {
    await cli(line.split(' '), { env: env(), folder: home });
    expect(server.asked.at(-1)?.path).toBe(path);
  });

  it.each([
    'repo delete --yes',
    'files delete x --yes',
    'repo delete game --yes',
    'tenant delete --yes',
    'tenant show',
  ])('is never what %s is asked for', async (line) => {
    const before = server.asked.length;
    expect((await cli(line.split(' '), { env: env(), folder: home })).code).toBe(2);
    expect(server.asked.length).toBe(before);
  });

  it('is not asked for a value that is no value', async () => {
    const before = server.asked.length;
    for (const line of ['repo limit many', 'token show lfsq_x', 'repo show ..', 'usage acme game']) {
      const { code, err } = await cli(line.split(' '), { env: env(), folder: home });
      expect([line, code]).toEqual([line, 2]);
      expect(err).toMatch(/^error: /);
    }
    expect(server.asked).toHaveLength(before);
  });
});
