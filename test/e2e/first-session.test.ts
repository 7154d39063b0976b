import { afterAll, beforeAll, expect, it } from 'vitest';
import { GitUser } from '../support/git-user.ts';
import { bytesOf, objectsOf, writeFiles } from '../support/payload.ts';
import { projectRoot, Stack } from './stack.ts';
import { listStore, sizesOf } from './store-truth.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

describeWithGitLfs('what npm start prints at its first start', () => {
  const files = new Map([['hello.bin', bytesOf('hello', 12_345)]]);
  let stack: Stack;
  let user: GitUser;

  beforeAll(async () => {
    stack = await Stack.start({ adminToken: '' });
    user = await GitUser.create();
  });
  afterAll(async () => {
    await stack?.close();
    await user?.close();
  });

  /** The indented lines that begin with one of these words. */
  const printed = (...words: string[]) =>
    stack
      .output()
      .split('\n')
      .filter((line) => words.some((word) => line.startsWith(`  ${word} `)));

  it('can be pasted into a repository, and a push passes', async () => {
    const workTree = await user.createWorkTree('work', { remote: await user.createRemote('hello') });
    const lines = printed('git');
    expect(lines).toHaveLength(2);
    expect(await user.paste(workTree, lines)).toMatchObject({ code: 0 });
    await writeFiles(workTree, files);
    await user.commitAll(workTree, 'Hello');
    await user.git(workTree, 'push', '--quiet', 'origin', 'main');
    expect(sizesOf(await listStore(stack, 'demo/my-repo'))).toEqual(objectsOf(files));
  });

  it('can be pasted into a shell, and shows the usage and makes a token', async () => {
    const lines = printed('export', 'npm');
    expect(lines).toHaveLength(3);
    const pasted = await user.paste(projectRoot, lines);
    expect(pasted).toMatchObject({ code: 0 });
    expect(pasted.out).toMatch(/^demo$/m);
    expect(pasted.out).toMatch(/^token {2}lfsq_\w{32,}$/m);
  });
});
