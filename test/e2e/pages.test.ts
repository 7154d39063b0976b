import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DocBlock, docBlocks, pageNames, whyNotRun } from '../support/doc-blocks.ts';
import { gitEnvironment, run } from '../support/process.ts';
import { projectRoot, Stack } from './stack.ts';
import { describeWithGitLfs } from './with-git-lfs.ts';

/** What a reader does before the blocks of a heading; before those of the page, if it is empty. */
type Before = Readonly<Record<string, string>>;

const admin = 'export LFS_QUOTA_URL=http://127.0.0.1:8787 LFS_QUOTA_TOKEN="$(cat .lfs-quota/admin-token)"';
const commit = (name: string) =>
  `echo ${name} > ${name}.psd && git add . && git commit -qm ${name} && git push -q`;

/** Its port is the default, which commands needn't be told. */
const quickstart: Before = { '': 'export LFS_QUOTA_URL=http://127.0.0.1:8787' };

/** In the order of a story: deploy.md creates the tenant, command-line.md installs what the others run. */
const readers: Readonly<Record<string, Before>> = {
  'docs/quickstart.md': quickstart,
  'docs/deploy.md': { '': admin },
  'docs/runbook.md': { '': admin },
  'docs/command-line.md': {},
  'docs/git-users.md': {
    '': 'cd ~',
    'Your team uses it already': [
      'git clone -q git@git.example.com:acme/game.git first && cd first && git lfs track "*.psd"',
      'git config -f .lfsconfig lfs.url https://lfs.example.com/acme/game/info/lfs',
      'git config credential.https://lfs.example.com.helper store',
      "printf 'url=https://lfs.example.com\\nusername=me\\npassword=lfsq_…\\n' | git credential approve",
      `${commit('first')} && cd .. && rm -rf first .git-credentials`,
      // The page had Git store a token instead.
      'lfs-quota login https://lfs.example.com',
    ].join('\n'),
    'See what takes the space': `mkdir art && ${commit('art/hero')}`,
    'Lock files': 'git config lfs.https://old.example.com/info/lfs.locksverify false',
    'My push was rejected':
      'echo small > small.psd && echo huge > art/huge.psd && git add . && git commit -qm large',
  },
  'docs/large-files.md': {
    '': [
      'cd ~ && git lfs install && export LFS_QUOTA_URL=https://lfs.example.com LFS_QUOTA_TOKEN=lfsq_…',
      'GIT_LFS_SKIP_SMUDGE=1 git clone -q git@git.example.com:acme/game.git && cd game',
    ].join('\n'),
  },
  'docs/costs.md': { '': 'cd ~ && git clone -q git@git.example.com:acme/game.git && cd game' },
  'docs/migrate.md': {
    '': [
      'cd ~ && git lfs install && git config --global credential.helper store',
      "printf 'url=https://lfs.example.com\\nusername=me\\npassword=lfsq_…\\n' | git credential approve",
      'export LFS_QUOTA_URL=https://lfs.example.com LFS_QUOTA_TOKEN=lfsq_…',
      `git clone -q https://github.com/acme/game.git && cd game && git config lfs.url https://lfs.example.com/acme/old/info/lfs && git lfs track '*.psd' && ${commit('villain')} && cd ..`,
    ].join('\n'),
    Exports: 'cd ..',
  },
  'docs/team-admins.md': { '': 'cd ~', Audit: 'lfs-quota repo delete acme film --yes' },
};

/** The output that a page shows after one of its blocks. */
function shownAfter(blocks: readonly DocBlock[], index: number): string | undefined {
  const [block, next] = blocks.slice(index);
  return next?.language === 'text' && next.heading === block?.heading ? next.text.trim() : undefined;
}

/** `…` stands for anything. */
const patternOf = (shown: string) =>
  new RegExp(
    shown
      .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll(/\s*…\s*/g, '[^]*?')
      .replaceAll(/\s+/g, '\\s+'),
  );

