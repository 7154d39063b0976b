import { describe, expect, it, vi } from 'vitest';
import { publicReposMax } from '../../../../../lambda/domain/public-read.ts';
import { changePublicRead } from '../../../../../lambda/use-cases/access/change-public-read.ts';
import { findPublicRepo } from '../../../../../lambda/use-cases/access/find-public-repo.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';

const path = { tenant: 'acme', repo: 'game' };

function setUp() {
  const [objects, clock] = [new MemoryObjectStore(), new ManualClock()];
  objects.put(`acme/game/${'a'.repeat(64)}`, 10);
  const deps = memoryDeps({ objects, clock });
  const change = (monthlyLimitBytes: number | null | 'private', repo = 'game') =>
    changePublicRead(deps, {
      tenant: 'acme',
      repo,
      publicRead: monthlyLimitBytes === 'private' ? null : { monthlyLimitBytes },
    });
  return { deps, clock, change, found: () => deps.publicReads.find(path) };
}

describe('a repo', () => {
  it('becomes public, with another ceiling, and private again; each tells what it was before', async () => {
    const { clock, change, found } = setUp();
    const first = { repo: 'game', monthlyLimitBytes: 100, sinceMs: clock.nowMs() };
    expect(await change(100)).toMatchObject({ kind: 'changed', before: undefined, after: first });
    expect(await found()).toEqual(first);
    clock.advance(5);
    const second = { repo: 'game', monthlyLimitBytes: null, sinceMs: clock.nowMs() };
    expect(await change(null)).toMatchObject({ kind: 'changed', before: first, after: second });
    expect(await change('private')).toMatchObject({ kind: 'changed', before: second, after: undefined });
    expect(await found()).toBeUndefined();
  });

  it('that has nothing in it, or is misspelt, does not become public, and is not made private', async () => {
    const { deps, change } = setUp();
    expect(await change(100, 'gmae')).toEqual({ kind: 'no-repo' });
    expect(await change('private', 'gmae')).toEqual({ kind: 'no-repo' });
    expect(await deps.publicReads.list('acme')).toEqual([]);
  });

  it('that the ledger has counted is not listed for that', async () => {
    const { deps, change } = setUp();
    const lists = vi.spyOn(deps.listing, 'listPage');
    const record = await deps.ledger.readRepo(path);
    expect(record).toBeUndefined();
    vi.spyOn(deps.ledger, 'readRepo').mockResolvedValue({
      repo: 'game',
      storedBytes: 10,
      objectCount: 1,
      countedAtMs: 1,
      epoch: 1,
      putsUntilMs: 0,
      dirtyToken: null,
      covered: new Set(),
      closedAtMs: null,
    });
    expect(await change(100)).toMatchObject({ kind: 'changed' });
    expect(lists).not.toHaveBeenCalled();
  });

  it('that is empty stays public, and its ceiling can be changed', async () => {
    const { deps, change, found } = setUp();
    await change(100);
    await deps.store.delete(`acme/game/${'a'.repeat(64)}`, { deadlineMs: Number.MAX_SAFE_INTEGER });
    expect(await change(50)).toMatchObject({ kind: 'changed', before: { monthlyLimitBytes: 100 } });
    expect(await found()).toMatchObject({ monthlyLimitBytes: 50 });
  });

  it('that is being deleted does not become public, and can be made private', async () => {
    const { deps, change } = setUp();
    const account = { plan: null, limitBytes: null, createdAtMs: 1, counted: null, dueAtMs: 1 };
    await deps.ledger.createTenant({ ...account, tenant: 'acme' });
    await change(100);
    await deps.ledger.closeRepo({ ...path, closedAtMs: 5 });
    expect(await change(50)).toEqual({ kind: 'repo-closed' });
    expect(await change('private')).toMatchObject({ kind: 'changed', before: undefined, after: undefined });
    expect(await deps.publicReads.find(path)).toBeUndefined();
  });

  it('that is deleted while it becomes public is not public once it is opened again', async () => {
    const { deps, clock, change, found } = setUp();
    const account = { plan: null, limitBytes: null, createdAtMs: 1, counted: null, dueAtMs: 1 };
    await deps.ledger.createTenant({ ...account, tenant: 'acme' });
    const put = deps.publicReads.put.bind(deps.publicReads);
    deps.publicReads.put = async (input) => {
      clock.advance(1000);
      await deps.ledger.closeRepo({ ...path, closedAtMs: clock.nowMs() });
      await deps.ledger.openRepo({ ...path, closedAtMs: clock.nowMs() });
      clock.advance(1000);
      await put(input);
    };
    expect(await change(100)).toMatchObject({ kind: 'changed' });
    expect(await found()).toBeDefined();
    expect(await findPublicRepo(deps, path)).toBeUndefined();
  });

  it('does not become public beyond as many as a tenant may have; one that is can be changed', async () => {
    const { deps, change } = setUp();
    for (let index = 1; index < publicReposMax; index += 1)
      await deps.publicReads.put({
        tenant: 'acme',
        publicRead: { repo: `r${index}`, monthlyLimitBytes: 1, sinceMs: 1 },
      });
    expect(await change(100)).toMatchObject({ kind: 'changed' });
    await deps.publicReads.put({
      tenant: 'acme',
      publicRead: { repo: 'r', monthlyLimitBytes: 1, sinceMs: 1 },
    });
    expect(await change(200)).toMatchObject({ kind: 'changed' });
    await change('private');
    expect(await change(100)).toEqual({ kind: 'full' });
  });
});
