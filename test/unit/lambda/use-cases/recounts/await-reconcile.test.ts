import { beforeEach, describe, expect, it, vi } from 'vitest';
import { awaitOtherReconcile } from '../../../../../lambda/use-cases/recounts/await-reconcile.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

describe('a reconcile that another one waits for', () => {
  let clock: ManualClock;
  let ledger: MemoryLedger;
  let beganMs: number;
  /** When the tenant was read, in milliseconds from the beginning. */
  let readAtMs: number[];

  beforeEach(() => {
    [clock, ledger] = [new ManualClock(), new MemoryLedger()];
    beganMs = clock.nowMs();
    readAtMs = [];
  });

  /** The tenant is read as given, by the milliseconds that have passed. */
  const wait = (
    read: (afterMs: number) => Parameters<typeof tenantRecord>[0] | undefined,
    limitMs: number,
  ) => {
    vi.spyOn(ledger, 'readTenant').mockImplementation(async (tenant) => {
      const afterMs = clock.nowMs() - beganMs;
      readAtMs.push(afterMs);
      const found = read(afterMs);
      return found && tenantRecord({ tenant, ...found });
    });
    const before = tenantRecord({ tenant: 'acme', appliedEpoch: 4, leaseUntilMs: beganMs + 1 });
    return awaitOtherReconcile({ ledger, clock }, { before, deadlineMs: beganMs + limitMs });
  };
  const running = { appliedEpoch: 4, leaseUntilMs: 9e15 };

  it('is asked for with pauses that grow up to a second', async () => {
    expect(await wait(() => running, 5000)).toBeUndefined();
    const pauses = readAtMs.map((atMs, index) => atMs - (readAtMs[index - 1] ?? 0));
    expect(pauses).toEqual([100, 150, 225, 337.5, 506.25, 759.375, 1000, 1000]);
  });

  it('is no longer waited for when the next pause would reach the deadline', async () => {
    expect(await wait(() => running, 100)).toBeUndefined();
    expect([readAtMs, clock.nowMs()]).toEqual([[], beganMs]);
    await wait(() => running, 101);
    expect(readAtMs).toEqual([100]);
  });

  it('has committed when a later epoch is applied, even if the next one holds the lease already', async () => {
    const found = await wait((afterMs) => ({ ...running, appliedEpoch: afterMs < 400 ? 4 : 5 }), 5000);
    expect(found).toMatchObject({ tenant: 'acme', appliedEpoch: 5 });
    expect(readAtMs).toHaveLength(3);
  });

  it('has given up when its lease is over', async () => {
    expect(await wait(() => ({ ...running, leaseUntilMs: beganMs + 251 }), 5000)).toBeUndefined();
    expect(readAtMs).toEqual([100, 250, 475]);
    readAtMs = [];
    beganMs = clock.nowMs();
    expect(await wait(() => ({ ...running, leaseUntilMs: beganMs + 250 }), 5000)).toBeUndefined();
    expect(readAtMs).toEqual([100, 250]);
  });

  it('has nothing to tell of a tenant that is gone', async () => {
    expect(await wait(() => undefined, 5000)).toBeUndefined();
    expect(readAtMs).toEqual([100]);
  });
});
