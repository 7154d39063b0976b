import { mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { GitUser } from '../support/git-user.ts';
import { projectRoot, Stack } from './stack.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

/** The blocks of docs/quickstart.md that a reader pastes, in their order. */
async function readBlocks(): Promise<string[][]> {
  const page = await readFile(join(projectRoot, 'docs/quickstart.md'), 'utf8');
  return [...page.matchAll(/<!-- session -->\n```\n(.*?)```/gs)].map(([, block = '']) =>
    block.trimEnd().split('\n'),
  );
}

describeWithGitLfs('docs/quickstart.md', () => {
  let stack: Stack;
  let user: GitUser;
  let blocks: string[][];
  /** What a reader's shell has set once the first block was pasted. */
  let shell: string[];

  beforeAll(async () => {
    stack = await Stack.start({ adminToken: '' });
    user = await GitUser.create();
    // The checkout and the data folder, where the page has them.
    const checkout = join(user.home, 'lfs-quota');
    await mkdir(checkout);
    await symlink(join(projectRoot, 'bin'), join(checkout, 'bin'));
    await symlink(stack.dataDir, join(checkout, '.lfs-quota'));
    const here = (line: string) =>
      line.replaceAll('8787', String(stack.port)).replaceAll('/tmp/lfs-quota-demo', join(user.home, 'demo'));
    blocks = (await readBlocks()).map((lines) => lines.map(here));
    const exports = (blocks[0] ?? []).filter((line) => line.startsWith('export '));
    shell = [...exports, `export LFS_QUOTA_URL=${stack.url}`];
  });

  const paste = (lines: readonly string[], cwd = 'lfs-quota') =>
    user.paste(join(user.home, cwd), [
      `cd ${join(user.home, 'lfs-quota')}`,
      ...shell,
      `cd ${join(user.home, cwd)}`,
      ...lines,
    ]);

  it('works as it stands: a push, its usage, a rejected push, a higher limit', async () => {
    const [push = [], usage = [], rejected = [], raised = []] = blocks;
    const pushed = await paste([...push, ...usage]);
    expect(pushed, pushed.err).toMatchObject({ code: 0 });
    expect(pushed.out).toContain('stored    4.77 MiB in 1 object');
    const over = await paste(rejected, 'demo/game');
    expect(over.code).not.toBe(0);
    const page = await readFile(join(projectRoot, 'docs/quickstart.md'), 'utf8');
    const [message = ''] = /Storage limit reached.*?short\./s.exec(page.replaceAll('\n', ' ')) ?? [];
    expect(over.err).toContain(message);
    expect(over.err).toContain('error: failed to push some refs');
    const again = await paste(raised, 'demo/game');
    expect(again, again.err).toMatchObject({ code: 0 });
    expect(again.out).toContain('in 2 objects');
  });

  it('can be pasted again', async () => {
    const [push = []] = blocks;
    expect(await paste(push)).toMatchObject({ code: 0 });
  });
});
