import { beforeEach, describe, expect, it, vi } from 'vitest';
import { closeReposOfClosedTenant } from '../../../../../lambda/use-cases/deletes/close-repos.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

describe('the repos of a closed tenant', () => {
  let world: MemoryStack;
  beforeEach(() => {
    world = new MemoryStack();
  });

  /** @returns the repos that were closed. */
  const close = async () => {
    const closeRepo = vi.spyOn(world.ledger, 'closeRepo');
    await closeReposOfClosedTenant(world.deps, await world.record());
    return closeRepo.mock.calls.map(([{ repo, closedAtMs }]) => [repo, closedAtMs]).sort();
  };
  const closeTenant = () => world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });

  it('are left alone while it is open', async () => {
    world.put({ 'app/1': 1 });
    await world.create();
    expect(await close()).toEqual([]);
  });

  it('are closed if the bucket lists them, also what lies in no folder', async () => {
    await world.create();
    await closeTenant();
    world.put({ 'app/1': 1, 'web/1': 0, 'note.txt': 1 });
    expect(await close()).toEqual([
      ['', world.nowMs],
      ['app', world.nowMs],
      ['web', world.nowMs],
    ]);
  });

  it('are closed if the ledger has reservations or objects of them, though the bucket lists none', async () => {
    world.put({ 'gone/1': 1, 'empty/1': 1 });
    await world.create();
    await world.push('app', { [oidOf(1)]: 1 });
    const found = { storedBytes: 0, objectCount: 0, countedAtMs: world.nowMs, epoch: 9 };
    const repo = { repo: 'empty', ...found, covered: new Set<string>(), putsUntilMs: 0 };
    await world.ledger.commitRepo({ tenant, repo, dirtyTokenRead: null });
    for (const key of await world.keys()) await world.objects.delete(`${tenant}/${key}`);
    await closeTenant();
    expect((await close()).map(([name]) => name)).toEqual(['app', 'gone']);
  });

  it('are closed once more by the same closing if an upload arrived after it had ended', async () => {
    const closedAtMs = world.nowMs;
    world.put({ 'app/1': 1 });
    await world.create();
    await closeTenant();
    await close();
    await world.ledger.openRepo({ tenant, repo: 'app', closedAtMs });
    await close();
    expect(await world.ledger.readRepo({ tenant, repo: 'app' })).toMatchObject({ closedAtMs });
  });

  it('are closed once', async () => {
    world.put({ 'app/1': 1, 'web/1': 1 });
    await world.create();
    await world.ledger.closeRepo({ tenant, repo: 'app', closedAtMs: 5 });
    await closeTenant();
    world.nowMs += minute;
    expect((await close()).map(([name]) => name)).toEqual(['web']);
  });
});
