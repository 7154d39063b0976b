import { beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { type ReconcileNowInput, reconcileNow } from '../../../../../lambda/core/ledger/reconcile-now.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { noMetrics } from '../../../../../local/lambda-context.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;

describe('a reconcile that somebody waits for', () => {
  let world: MemoryStack;
  let begun: MockInstance<MemoryStack['ledger']['beginReconcile']>;
  const count = async (
    tenantMore: Partial<ReconcileNowInput['before']> = {},
    more: Partial<ReconcileNowInput> = {},
  ) =>
    reconcileNow(world.deps, {
      before: { ...(await world.record()), ...tenantMore },
      full: true,
      deadlineMs: world.nowMs + 2000,
      ...more,
    });
  const counted = (objectCount: number) => ({ storedBytes: 1, objectCount, scannedAtMs: world.nowMs });

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ [`app/${oidOf(1)}`]: 10 });
    await world.create(100);
    begun = vi.spyOn(world.ledger, 'beginReconcile');
  });

  it('lists with many requests at a time, and tells what it found', async () => {
    world.put({ [`app/${oidOf(2)}`]: 5 });
    await world.ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'x' });
    const scanned = vi.spyOn(world.deps.scan, 'scan');
    expect(await count({}, { full: false })).toMatchObject({
      kind: 'committed',
      tenant: { tenant, scanned: { storedBytes: 15 } },
      repos: [{ repo: 'app', storedBytes: 15 }],
    });
    expect(scanned.mock.calls).toMatchObject([[{ isAwaited: true }]]);
  });

  it('is not begun while the budget is overdrawn, and says how long that takes', async () => {
    const overdrawn = { listedUntilMs: world.nowMs + hour + 7, leaseUntilMs: world.nowMs };
    const [increment, info, beganMs] = [vi.fn(), vi.fn(), world.nowMs];
    const deps = { ...world.deps, metrics: { ...noMetrics, increment }, log: { ...world.deps.log, info } };
    const input = { before: { ...(await world.record()), ...overdrawn }, full: true, deadlineMs: 9e15 };
    expect(await reconcileNow(deps, input)).toEqual({ kind: 'unknown', waitMs: 7 });
    expect(begun).not.toHaveBeenCalled();
    // Nobody holds the lease, so nobody is waited for.
    expect(world.nowMs).toBe(beganMs);
    expect(increment.mock.calls).toEqual([['ReconcilesDeferred']]);
    expect(info.mock.calls).toEqual([['reconcile deferred', { tenant, urgency: 'decision', waitMs: 7 }]]);
  });

  it('is not measured as deferred if it may begin', async () => {
    const increment = vi.fn();
    const deps = { ...world.deps, metrics: { ...noMetrics, increment } };
    const input = { before: await world.record(), full: true, deadlineMs: 9e15 };
    expect(await reconcileNow(deps, input)).toMatchObject({ kind: 'committed' });
    expect(increment.mock.calls.flat()).not.toContain('ReconcilesDeferred');
  });

  it('takes what a running one finds, even while the budget is overdrawn', async () => {
    const overdrawn = () => ({ listedUntilMs: world.nowMs + hour + 7, leaseUntilMs: world.nowMs + 1 });
    const { appliedEpoch, ...rest } = await world.record();
    const after = { ...rest, appliedEpoch: appliedEpoch + 1 };
    const read = vi.spyOn(world.ledger, 'readTenant').mockResolvedValue(after);
    expect(await count({ ...overdrawn(), appliedEpoch })).toEqual({
      kind: 'committed-by-other',
      tenant: after,
    });
    read.mockResolvedValue({ ...after, appliedEpoch });
    expect(await count({ ...overdrawn(), appliedEpoch })).toEqual({ kind: 'unknown', waitMs: 7 });
    expect(begun).not.toHaveBeenCalled();
  });

  it('waits for another that holds the lease, until its own deadline', async () => {
    await world.ledger.beginReconcile({ tenant, holder: 'h', nowMs: world.nowMs, leaseUntilMs: 9e15 });
    const beganMs = world.nowMs;
    expect(await count()).toEqual({ kind: 'unknown', waitMs: 0 });
    expect(world.nowMs - beganMs).toBeGreaterThan(1000);
    expect(world.nowMs - beganMs).toBeLessThan(2000);
  });

  it('does not read more than 50,000 entries', async () => {
    expect(await count({ entryCount: 50_001 })).toEqual({ kind: 'unknown', waitMs: 0 });
    expect(begun).not.toHaveBeenCalled();
    expect(await count({ entryCount: 50_000 })).toMatchObject({ kind: 'committed' });
  });

  it('is not begun if the last count suggests more LIST requests than may be made at once', async () => {
    const unknown = { kind: 'unknown', waitMs: 0 };
    // 2 more may be made.
    const debt = () => ({ listedUntilMs: world.nowMs + hour / 2 - 6000 });
    // Of a tenant with large repos, less than all of it is listed.
    const listed = (listedObjectCount: number) =>
      count({ ...debt(), scanned: counted(9000), listedObjectCount });
    expect(await listed(2001)).toEqual(unknown);
    expect(await listed(2000)).toMatchObject({ kind: 'committed' });
    begun.mockClear();
    expect(await count({ ...debt(), scanned: counted(2001) })).toEqual(unknown);
    expect(await count({ listedUntilMs: world.nowMs + hour / 2, scanned: counted(0) })).toEqual(unknown);
    expect(begun).not.toHaveBeenCalled();
    for (const found of [counted(2000), null])
      expect(await count({ ...debt(), scanned: found })).toMatchObject({ kind: 'committed' });
  });

  it('gives up after as many LIST requests as may be made at once, and they are paid for', async () => {
    const pages = vi.fn();
    // Its repo is listed beyond what tells a large repo.
    const settings = { ...world.deps.settings, largeRepoObjects: 500 };
    vi.spyOn(world.deps.scan, 'scan').mockImplementation(async ({ onPage }) => {
      for (let requests = 1; requests < 9; requests += 1) {
        await onPage?.({ requests } as never);
        pages();
      }
      throw new Error('Nobody ended it.');
    });
    await world.ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'x' });
    const record = await world.record();
    const before = { ...record, listedUntilMs: world.nowMs + hour / 2 - 6000 };
    const input = { before, full: false, deadlineMs: 9e15 };
    expect(await reconcileNow({ ...world.deps, settings }, input)).toEqual({ kind: 'unknown', waitMs: 0 });
    expect(pages).toHaveBeenCalledTimes(2);
    const listedUntilMs = record.listedUntilMs + 9000;
    expect(await world.record()).toMatchObject({ listedUntilMs, leaseUntilMs: 0 });
  });

  it('is unknown if it does not end in time, or is overtaken, or the tenant is gone', async () => {
    const unknown = { kind: 'unknown', waitMs: 0 };
    const read = vi.spyOn(world.ledger, 'readTenant');
    expect(await count({}, { deadlineMs: world.nowMs })).toEqual(unknown);
    vi.spyOn(world.ledger, 'commitTenant').mockResolvedValueOnce({ kind: 'superseded' });
    expect(await count()).toEqual(unknown);
    expect(await count({ tenant: 'nobody' })).toEqual(unknown);
    // Three reads of this test, and one after a scan: nobody waited for another reconcile.
    expect(read).toHaveBeenCalledTimes(4);
  });

  it('leaves the last count as it is if the store does not answer, and logs that', async () => {
    const warned = vi.spyOn(world.deps.log, 'warn');
    vi.spyOn(world.objects, 'listFolders').mockRejectedValue(new StoreUnavailableError('No.'));
    vi.spyOn(world.objects, 'listPage').mockRejectedValue(new StoreUnavailableError('No.'));
    expect(await count()).toEqual({ kind: 'unknown', waitMs: 0 });
    expect(warned.mock.calls).toEqual([['the store did not answer; the last known usage stays', { tenant }]]);
  });

  it('fails as the ledger does', async () => {
    vi.spyOn(world.ledger, 'commitTenant').mockRejectedValueOnce(new Error('No table.'));
    await expect(count()).rejects.toThrow('No table.');
  });
});
