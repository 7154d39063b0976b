import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { GitUser } from '../support/git-user.ts';
import { bytesOf, digests, type Files, objectsOf, readFiles } from '../support/payload.ts';
import { commandLine, Stack } from './stack.ts';
import { listStore, sizesOf } from './store-truth.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

const mib = 1024 ** 2;

const files: Files = new Map([
  ['empty.bin', Buffer.alloc(0)],
  ['large.bin', bytesOf('large', 20 * mib + 1)],
  ...Array.from({ length: 120 }, (_, at) => [`small/${at}.bin`, bytesOf(`small${at}`, 100 + at)] as const),
]);

describeWithGitLfs('a repository that moves from one LFS server to another, and away', () => {
  const objects = objectsOf(files);
  let theirs: Stack;
  let ours: Stack;
  let user: GitUser;
  let remote: string;
  let token: string;

  const urlOf = (stack: Stack, repo: string) => `${stack.url}/acme/${repo}.git`;
  const cli = (...args: string[]) =>
    user.paste(user.home, [
      ['export', `LFS_QUOTA_URL=${ours.url}`, `LFS_QUOTA_TOKEN=${token}`].join(' '),
      [`'${commandLine}'`, ...args].join(' '),
    ]);

  beforeAll(async () => {
    const flags = ['--loopback-webhooks'];
    [theirs, ours] = await Promise.all([Stack.start(), Stack.start({ flags })]);
    await theirs.cliJson('tenant', 'create', 'acme');
    await ours.cliJson('tenant', 'create', 'acme');
    user = await GitUser.create({ url: theirs.url, token: await theirs.newToken('acme', 'write') });
    token = await ours.newToken('acme', 'write');
    await appendFile(join(user.home, 'credentials'), `${ours.url.replace('//', `//me:${token}@`)}\n`);
    remote = await user.createRemote('game');
    const workTree = await user.createWorkTree('work', {
      remote,
      lfsUrl: `${urlOf(theirs, 'game')}/info/lfs`,
    });
    await user.commitFiles(workTree, files, 'Large files');
    await user.git(workTree, 'push', '-q', 'origin', 'main');
    await user.git(user.home, 'clone', '--quiet', '--mirror', remote, 'game.git');
  });

  it('arrives by one command, with the login that git has', async () => {
    const moved = await cli('import', 'acme', 'game', '--from', urlOf(theirs, 'game'), '--clone', 'game.git');
    expect(moved).toMatchObject({
      code: 0,
      out: expect.stringContaining(`copied         ${objects.size} objects`),
    });
    expect(sizesOf(await listStore(ours, 'acme/game'))).toEqual(objects);
  });

  it('arrives by the server as well, which gets signed URLs alone', async () => {
    const from = urlOf(theirs, 'game');
    const moved = await cli(
      'import',
      'acme',
      'copy',
      '--from',
      from,
      '--clone',
      'game.git',
      '--via',
      'service',
    );
    expect(moved).toMatchObject({
      code: 0,
      out: expect.stringContaining(`copied         ${objects.size} objects`),
      err: expect.not.stringContaining('This machine copies them'),
    });
    expect(sizesOf(await listStore(ours, 'acme/copy'))).toEqual(objects);
  });

  it('is the same for git-lfs, once the old server is gone', async () => {
    await theirs.stop();
    const lfsUrl = `${urlOf(ours, 'game')}/info/lfs`;
    await user.git(user.home, '-c', `lfs.url=${lfsUrl}`, 'clone', '--quiet', remote, 'clone');
    expect(digests(await readFiles(join(user.home, 'clone')))).toEqual(digests(files));
    await theirs.start();
  });

  it('leaves by one command', async () => {
    const moved = await cli('mirror', 'acme', 'game', '--to', urlOf(theirs, 'back'));
    expect(moved).toMatchObject({
      code: 0,
      out: expect.stringContaining(`copied         ${objects.size} objects`),
    });
    expect(sizesOf(await listStore(theirs, 'acme/back'))).toEqual(objects);
  });
});
