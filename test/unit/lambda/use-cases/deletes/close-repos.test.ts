import { beforeEach, describe, expect, it, vi } from 'vitest';
import { allPages } from '../../../../../lambda/rules/async.ts';
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
    await closeReposOfClosedTenant(world.deps, { account: await world.record(), untilMs: 9e15 });
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
    for (const key of await world.keys()) await world.objects.delete([`${tenant}/${key}`]);
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
    expect(await world.repo('app')).toMatchObject({ closedAtMs });
  });

  it('are closed several at a time, within the time that there is, and the others by the next run', async () => {
    for (let index = 0; index < 100; index += 1) world.put({ [`repo${index}/1`]: 1 });
    await world.create();
    await closeTenant();
    const closeRepo = world.ledger.closeRepo.bind(world.ledger);
    let [under, most] = [0, 0];
    world.ledger.closeRepo = async (input) => {
      under += 1;
      most = Math.max(most, under);
      await Promise.resolve();
      under -= 1;
      world.nowMs += 1000;
      await closeRepo(input);
    };
    const run = async () =>
      closeReposOfClosedTenant(world.deps, { account: await world.record(), untilMs: world.nowMs + 50_000 });
    const closed = async () =>
      (await allPages(world.ledger.repos(tenant))).filter(({ closedAtMs }) => closedAtMs !== null).length;
    expect([await run(), most]).toEqual([false, 16]);
    expect([(await closed()) > 50, (await closed()) < 100]).toEqual([true, true]);
    expect([await run(), await closed()]).toEqual([true, 100]);
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
