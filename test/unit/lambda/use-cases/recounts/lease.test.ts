import { beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { defaultSettings } from '../../../../../lambda/rules/settings.ts';
import { holdLease, type Lease } from '../../../../../lambda/use-cases/recounts/lease.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

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
    const giants = { ...settings, shardListsPerHour: 30 };
    lease = holdLease({ ledger, clock, settings: giants }, { before, epoch, untilMs: beganMs + leaseMs });
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
