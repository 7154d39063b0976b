import { mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { GitUser } from '../support/git-user.ts';
import { projectRoot, Stack } from './stack.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

interface Step {
  readonly command: string;
  /** What README.md shows below the command. */
  readonly output: string;
}

/** The commands of README.md's session, in their order. */
async function readSession(): Promise<readonly Step[]> {
  const page = await readFile(join(projectRoot, 'README.md'), 'utf8');
  const session = /```console\n(.*?)```/s.exec(page)?.[1] ?? '';
  return session
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [command = '', ...output] = text.trimEnd().split('\n');
      return { command, output: output.join('\n') };
    });
}

/** Ages differ from run to run. */
function withoutAges(text: string): string {
  return text.replaceAll(/just now|\d+ (s|min) ago/g, 'AGE');
}

describeWithGitLfs("README.md's session", () => {
  let stack: Stack;
  let user: GitUser;

  beforeAll(async () => {
    stack = await Stack.start({ adminToken: '' });
    user = await GitUser.create();
    // The checkout and the data folder, where the page has them.
    await mkdir(join(user.home, 'lfs-quota'));
    await symlink(join(projectRoot, 'bin'), join(user.home, 'lfs-quota', 'bin'));
    await symlink(stack.dataDir, join(user.home, 'lfs-quota', '.lfs-quota'));
  });

  it('works as it is printed: a push, the usage, and a push over the limit', async () => {
    const steps = await readSession();
    const onThisPort = steps.map(({ command }) => command.replaceAll('8787', String(stack.port)));
    const address = `export LFS_QUOTA_URL=${stack.url}`;

    const passed = await user.paste(user.home, [address, ...onThisPort.slice(0, -1)]);
    expect(passed).toMatchObject({ code: 0 });
    const printed = withoutAges(passed.out);
    for (const { output } of steps.slice(0, -1)) expect(printed).toContain(withoutAges(output));

    const refused = await user.paste(join(user.home, 'game'), onThisPort.slice(-1));
    expect(refused.code).not.toBe(0);
    const [message = ''] =
      steps
        .at(-1)
        ?.output.replaceAll('\n', ' ')
        .match(/over the storage limit.*?more than there is/) ?? [];
    expect(refused.err).toContain(message);
    expect(refused.err).toContain('error: failed to push some refs');
  });
});
