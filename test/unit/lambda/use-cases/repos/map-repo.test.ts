import { describe, expect, it, vi } from 'vitest';
import { mappedReposMax } from '../../../../../lambda/domain/git-host.ts';
import { mapRepo } from '../../../../../lambda/use-cases/repos/map-repo.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const path = { tenant: 'acme', repo: 'game' };
const tenant = tenantRecord();
const to = { host: 'github', name: 'acme/game', hostedId: null };

async function setUp() {
  const [objects, clock] = [new MemoryObjectStore(), new ManualClock()];
  objects.put(`acme/game/${'a'.repeat(64)}`, 10);
  const deps = memoryDeps({ objects, clock });
  const account = { plan: null, limitBytes: null, createdAtMs: 1, counted: null, dueAtMs: 1 };
  await deps.ledger.createTenant({ ...account, tenant: 'acme' });
  return {
    deps,
    clock,
    map: (what: typeof to | null, repo = 'game') => mapRepo(deps, { tenant, repo, to: what }),
  };
}

describe('a repo', () => {
  it('is mapped, to something else, and no longer; each tells what it was before', async () => {
    const { deps, clock, map } = await setUp();
    const first = { repo: 'game', ...to, sinceMs: clock.nowMs() };
    expect(await map(to)).toEqual({ kind: 'changed', before: undefined, after: first });
    clock.advance(5);
    const second = { repo: 'game', ...to, name: 'acme/other', sinceMs: clock.nowMs() };
    expect(await map({ ...to, name: 'acme/other' })).toEqual({
      kind: 'changed',
      before: first,
      after: second,
    });
    expect(await deps.mappedRepos.find(path)).toEqual(second);
    expect(await map(null)).toEqual({ kind: 'changed', before: second, after: undefined });
    expect(await map(null)).toEqual({ kind: 'no-repo' });
    expect(await deps.mappedRepos.find(path)).toBeUndefined();
  });

  it('that is mapped anew in the same millisecond is mapped anew all the same', async () => {
    const { deps, clock, map } = await setUp();
    await map(to);
    await map(to);
    expect((await deps.mappedRepos.find(path))?.sinceMs).toBe(clock.nowMs() + 1);
  });

  it('that is not there is not mapped, and one that was created is', async () => {
    const { deps, clock, map } = await setUp();
    expect(await map(to, 'gmae')).toEqual({ kind: 'no-repo' });
    expect(await map(null, 'gmae')).toEqual({ kind: 'no-repo' });
    expect(await deps.mappedRepos.list('acme')).toEqual([]);
    await deps.ledger.createRepo({ tenant: 'acme', repo: 'gmae', createdAtMs: clock.nowMs() });
    expect(await map(to, 'gmae')).toMatchObject({ kind: 'changed' });
    expect(await map(null, 'gmae')).toMatchObject({ kind: 'changed', after: undefined });
    expect(await map(null, 'gmae')).toEqual({ kind: 'changed', before: undefined, after: undefined });
  });

  it('that is being deleted is not mapped, and what it was mapped to before counts no more', async () => {
    const { deps, clock, map } = await setUp();
    await map(to);
    clock.advance(1);
    await deps.ledger.closeRepo({ ...path, closedAtMs: clock.nowMs() });
    expect(await map(to)).toEqual({ kind: 'repo-closed' });
    await deps.ledger.openRepo({ ...path, closedAtMs: clock.nowMs() });
    clock.advance(1);
    expect(await map(to)).toMatchObject({ kind: 'changed', before: undefined });
  });

  it('is one of a thousand at most', async () => {
    const { deps, map } = await setUp();
    const many = Array.from({ length: mappedReposMax }, (_, index) => ({
      repo: `r${index}`,
      ...to,
      sinceMs: 1,
    }));
    const list = vi.spyOn(deps.mappedRepos, 'list').mockResolvedValue(many);
    expect(await map(to)).toEqual({ kind: 'full' });
    list.mockResolvedValue(many.slice(1));
    expect(await map(to)).toMatchObject({ kind: 'changed' });
    list.mockResolvedValue(many);
    // One that is mapped already may be mapped anew.
    expect(await map(to)).toMatchObject({ kind: 'changed' });
  });
});
