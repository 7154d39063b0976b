import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { docBlocks, whyNotRun } from '../support/doc-blocks.ts';
import { gitEnvironment, run } from '../support/process.ts';
import { projectRoot, Stack } from './stack.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

/** What a reader has, or does, before the blocks of a page, or of a heading. All else is on the page. */
interface Reader {
  /** Where the first block is pasted. */
  readonly cwd: 'checkout' | 'home';
  readonly scope?: 'manage' | 'write';
  readonly before?: Readonly<Record<string, readonly string[]>>;
}

const connected = ['export LFS_QUOTA_URL=https://lfs.example.com LFS_QUOTA_TOKEN=lfsq_…'];
/** A clone with a token, and a file that LFS stores. */
const cloned = [
  ...connected,
  'git lfs install && git config --global credential.helper store',
  'git clone -q https://github.com/acme/game.git && cd game && lfs-quota connect acme game',
  "git lfs track '*.psd' && mkdir art && echo a hero > art/hero.psd",
];
const pushed = ['git add . && git commit -qm Art && git push && cd ..'];
const admin = ['export LFS_QUOTA_URL=http://127.0.0.1:8787 LFS_QUOTA_TOKEN="$(cat .lfs-quota/admin-token)"'];

/** Its port is the default, which commands needn't be told. */
const quickstart: Reader = {
  cwd: 'checkout',
  before: { '': ['export LFS_QUOTA_URL=http://127.0.0.1:8787'] },
};

/** In this order: what the first one installs, the others use. The runbook reconciles each tenant. */
const readers: Readonly<Record<string, Reader>> = {
  'docs/command-line.md': { cwd: 'checkout', scope: 'manage' },
  'docs/runbook.md': { cwd: 'checkout', before: { '': admin } },
  'README.md': { cwd: 'checkout' },
  'docs/quickstart.md': quickstart,
  'docs/git-users.md': {
    cwd: 'home',
    scope: 'write',
    before: {
      '': ['git clone -q git@git.example.com:acme/game.git && cd game'],
      'Push and pull': [
        'mkdir art && echo a hero > art/hero.psd',
        'git add . && git commit -qm Art && git push',
      ],
      'Lock files': ['git config lfs.https://old.example.com/info/lfs.locksverify false'],
    },
  },
  'docs/team-admins.md': { cwd: 'home', scope: 'manage', before: { '': [...cloned, ...pushed] } },
  'docs/saas-builders.md': { cwd: 'checkout' },
  'docs/deploy.md': { cwd: 'checkout', before: { '': admin } },
  'docs/migrate.md': {
    cwd: 'home',
    scope: 'manage',
    before: {
      // The file is on the other server.
      '': [...cloned, 'rm .lfsconfig', ...pushed],
      Exports: ['cd ..'],
    },
  },
  'docs/measured.md': { cwd: 'checkout' },
  'CONTRIBUTING.md': { cwd: 'checkout' },
};

/** What a page shows of an output. `…` stands for anything. */
const patternOf = (shown: string) =>
  new RegExp(
    shown
      .trim()
      .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll(/\s*…\s*/g, '[^]*?')
      .replaceAll(/\s+/g, '\\s+'),
  );

