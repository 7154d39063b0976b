import { mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { GitUser } from '../support/git-user.ts';
import { bytesOf } from '../support/payload.ts';
import { gitEnvironment, run } from '../support/process.ts';
import { commandLine, Stack } from './stack.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

/** From an invitation to a plain `git clone`, with the command line in a folder with a space. */
describeWithGitLfs('somebody who has git, git-lfs, the command line and a link', () => {
  const wall = bytesOf('wall', 300_000);
  let stack: Stack;
  let ada: GitUser;
  let bob: GitUser;
  let remote: string;
  let self: string;

  beforeAll(async () => {
    stack = await Stack.start();
    await stack.cliJson('tenant', 'create', 'acme');
    ada = await GitUser.create({ url: stack.url, token: await stack.newToken('acme', 'write') });
    remote = await ada.createRemote('game');
    const lfsUrl = `${stack.url}/acme/game/info/lfs`;
    const work = await ada.createWorkTree('work', { remote, lfsUrl });
    await ada.commitFiles(work, new Map([['wall.bin', wall]]), 'A wall');
    await ada.git(work, 'push', '--quiet', 'origin', 'main');
    bob = await GitUser.create();
    // It would be asked too, and must not be.
    await bob.git(bob.home, 'config', '--global', 'credential.helper', '!echo asked >&2; false');
    const folder = join(bob.home, 'my tools');
    await mkdir(folder);
    self = join(folder, 'lfs-quota.js');
    await symlink(commandLine, self);
  });

  const cli = (of: GitUser, ...args: string[]) =>
    run(process.execPath, [self, ...args], {
      cwd: of.home,
      env: gitEnvironment(of.home),
      timeoutMs: 60_000,
    });
  const done = async (of: GitUser, ...args: string[]) => {
    const ended = await cli(of, ...args);
    expect(ended.code, ended.err).toBe(0);
    return ended;
  };
  const wallIn = async (folder: string) => (await readFile(join(bob.home, folder, 'wall.bin'))).equals(wall);
  const invite = async (user: string) =>
    String((await stack.cliJson('invite', 'acme', '--repo', 'game', '--user', user))['link']);
  const tokenIdOf = async (user: string) => {
    const { tokens } = await stack.cliJson('token', 'list', 'acme');
    return (
      (tokens as { tokenId: string; user: string }[]).find((token) => token.user === user)?.tokenId ?? ''
    );
  };

  it('gets out of a clone from before that stopped, by the step that connect prints', async () => {
    const early = await bob.tryGit(bob.home, ['clone', '--quiet', remote, 'early']);
    expect(early.err).toContain('smudge filter lfs failed');
    const joined = await done(bob, 'join', await invite('bob'));
    expect(joined.err).toBe('');
    const connected = await run(process.execPath, [self, 'connect', 'acme', 'game'], {
      cwd: join(bob.home, 'early'),
      env: gitEnvironment(bob.home),
      timeoutMs: 60_000,
    });
    const [, next = ''] = /Next:\n(.*)\n/.exec(connected.out) ?? [];
    expect(await bob.paste(join(bob.home, 'early'), [next])).toMatchObject({ code: 0 });
    expect(await wallIn('early')).toBe(true);
    expect((await bob.git(join(bob.home, 'early'), 'status', '--porcelain')).out).toBe('');
  });

  it('clones as always, and pushes', async () => {
    const cloned = await bob.tryGit(bob.home, ['clone', '--quiet', remote, 'plain']);
    expect(cloned).toEqual({ code: 0, out: '', err: '' });
    expect(await wallIn('plain')).toBe(true);
    await bob.commitFiles(join(bob.home, 'plain'), new Map([['bob.bin', bytesOf('bob', 9_000)]]), 'Of Bob');
    const pushed = await bob.tryGit(join(bob.home, 'plain'), ['push', '--quiet', 'origin', 'HEAD:bob']);
    expect(pushed.code, pushed.err).toBe(0);
    expect(pushed.err).not.toContain('asked');
  });

  it('reads that the token was revoked, from git and from each command, and logs in again', async () => {
    await stack.cliJson('token', 'revoke', 'acme', await tokenIdOf('bob'));
    const said = 'Your token for acme was revoked or expired.';
    for (let times = 0; times < 2; times += 1) {
      const refused = await bob.tryGit(bob.home, ['clone', '--quiet', remote, `revoked-${times}`]);
      expect(refused.code).not.toBe(0);
      expect(refused.err).toContain(`lfs-quota: ${said} Run: `);
      expect((await cli(bob, 'whoami')).err).toMatch(`error: ${said}\nLog in again: `);
    }
    await done(bob, 'join', await invite('bob'));
    expect((await bob.tryGit(bob.home, ['clone', '--quiet', remote, 'again'])).code).toBe(0);
  });

  it('uses a token that Git alone has for commands, too', async () => {
    const cleo = await GitUser.create({ url: stack.url, token: await stack.newToken('acme', 'read') });
    await cleo.git(cleo.home, 'clone', '--quiet', remote, 'game');
    const usage = await run(process.execPath, [self, 'usage'], {
      cwd: join(cleo.home, 'game'),
      env: gitEnvironment(cleo.home),
      timeoutMs: 60_000,
    });
    expect(usage).toMatchObject({ code: 0, out: expect.stringContaining('acme\n') });
  });

  it('has git as it was after a logout', async () => {
    await done(bob, 'logout');
    expect((await bob.git(bob.home, 'config', '--global', '--list')).out).not.toContain(stack.url);
    const refused = await bob.tryGit(bob.home, ['clone', '--quiet', remote, 'out']);
    expect(refused.code).not.toBe(0);
  });
});
