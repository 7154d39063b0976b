import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { defaultSettings } from '../../../../../lambda/rules/settings.ts';
import { admitUpload } from '../../../../../lambda/use-cases/uploads/admit-upload.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const oid = oidOf(1);
const lifetimeMs = defaultSettings.urlLifetimeMs;

describe('a batch of uploads', () => {
  let world: MemoryStack;
  const push = (sizeBytes: number) => world.push('app', { [oid]: sizeBytes });
  const voidAll = async () => {
    for (const { id, repo } of world.reservations)
      expect(await world.ledger.voidReservation({ tenant, repo, reservationId: id })).toBe('gone');
  };

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(100);
  });

  afterEach(() => void vi.restoreAllMocks());

  it('gets no URL if a recount voided its reservation before it was issued', async () => {
    world.beforeNext('issueReservation', async () => {
      await voidAll();
    });
    const signUpload = vi.spyOn(world.deps.signer, 'signUpload');
    expect(await push(10)).toBe('retry');
    expect(signUpload).not.toHaveBeenCalled();
    expect(typeof (await push(10))).toBe('object');
  });

  it('is not refused by what it read if a recount voided its reservation meanwhile', async () => {
    world.beforeNext('addCommitted', async () => {
      await voidAll();
    });
    expect(await push(101)).toBe('retry');
    expect(await push(101)).toMatchObject(new Map([[oid, { kind: 'over-limit' }]]));
  });

  it('gets URLs that end before its reservation, however late they are signed', async () => {
    const sign = vi.spyOn(world.deps.signer, 'signUpload');
    world.beforeNext('issueReservation', () => {
      world.nowMs += 20_000;
    });
    const beganMs = world.nowMs;
    expect(await push(10)).toMatchObject(
      new Map([[oid, { kind: 'upload', expiresInMs: lifetimeMs - 20_000 }]]),
    );
    const key = `${tenant}/app/${oid}`;
    expect(sign.mock.calls).toEqual([[{ key, oid, sizeBytes: 10, signedAtMs: beganMs, lifetimeMs }]]);
    const [reservation] = world.reservations;
    expect(reservation?.expiresAtMs).toBe(beganMs + lifetimeMs + minute);
  });

  it('that was paused until nobody gets its answer hands out no URL, and leaves no reservation', async () => {
    const put = world.ledger.putReservation;
    const pausedFor = async (durationMs: number) => {
      vi.spyOn(world.ledger, 'putReservation').mockImplementationOnce(async (input) => {
        world.nowMs += durationMs;
        return put.call(world.ledger, input);
      });
      return push(10);
    };
    const { batchTimeLimitMs } = world.deps.settings;
    expect(await pausedFor(batchTimeLimitMs + 1)).toBe('retry');
    expect(world.reservations).toEqual([]);
    expect(await pausedFor(batchTimeLimitMs)).toHaveProperty('size', 1);
  });

  it('whose every object is stored leaves nothing behind', async () => {
    world.put({ [`app/${oid}`]: 10 });
    expect(await push(10)).toEqual(new Map([[oid, { kind: 'stored' }]]));
    expect(await push(11)).toEqual(new Map([[oid, { kind: 'size-conflict', storedBytes: 10 }]]));
    expect(world.reservations).toEqual([]);
    expect(await world.record()).toMatchObject({ committedBytes: 0, claimCount: 0 });
    expect(world.requests).toEqual([]);
  });

  it('that must wait has its recount requested, and its reservation taken back', async () => {
    await world.claim(await world.mark({ [oid]: 10 }));
    expect(await push(10)).toBe('retry');
    expect(world.requests).toEqual([
      { tenant, reason: 'upload', full: false },
      { tenant, reason: 'refusal', full: false },
    ]);
    expect(world.reservations).toEqual([]);
  });

  it('waits for at least two seconds, with a jitter of as much', async () => {
    const waits: number[] = [];
    const input = { tenant: await world.record(), repo: 'app', objects: new Map([[oid, 10]]) };
    vi.spyOn(world.ledger, 'issueReservation').mockResolvedValue('gone');
    for (let turn = 0; turn < 50; turn += 1) {
      const outcome = await admitUpload(world.deps, input);
      if (outcome.kind === 'retry') waits.push(outcome.retryAfterMs);
      await world.consume();
      world.ledger.addUnconditionally(tenant, -(await world.record()).committedBytes);
    }
    const { retryAfterMs } = defaultSettings;
    expect(waits).toHaveLength(50);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(retryAfterMs);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2 * retryAfterMs);
    expect(new Set(waits).size).toBeGreaterThan(25);
  });

  it('has a recount in the background requested when it is admitted', async () => {
    await push(10);
    expect(world.requests).toEqual([{ tenant, reason: 'upload', full: false }]);
  });

  it.each([
    ['of a tenant without a limit', null],
    ['that fits to the last byte', 10],
  ])(
    '%s has its recount requested while it is counted, in case its function dies after that',
    async (_, limit) => {
      world = new MemoryStack();
      await world.create(limit);
      vi.spyOn(world.ledger, 'deletionsOf').mockImplementationOnce(() => {
        throw new Error('The function died.');
      });
      await expect(push(10)).rejects.toThrow('The function died.');
      expect((await world.record()).committedBytes).toBe(10);
      expect(world.requests).toEqual([{ tenant, reason: 'upload', full: false }]);
    },
  );

  it('that was not expected to fit has its recount requested once it is admitted', async () => {
    world.ledger.addUnconditionally(tenant, 50);
    expect(await push(60)).toMatchObject(new Map([[oid, { kind: 'upload' }]]));
    expect(world.requests).toEqual([{ tenant, reason: 'upload', full: false }]);
  });

  it('is admitted up to a million claims of its tenant, its own included', async () => {
    const push = async (claimCount: number) => {
      const record = { ...(await world.record()), claimCount, claimsCounted: claimCount };
      return admitUpload(world.deps, { tenant: record, repo: 'app', objects: new Map([[oid, 10]]) });
    };
    expect(await push(999_999)).toMatchObject({ kind: 'retry' });
    expect(world.requests).toEqual([{ tenant, reason: 'refusal', full: false }]);
    expect(await push(999_998)).toMatchObject({ kind: 'answered' });
  });

  it('is told to come again after minutes if others have claimed a million meanwhile', async () => {
    const { addCommitted } = world.ledger;
    vi.spyOn(world.ledger, 'addCommitted').mockImplementationOnce(async (input) => {
      const theirs = { sumBytes: 0, claimCount: 999_999, claimsMax: 1_000_000 };
      await addCommitted.call(world.ledger, { ...input, ...theirs });
      return addCommitted.call(world.ledger, input);
    });
    const input = { tenant: await world.record(), repo: 'app', objects: new Map([[oid, 10]]) };
    const outcome = await admitUpload(world.deps, input);
    expect(outcome).toMatchObject({ kind: 'retry' });
    if (outcome.kind === 'retry') expect(outcome.retryAfterMs).toBeGreaterThanOrEqual(4 * minute);
    expect(world.reservations).toEqual([]);
    expect(world.requests.at(-1)).toMatchObject({ reason: 'refusal' });
  });

  it('counts its reservation and its claims in the write that counts its bytes', async () => {
    await world.push('app', { [oid]: 10, [oidOf(2)]: 20 });
    expect(await world.record()).toMatchObject({ claimCount: 3 });
    await world.consume();
    expect(await world.record()).toMatchObject({ claimCount: 3 });
    await world.push('app', { [oidOf(3)]: 5 });
    expect(await world.record()).toMatchObject({ claimCount: 5 });
  });

  it('counts the claims of empty objects, which fit above any limit', async () => {
    await world.push('app', { [oid]: 100 });
    expect(await world.kinds('app', { [oidOf(2)]: 0, [oidOf(3)]: 0 })).toBe('upload upload');
    expect(await world.record()).toMatchObject({ claimCount: 2 + 3, committedBytes: 100 });
  });

  it('of a tenant that was closed meanwhile gets nothing', async () => {
    const input = { tenant: await world.record(), repo: 'app', objects: new Map([[oid, 10]]) };
    await world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });
    expect(await admitUpload(world.deps, input)).toEqual({ kind: 'absent' });
  });

  it('of a tenant that is not there gets nothing', async () => {
    vi.spyOn(world.ledger, 'addCommitted').mockResolvedValueOnce({ kind: 'absent' });
    expect(await push(10)).toBe('absent');
  });

  it('is admitted in part, in the order of the request', async () => {
    expect(await world.kinds('app', { [oid]: 60, [oidOf(2)]: 50, [oidOf(3)]: 40 })).toBe(
      'upload over-limit upload',
    );
    const [reservation] = world.reservations;
    expect(reservation).toMatchObject({
      state: 'issued',
      claims: new Map([
        [oid, 60],
        [oidOf(3), 40],
      ]),
    });
    expect((await world.record()).committedBytes).toBe(100);
  });
});
