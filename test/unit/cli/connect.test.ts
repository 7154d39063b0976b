import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
      `${server.url.replace('://', `://acme:${newToken.token}@`).replace(/:(\d+)$/, '%3a$1')}\n`,
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
    // Two tenants of one service have credentials of their own.
    expect(git('config', `credential.${server.url}.username`)).toBe('acme');
    expect(statSync(join(home, 'kept')).mode & 0o077).toBe(0);
  });

  it('can be done again, and sets what is asked for', async () => {
    await connect();
    const { code, out } = await connect('--read-only', '--locks', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      tenant: 'acme',
      repo: 'game',
      lfsUrl: `${server.url}/acme/game/info/lfs`,
      tokenId: 'tok1',
    });
    expect(server.asked[2]?.body).toMatchObject({ scope: 'read' });
    expect(git('config', '-f', '.lfsconfig', 'lfs.locksverify')).toBe('true');
  });

  it('uses the token that was given, if it may not make others', async () => {
    made = { status: 403, body: { code: 'forbidden', title: 'Forbidden' } };
    const { code, out } = await connect();
    expect(code).toBe(0);
    expect(out).toContain('the one that was given');
    expect(kept()).toContain('acme:lfsq_given@');
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
    expect((await connect('--clone', home)).err).toContain('There is no repository with files');
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
