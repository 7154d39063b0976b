import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { GitUser } from '../../../support/git-user.ts';
import { bytesOf, writeFiles } from '../../../support/payload.ts';
import { Stack } from '../../stack.ts';
import { describeWithGitLfs } from '../../with-git-lfs.ts';

interface Person {
  readonly user: GitUser;
  readonly workTree: string;
}

describeWithGitLfs('file locks', () => {
  let stack: Stack;
  let ada: Person;
  let bob: Person;
  let remote: string;
  let lfsUrl: string;

  const git = (person: Person, ...args: string[]) => person.user.tryGit(person.workTree, args);
  const lfs = (person: Person, ...args: string[]) => git(person, 'lfs', ...args);
  const saidBy = ({ out, err }: { out: string; err: string }) => `${out}${err}`;
  const lockedPaths = async (person: Person) => {
    const listed = await lfs(person, 'locks', '--json');
    expect(listed.code, listed.err).toBe(0);
    return (JSON.parse(listed.out) as { path: string }[] | null)?.map(({ path }) => path).sort() ?? [];
  };
  /** Changes a file of a work tree, whether it is locked or not, and commits it. */
  const change = async ({ user, workTree }: Person, file: string, seed: string) => {
    await user.paste(workTree, [`chmod u+w '${file}'`]);
    await user.commitFiles(workTree, new Map([[file, bytesOf(seed, 3000)]]), seed);
  };
  const push = (person: Person) => git(person, 'push', '--quiet', 'origin', 'main');
  const learntKey = () => `lfs.${lfsUrl}.locksverify`;

  const newToken = async (grant: object): Promise<string> => {
    const made = await fetch(`${stack.url}/v1/tenants/acme/tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ scope: 'write', ...grant }),
    });
    expect(made.status).toBe(201);
    return ((await made.json()) as { token: string }).token;
  };
  const newUser = async (user: string) => GitUser.create({ url: stack.url, token: await newToken({ user }) });

  beforeAll(async () => {
    stack = await Stack.start();
    await stack.cliJson('tenant', 'create', 'acme', '--limit', '10MiB');
    lfsUrl = `${stack.url}/acme/game/info/lfs`;
    const first = await newUser('ada');
    remote = await first.createRemote('game');
    ada = { user: first, workTree: await first.createWorkTree('work', { remote, lfsUrl }) };
    await lfs(ada, 'track', '--lockable', '*.psd');
    await writeFiles(
      ada.workTree,
      new Map([
        ['hero.psd', bytesOf('hero', 5000)],
        ['art/two words.psd', bytesOf('two', 300)],
      ]),
    );
    await ada.user.commitAll(ada.workTree, 'Two files');
    expect((await push(ada)).code).toBe(0);
    const second = await newUser('bob');
    await second.git(second.home, 'clone', '--quiet', remote, 'work');
    bob = { user: second, workTree: join(second.home, 'work') };
  });

  it('are taken by one, and seen by all with their owner', async () => {
    for (const file of ['hero.psd', 'art/two words.psd'])
      expect(await lfs(ada, 'lock', file)).toMatchObject({
        code: 0,
        out: expect.stringContaining(`Locked ${file}`),
      });
    const again = await lfs(bob, 'lock', 'hero.psd');
    expect(again.code).not.toBe(0);
    expect(saidBy(again)).toMatch(/hero\.psd failed: ada locked hero\.psd on .* UTC\./);
    expect(await lockedPaths(bob)).toEqual(['art/two words.psd', 'hero.psd']);
    expect((await lfs(bob, 'locks')).out).toMatch(/^hero\.psd\s+ada\s+ID:/m);
    expect((await lfs(bob, 'locks', '--path', 'hero.psd')).out.trim().split('\n')).toHaveLength(1);
    expect((await lfs(ada, 'locks', '--verify')).out).toMatch(/^O hero\.psd/m);
    expect((await lfs(bob, 'locks', '--verify')).out).toMatch(/^ {2}hero\.psd/m);
  });

  it('keep a lockable file from being changed by mistake in a clone', async () => {
    expect((await stat(join(bob.workTree, 'hero.psd'))).mode & 0o222).toBe(0);
  });

  it('of others only warn a push, until the repo says that they are verified', async () => {
    await change(bob, 'hero.psd', 'not verified');
    const warned = await push(bob);
    expect(warned.code, warned.err).toBe(0);
    for (const line of ['Locking support detected', 'hero.psd - ada', 'would have halted this push'])
      expect(saidBy(warned)).toContain(line);

    expect((await git(ada, 'pull', '--quiet', 'origin', 'main')).code).toBe(0);
    await git(ada, 'config', '-f', '.lfsconfig', 'lfs.locksverify', 'true');
    await ada.user.commitAll(ada.workTree, 'Verify locks');
    const own = await push(ada);
    expect(own.code, own.err).toBe(0);
    expect(saidBy(own)).not.toContain('Locking support detected');

    expect((await git(bob, 'pull', '--quiet', 'origin', 'main')).code).toBe(0);
    await change(bob, 'hero.psd', 'verified');
    const stopped = await push(bob);
    expect(stopped.code).not.toBe(0);
    for (const line of ['hero.psd - ada', 'Cannot update locked files'])
      expect(saidBy(stopped)).toContain(line);
  });

  it('are not verified by a clone that learnt that there are none, until it forgets that', async () => {
    await git(bob, 'config', learntKey(), 'false');
    const passed = await push(bob);
    expect(passed.code, passed.err).toBe(0);
    expect(saidBy(passed)).not.toContain('locked files');
    await bob.user.paste(bob.workTree, [
      `git config --get-regexp '^lfs\\..*\\.locksverify$' | while read -r key value; do git config --unset "$key"; done`,
    ]);
    expect((await git(bob, 'config', learntKey())).code).not.toBe(0);
    await change(bob, 'hero.psd', 'verified again');
    const stopped = await push(bob);
    expect(stopped.code).not.toBe(0);
    expect(saidBy(stopped)).toContain('Cannot update locked files');
  });

  it('are still verified by a clone that once had a wrong token', async () => {
    const key = learntKey();
    await bob.user.setToken({ url: stack.url, token: await newToken({ user: 'bob', repos: ['other'] }) });
    const refused = await push(bob);
    expect(refused.code).not.toBe(0);
    expect((await git(bob, 'config', key)).out).toBe('');
    await bob.user.setToken({ url: stack.url, token: await newToken({ user: 'bob' }) });
    expect(saidBy(await push(bob))).toContain('Cannot update locked files');
  });

  it('are released by their owner, or by force', async () => {
    const refused = await lfs(bob, 'unlock', 'hero.psd');
    expect(refused.code).not.toBe(0);
    expect(saidBy(refused)).toMatch(/ada locked hero\.psd on .* UTC\. .* --force/);
    expect((await lfs(bob, 'unlock', '--force', 'hero.psd')).code).toBe(0);
    expect(await lockedPaths(ada)).toEqual(['art/two words.psd']);
    expect(await push(bob)).toMatchObject({ code: 0 });
    expect(saidBy(await lfs(bob, 'unlock', '--force', 'hero.psd'))).toContain('no matching locks found');
    const [{ id } = { id: '' }] = JSON.parse((await lfs(ada, 'locks', '--json')).out) as { id: string }[];
    expect((await lfs(ada, 'unlock', `--id=${id}`)).code).toBe(0);
    expect(await lockedPaths(bob)).toEqual([]);
  });

  it('of one’s own let a push pass', async () => {
    expect((await git(ada, 'pull', '--quiet', 'origin', 'main')).code).toBe(0);
    expect((await lfs(ada, 'lock', 'hero.psd')).code).toBe(0);
    await change(ada, 'hero.psd', 'own');
    const pushed = await push(ada);
    expect(pushed.code, pushed.err).toBe(0);
    expect(saidBy(pushed)).toContain('your own locked files');
    expect((await lfs(ada, 'unlock', 'hero.psd')).code).toBe(0);
  });

  it('go to exactly one of 50 clients at once', { timeout: 240_000 }, async () => {
    const attempts = await Promise.all(
      Array.from({ length: 50 }, (_, index) => lfs(index % 2 === 0 ? ada : bob, 'lock', 'art/contested.psd')),
    );
    expect(attempts.filter(({ code }) => code === 0)).toHaveLength(1);
    for (const attempt of attempts)
      if (attempt.code !== 0) expect(saidBy(attempt)).toMatch(/(ada|bob) locked art\/contested\.psd on/);
    expect(await lockedPaths(ada)).toEqual(['art/contested.psd']);
  });

  describe('that the operator looks after', () => {
    it('are listed with owner and age, and released in bulk', async () => {
      const listed = await stack.cli('lock', 'list', 'acme', 'game');
      expect(listed.out).toMatch(/^art\/contested\.psd\s+(ada|bob)\s+(just now|\d+ (s|min) ago)$/m);
      for (const owner of ['ada', 'bob'])
        expect((await stack.cli('lock', 'delete', 'acme', 'game', '--owner', owner, '--yes')).code).toBe(0);
      expect((await stack.cli('lock', 'list', 'acme', 'game')).out).toBe('No locks.\n');
      expect(await lockedPaths(ada)).toEqual([]);
    });
  });
});
