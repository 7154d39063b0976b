import { afterAll, beforeAll, expect, it } from 'vitest';
import type { GitUser } from '../support/git-user.ts';
import { bytesOf, writeFiles } from '../support/payload.ts';
import { createAcme } from './acme.ts';
import { Stack } from './stack.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

describeWithGitLfs('file locks', () => {
  let stack: Stack;
  let user: GitUser;
  let workTree: string;

  beforeAll(async () => {
    stack = await Stack.start();
    ({ user, workTree } = await createAcme(stack, '10MiB'));
    await writeFiles(workTree, new Map([['a.bin', bytesOf('a', 5000)]]));
    await user.commitAll(workTree, 'One file');
  });
  afterAll(async () => {
    await stack?.close();
    await user?.close();
  });

  it.each([['lock', 'a.bin'], ['locks'], ['unlock', 'a.bin']])(
    'are not kept, and `git lfs %s` says so',
    async (...args) => {
      const result = await user.tryGit(workTree, ['lfs', ...args]);
      expect(result.code).not.toBe(0);
      expect(`${result.out}${result.err}`).toContain('This server keeps no file locks.');
    },
  );

  it('are nothing that a push speaks of', async () => {
    const pushed = await user.tryGit(workTree, ['push', '--quiet', 'origin', 'main']);
    expect(pushed).toMatchObject({ code: 0, err: '' });
  });
});
