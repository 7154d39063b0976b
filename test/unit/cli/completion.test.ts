import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { offeredCommands } from '../../../cli/commands/completion.ts';
import { commandsOf, shownOf } from '../../../cli/help.ts';
import { describeWith } from '../../support/describe-with.ts';
import { cli, programForTest } from './harness.ts';

let folder: string;
const scripts: Record<string, string> = {};

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'lfs-quota-completion-'));
  mkdirSync(path.join(folder, 'a folder'));
  writeFileSync(path.join(folder, 'a file.tar'), '');
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { out } = await cli(['completion', shell]);
    scripts[shell] = path.join(folder, `completion.${shell}`);
    writeFileSync(scripts[shell], out);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

const shell = (title: string) => ({
  title,
  found: spawnSync(title, ['-c', 'exit'], { stdio: 'ignore' }).status === 0 || undefined,
  missing: `Its completion isn't tested: install ${title}.`,
});

function run(shell: string, script: string): string[] {
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, TERM: 'dumb' };
  const out = execFileSync(shell, shell === 'zsh' ? ['-f', '-c', script] : ['-c', script], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  return out.split('\n').slice(0, -1);
}

/** What bash offers for the last word of each line, which readline splits at `=`. One bash: each would cost 20 ms. */
function inBash(...lines: readonly (readonly string[])[]): string[][] {
  const script = lines.map((words) => {
    const array = words.map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(lfs-quota ${array}); COMP_CWORD=${words.length}; COMPREPLY=()
      _lfs_quota 2>/dev/null; printf '%s|' "\${COMPREPLY[@]}"; echo`;
  });
  const offered = run('bash', [`source '${scripts['bash']}'`, ...script].join('\n'));
  return offered.map((line) => line.split('|').filter((each) => each !== ''));
}

/** What fish offers for each line. */
function inFish(...lines: string[]): string[][] {
  const script = lines.map((line) => `printf '%s\\n' (complete -C '${line}' | string join '|')`);
  const offered = run('fish', [`source '${scripts['fish']}'`, ...script].join('\n'));
  return offered.map((line) => line.split('|').flatMap((each) => each.split('\t')[0] || []));
}

const program = programForTest();
const groups = shownOf(program).map((command) => command.name());

describeWith(shell('bash'), () => {
  it('completes the commands', () => {
    expect(inBash([''], ['re'], ['tenant', 'd'], ['--version', 'tenant', 'li'])).toEqual([
      [...groups, 'help'],
      groups.filter((name) => name.startsWith('re')),
      ['download-limit', 'delete'],
      ['list', 'limit', 'link'],
    ]);
  });

  it('completes the options of each command', () => {
    const leaves = commandsOf(programForTest());
    const flags = leaves.map(({ command }) =>
      command
        .createHelp()
        .visibleOptions(command)
        .flatMap(({ short, long }) => (short?.startsWith('--') ? [short, long] : [long])),
    );
    const offered = inBash(...leaves.map(({ words }) => [...words.split(' '), '--']));
    const named = (all: readonly unknown[][]) => leaves.map(({ words }, index) => [words, all[index]]);
    expect(named(offered)).toEqual(named(flags));
  });

  const examples: [words: string[], offered: string[]][] = [
    [
      ['token', 'create', 'acme', '--scope', ''],
      ['read', 'write', 'gc', 'manage'],
    ],
    [['token', 'create', '--scope', 'm'], ['manage']],
    [
      ['export', 'start', '--repo', 'game', '--format', '='],
      ['tar', 'zip'],
    ],
    [['export', 'start', '--format', '=', 'z'], ['zip']],
    [['export', 'start', '--format', '=', 'zip', '--dry'], ['--dry-run']],
    [
      ['tenant', 'new-repos', 'acme', ''],
      ['pushed', 'created'],
    ],
    [['tenant', 'new-repos', '--url', 'x', ''], []],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['usage', ''], []],
    [['token', 'create', '--label', 'li'], []],
    [['gc', 'acme', 'game', '--clone', 'a'], ['a folder']],
  ];
  it('completes values, names of folders, and nothing that only a server knows', () => {
    const offered = inBash(...examples.map(([words]) => words));
    expect(offered.map((each, index) => [examples[index]?.[0], each])).toEqual(examples);
  });

  it('offers files where a file is asked for, and nowhere else', () => {
    const options = (words: string[]) =>
      run(
        'bash',
        `source '${scripts['bash']}'; compopt() { echo "compopt $*"; }
         COMP_WORDS=(lfs-quota ${words.join(' ')} a); COMP_CWORD=${words.length + 1}; _lfs_quota; complete -p lfs-quota`,
      );
    expect(options(['export', 'show', '--output'])).toEqual(['complete -o default -F _lfs_quota lfs-quota']);
    expect(options(['usage'])).toContain('compopt +o default');
  });
});

describeWith(shell('zsh'), () => {
  it('takes the script, and has a function for each command', () => {
    const script = scripts['zsh'] ?? '';
    const functions = run(
      'zsh',
      `autoload -Uz compinit && compinit -u -d '${folder}/zcompdump'; source '${script}'
       print -l \${(k)functions[(I)_lfs_quota*]}; print $_comps[lfs-quota]`,
    );
    expect(functions.at(-1)).toBe('_lfs_quota');
    expect(functions).toHaveLength(offeredCommands(program).length + 1);
  });
});

describeWith(shell('fish'), () => {
  const examples: [line: string, offered: string[]][] = [
    ['lfs-quota ten', ['tenant']],
    ['lfs-quota tenant d', ['delete', 'download-limit']],
    ['lfs-quota token create acme --scope ', ['gc', 'manage', 'read', 'write']],
    ['lfs-quota export start --repo list --format=', ['--format=tar', '--format=zip']],
    ['lfs-quota tenant new-repos acme ', ['created', 'pushed']],
    ['lfs-quota usage acme --wa', ['--watch']],
    ['lfs-quota usage ', []],
  ];
  it('offers commands, options and their values', () => {
    const offered = inFish(...examples.map(([line]) => line));
    expect(offered.map((each, index) => [examples[index]?.[0], each.sort()])).toEqual(examples);
  });
});

describe('what is offered', () => {
  it('names no option that takes a value in one command and none in another, which fish could not tell apart', () => {
    const options = offeredCommands(program).flatMap((command) => command.options);
    const valued = new Set(options.filter(({ value }) => value !== undefined).flatMap(({ flags }) => flags));
    const others = options.filter(({ value }) => value === undefined).flatMap(({ flags }) => flags);
    expect(others.filter((flag) => valued.has(flag))).toEqual([]);
  });

  it('asks no service: it is the same wherever it is printed', async () => {
    const env = { LFS_QUOTA_URL: 'http://127.0.0.1:1', LFS_QUOTA_TOKEN: 'not-for-all' };
    const { out, code } = await cli(['completion', 'bash'], { env });
    expect(code).toBe(0);
    expect(out).not.toContain('not-for-all');
  });
});
