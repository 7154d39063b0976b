import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { GitUser } from '../../../support/git-user.ts';
import { bytesOf } from '../../../support/payload.ts';
import { Stack } from '../../stack.ts';
import { describeWithGitLfs } from '../../with-git-lfs.ts';

describeWithGitLfs('downloads that have a limit', () => {
  let stack: Stack;
  let user: GitUser;

  beforeAll(async () => {
    stack = await Stack.start();
    await stack.cliJson('tenant', 'create', 'acme');
    const token = await stack.newToken('acme', 'write');
    user = await GitUser.create({ url: stack.url, token });
  });

  it('are counted, and end with one message that says when they begin anew', async () => {
    const remote = await user.createRemote('game');
    const lfsUrl = `${stack.url}/acme/game.git/info/lfs`;
    const path = await user.createWorkTree('game', { remote, lfsUrl });
    await user.commitFiles(
      path,
      new Map(['a', 'b'].map((name) => [`${name}.bin`, bytesOf(name, 600_000)])),
      'Two files',
    );
    await user.git(path, 'push', '--quiet', 'origin', 'main');
    await user.git(user.home, 'clone', '--quiet', remote, join(user.home, 'first'));
    const page = (await stack.cliJson('downloads', 'acme')) as { month: { bytes: number; resetsAt: string } };
    expect(page.month.bytes).toBe(1_200_000);

    await stack.cliJson('tenant', 'download-limit', 'acme', '2MB');
    const second = await user.tryGit(user.home, ['clone', '--quiet', remote, join(user.home, 'second')]);
    expect(second.code).not.toBe(0);
    const said = second.err.match(/Monthly download limit reached: acme used/g) ?? [];
    expect(said, second.err).toHaveLength(1);
    expect(second.err).toContain(
      // A checkout asks for one object after the other, so the first of the two still came.
      'used 1.72 MiB of 1.91 MiB, this needs 585.94 KiB. It resets on ' +
        `${page.month.resetsAt.slice(0, 10)} (UTC).`,
    );

    await user.commitFiles(path, new Map([['c.bin', bytesOf('c', 1000)]]), 'Another file');
    await user.git(path, 'push', '--quiet', 'origin', 'main');
    await stack.cliJson('tenant', 'download-limit', 'acme', 'unlimited');
    await user.git(user.home, 'clone', '--quiet', remote, join(user.home, 'third'));
  });
});
