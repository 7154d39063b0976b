import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import type { GitUser } from '../support/git-user.ts';
import { bytesOf, digests, type Files, objectsOf, readFiles } from '../support/payload.ts';
import { Stack } from './stack.ts';
import { importInto, listStore, sizesOf, totalBytes, usageWithin } from './store-truth.ts';
import { createAcme, describeWithGitLfs } from './with-git-lfs.ts';

/** A closed repo stays closed for at least a minute. */
const openedWithinMs = 150_000;

describeWithGitLfs('the deletion of an imported repo', () => {
  const files: Files = new Map(
    Array.from({ length: 20 }, (_, index) => [`${index}.bin`, bytesOf(`delete${index}`, 1 + index * 9973)]),
  );
  const objects = objectsOf(files);
  const usage = { storedBytes: totalBytes(objects), objectCount: objects.size };
  let stack: Stack;
  let user: GitUser;
  let workTree: string;
  let remote: string;

  const push = async (name: string) => {
    await user.git(workTree, 'remote', 'add', name, await user.createRemote(name));
    return user.tryGit(workTree, ['push', name, 'main'], { GIT_CURL_VERBOSE: '1' });
  };

  beforeAll(async () => {
    stack = await Stack.start();
    const oid = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
    await importInto(stack, 'acme/game', new Map([...files.values()].map((bytes) => [oid(bytes), bytes])));
    ({ user, remote, workTree } = await createAcme(stack, '10MiB'));
    await user.commitFiles(workTree, files, 'Imported files');
  });

  it('starts from a complete repo: a push sends nothing, and a clone gets everything', async () => {
    const pushed = await user.tryGit(workTree, ['push', 'origin', 'main'], { GIT_CURL_VERBOSE: '1' });
    expect(pushed.code).toBe(0);
    expect(pushed.err).not.toContain('> PUT ');
    await user.git(user.home, 'clone', '--quiet', remote, 'clone');
    expect(digests(await readFiles(join(user.home, 'clone')))).toEqual(digests(files));
    expect(await usageWithin(stack, { tenant: 'acme', expected: usage, timeoutMs: 30_000 })).toMatchObject(
      usage,
    );
  });

  it('does not start without a terminal or --yes', async () => {
    const refused = await stack.cli('repo', 'delete', 'acme', 'game');
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toContain('--yes');
    const shown = await stack.cliJson('repo', 'delete', 'acme', 'game', '--dry-run');
    expect(shown).toMatchObject({ objectCount: usage.objectCount, bytes: usage.storedBytes });
    expect(sizesOf(await listStore(stack, 'acme/game'))).toEqual(objects);
  });

  it('leaves an empty store and a free quota', async () => {
    const deleted = await stack.cli('repo', 'delete', 'acme', 'game', '--yes', '--wait');
    expect(deleted, deleted.err).toMatchObject({ code: 0 });
    expect(deleted.out).toContain('20 objects');
    expect(deleted.out).toContain('acme/game is empty.');
    expect(await listStore(stack, 'acme/game')).toEqual(new Map());
    expect(await stack.cliJson('usage', 'acme')).toMatchObject({
      usage: { storedBytes: 0, objectCount: 0, reservedBytes: 0 },
    });
  });

  it('refuses pushes and clones meanwhile, with the reason', async () => {
    const pushed = await push('meanwhile');
    expect(pushed.code).not.toBe(0);
    expect(pushed.err).toContain('Repository not found');
    const cloned = await user.tryGit(user.home, ['clone', '--quiet', remote, 'clone-meanwhile']);
    expect(cloned.code).not.toBe(0);
  });

  it('ends with a name that can be used again', async () => {
    const giveUpAtMs = performance.now() + openedWithinMs;
    const repos = async () => (await stack.cliJson('repo', 'list', 'acme'))['repos'];
    while (JSON.stringify(await repos()) !== '[]' && performance.now() < giveUpAtMs) await sleep(1000);
    const pushed = await push('again');
    expect([pushed.code, pushed.err]).toEqual([0, expect.stringContaining('> PUT ')]);
    expect(sizesOf(await listStore(stack, 'acme/game'))).toEqual(objects);
    await user.git(user.home, 'clone', '--quiet', remote, 'clone-again');
    expect(digests(await readFiles(join(user.home, 'clone-again')))).toEqual(digests(files));
  });
});
