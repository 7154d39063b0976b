import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { GitUser } from '../support/git-user.ts';
import { bytesOf, digests, type Files, objectsOf, readFiles } from '../support/payload.ts';
import { Stack } from './stack.ts';
import { listStore, type Stored, sizesOf, totalBytes, usageWithin } from './store-truth.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

const mib = 1024 ** 2;

/** 250 files: empty, one byte, a few KB, several MB; unusual names; two with the same content. */
function mixedFiles(): Files {
  const files = new Map<string, Buffer>([
    ['empty.bin', Buffer.alloc(0)],
    ['one byte.bin', bytesOf('one', 1)],
    ['same/a.bin', bytesOf('same', 4096)],
    ['same/b.bin', bytesOf('same', 4096)],
    ['ünïcode/日本 語.bin', bytesOf('unicode', 1023)],
  ]);
  for (let size = 1; size <= 6; size += 1)
    files.set(`large/${size}.bin`, bytesOf(`large${size}`, size * mib + size));
  for (let index = 0; index < 14; index += 1) {
    files.set(`medium/${index}.bin`, bytesOf(`medium${index}`, 40_000 + index * 20_011));
  }
  for (let index = 0; files.size < 250; index += 1) {
    files.set(`small/${index % 16}/${index}.bin`, bytesOf(`small${index}`, 2 + ((index * 7919) % 8192)));
  }
  return files;
}

describeWithGitLfs('a push of 250 files', () => {
  const files = mixedFiles();
  const objects = objectsOf(files);
  let stack: Stack;
  let user: GitUser;
  let workTree: string;
  let remote: string;
  let lfsUrl: string;
  let stored: Map<string, Stored>;

  beforeAll(async () => {
    stack = await Stack.start();
    await stack.cliJson('tenant', 'create', 'acme', '--limit', '1GiB');
    const { token } = await stack.cliJson('token', 'create', 'acme', '--scope', 'write');
    user = await GitUser.create({ url: stack.url, token: String(token) });
    lfsUrl = `${stack.url}/acme/game.git/info/lfs`;
    remote = await user.createRemote('game');
    workTree = await user.createWorkTree('work', { remote, lfsUrl });
    await user.commitFiles(workTree, files, 'Mixed files');
  });

  it('succeeds, and the store holds each object once, under its hash', async () => {
    const pushed = await user.tryGit(workTree, ['push', 'origin', 'main'], { GIT_CURL_VERBOSE: '1' });
    expect(pushed.code).toBe(0);
    // The trace shows uploads. The second push is checked by the same sign.
    expect(pushed.err).toContain('> PUT ');
    stored = await listStore(stack, 'acme/game');
    expect(sizesOf(stored)).toEqual(objects);
  });

  it('is counted to the byte and object within 30 s', async () => {
    const expected = { storedBytes: totalBytes(objects), objectCount: objects.size };
    const usage = await usageWithin(stack, { tenant: 'acme', expected, timeoutMs: 30_000 });
    expect(usage).toMatchObject(expected);
  });

  it('is shown by the command line', async () => {
    const { out } = await stack.cli('usage', 'acme');
    expect(out).toContain(`in ${objects.size} objects`);
    expect(out).toMatch(/^game\s/m);
  });

  it('is identical in a clone, byte by byte', async () => {
    await user.git(user.home, 'clone', '--quiet', remote, 'clone');
    expect(digests(await readFiles(join(user.home, 'clone')))).toEqual(digests(files));
  });

  it('uploads nothing when everything is pushed again', async () => {
    const second = await user.createRemote('second');
    await user.git(workTree, 'remote', 'add', 'second', second);
    const pushed = await user.tryGit(workTree, ['push', 'second', 'main'], { GIT_CURL_VERBOSE: '1' });
    expect(pushed.code).toBe(0);
    // The batch asked for all of them, …
    const asked = new Set(pushed.err.match(/(?<="oid":")[0-9a-f]{64}/g));
    expect(asked).toEqual(new Set(objects.keys()));
    // … none was sent, and the store still has the objects of the first push.
    expect(pushed.err).not.toContain('> PUT ');
    expect(await listStore(stack, 'acme/game')).toEqual(stored);
  });

  it('is still there after a restart', async () => {
    await stack.stop();
    await stack.start();
    await user.git(user.home, 'clone', '--quiet', remote, 'clone-after-restart');
    expect(digests(await readFiles(join(user.home, 'clone-after-restart')))).toEqual(digests(files));
    expect(await stack.cliJson('usage', 'acme')).toMatchObject({
      usage: { storedBytes: totalBytes(objects), objectCount: objects.size },
    });
  });
});
