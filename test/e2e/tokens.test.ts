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
import { commandLine, projectRoot, Stack } from './stack.ts';
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
    host = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
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

  it('a CI job pushes and pulls with nothing but its identity, and only where a rule lets it', async () => {
    const [gitHub = '', gitLab = ''] = docBlocks('docs/team-admins.md')
      .filter(({ language }) => language === 'yaml')
      .map(({ text }) => text);
    const action = join(projectRoot, '.github/actions/setup-lfs-quota');
    const { inputs, runs } = parseYaml(await readFile(join(action, 'action.yml'), 'utf8'));
    const [, { with: given }, { run: pull }] = parseYaml(gitHub).jobs.build.steps;
    expect(Object.keys(inputs)).toEqual(expect.arrayContaining(Object.keys(given)));
    const made = [
      ...['rule', 'create', 'acme', '--issuer', issuer.setting.issuer, '--match', 'repository_id=123456789'],
      ...['--match', 'ref=refs/heads/main', '--scope', 'write', '--repo', 'game'],
    ];
    await stack.cliJson(...made);
    const [step] = runs.steps;
    expect(runs.steps).toHaveLength(1);
    const values: Record<string, string> = { ...given, url: stack.url };
    const job = [
      `export GITHUB_ACTION_PATH=${action} GITHUB_OUTPUT=$HOME/outputs ACTIONS_ID_TOKEN_REQUEST_TOKEN=the-job`,
      `export ACTIONS_ID_TOKEN_REQUEST_URL='http://127.0.0.1:${(host.address() as AddressInfo).port}/token?api-version=1'`,
      ...Object.entries<string>(step.env).map(
        ([name, value]) =>
          `export ${name}=${value.replace(/\$\{\{ inputs\.(\w+) \}\}/, (_, input) => values[input] ?? '')}`,
      ),
      step.run,
    ];
    claims = {
      repository_id: '123456789',
      ref: 'refs/heads/main',
      sub: 'repo:acme/game:ref:refs/heads/main',
    };
    const lfsUrl = (repo: string) => `${stack.url}/acme/${repo}/info/lfs`;
    const game = await workTree('game', { lfsUrl: lfsUrl('game') });
    const globally = async () => (await game.user.git(game.path, 'config', '--global', '--list')).out;
    const before = await globally();
    const set = await game.user.paste(game.path, job);
    expect(set.code, set.out + set.err).toBe(0);
    // The identity token and the access token, each before anything can show it.
    expect(set.out).toMatch(/^::add-mask::ey\S+\n::add-mask::lfsq_\w+\n$/);
    expect(await readFile(join(game.user.home, 'outputs'), 'utf8')).toMatch(/^expires-at=20\d\d-\S+Z\n$/);
    await game.user.git(game.path, 'push', 'origin', 'main');
    expect((await listStore(stack, 'acme/game')).size).toBe(1);
    const { tokens } = (await stack.cliJson('token', 'list', 'acme')) as {
      tokens: { user: string; repos: string[] }[];
    };
    expect(tokens).toMatchObject([
      { user: 'repo:acme/game:ref:refs/heads/main', repos: ['game'], scope: 'write' },
    ]);

    // What actions/checkout leaves: pointers.
    const skips = { GIT_LFS_SKIP_SMUDGE: '1' };
    const clone = join(game.user.home, 'clone');
    const remote = join(game.user.home, 'remotes', 'game.git');
    expect((await game.user.tryGit(game.user.home, ['clone', remote, clone], skips)).code).toBe(0);
    const denied = await game.user.paste(clone, [pull]);
    expect(denied.code, 'another clone has no token').not.toBe(0);
    const pulled = await game.user.paste(clone, [...job, pull]);
    expect(pulled.code, pulled.err).toBe(0);
    expect(await readFile(join(clone, 'a.bin'))).toEqual(Buffer.from(bytesOf('game', 3000)));
    expect(await globally()).toBe(before);

    const film = await workTree('film', { lfsUrl: lfsUrl('film') });
    expect((await film.user.paste(film.path, [...job, 'git push origin main'])).code).not.toBe(0);
    claims = { ...claims, ref: 'refs/pull/7/merge' };
    const pullRequest = await workTree('pull', { lfsUrl: lfsUrl('game') });
    const refused = await pullRequest.user.paste(pullRequest.path, job);
    expect(refused.code).toBe(1);
    expect(refused.out).toMatch(/\n::error::This identity gets no token\..* lfs-quota rule list acme\n$/);
    const outside = await pullRequest.user.paste(pullRequest.user.home, job);
    expect([outside.code, outside.out]).toEqual([
      1,
      expect.stringContaining('::error::There is no clone here.'),
    ]);
    const noPermission = await pullRequest.user.paste(
      pullRequest.path,
      job.filter((line) => !line.includes('REQUEST_URL=')),
    );
    expect(noPermission.out).toContain('Give the job the permission "id-token: write".');
    expect((await listStore(stack, 'acme')).size).toBe(1);

    claims = { ...claims, ref: 'refs/heads/main' };
    const ID = issuer.issuer.token({ ...claims, aud: `${stack.url}/acme` });
    const { script: lines } = parseYaml(gitLab).build;
    const other = join(game.user.home, 'other');
    expect((await game.user.tryGit(game.user.home, ['clone', remote, other], skips)).code).toBe(0);
    const inGitLab = await game.user.paste(other, lines, { LFS: stack.url, ID });
    expect(inGitLab.code, inGitLab.err).toBe(0);
    expect(await readFile(join(other, 'a.bin'))).toEqual(Buffer.from(bytesOf('game', 3000)));
  });

  it('the workflow that deploys to a sandbox pushes and pulls there', async () => {
    const file = join(projectRoot, '.github/workflows/deploy-sandbox.yml');
    const { steps } = parseYaml(await readFile(file, 'utf8')).jobs.deploy;
    const { run } = steps.find(({ name }: { name?: string }) => name === 'Push and pull');
    const user = await GitUser.create();
    const bin = join(user.home, 'bin');
    await mkdir(bin);
    const stubs = { aws: `echo ${stack.adminToken}`, npx: `shift && exec '${commandLine}' "$@"` };
    for (const [name, line] of Object.entries(stubs))
      await writeFile(join(bin, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    const outputs = { ApiUrl: stack.url, AdminSecretArn: 'arn:aws:secretsmanager:eu-central-1:1:secret:a' };
    await writeFile(join(user.home, 'outputs.json'), JSON.stringify({ 'lfs-quota-dev': outputs }));
    const ended = await user.paste(user.home, [`PATH='${bin}':$PATH`, run]);
    expect(ended.code, ended.out + ended.err).toBe(0);
    expect(ended.out).toContain(`::add-mask::${stack.adminToken}\n`);
    expect(ended.out).toMatch(new RegExp(`\\n${stack.url} works\\.\\n$`));
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
