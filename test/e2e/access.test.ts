import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { GitUser } from '../support/git-user.ts';
import { bytesOf, digests, type Files, readFiles } from '../support/payload.ts';
import { Stack } from './stack.ts';
import { listStore } from './store-truth.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

/** A refusal without a question ends within seconds. */
const quickMs = 30_000;

describeWithGitLfs('access', () => {
  const files: Files = new Map([['a.bin', bytesOf('a', 5000)]]);
  let stack: Stack;
  let writer: GitUser;
  let other: GitUser;
  let remote: string;
  let lfsUrl: string;

  beforeAll(async () => {
    stack = await Stack.start();
    await stack.cliJson('tenant', 'create', 'acme', '--limit', '1GiB');
    lfsUrl = `${stack.url}/acme/game/info/lfs`;
    writer = await GitUser.create({ url: stack.url, token: await stack.newToken('acme', 'write') });
    other = await GitUser.create({ url: stack.url, token: 'none' });
    remote = await writer.createRemote('game');
    const workTree = await writer.createWorkTree('work', { remote, lfsUrl });
    await writer.commitFiles(workTree, files, 'One file');
    await writer.git(workTree, 'push', '--quiet', 'origin', 'main');
  });

  /** Pushes one new file as the other person. */
  async function tryPush(name: string) {
    const workTree = await other.createWorkTree(name, { remote: await other.createRemote(name), lfsUrl });
    await other.commitFiles(workTree, new Map([['new.bin', bytesOf(name, 3000)]]), 'A new file');
    const beganMs = performance.now();
    const pushed = await other.tryGit(workTree, ['push', 'origin', 'main'], { GIT_CURL_VERBOSE: '1' });
    expect(performance.now() - beganMs).toBeLessThan(quickMs);
    expect((await listStore(stack, 'acme/game')).size).toBe(1);
    return pushed;
  }

  it('a read token can clone, and cannot push', async () => {
    await other.setToken({ url: stack.url, token: await stack.newToken('acme', 'read') });
    await other.git(other.home, 'clone', '--quiet', remote, 'clone');
    expect(digests(await readFiles(join(other.home, 'clone')))).toEqual(digests(files));
    const pushed = await tryPush('read');
    expect(pushed.code).not.toBe(0);
    expect(pushed.err).toContain('HTTP/1.1 403');
    expect(pushed.err).toMatch(/^batch response: .*read-only\. To push, use one with the write scope/m);
  });

  it('a bad token is refused without a question', async () => {
    await other.setToken({ url: stack.url, token: `lfsq_${'x'.repeat(40)}` });
    const pushed = await tryPush('bad');
    expect(pushed.code).not.toBe(0);
    expect(pushed.err).toContain('HTTP/1.1 401');
    expect(pushed.err).toContain('terminal prompts disabled');
  });

  it("another tenant's token finds nothing", async () => {
    await stack.cliJson('tenant', 'create', 'zeta');
    await other.setToken({ url: stack.url, token: await stack.newToken('zeta', 'write') });
    const pushed = await tryPush('stranger');
    expect(pushed.code).not.toBe(0);
    expect(pushed.err).toContain('HTTP/1.1 404');
    expect(pushed.err).toMatch(/^batch response: .*not found/im);
  });

  it('a revoked token is rejected immediately', async () => {
    const created = await stack.cliJson('token', 'create', 'acme', '--scope', 'read');
    await other.setToken({ url: stack.url, token: String(created['token']) });
    await other.git(other.home, 'clone', '--quiet', remote, 'before-revocation');
    expect(await stack.cli('token', 'revoke', 'acme', String(created['tokenId']))).toMatchObject({ code: 0 });
    const cloned = await other.tryGit(other.home, ['clone', '--quiet', remote, 'after-revocation']);
    expect(cloned.code).not.toBe(0);
  });
});