describeWithGitLfs('the pages, as they stand: a fresh clone, and an empty home', () => {
  let folder: string;
  let checkout: string;
  let stack: Stack;
  /** The first one that a page prints. */
  let token = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lfs-quota-pages-'));
    checkout = join(folder, 'checkout');
    const git = (...args: string[]) =>
      run('git', args, { cwd: projectRoot, env: gitEnvironment(folder), timeoutMs: 30_000 });
    const { out } = await git('ls-files', '-z');
    for (const file of out.split('\0').filter((name) => name !== '' && existsSync(join(projectRoot, name))))
      await cp(join(projectRoot, file), join(checkout, file));
    await symlink(join(projectRoot, 'node_modules'), join(checkout, 'node_modules'));
    // The hosts of the pages are folders, and the machine knows its user.
    const hosts = [
      ['git@git.example.com:', 'ours'],
      ['https://git.example.com/', 'ours'],
      ['https://github.com/', 'theirs'],
    ] as const;
    for (const [, host] of hosts) await git('init', '-q', '--bare', join(folder, host, 'acme/game.git'));
    const settings = hosts.map(([url, host]) => `[url "file://${folder}/${host}/"]\ninsteadOf = ${url}`);
    settings.push('[user]\nname = Ada\nemail = ada@example.com\n');
    await writeFile(join(folder, 'system'), settings.join('\n'));
    // The page waits for 24 hours.
    const flags = ['--gc-watch', '0', '--git-host', 'github,github,http://127.0.0.1:9'];
    stack = await Stack.start({ adminToken: '', checkout, flags });
  });
  afterAll(async () => {
    await Stack.closeAll();
    await rm(folder, { recursive: true, force: true });
  });

  async function paste(page: string, before: Before) {
    const home = await mkdtemp(join(folder, 'home-'));
    const env = {
      ...gitEnvironment(home),
      GIT_CONFIG_NOSYSTEM: '0',
      GIT_CONFIG_SYSTEM: join(folder, 'system'),
      PATH: `${join(folder, 'npm/bin')}:${process.env['PATH']}`,
      npm_config_prefix: join(folder, 'npm'),
      npm_config_offline: 'true',
    };
    const here = (text: string) =>
      text
        .replaceAll('https://lfs.example.com', stack.url)
        .replaceAll('http://127.0.0.1:8787', stack.url)
        .replaceAll('--from https://github.com/acme/game.git', `--from ${stack.url}/acme/old.git`)
        .replaceAll('hooks.example.com', 'hooks.invalid')
        .replaceAll('/tmp/lfs-quota-demo', join(home, 'demo'))
        // It opens the watch. This one is over at once, and then it needs the clone that the next block makes.
        .replaceAll(/^lfs-quota gc acme game$/gm, '$& || true')
        .replaceAll('lfsq_…', token)
        // A reader has a terminal, and pastes the token there.
        .replaceAll(
          /^lfs-quota login (\S+)(?: --with-token)?$/gm,
          `printf %s '${token}' | lfs-quota login $1`,
        );
    const blocks = docBlocks(page);
    const script = ['set -e -o pipefail; exec 2>&1', before[''] ?? ''];
    for (const [index, block] of blocks.entries()) {
      if (block.language !== 'sh' || whyNotRun(block)) continue;
      const isFirst = blocks.find(({ heading }) => heading === block.heading) === block;
      script.push((isFirst && before[block.heading]) || '', `echo '--- ${index}'`);
      const fails = /^error:/m.test(shownAfter(blocks, index) ?? '');
      script.push(fails ? `if (\n${block.text}); then exit 99; fi` : block.text);
    }
    const options = { cwd: checkout, env, timeoutMs: 120_000 };
    const ended = await run('bash', ['-c', here(script.join('\n'))], options);
    expect(ended.code, ended.out).toBe(0);
    const printed = ended.out.split(/^--- (\d+)\n/m);
    for (let at = 1; at < printed.length; at += 2) {
      const shown = shownAfter(blocks, Number(printed[at]));
      if (shown) expect(printed[at + 1]).toMatch(patternOf(here(shown)));
    }
    token ||= /lfsq_\w+/.exec(ended.out)?.[0] ?? '';
  }

  it.each(Object.entries(readers))('%s', paste);

  it('docs/quickstart.md once more, as it says: from a new data folder', async () => {
    await stack.stop();
    await rm(stack.dataDir, { recursive: true });
    await stack.start();
    await paste('docs/quickstart.md', quickstart);
  });

  it('docs/saas-builders.md', () => paste('docs/saas-builders.md', {}));

  it('are all that have something to paste', () => {
    const pasted = [...Object.keys(readers), 'docs/saas-builders.md'];
    const isPasted = (block: DocBlock) => block.language === 'sh' && !whyNotRun(block);
    expect(pasted.sort()).toEqual(pageNames.filter((page) => docBlocks(page).some(isPasted)).sort());
  });
});
