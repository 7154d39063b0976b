import { beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import type { Reservation } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import { holdLease, type Lease, readSnapshot } from '../../../../../lambda/core/ledger/snapshot.ts';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

describe('lease', () => {
  const leaseMs = defaultSettings.reconcileLeaseMs;
  const [tenant, epoch] = ['acme', 5];
  /** A LIST request costs a minute of the budget. */
  const settings = { ...defaultSettings, listRequestsPerHour: 60 };
  const minute = 60_000;

  describe('a lease', () => {
    let clock: ManualClock;
    let ledger: MemoryLedger;
    let write: MockInstance<MemoryLedger['setLease']>;
    let lease: Lease;
    let beganMs: number;

    beforeEach(() => {
      [clock, ledger] = [new ManualClock(), new MemoryLedger()];
      write = vi.spyOn(ledger, 'setLease').mockResolvedValue('ours');
      beganMs = clock.nowMs();
      const before = tenantRecord({ tenant, listedUntilMs: beganMs + 3 * minute });
      lease = holdLease({ ledger, clock, settings }, { before, epoch, untilMs: beganMs + leaseMs });
    });
    const written = () => write.mock.calls.map(([input]) => input);

    it('is renewed once half of it is over, and then once half of the new one is over', async () => {
      clock.advance(leaseMs / 2 - 1);
      expect(await lease.renew()).toBe('ours');
      expect(written()).toEqual([]);
      clock.advance(1);
      expect(await lease.renew()).toBe('ours');
      expect(written()).toEqual([{ tenant, epoch, leaseUntilMs: clock.nowMs() + leaseMs }]);
      clock.advance(leaseMs / 2 - 1);
      await lease.renew();
      expect(written()).toHaveLength(1);
      clock.advance(1);
      await lease.renew();
      expect(written()).toHaveLength(2);
    });

    it('is renewed once, however many pages arrive during the write', async () => {
      clock.advance(leaseMs);
      await Promise.all([lease.renew(), lease.renew(), lease.renew()]);
      expect(written()).toHaveLength(1);
    });

    it('says if another reconcile took over', async () => {
      write.mockResolvedValue('superseded');
      clock.advance(leaseMs);
      expect(await lease.renew()).toBe('superseded');
    });

    it('says that it can stop after more LIST requests than it may make', async () => {
      const before = tenantRecord({ tenant });
      lease = holdLease(
        { ledger, clock, settings },
        { before, epoch, untilMs: beganMs + leaseMs, listsMax: 2 },
      );
      lease.addRequests(2);
      expect(await lease.renew()).toBe('ours');
      lease.addRequests(1);
      expect(await lease.renew()).toBe('superseded');
      expect(written()).toEqual([]);
    });

    it('charges the LIST requests that were made under it, when it is released', async () => {
      lease.addRequests(2);
      lease.addRequests(1);
      expect(lease.chargedUntilMs()).toBe(beganMs + 6 * minute);
      await lease.release();
      expect(written()).toEqual([{ tenant, epoch, leaseUntilMs: 0, listedUntilMs: beganMs + 6 * minute }]);
    });

    it('charges those for shards to a budget and a month of their own, when it is released', async () => {
      const month = new Date(beganMs).toISOString().slice(0, 7);
      const before = tenantRecord({ tenant, shardLists: { month, requests: 4 } });
      const largeRepos = { ...settings, shardListsPerHour: 30 };
      lease = holdLease(
        { ledger, clock, settings: largeRepos },
        { before, epoch, untilMs: beganMs + leaseMs },
      );
      lease.addShardRequests(2);
      lease.addShardRequests(1);
      await lease.release();
      expect(written()).toEqual([
        {
          tenant,
          epoch,
          leaseUntilMs: 0,
          shardsListedUntilMs: beganMs + 6 * minute,
          shardLists: { month, requests: 7 },
        },
      ]);
    });

    it('charges them over what it finds, if it was overtaken', async () => {
      write.mockResolvedValueOnce('superseded');
      const now = tenantRecord({ tenant, epoch: 8, listedUntilMs: beganMs + 10 * minute });
      vi.spyOn(ledger, 'readTenant').mockResolvedValue(now);
      lease.addRequests(2);
      lease.addShardRequests(2);
      await lease.release();
      expect(written()[1]).toMatchObject({
        tenant,
        epoch: 8,
        listedUntilMs: beganMs + 12 * minute,
        shardLists: { requests: 2 },
      });
    });

    it('charges them to nobody if the tenant has gone', async () => {
      write.mockResolvedValueOnce('superseded');
      lease.addRequests(2);
      await lease.release();
      expect(written()).toHaveLength(1);
    });

    it('that was overtaken reads nothing if there were none', async () => {
      write.mockResolvedValueOnce('superseded');
      const read = vi.spyOn(ledger, 'readTenant');
      await lease.release();
      expect([written().length, read.mock.calls.length]).toEqual([1, 0]);
    });

    it('charges nothing if there were none', async () => {
      expect(lease.chargedUntilMs()).toBe(beganMs + 3 * minute);
      await lease.release();
      expect(written()).toEqual([{ tenant, epoch, leaseUntilMs: 0 }]);
    });

    it('charges from now on, if the budget was not used up', () => {
      clock.advance(10 * minute);
      lease.addRequests(1);
      expect(lease.chargedUntilMs()).toBe(clock.nowMs() + minute);
    });
  });
});

describe('read snapshot', () => {
  const tenant = 'acme';
  const settings = defaultSettings;
  const voidAfterMs = settings.pendingVoidAfterMs;

  describe('what a reconcile reads before its scan', () => {
    let clock: ManualClock;
    let ledger: MemoryLedger;
    let renewals: number;
    /** The renewal that finds the lease taken. */
    let takenAt: number;
    const read = (excludedId?: string) =>
      readSnapshot(
        { ledger, clock, settings },
        {
          tenant,
          excludedId,
          lease: {
            renew: async () => {
              renewals += 1;
              clock.advance(10);
              return renewals === takenAt ? 'superseded' : 'ours';
            },
          },
        },
      );
    const snapshot = async (excludedId?: string) => {
      const found = await read(excludedId);
      if (found === 'superseded') throw new Error(found);
      return found;
    };
    const put = async (id: string, more: Partial<Reservation> = {}) => {
      const reservation: Reservation = {
        id,
        repo: 'app',
        state: 'issued',
        entries: new Map([[id, 1]]),
        createdAtMs: clock.nowMs(),
        expiresAtMs: 9e15,
        lapsedAtMs: 9e15,
        lookAtMs: null,
        ...more,
      };
      await ledger.putReservation({ tenant, reservation });
    };
    const oids = async (excludedId?: string) => {
      const { reservations } = await snapshot(excludedId);
      return Object.fromEntries([...reservations].map(([repo, found]) => [repo, [...found.oids()]]));
    };

    beforeEach(async () => {
      [clock, ledger] = [new ManualClock(), new MemoryLedger({ pageItemsMax: 2 })];
      [renewals, takenAt] = [0, 0];
      const times = { createdAtMs: 0, dueAtMs: 9e15 };
      await ledger.createTenant({ tenant, plan: null, limitBytes: null, scanned: null, ...times });
    });

    it('are all reservations by repo, but its own', async () => {
      for (const id of ['r1', 'r2', 'r3']) await put(id);
      await put('r4', { repo: 'web' });
      expect(await oids()).toEqual({ app: ['r1', 'r2', 'r3'], web: ['r4'] });
      expect(await oids('r2')).toEqual({ app: ['r1', 'r3'], web: ['r4'] });
    });

    it('are all repos, and the times before the first read and after the last', async () => {
      for (const repo of ['a', 'b', 'c']) await ledger.markDirty({ tenant, repo, dirtyToken: repo });
      const beganMs = clock.nowMs();
      const { repos, scannedAtMs, scanBeganMs } = await snapshot();
      expect(repos.map(({ repo }) => repo)).toEqual(['a', 'b', 'c']);
      // One page of no reservations and two of repos.
      expect([scannedAtMs, scanBeganMs, renewals]).toEqual([beganMs, beganMs + 30, 3]);
    });

    it.each([1, 2, 3])('is nothing if another took the lease during page %i', async (page) => {
      for (const repo of ['a', 'b', 'c']) await ledger.markDirty({ tenant, repo, dirtyToken: repo });
      takenAt = page;
      expect(await read()).toBe('superseded');
      expect(renewals).toBe(page);
    });

    it('are no reservations whose batch has died: they are voided, and the others are not', async () => {
      await put('dead', { state: 'pending', createdAtMs: clock.nowMs() - voidAfterMs - 1 });
      await put('young', { state: 'pending', createdAtMs: clock.nowMs() - voidAfterMs });
      const voided = vi.spyOn(ledger, 'voidReservation');
      expect(await oids()).toEqual({ app: ['young'] });
      expect(voided.mock.calls).toEqual([[{ tenant, repo: 'app', reservationId: 'dead' }]]);
    });

    it('is also one that its batch issued before it could be voided', async () => {
      await put('dead', { state: 'pending', createdAtMs: clock.nowMs() - voidAfterMs - 1 });
      vi.spyOn(ledger, 'voidReservation').mockResolvedValue('issued');
      expect(await oids()).toEqual({ app: ['dead'] });
    });

    it('says whether any batch has probably died: it has been pending for more than two seconds', async () => {
      const agedPending = async () => (await snapshot()).hasAgedPending;
      await put('issued', { createdAtMs: clock.nowMs() - voidAfterMs });
      await put('pending', { state: 'pending', createdAtMs: clock.nowMs() - 2000 });
      expect(await agedPending()).toBe(false);
      await put('aged', { state: 'pending', createdAtMs: clock.nowMs() - 2001 });
      // It stays true, whatever is read after it.
      await put('later', { state: 'pending' });
      expect(await agedPending()).toBe(true);
    });
  });
});
