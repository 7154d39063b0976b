import { beforeEach, describe, expect, it, vi } from 'vitest';
import { deleteRepo, markObject } from '../../../../../lambda/core/ledger/deletes.ts';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { reposMax } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { createRepo } from '../../../../../lambda/frame/access/repos.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const day = 24 * 60 * minute;

describe('the item of a repo', () => {
  let world: MemoryStack;
  const names = async () => (await allPages(world.ledger.repos(tenant))).map(({ repo }) => repo);
  const item = async (repo: string) => {
    const found = await world.ledger.readRepo({ tenant, repo });
    if (!found) throw new Error('There is no item.');
    return found;
  };
  const reconcileOnce = () => world.consume({ full: true });

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(1000);
  });

  it('that pushes named and sent nothing to is gone three days later', async () => {
    for (let index = 0; index < 5; index += 1) await world.push(`repo${index}`, { [oidOf(index)]: 1 });
    await world.pass(3 * day);
    await reconcileOnce();
    await reconcileOnce();
    expect(await names()).toEqual([]);
    expect(await world.record()).toMatchObject({ repoCount: 0, committedBytes: 0 });
  });

  it('is gone although reconciles are overtaken again and again', async () => {
    for (let index = 0; index < 5; index += 1) await world.push(`repo${index}`, { [oidOf(index)]: 1 });
    for (let half = 0; half < 10; half += 1) {
      await world.pass(day / 2);
      const { settingsVersion } = await world.record();
      await world.ledger.updateTenant({ tenant, settingsVersion, limitBytes: 1000 + half });
    }
    expect(await names()).toEqual([]);
  });

  it('that was removed is not made again by a reconcile that has read it', async () => {
    await world.push('app', { [oidOf(1)]: 1 });
    await world.pass(2 * day - 60 * minute);
    const before = await item('app');
    const { ledger } = world;
    const commitRepo = ledger.commitRepo.bind(ledger);
    const commit = vi.spyOn(ledger, 'commitRepo').mockImplementation(async (input) => {
      // Its write lands after another reconcile has removed the item.
      expect(await ledger.removeRepo({ tenant, before })).toBe('removed');
      return commitRepo(input);
    });
    world.put({ [`app/${oidOf(2)}`]: 7 });
    expect(await reconcile(world.deps, { tenant, full: true })).toEqual({ kind: 'superseded' });
    expect(commit).toHaveBeenCalledOnce();
    expect(await names()).toEqual([]);
  });

  it('that was deleted is gone four days later', async () => {
    for (let index = 0; index < 3; index += 1) world.put({ [`repo${index}/${oidOf(1)}`]: 1 });
    await reconcileOnce();
    expect(await world.record()).toMatchObject({ repoCount: 3 });
    for (let index = 0; index < 3; index += 1)
      await deleteRepo(world.deps, { tenant, repo: `repo${index}`, dryRun: false });
    await world.pass(4 * day);
    await reconcileOnce();
    await reconcileOnce();
    expect(await names()).toEqual([]);
    expect(await world.record()).toMatchObject({ repoCount: 0 });
  });

  it.each([
    [
      'has an object',
      async () => {
        world.put({ [`app/${oidOf(1)}`]: 1 });
        await reconcileOnce();
      },
    ],
    ['was created', async () => world.ledger.createRepo({ tenant, repo: 'app', createdAtMs: 1 })],
    [
      'is being deleted',
      async () => world.ledger.closeRepo({ tenant, repo: 'app', closedAtMs: world.nowMs }),
    ],
    ['is marked as changed', async () => world.ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'd' })],
    [
      'is watched',
      async () => {
        const watch = { id: 'w', openedAtMs: 1, untilMs: 9e15 };
        await world.ledger.openWatch({ tenant, repo: 'app', watch, nowMs: world.nowMs });
      },
    ],
  ])('stays if it %s by then', async (_title, change) => {
    await world.push('app', { [oidOf(1)]: 1 });
    await world.pass(3 * day - 60 * minute);
    if ((await names()).length === 0) await world.ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'd' });
    const before = await item('app');
    await change();
    expect(await world.ledger.removeRepo({ tenant, before })).toBe('refused');
    await reconcileOnce();
    expect(await names()).toEqual(['app']);
  });

  it('is gone, and an object that no count has seen is deleted nevertheless, as somebody was told', async () => {
    const path = { tenant, repo: 'app' };
    world.put({ [`app/${oidOf(1)}`]: 1 });
    await reconcileOnce();
    await deleteRepo(world.deps, { ...path, dryRun: false });
    while ((await world.ledger.readRepo(path))?.closedAtMs !== null) await world.pass(15 * minute);
    await world.pass(day - 30 * minute);
    // Around the API, so it's counted in the next full count.
    world.put({ [`app/${oidOf(2)}`]: 1 });
    await markObject(world.deps, { ...path, oid: oidOf(2), dryRun: false });
    for (let runs = 0; (await names()).length > 0 && runs < 9; runs += 1) {
      world.nowMs += 10 * minute;
      await world.consume();
    }
    expect(await names()).toEqual([]);
    expect(await world.keys()).toHaveLength(1);
    await world.pass(2 * 60 * minute);
    expect(await world.keys()).toEqual([]);
  });

  it('stays while it has a limit', async () => {
    await world.push('app', { [oidOf(1)]: 1 });
    const { settingsVersion } = await world.record();
    await world.ledger.setRepoLimit({ tenant, repo: 'app', settingsVersion, limitBytes: 5 });
    await world.pass(4 * day);
    await reconcileOnce();
    expect(await names()).toEqual(['app']);
    const path = { tenant, repo: 'app', dryRun: true };
    expect(await deleteRepo(world.deps, { ...path, hasLimit: true })).toMatchObject({ waitsFor: null });
    expect(await deleteRepo(world.deps, path)).toBeUndefined();
  });

  it('is made by nobody beyond the maximum', async () => {
    world.put({ [`app/${oidOf(1)}`]: 1 });
    await reconcileOnce();
    const record = { ...(await world.record()), repoCount: reposMax };
    const create = (repo: string, repoCount: number) =>
      createRepo(world.deps, { tenant: { ...record, repoCount }, beganMs: world.nowMs, repo });
    expect(await create('new', reposMax)).toEqual({ kind: 'full' });
    expect(await create('app', reposMax)).toEqual({ kind: 'exists' });
    expect(await create('new', reposMax - 1)).toMatchObject({ kind: 'created' });
  });
});
