import { describe, expect, it } from 'vitest';
import type { RepoCommit, TenantCommit } from '../../lambda/adapters/dynamodb/reconciles.ts';
import { LedgerUnavailableError } from '../../lambda/ports/ledger-errors.ts';
import { allPages } from '../../lambda/use-cases/all-pages.ts';
import { unlimitedRepo } from '../support/tenant-record.ts';
import { counted, type LedgerUnderTest, ledgerContext, tenantName } from './ledger-context.ts';

export function reconcileContract(open: () => Promise<LedgerUnderTest>): void {
  describe('reconcile', () => {
    const { get, create } = ledgerContext(open);
    let holders = 0;
    const begin = (tenant: string, nowMs: number) =>
      get().ledger.beginReconcile({ tenant, holder: `h${holders++}`, nowMs, leaseUntilMs: nowMs + 15_000 });
    const commit = (tenant: string, epoch: number, more: Partial<TenantCommit> = {}): TenantCommit => ({
      tenant,
      epoch,
      correctionBytes: 0,
      floorBaseBytes: 0,
      deletedBytesRead: 0,
      floorUntilMs: 1,
      listedUntilMs: 0,
      claimCorrection: 0,
      overtakenEpoch: 0,
      repoCount: 0,
      fullCountedAtMs: null,
      reservedUntilMs: null,
      repoLimits: new Map(),
      counted: counted(3),
      expiredNotes: [],
      dueAtMs: 9e15,
      lookAtMs: null,
      ...more,
    });

    it('takes the next epoch, one at a time, and returns the tenant as it was before', async () => {
      const tenant = await create({ counted: counted(4) });
      expect(await begin(tenant, 1000)).toMatchObject({
        kind: 'begun',
        epoch: 1,
        before: { epoch: 0, committedBytes: 4, leaseUntilMs: 0 },
      });
      expect(await begin(tenant, 15_999)).toEqual({ kind: 'busy', leaseUntilMs: 16_000 });
      expect(await begin(tenant, 16_000)).toMatchObject({ kind: 'begun', epoch: 2 });
      expect(await begin(tenantName(), 1)).toEqual({ kind: 'absent' });
    });

    it('knows its own lease again if the answer was lost, with what was added since', async () => {
      const tenant = await create({ counted: counted(4) });
      const input = { tenant, holder: 'mine', nowMs: 1000, leaseUntilMs: 16_000 };
      await get().ledger.beginReconcile(input);
      await get().ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 6, limitBytes: 100 });
      expect(await get().ledger.beginReconcile(input)).toMatchObject({
        kind: 'begun',
        epoch: 1,
        before: { epoch: 0, appliedEpoch: 0, committedBytes: 10 },
      });
      expect(await get().ledger.beginReconcile({ ...input, holder: 'other' })).toMatchObject({
        kind: 'busy',
      });
      // Once it is released, the same holder takes the next one.
      await get().ledger.setLease({ tenant, epoch: 1, leaseUntilMs: 0 });
      expect(await get().ledger.beginReconcile(input)).toMatchObject({ kind: 'begun', epoch: 2 });
    });

    it('renews and releases the lease only while the epoch is its own', async () => {
      const tenant = await create();
      await begin(tenant, 1000);
      expect(await get().ledger.setLease({ tenant, epoch: 1, leaseUntilMs: 0 })).toBe('ours');
      expect(await begin(tenant, 1001)).toMatchObject({ kind: 'begun', epoch: 2 });
      expect(await get().ledger.setLease({ tenant, epoch: 1, leaseUntilMs: 9e12 })).toBe('superseded');
      expect((await get().ledger.readTenant(tenant))?.leaseUntilMs).toBe(16_001);
    });

    it('charges the budget of LIST requests, whether it commits or gives up', async () => {
      const tenant = await create();
      await begin(tenant, 1000);
      const lease = { tenant, epoch: 1, leaseUntilMs: 0 };
      expect(await get().ledger.setLease({ ...lease, listedUntilMs: 7000 })).toBe('ours');
      expect(await get().ledger.setLease(lease)).toBe('ours');
      expect(await begin(tenant, 1001)).toMatchObject({ kind: 'begun', before: { listedUntilMs: 7000 } });
      expect(await get().ledger.setLease({ ...lease, listedUntilMs: 9e12 })).toBe('superseded');
      expect(await get().ledger.commitTenant(commit(tenant, 2, { listedUntilMs: 8000 }))).toMatchObject({
        tenant: { listedUntilMs: 8000 },
      });
      expect(await get().ledger.readTenant(tenant)).toMatchObject({ listedUntilMs: 8000 });
    });

    it('charges what the shards of giants took, if it gives up', async () => {
      const tenant = await create();
      await begin(tenant, 1000);
      const charge = { shardsListedUntilMs: 6000, shardLists: { month: '2027-03', requests: 9 } };
      const lease = { tenant, epoch: 1, leaseUntilMs: 0 };
      expect(await get().ledger.setLease({ ...lease, ...charge })).toBe('ours');
      expect(await get().ledger.setLease(lease)).toBe('ours');
      expect(await begin(tenant, 1001)).toMatchObject({ kind: 'begun', before: charge });
      const late = { ...charge, shardLists: { month: '2027-03', requests: 99 } };
      expect(await get().ledger.setLease({ ...lease, ...late })).toBe('superseded');
      expect(await get().ledger.readTenant(tenant)).toMatchObject(charge);
    });

    it('charges what one took that was overtaken, and leaves the lease as it is', async () => {
      const tenant = await create();
      await begin(tenant, 1000);
      expect(await get().ledger.setLease({ tenant, epoch: 1, listedUntilMs: 7000 })).toBe('ours');
      expect(await get().ledger.readTenant(tenant)).toMatchObject({
        leaseUntilMs: 16_000,
        listedUntilMs: 7000,
      });
      expect(await get().ledger.setLease({ tenant, epoch: 0, listedUntilMs: 9e12 })).toBe('superseded');
    });

    it('says when the next full count is due, and when to look for uploads', async () => {
      const tenant = await create({ dueAtMs: 8e14 });
      expect(await get().ledger.readTenant(tenant)).toMatchObject({ dueAtMs: 8e14, lookAtMs: null });
      for (const [epoch, times] of [
        [1, { dueAtMs: 7e14, lookAtMs: 6e14 }],
        [2, { dueAtMs: 6e14, lookAtMs: 7e14 }],
        [3, { dueAtMs: 6e14, lookAtMs: null }],
      ] as const) {
        await begin(tenant, 1000);
        expect(await get().ledger.commitTenant(commit(tenant, epoch, times))).toMatchObject({
          tenant: times,
        });
        expect(await get().ledger.readTenant(tenant)).toMatchObject(times);
      }
    });

    it('says until when something is reserved, or that nothing is', async () => {
      const tenant = await create();
      for (const [epoch, reservedUntilMs] of [
        [1, 7e12],
        [2, null],
      ] as const) {
        await begin(tenant, 1000);
        expect(await get().ledger.commitTenant(commit(tenant, epoch, { reservedUntilMs }))).toMatchObject({
          tenant: { reservedUntilMs },
        });
        expect(await get().ledger.readTenant(tenant)).toMatchObject({ reservedUntilMs });
      }
    });

    it('corrects the counter by a difference, and keeps what was added meanwhile', async () => {
      const tenant = await create({ counted: counted(50) });
      await begin(tenant, 1000);
      await get().ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 7, limitBytes: 100 });
      const outcome = await get().ledger.commitTenant(
        commit(tenant, 1, { correctionBytes: 30 - 50, floorBaseBytes: 30, floorUntilMs: 77 }),
      );
      expect(outcome).toMatchObject({
        kind: 'committed',
        tenant: {
          committedBytes: 37,
          appliedEpoch: 1,
          floorBaseBytes: 30,
          floorUntilMs: 77,
          counted: counted(3),
          leaseUntilMs: 0,
        },
      });
    });

    it('is applied once, however often it is sent', async () => {
      const tenant = await create({ counted: counted(50) });
      await begin(tenant, 1000);
      const once = commit(tenant, 1, { correctionBytes: -20 });
      expect((await get().ledger.commitTenant(once)).kind).toBe('committed');
      expect((await get().ledger.commitTenant(once)).kind).toBe('committed');
      expect((await get().ledger.readTenant(tenant))?.committedBytes).toBe(30);
    });

    it('is superseded when a later one has begun', async () => {
      const tenant = await create({ counted: counted(50) });
      await begin(tenant, 1000);
      await begin(tenant, 100_000);
      expect((await get().ledger.commitTenant(commit(tenant, 1, { correctionBytes: -20 }))).kind).toBe(
        'superseded',
      );
      expect((await get().ledger.commitTenant(commit(tenant, 2))).kind).toBe('committed');
      expect((await get().ledger.readTenant(tenant))?.committedBytes).toBe(50);
    });

    const repoCommit = (epoch: number, more: Partial<RepoCommit> = {}): RepoCommit => ({
      repo: 'app',
      storedBytes: 3,
      objectCount: 1,
      countedAtMs: 9,
      epoch,
      covered: new Set(['r1']),
      putsUntilMs: 7000,
      ...more,
    });
    const write = (tenant: string, repo: RepoCommit, dirtyTokenRead: string | null = null) =>
      get().ledger.commitRepo({ tenant, repo, dirtyTokenRead });

    it('commits a repo once for each epoch, and never an older one over a newer', async () => {
      const tenant = await create();
      expect(await write(tenant, repoCommit(2))).toBe('committed');
      expect(await write(tenant, repoCommit(2))).toBe('committed');
      expect(await write(tenant, repoCommit(1))).toBe('superseded');
      expect(await write(tenant, repoCommit(3, { covered: new Set() }))).toBe('committed');
      expect(await allPages(get().ledger.repos(tenant))).toEqual([
        { ...repoCommit(3, { covered: new Set() }), dirtyToken: null, closedAtMs: null },
      ]);
    });

    it('does not make the item again that it read, if that was removed since', async () => {
      const tenant = await create();
      const { ledger } = get();
      const over = (epochRead: number, epoch: number) =>
        ledger.commitRepo({ tenant, repo: repoCommit(epoch), dirtyTokenRead: null, epochRead });
      expect(await over(0, 1)).toBe('superseded');
      expect(await ledger.readRepo({ tenant, repo: 'app' })).toBeUndefined();
      expect(await write(tenant, repoCommit(3))).toBe('committed');
      // A later reconcile than the one that was read wrote it, and then ours, which is repeated.
      expect([await over(2, 4), await over(2, 4)]).toEqual(['committed', 'committed']);
      expect(await over(4, 3)).toBe('superseded');
      const empty = repoCommit(5, { storedBytes: 0, objectCount: 0 });
      expect(await write(tenant, empty)).toBe('committed');
      const before = await ledger.readRepo({ tenant, repo: 'app' });
      if (!before) throw new Error('There is no item.');
      expect(await ledger.removeRepo({ tenant, before })).toBe('removed');
      await ledger.createRepo({ tenant, repo: 'app', createdAtMs: 9 });
      expect(await over(5, 6)).toBe('superseded');
      expect(await over(0, 6)).toBe('committed');
    });

    it('keeps what a repo stored before, as the last commit has it', async () => {
      const tenant = await create();
      const points = [
        { day: '2026-10-20', storedBytes: 0 },
        { day: '2026-11-21', storedBytes: Number.MAX_SAFE_INTEGER },
      ];
      expect(await write(tenant, repoCommit(2, { points }))).toBe('committed');
      await get().ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'd' });
      expect((await get().ledger.readRepo({ tenant, repo: 'app' }))?.points).toEqual(points);
      expect(await write(tenant, repoCommit(3), 'd')).toBe('committed');
      expect(await get().ledger.readRepo({ tenant, repo: 'app' })).not.toHaveProperty('points');
    });

    it('refuses what does not fit into an item of 400 KB', async () => {
      const tenant = await create();
      const covered = (count: number) =>
        new Set(Array.from({ length: count }, (_, index) => index.toString(16).padStart(32, '0')));
      expect(await write(tenant, repoCommit(1, { covered: covered(12_000) }))).toBe('committed');
      await expect(write(tenant, repoCommit(2, { covered: covered(12_500) }))).rejects.toThrow(
        LedgerUnavailableError,
      );
    });

    it('clears only the dirty token that it read', async () => {
      const tenant = await create();
      await get().ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'd1' });
      expect(await allPages(get().ledger.repos(tenant))).toMatchObject([
        { repo: 'app', epoch: 0, dirtyToken: 'd1' },
      ]);
      expect(await write(tenant, repoCommit(1))).toBe('superseded');
      expect(await write(tenant, repoCommit(1), 'd1')).toBe('committed');
      await get().ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'd2' });
      expect(await write(tenant, repoCommit(2), 'd1')).toBe('superseded');
      expect(await write(tenant, repoCommit(2), 'd2')).toBe('committed');
      expect((await allPages(get().ledger.repos(tenant)))[0]?.dirtyToken).toBeNull();
    });

    it('commits nothing to a repo or a tenant that is not there and should be', async () => {
      const tenant = await create();
      expect(await write(tenant, repoCommit(1), 'd1')).toBe('superseded');
      expect(await allPages(get().ledger.repos(tenant))).toEqual([]);
      const unknown = tenantName();
      expect(await get().ledger.commitTenant(commit(unknown, 1))).toEqual({ kind: 'superseded' });
      expect(await get().ledger.setLease({ tenant: unknown, epoch: 0, leaseUntilMs: 1 })).toBe('superseded');
      expect(await get().ledger.readTenant(unknown)).toBeUndefined();
    });

    it('commits a repo with any name, even an empty one', async () => {
      const tenant = await create();
      for (const repo of ['', 'a b', 'ä/%', '.']) await write(tenant, repoCommit(1, { repo }));
      const names = (await allPages(get().ledger.repos(tenant))).map((record) => record.repo);
      expect(names.sort()).toEqual(['', '.', 'a b', 'ä/%'].sort());
    });
  });
}
