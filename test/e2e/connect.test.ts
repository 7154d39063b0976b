import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { GitUser } from '../support/git-user.ts';
import { bytesOf } from '../support/payload.ts';
import { Stack } from './stack.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

describeWithGitLfs('a repository that is connected by the command line', () => {
  let stack: Stack;
  let ada: GitUser;
  let workTree: string;

  beforeAll(async () => {
    stack = await Stack.start();
    await stack.cliJson('tenant', 'create', 'acme');
    ada = await GitUser.create();
    const remote = await ada.createRemote('game');
    workTree = await ada.createWorkTree('work', { remote });
    await ada.git(workTree, 'config', 'credential.helper', `store --file=${join(ada.home, 'kept')}`);
  });

  it('pushes without a question, and shows what it stores by path', async () => {
    expect(await stack.cliJson('connect', 'acme', 'game', '--clone', workTree)).toMatchObject({
      lfsUrl: `${stack.url}/acme/game/info/lfs`,
    });
    await ada.commitFiles(workTree, new Map([['art/wall.bin', bytesOf('wall 1', 30_000)]]), 'A wall');
    await ada.commitFiles(
      workTree,
      new Map([
        ['art/wall.bin', bytesOf('wall 2', 50_000)],
        ['intro.bin', bytesOf('intro', 20_000)],
      ]),
      'Another wall',
    );
    await ada.git(workTree, 'push', '--quiet', 'origin', 'main');
    expect(await stack.cliJson('du', '--git', '--clone', workTree)).toMatchObject({
      tenant: 'acme',
      repo: 'game',
      files: [
        { path: 'art/wall.bin', bytes: 80_000, currentBytes: 50_000, objectCount: 2 },
        { path: 'intro.bin', bytes: 20_000, currentBytes: 20_000, objectCount: 1 },
      ],
      stored: { bytes: 100_000, objectCount: 3 },
      notStoredCount: 0,
    });
  });

  it('still pushes after another repository of the tenant was connected', async () => {
    const remote = await ada.createRemote('film');
    const other = await ada.createWorkTree('other', { remote });
    await ada.git(other, 'config', 'credential.helper', `store --file=${join(ada.home, 'kept')}`);
    await stack.cliJson('connect', 'acme', 'film', '--clone', other);
    for (const tree of [other, workTree]) {
      await ada.commitFiles(tree, new Map([['more.bin', bytesOf(tree, 10_000)]]), 'More');
      await ada.git(tree, 'push', '--quiet', 'origin', 'main');
    }
  });
});
