import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { GitUser } from '../../../support/git-user.ts';
import { npm, offline, packInto } from '../../../support/pack.ts';
import { bytesOf } from '../../../support/payload.ts';
import { type Ended, gitEnvironment, run } from '../../../support/process.ts';
import { Stack } from '../../stack.ts';
import { describeWithGitLfs } from '../../with-git-lfs.ts';

/** From an invitation to a plain `git clone`, with the packed command line by npx, from a folder with a space. */
describeWithGitLfs('somebody who has git, git-lfs, the command line and a link', () => {
  const wall = bytesOf('wall', 300_000);
  let folder: string;
  let tools: string;
  let packed: string;
  let stack: Stack;
  let remote: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lfs-quota-e2e-tools-'));
    tools = join(folder, 'my tools');
    await mkdir(tools);
    const env = { ...gitEnvironment(folder), ...offline(folder) };
    packed = (await packInto(folder, env)).file;
    await npm({ cwd: tools, env }, 'install', packed);
    stack = await Stack.start();
    await stack.cliJson('tenant', 'create', 'acme');
    const ada = await GitUser.create({ url: stack.url, token: await stack.newToken('acme', 'write') });
    remote = await ada.createRemote('game');
    const work = await ada.createWorkTree('work', { remote, lfsUrl: `${stack.url}/acme/game/info/lfs` });
    await ada.commitFiles(work, new Map([['wall.bin', wall]]), 'A wall');
    await ada.git(work, 'push', '--quiet', 'origin', 'main');
  }, 180_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Somebody whose git has a helper that fails aloud if it is asked. */
  async function newcomer(): Promise<GitUser> {
    const user = await GitUser.create();
    await user.git(user.home, 'config', '--global', 'credential.helper', '!echo asked >&2; false');
    return user;
  }
  const cli = (
    { home }: GitUser,
    args: readonly string[],
    cwd = home,
    from = ['--prefix', tools],
  ): Promise<Ended> =>
    run('npx', [...from, 'lfs-quota', ...args], {
      cwd,
      env: { ...gitEnvironment(home), ...offline(folder) },
      timeoutMs: 60_000,
    });
  const done = async (...of: Parameters<typeof cli>) => {
    const ended = await cli(...of);
    expect(ended.code, ended.err).toBe(0);
    return ended;
  };
  /** Joins by a link. */
  async function accept(user: GitUser, name: string, from?: string[]) {
    const { link } = await stack.cliJson('invite', 'acme', '--repo', 'game', '--user', name);
    return done(user, ['login', String(link)], user.home, from);
  }
  const clone = (user: GitUser, name: string) => user.tryGit(user.home, ['clone', '--quiet', remote, name]);
  const hasWall = async ({ home }: GitUser, name: string) =>
    (await readFile(join(home, name, 'wall.bin'))).equals(wall);

  it('clones as always, and pushes: no error, no question, nothing else to run', async () => {
    const bob = await newcomer();
    expect((await accept(bob, 'bob')).err).toBe('');
    expect(await clone(bob, 'game')).toEqual({ code: 0, out: '', err: '' });
    expect(await hasWall(bob, 'game')).toBe(true);
    const game = join(bob.home, 'game');
    await bob.commitFiles(game, new Map([['bob.bin', bytesOf('bob', 9_000)]]), 'Of Bob');
    const pushed = await bob.tryGit(game, ['push', '--quiet', 'origin', 'HEAD:bob']);
    expect(pushed.code, pushed.err).toBe(0);
    expect(pushed.err).not.toContain('asked');
  });

  it('gets out of a clone from before, that stopped, by the step that connect prints', async () => {
    const cleo = await newcomer();
    expect((await clone(cleo, 'early')).err).toContain('smudge filter lfs failed');
    await accept(cleo, 'cleo');
    const early = join(cleo.home, 'early');
    const { out } = await done(cleo, ['connect', 'acme', 'game'], early);
    const [, next = ''] = /Next:\n(.*)\n/.exec(out) ?? [];
    expect(await cleo.paste(early, [next])).toMatchObject({ code: 0 });
    expect(await hasWall(cleo, 'early')).toBe(true);
    expect((await cleo.git(early, 'status', '--porcelain')).out).toBe('');
  });

  it('needs no install: what npx ran from its cache works after that is deleted', async () => {
    const gus = await newcomer();
    const inCache = ['--yes', '--package', packed];
    await accept(gus, 'gus', inCache);
    expect(await clone(gus, 'game')).toEqual({ code: 0, out: '', err: '' });
    const game = join(gus.home, 'game');
    await done(gus, ['connect', 'acme', 'game'], game, inCache);
    await rm(join(folder, 'cache', '_npx'), { recursive: true });
    await gus.commitFiles(game, new Map([['gus.bin', bytesOf('gus', 9_000)]]), 'Of Gus');
    expect(await gus.tryGit(game, ['push', '--quiet', 'origin', 'HEAD:gus'])).toMatchObject({ code: 0 });
    expect(await clone(gus, 'again')).toEqual({ code: 0, out: '', err: '' });
    const settings = async () => (await gus.git(gus.home, 'config', '--global', '--list')).out;
    expect(await settings()).toContain(stack.url);
    await done(gus, ['logout']);
    expect(await settings()).not.toContain(stack.url);
  });

  it('reads that the token was revoked, from git and from commands, and is ready after the next link', async () => {
    const dana = await newcomer();
    await accept(dana, 'dana');
    const { tokens } = await stack.cliJson('token', 'list', 'acme');
    const { tokenId = '' } =
      (tokens as { tokenId: string; user: string }[]).find(({ user }) => user === 'dana') ?? {};
    await stack.cliJson('token', 'revoke', 'acme', tokenId);
    const said = 'Your token for acme was revoked or expired.';
    for (const name of ['first', 'second']) {
      const refused = await clone(dana, name);
      expect(refused.code).not.toBe(0);
      expect(refused.err).toContain(`lfs-quota: ${said} Run: `);
      expect((await cli(dana, ['whoami'])).err).toContain(`error: ${said}\nLog in again: `);
    }
    await accept(dana, 'dana');
    expect((await clone(dana, 'again')).code).toBe(0);
  });

  it('has git as it was after a logout', async () => {
    const eve = await newcomer();
    const settings = async () => (await eve.git(eve.home, 'config', '--global', '--list')).out;
    const before = await settings();
    await accept(eve, 'eve');
    expect(await settings()).toContain(stack.url);
    await done(eve, ['logout']);
    expect(await settings()).toBe(before);
  });

  it('uses a token that Git alone has for commands, too', async () => {
    const fay = await GitUser.create({ url: stack.url, token: await stack.newToken('acme', 'read') });
    await fay.git(fay.home, 'clone', '--quiet', remote, 'game');
    expect((await done(fay, ['usage'], join(fay.home, 'game'))).out).toContain('acme\n');
  });
});
