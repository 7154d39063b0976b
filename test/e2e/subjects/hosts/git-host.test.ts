import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type StandInHost, startStandInHost } from '../../../support/git-host.ts';
import { GitUser } from '../../../support/git-user.ts';
import { bytesOf } from '../../../support/payload.ts';
import { Stack } from '../../stack.ts';
import { describeWithGitLfs } from '../../with-git-lfs.ts';

const tokenOf = (login: string) => `forge-token-of-${login}-0123456789`;

/** Ada may push, Grace may read, and Mallory is nobody there. */
describeWithGitLfs('people with their tokens for a git host', () => {
  let stack: Stack;
  let forge: { host: StandInHost; close: () => Promise<void> };
  let ada: GitUser;
  let grace: GitUser;
  let mallory: GitUser;
  let remote: string;
  let workTree: string;
  const missing = bytesOf('c', 200_000);
  const upstream = createServer({ keepAliveTimeout: 60_000 }, (_, response) => void response.end(missing));
  const lfsUrl = () => `${stack.url}/acme/game/info/lfs`;

  beforeAll(async () => {
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const started = await startStandInHost('gitea', 'forge');
    forge = started;
    for (const [index, login] of ['ada', 'grace', 'mallory'].entries())
      forge.host.person({ id: index + 1, login, token: tokenOf(login) });
    forge.host.repository('acme/game', { id: 7, people: { ada: 'write', grace: 'read' } });
    stack = await Stack.start({ flags: ['--git-host', `forge,gitea,${started.setting.url}`] });
    await stack.cliJson('tenant', 'create', 'acme');
    await stack.cliJson('repo', 'create', 'acme', 'game');
    [ada, grace, mallory] = (await Promise.all(
      ['ada', 'grace', 'mallory'].map(async (login) => {
        const user = await GitUser.create({ url: stack.url, token: tokenOf(login) });
        return user;
      }),
    )) as [GitUser, GitUser, GitUser];
    remote = await ada.createRemote('game');
    workTree = await ada.createWorkTree('work', { remote, lfsUrl: lfsUrl() });
    await ada.commitFiles(workTree, new Map([['a.bin', bytesOf('a', 300_000)]]), 'A file');
  });
  afterAll(async () => {
    upstream.close();
    await forge?.close();
  });

  it('are refused until the repo is linked, and the host is not asked', async () => {
    const pushed = await ada.tryGit(workTree, ['push', 'origin', 'main']);
    expect(pushed.code).not.toBe(0);
    expect(forge.host.requests).toEqual([]);
  });

  it('push if they may push there', async () => {
    const { out } = await stack.cli('repo', 'link', 'acme', 'game', 'forge', 'acme/game');
    expect(out).toMatch(/acme\/game is linked to acme\/game on forge/);
    // The client repeated a token that was bad a moment ago.
    forge.host.person({ id: 1, login: 'ada', token: `${tokenOf('ada')}-new` });
    await ada.setToken({ url: stack.url, token: `${tokenOf('ada')}-new` });
    await ada.git(workTree, 'push', '--quiet', 'origin', 'main');
    const listed = await stack.cli('repo', 'list', 'acme');
    expect(listed.out).toMatch(/forge acme\/game/);
  });

  it('clone if they may pull there, and are told why they cannot push', async () => {
    await grace.git(grace.home, 'clone', '--quiet', remote, 'clone');
    const clone = join(grace.home, 'clone');
    expect(await readFile(join(clone, 'a.bin'))).toEqual(bytesOf('a', 300_000));
    await grace.commitFiles(clone, new Map([['b.bin', bytesOf('b', 1000)]]), 'Not hers to push');
    const pushed = await grace.tryGit(clone, ['push', 'origin', 'main']);
    expect(pushed.code).not.toBe(0);
    expect(pushed.err).toMatch(/grace \(forge\) has read access there/);
  });

  it('get from there what was never pushed here, once the repo is linked with it', async () => {
    const oid = createHash('sha256').update(missing).digest('hex');
    const href = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/signed`;
    forge.host.objects.set(oid, { size: missing.length, href });
    await ada.commitFiles(workTree, new Map([['c.bin', missing]]), 'Pushed to the old server');
    // The hook would upload it.
    await ada.git(workTree, 'push', '--quiet', '--no-verify', 'origin', 'main');
    await stack.cli('repo', 'link', 'acme', 'game', 'forge', 'acme/game', '--read-through');
    await grace.git(grace.home, 'clone', '--quiet', remote, 'through');
    expect(await readFile(join(grace.home, 'through', 'a.bin'))).toEqual(bytesOf('a', 300_000));
    expect(await readFile(join(grace.home, 'through', 'c.bin'))).toEqual(missing);
  });

  it('lock files as themselves', async () => {
    const locked = await ada.git(workTree, 'lfs', 'lock', 'a.bin');
    expect(locked.out).toMatch(/Locked a.bin/);
    const seen = await grace.git(join(grace.home, 'clone'), 'lfs', 'locks');
    expect(seen.out).toMatch(/a\.bin\s+ada \(forge\)/);
    const ours = await ada.git(workTree, 'lfs', 'locks', '--verify');
    expect(ours.out).toMatch(/O\s*a\.bin/);
    await ada.git(workTree, 'lfs', 'unlock', 'a.bin');
  });

  it('get nothing if they are nobody there, and it ends with a message', async () => {
    const cloned = await mallory.tryGit(mallory.home, ['clone', '--quiet', remote, 'clone']);
    expect(cloned.code).not.toBe(0);
    // Their helper has forgotten the token, as it does with any that is refused.
    expect(cloned.err).toMatch(/could not read Username/);
    const always = `!f() { echo username=any; echo password=${tokenOf('mallory')}; }; f`;
    await mallory.git(mallory.home, 'config', '--global', 'credential.helper', always);
    const again = await mallory.tryGit(mallory.home, ['clone', '--quiet', remote, 'again']);
    expect(again.code).not.toBe(0);
    expect(again.err).toMatch(/invalid, expired or revoked, or its user has no access to this repo on forge/);
  });

  it('are told that their host is down, at once', async () => {
    forge.host.person({ id: 2, login: 'grace', token: `${tokenOf('grace')}-other` });
    await grace.setToken({ url: stack.url, token: `${tokenOf('grace')}-other` });
    forge.host.state = 'down';
    try {
      const pulled = await grace.tryGit(grace.home, ['clone', '--quiet', remote, 'again']);
      expect(pulled.code).not.toBe(0);
      expect(pulled.err).toMatch(/Can't reach forge to check your token/);
    } finally {
      forge.host.state = 'up';
    }
    await sleep(5_500);
    await grace.git(join(grace.home, 'again'), 'lfs', 'pull');
  });

  it('of an organization that is linked once push to a second repo with no command of ours', async () => {
    const { out } = await stack.cli('tenant', 'link', 'acme', 'forge', 'acme');
    expect(out).toMatch(/Each repo acme\/REPO is acme\/REPO on forge/);
    for (const repo of ['film', 'site']) {
      forge.host.repository(`acme/${repo}`, {
        id: repo.length * 10,
        people: { ada: 'write', grace: 'read' },
      });
      const url = `${stack.url}/acme/${repo}/info/lfs`;
      const second = await ada.createRemote(repo);
      const tree = await ada.createWorkTree(repo, { remote: second, lfsUrl: url });
      await ada.commitFiles(tree, new Map([['b.bin', bytesOf(repo, 200_000)]]), 'Another file');
      await ada.git(tree, 'push', '--quiet', 'origin', 'main');
      await grace.git(grace.home, 'clone', '--quiet', second, `${repo}-clone`);
      expect(await readFile(join(grace.home, `${repo}-clone`, 'b.bin'))).toEqual(bytesOf(repo, 200_000));
    }
    // One that is not there yet can't be used.
    const tree = await ada.createWorkTree('early', {
      remote: await ada.createRemote('early'),
      lfsUrl: `${stack.url}/acme/early/info/lfs`,
    });
    await ada.commitFiles(tree, new Map([['c.bin', bytesOf('c', 1000)]]), 'Too early');
    expect((await ada.tryGit(tree, ['push', 'origin', 'main'])).code).not.toBe(0);
  });
});
