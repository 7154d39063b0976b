import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { GitUser } from '../support/git-user.ts';
import { bytesOf } from '../support/payload.ts';
import { Stack } from './stack.ts';
import { listStore } from './store-truth.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

/** Ways to log in besides a credential helper that asks a person. */
describeWithGitLfs('logins without a person', () => {
  let stack: Stack;
  let token: string;

  beforeAll(async () => {
    stack = await Stack.start();
    await stack.cliJson('tenant', 'create', 'acme');
    token = await stack.newToken('acme', 'write');
  });

  /** Pushes three files to a repo that is used by nobody else. */
  async function tryPush(user: GitUser, repo: string) {
    const lfsUrl = `${stack.url}/acme/${repo}/info/lfs`;
    const workTree = await user.createWorkTree(repo, { remote: await user.createRemote(repo), lfsUrl });
    const files = ['a', 'b', 'c'].map((name) => [`${name}.bin`, bytesOf(`${repo}-${name}`, 3000)] as const);
    await user.commitFiles(workTree, new Map(files), 'Three files');
    return user.tryGit(workTree, ['push', 'origin', 'main']);
  }

  it.each([
    ['Basic', () => `Basic ${Buffer.from(`any:${token}`).toString('base64')}`],
    ['Bearer', () => `Bearer ${token}`],
  ])('a push with http.extraheader and %s succeeds, verifies included', async (scheme, value) => {
    const user = await GitUser.create();
    const key = `http.${stack.url}/.extraheader`;
    await user.git(user.home, 'config', '--global', key, `Authorization: ${value()}`);
    const repo = `extra-${scheme.toLowerCase()}`;
    const pushed = await tryPush(user, repo);
    expect(pushed.err).not.toMatch(/Authentication required|401/);
    expect(pushed.code).toBe(0);
    expect((await listStore(stack, `acme/${repo}`)).size).toBe(3);
  });

  it('a push with the token in the URL succeeds', async () => {
    const user = await GitUser.create();
    const url = new URL(stack.url);
    url.username = 'any';
    url.password = token;
    const from = `url.${url.href}.insteadOf`;
    await user.git(user.home, 'config', '--global', from, `${stack.url}/`);
    expect((await tryPush(user, 'in-url')).code).toBe(0);
  });

  it('a helper that keeps returning a bad token ends with a message', async () => {
    const user = await GitUser.create();
    const helper = join(user.home, 'helper.sh');
    const script = `#!/bin/sh\n[ "$1" = get ] && printf 'username=any\\npassword=lfsq_${'x'.repeat(40)}\\n'\nexit 0\n`;
    await writeFile(helper, script, { mode: 0o700 });
    await user.git(user.home, 'config', '--global', 'credential.helper', helper);
    const pushed = await tryPush(user, 'bad-helper');
    expect(pushed.code).not.toBe(0);
    expect(pushed.err).toMatch(/invalid, expired or revoked/);
    expect((await listStore(stack, 'acme/bad-helper')).size).toBe(0);
  }, 60_000);
});
