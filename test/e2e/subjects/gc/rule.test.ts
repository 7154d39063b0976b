import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { GitHistory, type ModelRule } from '../../../support/git-history.ts';
import { GitUser } from '../../../support/git-user.ts';
import { Random } from '../../../support/random.ts';
import { Stack } from '../../stack.ts';
import { importInto, listStore } from '../../store-truth.ts';
import { describeWithGitLfs } from '../../with-git-lfs.ts';

describeWithGitLfs('gc by a rule', () => {
  let stack: Stack;
  let user: GitUser;

  beforeAll(async () => {
    stack = await Stack.start({ flags: ['--gc-watch', '0'] });
    await stack.cliJson('tenant', 'create', 'acme', '--limit', '10MiB');
    user = await GitUser.create({ url: stack.url, token: await stack.newToken('acme', 'write') });
  });

  it.each<[seed: number, rule: ModelRule]>([
    [5, { days: 5, versions: 1 }],
    [2, { days: 0, versions: 0 }],
    [3, { days: 20, versions: 2, only: 'b/' }],
  ])('deletes nothing that the rule keeps, and all that it frees: history %i, %j', async (seed, rule) => {
    const history = new GitHistory(new Random(seed), `history ${seed}`);
    const imported = async (folder: string) => {
      const file = join(user.home, `${seed}.import`);
      await writeFile(file, history.fastImport(history.refs));
      await user.git(folder, '-c', `alias.import=!git fast-import --quiet --force <'${file}'`, 'import');
    };
    const repo = `history-${seed}`;
    const nowMs = Date.now();
    history.endAt(nowMs);
    const before = history.refs;
    const remote = await user.createRemote(repo);
    await imported(remote);
    const clone = join(user.home, `${repo}.git`);
    await user.git(user.home, 'clone', '--quiet', '--mirror', remote, clone);
    history.forcePush();
    await imported(remote);
    for (const name of before.keys())
      if (!history.refs.has(name)) await user.git(remote, 'update-ref', '-d', name);
    await user.git(clone, 'fetch', '--quiet', 'origin', '+refs/*:refs/gc/*');
    const objects = [...history.objects].map(([oid, text]) => [oid, Buffer.from(text)] as const);
    await importInto(stack, `acme/${repo}`, new Map(objects));

    const args = ['--keep-days', `${rule.days}`, '--keep-versions', `${rule.versions}`, '--older-than', '0'];
    const only = rule.only === undefined ? [] : ['--only', `${rule.only}**`];
    const gc = await stack.cli('gc', 'acme', repo, '--clone', clone, ...args, ...only, '--delete', '--force');
    expect(gc, gc.err).toMatchObject({ code: 0 });
    const kept = [...(await listStore(stack, `acme/${repo}`)).keys()];
    expect(kept.sort()).toEqual([...history.keptBy(rule, history.refs, before)].sort());
    expect(kept.length).toBeLessThan(history.objects.size);

    const lfs = ['-c', `lfs.url=${stack.url}/acme/${repo}/info/lfs`];
    const fresh = join(user.home, `fresh-${seed}`);
    await user.git(user.home, ...lfs, 'clone', '--quiet', '--no-checkout', remote, fresh);
    const { out } = await user.git(fresh, 'for-each-ref', '--format=%(refname)');
    const tips = out.split('\n').filter((name) => /^refs\/(remotes\/origin\/(?!HEAD)|tags\/)/.test(name));
    expect(tips.length).toBeGreaterThan(0);
    for (const tip of tips.filter((name) => !name.endsWith('-file'))) {
      await user.git(fresh, ...lfs, 'checkout', '--quiet', '--force', '--detach', tip);
      const checked = await user.git(fresh, ...lfs, 'lfs', 'fsck', '--objects', 'HEAD');
      expect(checked.out).toContain('Git LFS fsck OK');
    }
  });
});
