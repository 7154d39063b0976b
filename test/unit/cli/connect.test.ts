import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
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
  expiresAt: null,
  lastUsedAt: null,
};

describe('connect', () => {
  let home: string;
  let clone: string;
  let server: TestServer;
  let made: Answer;
  let used: Answer;
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: clone, stdio: ['ignore', 'pipe', 'pipe'] })
      .toString()
      .trim();
  const connect = (...args: string[]) =>
    cli(['connect', 'acme', 'game', '--clone', clone, '--url', server.url, ...args], {
      env: { LFS_QUOTA_TOKEN: 'lfsq_given' },
    });
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
    server = await startServer(({ path }: Asked) => (path.endsWith('/tokens') ? made : used));
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await server.close();
    rmSync(home, { recursive: true, force: true });
  });

  it('writes .lfsconfig, and gives git a new token for this repo alone', async () => {
    const { code, out } = await connect('--expires', '90d');
    expect(code).toBe(0);
    expect(git('config', '-f', '.lfsconfig', 'lfs.url')).toBe(`${server.url}/acme/game/info/lfs`);
    expect(kept()).toBe(
      `${server.url.replace('://', `://acme.game:${newToken.token}@`).replace(/:(\d+)$/, '%3a$1')}\n`,
    );
    expect(out).toContain('new, tok1');
    expect(out).toContain('git lfs track');
    expect(out + JSON.stringify(server.asked.map(({ path }) => path))).not.toContain(newToken.token);
    expect(server.asked[0]?.body).toMatchObject({
      scope: 'write',
      repos: ['game'],
      expiresInSeconds: 90 * 86_400,
    });
    expect(server.asked[1]).toMatchObject({
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
    expect(server.asked[2]?.body).toMatchObject({ scope: 'read', user: 'ada' });
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
    expect(out).toContain('the one that was given');
    expect(kept()).toContain('acme.game:lfsq_given@');
  });

  it('changes nothing if the token is refused', async () => {
    used = { status: 401, body: { message: 'Log in.' } };
    expect(await connect()).toMatchObject({
      code: 4,
      err: expect.stringContaining('error: The token is of no use for acme/game: Log in.\n'),
    });
    made = { status: 404, body: { code: 'tenant-not-found', title: 'Not found', detail: 'No tenant acme.' } };
    expect((await connect()).err).toContain('No tenant acme. (404)');
    expect(git('status', '--porcelain')).toBe('');
    expect(() => kept()).toThrow('ENOENT');
  });

  it('makes no token if git could not keep it, or if the address would not be used', async () => {
    execFileSync('git', ['config', '--global', '--unset', 'credential.helper']);
    expect((await connect()).err).toContain('git has no credential helper');
    git('config', 'lfs.url', 'https://example.com/other');
    expect((await connect()).err).toContain('config --unset lfs.url');
    const nowhere = relative(process.cwd(), home);
    expect((await connect('--clone', nowhere)).err).toContain(
      `There is no repository with files in ${home}.\n`,
    );
    expect(server.asked).toEqual([]);
  });

  it('says so if the helper keeps nothing', async () => {
    execFileSync('git', ['config', '--global', 'credential.helper', '!true']);
    expect(await connect()).toMatchObject({
      code: 1,
      err: expect.stringContaining("git's credential helper did not keep the token."),
    });
  });
});
