import { expect, it } from 'vitest';
import { deleteRepo, deleteTenant } from '../../../../../lambda/core/ledger/deletes.ts';
import { emptyClosedRepos } from '../../../../../lambda/core/ledger/empty-repos.ts';
import type { RepoMarks } from '../../../../../lambda/frame/access/repo-mark-store.ts';
import type { RepoMark } from '../../../../../lambda/frame/access/rules/repo-mark.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

/** How what is decided of repos ends. @param mark of a repo, since then. */
export function marksEnd<M extends RepoMark>(
  marksOf: (deps: Deps) => RepoMarks<M>,
  mark: (of: RepoMark) => M,
): void {
  async function begin(objects: Readonly<Record<string, number>>) {
    const world = new MemoryStack();
    world.put({ 'game2/x': 7, ...objects });
    await world.create();
    const marks = marksOf(world.deps);
    const put = (repo: string) => marks.put({ tenant, mark: mark({ repo, sinceMs: world.nowMs }) });
    const marked = async () => (await marks.list(tenant)).map(({ repo }) => repo);
    const del = (dryRun = false) => deleteRepo(world.deps, { tenant, repo: 'game', dryRun });
    return { world, put, marked, del };
  }

  it('makes an empty repo one that can be deleted', async () => {
    const { world, put, del } = await begin({});
    expect(await del(true)).toBeUndefined();
    await put('game');
    expect(await del(true)).toMatchObject({ objectCount: null, waitsFor: null });
    expect(await del()).toMatchObject({ dueAtMs: world.nowMs });
    expect((await world.repo('game'))?.closedAtMs).toBe(world.nowMs);
  });

  it('ends with its repo, and nothing of others', async () => {
    const { put, marked, del } = await begin({ 'game/a': 1 });
    for (const repo of ['game', 'game2']) await put(repo);
    await del(true);
    expect(await marked()).toEqual(['game', 'game2']);
    await del();
    expect(await marked()).toEqual(['game2']);
  });

  it('ends with its tenant', async () => {
    const { world, put, marked } = await begin({ 'game/a': 1 });
    for (const repo of ['game', 'game2']) await put(repo);
    await deleteTenant(world.deps, { tenant: await world.record(), dryRun: false });
    expect(await marked()).toEqual([]);
  });

  it('has ended when the repo is opened again, whoever said so meanwhile', async () => {
    const { world, put, marked, del } = await begin({ 'game/a': 1 });
    await del();
    await put('game');
    for (let hours = 0; (await world.repo('game'))?.closedAtMs != null && hours < 48; hours += 1) {
      expect(await marked()).toEqual(['game']);
      world.nowMs += 60 * minute;
      await world.consume();
      await emptyClosedRepos(world.deps, { tenant, untilMs: world.nowMs + minute });
    }
    expect((await world.repo('game'))?.closedAtMs ?? null).toBeNull();
    expect(await marked()).toEqual([]);
  });
}
