import { describe, expect, it } from 'vitest';
import type { RepoCommit, TenantCommit } from '../../lambda/core/ledger/reconcile-store.ts';
import { allPages } from '../../lambda/core/rules/async.ts';
import { LedgerUnavailableError } from '../../lambda/core/rules/errors.ts';
import { ledgerContext, type OpenTable, scanned, tenantName } from './ledger-context.ts';

export function reconcileContract(table: OpenTable): void {
  describe('reconcile', () => {
    const { ledger, create, add, begin, commit } = ledgerContext(table);

    it('takes the next epoch, one at a time, and returns the tenant as it was before', async () => {
      const tenant = await create({ scanned: scanned(4) });
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
      const tenant = await create({ scanned: scanned(4) });
      const input = { tenant, holder: 'mine', nowMs: 1000, leaseUntilMs: 16_000 };
      await ledger.beginReconcile(input);
      await add(tenant, 6);
      expect(await ledger.beginReconcile(input)).toMatchObject({
        kind: 'begun',
        epoch: 1,
        before: { epoch: 0, appliedEpoch: 0, committedBytes: 10 },
      });
      expect(await begin(tenant)).toMatchObject({ kind: 'busy' });
      // Once it is released, the same holder takes the next one.
      await ledger.setLease({ tenant, epoch: 1, leaseUntilMs: 0 });
      expect(await ledger.beginReconcile(input)).toMatchObject({ kind: 'begun', epoch: 2 });
    });

    it('renews and releases the lease only while the epoch is its own', async () => {
      const tenant = await create();
      await begin(tenant, 1000);
      expect(await ledger.setLease({ tenant, epoch: 1, leaseUntilMs: 0 })).toBe('ours');
      expect(await begin(tenant, 1001)).toMatchObject({ kind: 'begun', epoch: 2 });
      expect(await ledger.setLease({ tenant, epoch: 1, leaseUntilMs: 9e12 })).toBe('superseded');
      expect((await ledger.readTenant(tenant))?.leaseUntilMs).toBe(16_001);
    });

    const lists = (requests: number) => ({ month: '2027-03', requests });
    it.each([
      ['of LIST requests', { listedUntilMs: 7000 }, { listedUntilMs: 9e12 }],
      [
        'of the shards of large repos',
        { shardsListedUntilMs: 6000, shardLists: lists(9) },
        { shardsListedUntilMs: 6000, shardLists: lists(99) },
      ],
    ])(
      'charges the budget %s if it gives up, and none that was superseded does',
      async (_, charge, unconfirmed) => {
        const tenant = await create();
        await begin(tenant, 1000);
        const lease = { tenant, epoch: 1, leaseUntilMs: 0 };
        expect(await ledger.setLease({ ...lease, ...charge })).toBe('ours');
        expect(await ledger.setLease(lease)).toBe('ours');
        expect(await begin(tenant, 1001)).toMatchObject({ kind: 'begun', before: charge });
        expect(await ledger.setLease({ ...lease, ...unconfirmed })).toBe('superseded');
        expect(await ledger.readTenant(tenant)).toMatchObject(charge);
      },
    );

    it('charges what one took that was overtaken, and leaves the lease as it is', async () => {
      const tenant = await create();
      await begin(tenant, 1000);
      expect(await ledger.setLease({ tenant, epoch: 1, listedUntilMs: 7000 })).toBe('ours');
      const now = { leaseUntilMs: 16_000, listedUntilMs: 7000 };
      expect(await ledger.readTenant(tenant)).toMatchObject(now);
      expect(await ledger.setLease({ tenant, epoch: 0, listedUntilMs: 9e12 })).toBe('superseded');
    });

    it.each<[string, Partial<TenantCommit>[]]>([
      ['how long it listed', [{ listedUntilMs: 8000 }]],
      [
        'when the next full count is due, and when to look for uploads',
        [
          { dueAtMs: 7e14, lookAtMs: 6e14 },
          { dueAtMs: 6e14, lookAtMs: 7e14 },
          { dueAtMs: 6e14, lookAtMs: null },
        ],
      ],
      [
        'until when something is reserved, or that nothing is',
        [{ reservedUntilMs: 7e12 }, { reservedUntilMs: null }],
      ],
    ])('says %s', async (_, commits) => {
      const tenant = await create({ dueAtMs: 8e14 });
      expect(await ledger.readTenant(tenant)).toMatchObject({ dueAtMs: 8e14, lookAtMs: null });
      for (const [index, times] of commits.entries()) {
        await begin(tenant);
        expect(await commit(tenant, index + 1, times)).toMatchObject({ tenant: times });
        expect(await ledger.readTenant(tenant)).toMatchObject(times);
      }
    });

    it('corrects the counter by a difference, and keeps what was added meanwhile', async () => {
      const tenant = await create({ scanned: scanned(50) });
      await begin(tenant);
      await add(tenant, 7);
      const found = { confirmedBaseBytes: 30, confirmedUntilMs: 77 };
      expect(await commit(tenant, 1, { correctionBytes: 30 - 50, ...found })).toMatchObject({
        kind: 'committed',
        tenant: { committedBytes: 37, appliedEpoch: 1, ...found, scanned: scanned(3), leaseUntilMs: 0 },
      });
    });

    it('is applied once, however often it is sent', async () => {
      const tenant = await create({ scanned: scanned(50) });
      await begin(tenant);
      for (let time = 0; time < 2; time += 1)
        expect((await commit(tenant, 1, { correctionBytes: -20 })).kind).toBe('committed');
      expect((await ledger.readTenant(tenant))?.committedBytes).toBe(30);
    });

    it('is superseded when a later one has begun', async () => {
      const tenant = await create({ scanned: scanned(50) });
      await begin(tenant, 1000);
      await begin(tenant, 100_000);
      expect((await commit(tenant, 1, { correctionBytes: -20 })).kind).toBe('superseded');
      expect((await commit(tenant, 2)).kind).toBe('committed');
      expect((await ledger.readTenant(tenant))?.committedBytes).toBe(50);
    });

    const repoCommit = (epoch: number, more: Partial<RepoCommit> = {}): RepoCommit => ({
      repo: 'app',
      storedBytes: 3,
      objectCount: 1,
      scannedAtMs: 9,
      epoch,
      covered: new Set(['r1']),
      putsUntilMs: 7000,
      ...more,
    });
    const write = (tenant: string, repo: RepoCommit, dirtyTokenRead: string | null = null) =>
      ledger.commitRepo({ tenant, repo, dirtyTokenRead });
    const read = (tenant: string) => ledger.readRepo({ tenant, repo: 'app' });

    it('commits nothing to a repo or a tenant that is not there and should be', async () => {
      const tenant = await create();
      expect(await write(tenant, repoCommit(1), 'd1')).toBe('superseded');
      expect(await allPages(ledger.repos(tenant))).toEqual([]);
      const unknown = tenantName();
      expect(await commit(unknown, 1)).toEqual({ kind: 'superseded' });
      expect(await ledger.setLease({ tenant: unknown, epoch: 0, leaseUntilMs: 1 })).toBe('superseded');
      expect(await ledger.readTenant(unknown)).toBeUndefined();
    });

    it('commits a repo once for each epoch, and never an older one over a newer', async () => {
      const tenant = await create();
      for (const [epoch, outcome] of [
        [2, 'committed'],
        [2, 'committed'],
        [1, 'superseded'],
        [3, 'committed'],
      ] as const)
        expect(await write(tenant, repoCommit(epoch, { covered: new Set([`r${epoch}`]) }))).toBe(outcome);
      expect(await allPages(ledger.repos(tenant))).toEqual([
        { ...repoCommit(3, { covered: new Set(['r3']) }), dirtyToken: null, closedAtMs: null },
      ]);
      await write(tenant, repoCommit(4, { covered: new Set() }));
      expect((await read(tenant))?.covered).toEqual(new Set());
    });

    it('does not make the item again that it read, if that was removed since', async () => {
      const tenant = await create();
      const over = (epochRead: number, epoch: number) =>
        ledger.commitRepo({ tenant, repo: repoCommit(epoch), dirtyTokenRead: null, epochRead });
      expect(await over(0, 1)).toBe('superseded');
      expect(await read(tenant)).toBeUndefined();
      expect(await write(tenant, repoCommit(3))).toBe('committed');
      // A later reconcile than the one that was read wrote it, and then ours, which is repeated.
      expect([await over(2, 4), await over(2, 4)]).toEqual(['committed', 'committed']);
      expect(await over(4, 3)).toBe('superseded');
      const empty = repoCommit(5, { storedBytes: 0, objectCount: 0 });
      expect(await write(tenant, empty)).toBe('committed');
      const before = await read(tenant);
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
      await ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'd' });
      expect((await read(tenant))?.points).toEqual(points);
      expect(await write(tenant, repoCommit(3), 'd')).toBe('committed');
      expect(await read(tenant)).not.toHaveProperty('points');
    });

    it('refuses what does not fit into an item of 400 KB', async () => {
      const tenant = await create();
      const covering = (epoch: number, count: number) => {
        const ids = Array.from({ length: count }, (_, index) => index.toString(16).padStart(32, '0'));
        return write(tenant, repoCommit(epoch, { covered: new Set(ids) }));
      };
      expect(await covering(1, 12_000)).toBe('committed');
      await expect(covering(2, 12_500)).rejects.toThrow(LedgerUnavailableError);
    });

    it('clears only the dirty token that it read', async () => {
      const tenant = await create();
      const mark = (dirtyToken: string) => ledger.markDirty({ tenant, repo: 'app', dirtyToken });
      await mark('d1');
      expect(await read(tenant)).toMatchObject({ repo: 'app', epoch: 0, dirtyToken: 'd1' });
      expect(await write(tenant, repoCommit(1))).toBe('superseded');
      expect(await write(tenant, repoCommit(1), 'd1')).toBe('committed');
      await mark('d2');
      expect(await write(tenant, repoCommit(2), 'd1')).toBe('superseded');
      expect(await write(tenant, repoCommit(2), 'd2')).toBe('committed');
      expect((await read(tenant))?.dirtyToken).toBeNull();
    });

    it('commits a repo with any name, even an empty one', async () => {
      const tenant = await create();
      const names = ['', '.', 'a b', 'ä/%'];
      for (const repo of names) await write(tenant, repoCommit(1, { repo }));
      expect((await allPages(ledger.repos(tenant))).map(({ repo }) => repo).sort()).toEqual(names);
    });
  });
}