describeWithGitLfs('the pages, as they stand: a fresh clone, and an empty home', () => {
  let folder: string;
  let stack: Stack;
  let hooks: Server;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lfs-quota-pages-'));
    const checkout = join(folder, 'checkout');
    const env = gitEnvironment(folder);
    const listed = await run('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
      cwd: projectRoot,
      env,
      timeoutMs: 30_000,
    });
    for (const file of listed.out.split('\0').filter((file) => file && existsSync(join(projectRoot, file))))
      await cp(join(projectRoot, file), join(checkout, file));
    await symlink(join(projectRoot, 'node_modules'), join(checkout, 'node_modules'));
    hooks = createServer((_, response) => response.end());
    await new Promise<void>((resolve) => hooks.listen(0, '127.0.0.1', resolve));
    const flags = ['--loopback-webhooks', '--git-host', 'github,github,http://127.0.0.1:9'];
    stack = await Stack.start({ adminToken: '', checkout, flags });
  });
  afterAll(async () => {
    hooks.close();
    await Stack.closeAll();
    await rm(folder, { recursive: true, force: true });
  });

  /** Asks the API as the operator. */
  async function post(path: string, body: object): Promise<{ token?: string }> {
    const token = (await readFile(join(stack.dataDir, 'admin-token'), 'utf8')).trim();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${stack.url}/v1/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(201);
    return (await answer.json()) as { token?: string };
  }

  /** A home of its own, and what the page takes for a given: a tenant, a token, and a remote. */
  async function prepare(page: string, { scope }: Reader) {
    const tenant = page.replaceAll(/^docs.|\.md$/g, '').toLowerCase();
    const home = join(folder, tenant);
    const remotes = join(home, 'remotes');
    const remote = join(remotes, tenant, 'game.git');
    await mkdir(remote, { recursive: true });
    await run('git', ['init', '--bare', '--quiet'], {
      cwd: remote,
      env: gitEnvironment(home),
      timeoutMs: 10_000,
    });
    let token = '';
    if (scope) {
      await post('tenants', { tenant, limitBytes: 10 ** 9 });
      await post(`tenants/${tenant}/repos`, { repo: 'game' });
      token = (await post(`tenants/${tenant}/tokens`, { scope, user: 'ada' })).token ?? '';
    }
    const hosts = ['git@git.example.com:', 'https://git.example.com/', 'https://github.com/'];
    const env: Record<string, string> = {
      ...gitEnvironment(home),
      PATH: `${join(folder, 'npm', 'bin')}:${process.env['PATH']}`,
      npm_config_prefix: join(folder, 'npm'),
      npm_config_offline: 'true',
      GIT_AUTHOR_NAME: 'Ada',
      GIT_AUTHOR_EMAIL: 'ada@example.com',
      GIT_COMMITTER_NAME: 'Ada',
      GIT_COMMITTER_EMAIL: 'ada@example.com',
      GIT_CONFIG_COUNT: String(hosts.length),
    };
    for (const [index, host] of hosts.entries()) {
      env[`GIT_CONFIG_KEY_${index}`] = `url.file://${remotes}/.insteadOf`;
      env[`GIT_CONFIG_VALUE_${index}`] = host;
    }
    const here = (text: string) =>
      text
        .replaceAll('https://lfs.example.com', stack.url)
        .replaceAll('127.0.0.1:8787', new URL(stack.url).host)
        .replaceAll('lfsq_…', token)
        .replaceAll('/tmp/lfs-quota-demo', join(home, 'demo'))
        .replaceAll(
          'https://hooks.example.com/lfs',
          `http://127.0.0.1:${(hooks.address() as AddressInfo).port}/`,
        )
        .replaceAll(/\bacme\b/g, tenant);
    return { home, env, here };
  }

  async function paste(page: string, reader: Reader) {
    const { home, env, here } = await prepare(page, reader);
    const blocks = docBlocks(page);
    const script = ['set -e -o pipefail', ...(reader.before?.[''] ?? [])];
    const headings = new Set(['']);
    for (const [index, block] of blocks.entries()) {
      if (block.language !== 'sh' || whyNotRun(block)) continue;
      if (!headings.has(block.heading)) script.push(...(reader.before?.[block.heading] ?? []));
      headings.add(block.heading);
      const fails = /^error:/m.test(shownAfter(blocks, index) ?? '');
      script.push(`echo "--- ${index}"`);
      if (fails) script.push('set +e', `(set -e\n${block.text})`, '[ $? -ne 0 ] || exit 99', 'set -e');
      else script.push(block.text);
    }
    const cwd = reader.cwd === 'home' ? home : join(folder, 'checkout');
    const ended = await run('bash', ['-c', `exec 2>&1\n${here(script.join('\n'))}`], {
      cwd,
      env,
      timeoutMs: 120_000,
    });
    expect(ended.code, ended.out).toBe(0);
    const printed = ended.out.split(/^--- (\d+)\n/m);
    for (const [at, index] of printed.entries()) {
      if (at % 2 === 0) continue;
      const shown = shownAfter(blocks, Number(index));
      if (shown) expect(printed[at + 1]).toMatch(patternOf(here(shown)));
    }
  }

  it.each(Object.entries(readers))('%s', paste);

  it('docs/quickstart.md once more, from a new data folder', async () => {
    await stack.stop();
    await rm(stack.dataDir, { recursive: true });
    await stack.start();
    await paste('docs/quickstart.md', quickstart);
  });
});

/** The output that a page shows after one of its blocks. */
const shownAfter = (blocks: ReturnType<typeof docBlocks>, index: number) =>
  blocks[index + 1]?.language === 'text' && blocks[index + 1]?.heading === blocks[index]?.heading
    ? blocks[index + 1]?.text
    : undefined;
