import { describe, expect, it, vi } from 'vitest';
import { findPublicRepo } from '../../../../../lambda/use-cases/access/find-public-repo.ts';
import { prepareMark } from '../../../../../lambda/use-cases/repos/change-mark.ts';
import { newTenant } from '../../../../support/ledger-records.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { setRepoLimit } from '../../../../support/over-settings.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const path = { tenant: 'acme', repo: 'game' };
const marksMax = 3;
const objectKey = `acme/game/${'a'.repeat(64)}`;

async function setUp() {
  const [objects, clock] = [new MemoryObjectStore(), new ManualClock()];
  objects.put(objectKey, 10);
  const deps = memoryDeps({ objects, clock });
  await deps.ledger.createTenant(newTenant('acme'));
  const tenant = async () => (await deps.ledger.readTenant('acme')) ?? tenantRecord();
  const kind = { marks: deps.publicReads, marksMax };
  /** @param monthlyLimitBytes of what is made public. null: it is ended. */
  const prepare = async (monthlyLimitBytes: number | null, repo = 'game') =>
    prepareMark(deps, kind, {
      tenant: await tenant(),
      repo,
      to: monthlyLimitBytes === null ? null : { monthlyLimitBytes },
    });
  const change = async (monthlyLimitBytes: number | null, repo = 'game') => {
    const prepared = await prepare(monthlyLimitBytes, repo);
    if (prepared.kind !== 'ready') return prepared;
    const { before, after } = prepared;
    await prepared.write();
    return { kind: 'changed', before, after };
  };
  return { deps, clock, prepare, change, found: () => deps.publicReads.find(path) };
}

describe('a repo', () => {
  it('is marked, otherwise, and no longer; each tells what it was before', async () => {
    const { clock, change, found } = await setUp();
    const first = { repo: 'game', monthlyLimitBytes: 100, sinceMs: clock.nowMs() };
    expect(await change(100)).toEqual({ kind: 'changed', before: undefined, after: first });
    expect(await found()).toEqual(first);
    clock.advance(5);
    const second = { repo: 'game', monthlyLimitBytes: 0, sinceMs: clock.nowMs() };
    expect(await change(0)).toEqual({ kind: 'changed', before: first, after: second });
    expect(await found()).toEqual(second);
    expect(await change(null)).toEqual({ kind: 'changed', before: second, after: undefined });
    expect(await found()).toBeUndefined();
    expect(await change(null)).toEqual({ kind: 'no-repo' });
  });

  it('is not marked until that is written', async () => {
    const { prepare, change, found } = await setUp();
    expect(await prepare(100)).toMatchObject({ kind: 'ready' });
    expect(await found()).toBeUndefined();
    await change(100);
    expect(await prepare(null)).toMatchObject({ kind: 'ready', after: undefined });
    expect(await found()).toBeDefined();
  });

  it('that has no mark needs no write to lose it', async () => {
    const { deps, change } = await setUp();
    await deps.ledger.createRepo({ ...path, createdAtMs: 1 });
    const end = vi.spyOn(deps.publicReads, 'end');
    expect(await change(null)).toEqual({ kind: 'changed', before: undefined, after: undefined });
    expect(end).not.toHaveBeenCalled();
  });

  it('that is marked anew in the same millisecond is marked anew all the same', async () => {
    const { clock, change, found } = await setUp();
    await change(100);
    await change(100);
    expect((await found())?.sinceMs).toBe(clock.nowMs() + 1);
  });

  it('that has nothing in it, or is misspelt, is not marked, and one that was created is', async () => {
    const { deps, clock, change } = await setUp();
    expect(await change(100, 'gmae')).toEqual({ kind: 'no-repo' });
    expect(await change(null, 'gmae')).toEqual({ kind: 'no-repo' });
    expect(await deps.publicReads.list('acme')).toEqual([]);
    await deps.ledger.createRepo({ tenant: 'acme', repo: 'gmae', createdAtMs: clock.nowMs() });
    expect(await change(100, 'gmae')).toMatchObject({ kind: 'changed' });
    expect(await change(null, 'gmae')).toMatchObject({ kind: 'changed', after: undefined });
    expect(await change(null, 'gmae')).toEqual({ kind: 'changed', before: undefined, after: undefined });
  });

  it('that has a limit is there, as for who changes that', async () => {
    const { deps, change } = await setUp();
    await deps.ledger.markDirty({ tenant: 'acme', repo: 'art', dirtyToken: 'changed' });
    expect(await change(100, 'art')).toEqual({ kind: 'no-repo' });
    await setRepoLimit(deps.ledger, { tenant: 'acme', repo: 'art', limitBytes: 5 });
    expect(await change(100, 'art')).toMatchObject({ kind: 'changed' });
  });

  it('that the ledger has counted is not listed for that', async () => {
    const { deps, change } = await setUp();
    const lists = vi.spyOn(deps.listing, 'listPage');
    await deps.ledger.createRepo({ ...path, createdAtMs: 1 });
    expect(await change(100)).toMatchObject({ kind: 'changed' });
    expect(lists).not.toHaveBeenCalled();
  });

  it('that is empty stays marked, and that can be changed', async () => {
    const { deps, change, found } = await setUp();
    await change(100);
    await deps.store.delete([objectKey], { deadlineMs: Number.MAX_SAFE_INTEGER });
    expect(await change(50)).toMatchObject({ kind: 'changed', before: { monthlyLimitBytes: 100 } });
    expect(await found()).toMatchObject({ monthlyLimitBytes: 50 });
  });

  it('that is being deleted is not marked, and a mark of before counts no more, and can be ended', async () => {
    const { deps, clock, change, found } = await setUp();
    await change(100);
    clock.advance(1);
    await deps.ledger.closeRepo({ ...path, closedAtMs: clock.nowMs() });
    expect(await change(50)).toEqual({ kind: 'repo-closed' });
    expect(await change(null)).toEqual({ kind: 'changed', before: undefined, after: undefined });
    expect(await found()).toBeUndefined();
    await deps.ledger.openRepo({ ...path, closedAtMs: clock.nowMs() });
    clock.advance(1);
    expect(await change(50)).toMatchObject({ kind: 'changed', before: undefined });
  });

  it('that is deleted while it is marked is not marked once it is opened again', async () => {
    const { deps, clock, change, found } = await setUp();
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

  it('is marked up to as many as a tenant may have; one that is can be changed', async () => {
    const { deps, change } = await setUp();
    const other = (repo: string) =>
      deps.publicReads.put({ tenant: 'acme', mark: { repo, monthlyLimitBytes: 1, sinceMs: 1 } });
    for (const repo of ['r1', 'r2']) await other(repo);
    expect(await change(100)).toMatchObject({ kind: 'changed' });
    await other('r3');
    expect(await change(200)).toMatchObject({ kind: 'changed' });
    await change(null);
    expect(await change(100)).toEqual({ kind: 'full' });
    expect(await change(null)).toEqual({ kind: 'no-repo' });
  });
});
