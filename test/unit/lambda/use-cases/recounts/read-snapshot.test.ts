import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Reservation } from '../../../../../lambda/domain/reservation.ts';
import { defaultSettings } from '../../../../../lambda/rules/settings.ts';
import { readSnapshot } from '../../../../../lambda/use-cases/recounts/read-snapshot.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';

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
      claims: new Map([[id, 1]]),
      createdAtMs: clock.nowMs(),
      expiresAtMs: 9e15,
      deadAtMs: 9e15,
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
    await ledger.createTenant({ tenant, plan: null, limitBytes: null, counted: null, ...times });
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
    const { repos, countedAtMs, scanBeganMs } = await snapshot();
    expect(repos.map(({ repo }) => repo)).toEqual(['a', 'b', 'c']);
    // One page of no reservations and two of repos.
    expect([countedAtMs, scanBeganMs, renewals]).toEqual([beganMs, beganMs + 30, 3]);
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
