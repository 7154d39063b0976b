import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { GitUser } from '../support/git-user.ts';
import { bytesOf, digests, type Files, objectsOf, readFiles, writeFiles } from '../support/payload.ts';
import { Stack } from './stack.ts';
import { listStore, sizesOf } from './store-truth.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

describeWithGitLfs('what npm start prints', () => {
  const files: Files = new Map([['hello.bin', bytesOf('hello', 12_345)]]);
  let stack: Stack;
  let user: GitUser;
  let remote: string;
  let workTree: string;

  beforeAll(async () => {
    stack = await Stack.start({ adminToken: '' });
    user = await GitUser.create();
    remote = await user.createRemote('hello');
    workTree = await user.createWorkTree('work', { remote });
    await writeFiles(workTree, files);
  });

  /** `count` of the indented lines, from the one that begins with these words. */
  function printed(words: string, count: number): string[] {
    const lines = stack
      .output()
      .split('\n')
      .filter((line) => line.startsWith('  '))
      .map((line) => line.trim());
    const first = lines.findIndex((line) => line.startsWith(words));
    return lines.slice(first, first + count);
  }

  it('can be pasted into a repository: its large files are pushed', async () => {
    const lines = printed('git lfs install', 5);
    expect(lines.at(-1)).toMatch(/^git commit /);
    expect(await user.paste(workTree, lines)).toMatchObject({ code: 0 });
    await user.commitAll(workTree, 'Hello');
    await user.git(workTree, 'push', '--quiet', 'origin', 'main');
    expect(sizesOf(await listStore(stack, 'demo/my-repo'))).toEqual(objectsOf(files));
  });

  it('can be pasted to make a fresh clone: its large files are there, and nothing is changed', async () => {
    const [line = ''] = printed('git clone', 1);
    const cloned = await user.paste(user.home, [`${line.replace('REPOSITORY', remote)} clone`]);
    expect(cloned).toMatchObject({ code: 0 });
    const clone = join(user.home, 'clone');
    expect(digests(await readFiles(clone))).toEqual(digests(files));
    expect((await user.git(clone, 'status', '--short')).out).toBe('');
  });

  it("can be pasted into a shell in one's own repository: shows the usage and creates a token", async () => {
    const lines = printed('export', 3);
    const pasted = await user.paste(workTree, lines);
    expect(pasted).toMatchObject({ code: 0 });
    expect(pasted.out).toMatch(/^demo$/m);
    expect(pasted.out).toMatch(/^token {2}lfsq_\w{32,}$/m);
  });
});
