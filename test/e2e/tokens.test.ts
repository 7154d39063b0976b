import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { docBlocks } from '../support/doc-blocks.ts';
import { GitUser } from '../support/git-user.ts';
import { startTestIssuer } from '../support/identity-issuer.ts';
import { bytesOf } from '../support/payload.ts';
import { projectRoot, Stack } from './stack.ts';
import { listStore } from './store-truth.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

const script = join(projectRoot, 'docs', 'git-lfs-authenticate.sh');

describeWithGitLfs('tokens, as docs/team-admins.md shows them', () => {
  let stack: Stack;
  let issuer: Awaited<ReturnType<typeof startTestIssuer>>;
  let host: Server;
  /** What the host vouches for in its next token. */
  let claims: object = {};

  beforeAll(async () => {
    issuer = await startTestIssuer();
    const { kind, issuer: iss, jwksUri } = issuer.setting;
    stack = await Stack.start({ flags: ['--issuer', `${kind},${iss},${jwksUri}`] });
    await stack.cliJson('tenant', 'create', 'acme');
    // What GitHub answers to a job that asks for its identity token.
    host = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://host');
      const isJob = request.headers.authorization === 'Bearer the-job';
      const value = issuer.issuer.token({ ...claims, aud: searchParams.get('audience') });
      response.writeHead(isJob ? 200 : 401).end(isJob ? JSON.stringify({ value }) : '');
    });
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    await issuer?.close();
    await new Promise((resolve) => host.close(resolve));
  });

  async function workTree(repo: string, place: { remote?: string; lfsUrl?: string } = {}) {
    const user = await GitUser.create();
    const { remote = await user.createRemote(repo), ...rest } = place;
    const path = await user.createWorkTree(repo, { remote, ...rest });
    await user.commitFiles(path, new Map([['a.bin', bytesOf(repo, 3000)]]), 'A file');
    return { user, path };
  }

  it('a CI job pushes with nothing but its identity, and only where a rule lets it', async () => {
    const workflow = docBlocks('docs/team-admins.md').find(({ language }) => language === 'yaml');
    const { build } = parseYaml(workflow?.text ?? '').jobs;
    // Its last line pulls.
    const lines = build.steps.at(-1).run.trim().split('\n').slice(0, -1);
    const made = [
      ...['rule', 'create', 'acme', '--issuer', issuer.setting.issuer, '--match', 'repository_id=123456789'],
      ...['--match', 'ref=refs/heads/main', '--scope', 'write', '--repo', 'game'],
    ];
    await stack.cliJson(...made);
    const job = [
      `export LFS=${stack.url} ACTIONS_ID_TOKEN_REQUEST_TOKEN=the-job`,
      `export ACTIONS_ID_TOKEN_REQUEST_URL='http://127.0.0.1:${(host.address() as AddressInfo).port}/token?api-version=1'`,
      ...lines,
      'git push origin main',
    ];
    claims = {
      repository_id: '123456789',
      ref: 'refs/heads/main',
      sub: 'repo:acme/game:ref:refs/heads/main',
    };
    const lfsUrl = (repo: string) => `${stack.url}/acme/${repo}/info/lfs`;
    const game = await workTree('game', { lfsUrl: lfsUrl('game') });
    const pushed = await game.user.paste(game.path, job);
    expect(pushed.code, pushed.err).toBe(0);
    expect((await listStore(stack, 'acme/game')).size).toBe(1);
    const { tokens } = (await stack.cliJson('token', 'list', 'acme')) as {
      tokens: { user: string; repos: string[] }[];
    };
    expect(tokens).toMatchObject([
      { user: 'repo:acme/game:ref:refs/heads/main', repos: ['game'], scope: 'write' },
    ]);

    const film = await workTree('film', { lfsUrl: lfsUrl('film') });
    expect((await film.user.paste(film.path, job)).code).not.toBe(0);
    claims = { ...claims, ref: 'refs/pull/7/merge' };
    const pull = await workTree('pull', { lfsUrl: lfsUrl('game') });
    expect((await pull.user.paste(pull.path, job)).code).not.toBe(0);
    expect((await listStore(stack, 'acme')).size).toBe(1);
  });

  it('who comes by SSH pushes and pulls without a token of their own', async () => {
    const manage = await stack.cliJson('token', 'create', 'acme', '--scope', 'manage');
    const { user, path } = await workTree('ssh', { remote: 'git@host:acme/ssh.git' });
    const config = join(user.home, 'lfs-quota.conf');
    await writeFile(config, `url=${stack.url}\ntoken=${manage['token']}\n`, { mode: 0o600 });
    // A host that lets git in, has no LFS over SSH, and runs our script.
    const ssh = join(user.home, 'ssh-command');
    const bare = join(user.home, 'bare.git');
    await mkdir(bare);
    await user.git(bare, 'init', '--bare', '--quiet');
    await writeFile(
      ssh,
      [
        '#!/bin/sh',
        'for command; do :; done',
        'case $command in',
        `  git-lfs-authenticate*) set -- $command; LFS_QUOTA_CONFIG='${config}' USER_NAME=ada exec sh '${script}' "$2" "$3" ;;`,
        `  git-receive-pack*) exec git receive-pack '${bare}' ;;`,
        `  git-upload-pack*) exec git upload-pack '${bare}' ;;`,
        'esac',
        'exit 127',
      ].join('\n'),
    );
    await chmod(ssh, 0o755);
    const env = { GIT_SSH: ssh, GIT_SSH_VARIANT: 'simple' };
    const pushed = await user.tryGit(path, ['push', 'origin', 'main'], env);
    expect(pushed.code, pushed.err).toBe(0);
    expect((await listStore(stack, 'acme/ssh')).size).toBe(1);
    const clone = join(user.home, 'clone');
    const cloned = await user.tryGit(user.home, ['clone', '--quiet', 'git@host:acme/ssh.git', clone], env);
    expect(cloned.code, cloned.err).toBe(0);
    expect(await readFile(join(clone, 'a.bin'))).toEqual(Buffer.from(bytesOf('ssh', 3000)));
    const { tokens } = (await stack.cliJson('token', 'list', 'acme')) as {
      tokens: { label: string; user: string; scope: string }[];
    };
    const given = tokens.filter(({ label }) => label === 'ssh');
    expect(new Set(given.map(({ scope }) => scope))).toEqual(new Set(['read', 'write']));
    expect(given.every(({ user: name }) => name === 'ada')).toBe(true);
  });
});
