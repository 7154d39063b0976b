import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { GitUser } from '../support/git-user.ts';
import { bytesOf } from '../support/payload.ts';
import { gitEnvironment, run } from '../support/process.ts';
import { commandLine, Stack } from './stack.ts';
import { listStore } from './store-truth.ts';
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
    // Another server's: it must not be asked.
    await ada.git(workTree, 'config', '--global', 'credential.helper', '!false');
  });

  /** Calls the command line as the person whose git it is. */
  async function cli(user: GitUser, args: readonly string[], more: { cwd?: string; input?: string } = {}) {
    const { cwd = user.home, input = '' } = more;
    const env = { ...gitEnvironment(user.home), INPUT: input };
    const piped = ['-c', 'printf %s "$INPUT" | "$@"', 'bash', commandLine, ...args];
    const ended = await run('bash', piped, { cwd, env, timeoutMs: 60_000 });
    expect(ended.code, ended.err).toBe(0);
    return ended.out;
  }

  it('pushes without a question after a login, and shows what it stores by path', async () => {
    const { token } = await stack.cliJson('token', 'create', 'acme', '--scope', 'manage', '--user', 'ada');
    expect(await cli(ada, ['login', stack.url], { input: String(token) })).toContain('tenant  acme\n');
    expect(
      JSON.parse(await cli(ada, ['connect', 'acme', 'game', '--json'], { cwd: workTree })),
    ).toMatchObject({
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
    expect(JSON.parse(await cli(ada, ['du', '--git', '--json'], { cwd: workTree }))).toMatchObject({
      tenant: 'acme',
      repo: 'game',
      files: [
        { path: 'art/wall.bin', bytes: 80_000, currentBytes: 50_000, objectCount: 2 },
        { path: 'intro.bin', bytes: 20_000, currentBytes: 20_000, objectCount: 1 },
      ],
      stored: { bytes: 100_000, objectCount: 3 },
      notStoredCount: 0,
    });
    expect(await cli(ada, ['repo', 'show'], { cwd: workTree })).toContain('game');
  });

  it('still pushes after another repository of the tenant was connected', async () => {
    const remote = await ada.createRemote('film');
    const other = await ada.createWorkTree('other', { remote });
    await cli(ada, ['connect', 'acme', 'film'], { cwd: other });
    for (const tree of [other, workTree]) {
      await ada.commitFiles(tree, new Map([['more.bin', bytesOf(tree, 10_000)]]), 'More');
      await ada.git(tree, 'push', '--quiet', 'origin', 'main');
    }
  });

  it('is joined by the link alone, from an empty home', async () => {
    const { link } = await stack.cliJson('invite', 'acme', '--repo', 'game', '--user', 'bob');
    const bob = await GitUser.create();
    expect(await cli(bob, ['login', String(link)])).toContain('connect acme game ');
    const clone = await bob.createWorkTree('game', { remote: join(ada.home, 'remotes', 'game.git') });
    await cli(bob, ['connect', 'acme', 'game'], { cwd: clone });
    await bob.commitFiles(clone, new Map([['bob.bin', bytesOf('bob', 10_000)]]), 'Of Bob');
    await bob.git(clone, 'push', '--quiet', 'origin', 'HEAD:bob');
    const { tokens } = await stack.cliJson('token', 'list', 'acme');
    // He has no token but the one that he joined with.
    expect((tokens as { user: string }[]).filter(({ user }) => user === 'bob')).toHaveLength(1);
  });

  it('ends with a message once the token is revoked, and works again after a login', async () => {
    const { tokens } = await stack.cliJson('token', 'list', 'acme');
    for (const { tokenId, user } of tokens as { tokenId: string; user: string }[])
      if (user === 'ada') await stack.cliJson('token', 'revoke', 'acme', tokenId);
    await ada.commitFiles(workTree, new Map([['late.bin', bytesOf('late', 5_000)]]), 'Late');
    const refused = await ada.tryGit(workTree, ['push', 'origin', 'main']);
    expect(refused.code).not.toBe(0);
    const { token } = await stack.cliJson('token', 'create', 'acme', '--scope', 'write', '--user', 'ada');
    await cli(ada, ['login', stack.url], { input: String(token) });
    await ada.git(workTree, 'push', '--quiet', 'origin', 'main');
    expect((await listStore(stack, 'acme/game')).size).toBe(6);
  });
});
