import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkClone, scanClone } from '../../../../cli/git/clone.ts';
import { keepByRule, readTips, readVersions } from '../../../../cli/git/keep-rule.ts';
import { GitHistory, type ModelRule } from '../../../support/git-history.ts';
import { Random } from '../../../support/random.ts';

const globOf = (folder: string) => `${folder}**`;

/** @returns what a rule keeps of a random history, as the command line says, and as the model does. */
export async function keptOfHistory(
  seed: number,
): Promise<{ found: readonly string[]; expected: readonly string[]; rule: ModelRule; all: number }> {
  const random = new Random(seed);
  const history = new GitHistory(random, `history ${seed}`);
  const home = mkdtempSync(join(tmpdir(), 'lfs-quota rule-'));
  const [remote, clone] = [join(home, 'remote.git'), join(home, 'clone.git')];
  const git = (args: string[], input: string) =>
    execFileSync('git', args, {
      cwd: home,
      env: { PATH: process.env['PATH'], HOME: home, GIT_CONFIG_NOSYSTEM: '1' },
      stdio: ['pipe', 'pipe', 'pipe'],
      input,
    });
  const make = (folder: string) => {
    git(['init', '-q', '--bare', '--template=', folder], '');
    git(['-C', folder, 'fast-import', '--quiet'], history.fastImport(history.refs));
    return history.refs;
  };
  try {
    const cloned = make(clone);
    git(['-C', clone, 'remote', 'add', 'origin', remote], '');
    history.forcePush();
    const refs = make(remote);
    git(['-C', clone, 'fetch', '-q', 'origin', '+refs/*:refs/gc/*'], '');
    const rule: ModelRule = {
      days: random.pick([0, 1, 5, 20, 60]),
      versions: random.pick([0, 0, 1, 2, 3]),
      ...(random.chance(0.2) && { only: 'b/' }),
    };
    const remotes = await checkClone(clone, ['origin']);
    const { pointers, oids } = await scanClone(clone, { refs: remotes });
    const tips = await readTips(clone, { refs: remotes, pointers });
    const versions = await readVersions(clone, { refs: remotes, pointers, tips });
    const { kept } = await keepByRule(clone, {
      versions,
      refs: remotes,
      pointers,
      tips,
      rule: { ...rule, only: rule.only === undefined ? [] : [globOf(rule.only)] },
      nowMs: history.nowMs,
    });
    const expected = history.keptBy(rule, refs, cloned);
    return { found: [...kept].sort(), expected: [...expected].sort(), rule, all: oids.size };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
