import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { GitUser } from '../../../support/git-user.ts';
import { bytesOf } from '../../../support/payload.ts';
import { Stack } from '../../stack.ts';
import { describeWithGitLfs } from '../../with-git-lfs.ts';

describeWithGitLfs('a public repo', () => {
  let stack: Stack;
  let ada: GitUser;
  let stranger: GitUser;
  let remote: string;
  let workTree: string;

  const limit = (size: string) => stack.cliJson('repo', 'public', 'acme', 'game', '--limit', size);
  const clone = (name: string) => stranger.tryGit(stranger.home, ['clone', '--quiet', remote, name]);

  beforeAll(async () => {
    stack = await Stack.start();
    await stack.cliJson('tenant', 'create', 'acme');
    const token = await stack.newToken('acme', 'write');
    ada = await GitUser.create({ url: stack.url, token });
    stranger = await GitUser.create();
    remote = await ada.createRemote('game');
    workTree = await ada.createWorkTree('work', { remote, lfsUrl: `${stack.url}/acme/game/info/lfs` });
    await ada.commitFiles(
      workTree,
      new Map(['a', 'b'].map((name) => [`${name}.bin`, bytesOf(name, 600_000)])),
      'Two files',
    );
    await ada.git(workTree, 'push', '--quiet', 'origin', 'main');
  });

  it('asks for credentials until it is public', async () => {
    const cloned = await clone('too-soon');
    expect(cloned.code).not.toBe(0);
    expect(cloned.err).toMatch(/could not read Username/);
  });

  it('is cloned by anybody, without a question', async () => {
    await limit('10MB');
    const cloned = await clone('public');
    expect(cloned.code, cloned.err).toBe(0);
    expect(await readFile(join(stranger.home, 'public', 'a.bin'))).toEqual(
      await readFile(join(workTree, 'a.bin')),
    );
    const page = (await stack.cliJson('downloads', 'acme')) as {
      downloads: { tokenId: string; bytes: number }[];
    };
    expect(page.downloads).toMatchObject([{ tokenId: 'public', bytes: 1_200_000 }]);
  });

  it('takes a token to push to it', async () => {
    const path = join(stranger.home, 'public');
    await stranger.commitFiles(path, new Map([['c.bin', bytesOf('c', 1000)]]), 'From a stranger');
    const pushed = await stranger.tryGit(path, ['push', 'origin', 'main']);
    expect(pushed.code).not.toBe(0);
    expect(pushed.err).toMatch(/could not read Username/);
  });

  it('ends for strangers at its ceiling, with one message, and not for those who have a token', async () => {
    await limit('2MB');
    const cloned = await clone('over');
    expect(cloned.code).not.toBe(0);
    const said = cloned.err.match(/Public download limit reached: acme\/game used/g) ?? [];
    expect(said, cloned.err).toHaveLength(1);
    // git-lfs sends no token until it is told to: the message says how.
    const untold = await ada.tryGit(ada.home, ['clone', '--quiet', remote, join(ada.home, 'untold')]);
    const [command] = /git config --global lfs\.\S+\.access basic/.exec(untold.err) ?? [];
    expect([untold.code, command], untold.err).toEqual([
      128,
      `git config --global lfs.${stack.url}/acme/game/info/lfs.access basic`,
    ]);
    await ada.paste(ada.home, [String(command)]);
    await ada.git(ada.home, 'clone', '--quiet', remote, join(ada.home, 'with-token'));
  });

  it('asks for credentials again once it is private', async () => {
    await stack.cliJson('repo', 'private', 'acme', 'game');
    expect((await clone('too-late')).code).not.toBe(0);
  });
});
