import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Reservation } from '../../../../../lambda/domain/reservation.ts';
import type { ReconcileBasis } from '../../../../../lambda/use-cases/recounts/reconcile.ts';
import { newAttempt } from '../../../../../lambda/use-cases/uploads/batch-attempt.ts';
import { chooseByFloor, claimsNotYetAdded } from '../../../../../lambda/use-cases/uploads/choose-by-floor.ts';
import { MemoryStack, tenant } from '../../../../support/memory/stack.ts';

const basisOf = (
  promised: Record<string, { isIssued: boolean; largestBytes: number }>,
  seen: string[] = [],
): ReconcileBasis => ({ promised: new Map(Object.entries(promised)), seen: new Set(seen) });

describe('what fits above the floor', () => {
  let world: MemoryStack;
  const choose = async (claims: Record<string, number>, basis?: ReconcileBasis, floorBaseBytes = 60) => {
    const record = { ...(await world.record()), floorBaseBytes, floorUntilMs: world.nowMs + 1 };
    const missing = new Map(Object.entries(claims));
    const attempt = newAttempt(world.deps, { tenant: record, repo: 'app', objects: missing });
    await world.ledger.putReservation({ tenant, reservation: attempt.reservation });
    const choice = await chooseByFloor(world.deps, { attempt, missing, tenant: record, basis });
    // A batch of which nothing fits is refused, not admitted with nothing.
    if (choice.kind === 'fits') expect(choice.chosen.size).toBeGreaterThan(0);
    return {
      chosen: choice.kind === 'fits' ? [...choice.chosen.keys()] : [],
      refusal: choice.refusal,
    };
  };
  const promise = (id: string, more: Partial<Reservation>) =>
    world.ledger.putReservation({
      tenant,
      reservation: {
        id,
        repo: 'app',
        state: 'issued',
        claims: new Map([['a', 50]]),
        createdAtMs: 0,
        expiresAtMs: world.nowMs,
        deadAtMs: world.nowMs,
        lookAtMs: null,
        ...more,
      },
    });
  const refused = { chosen: [], refusal: { oids: ['a'], usedBytes: 60, limitBytes: 100 } };

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(100);
  });

  it('is chosen up to the limit, and the rest is refused with the sum of both', async () => {
    expect(await choose({ a: 40 })).toEqual({ chosen: ['a'], refusal: undefined });
    expect(await choose({ a: 30, b: 20 })).toEqual({
      chosen: ['a'],
      refusal: { oids: ['b'], usedBytes: 90, limitBytes: 100 },
    });
    expect(await choose({ a: 50 })).toEqual(refused);
  });

  it('is nothing if the floor is above the limit by itself, not even an object of no bytes, and nothing is read', async () => {
    const read = vi.spyOn(world.ledger, 'reservationsOf');
    expect(await choose({ a: 0 }, undefined, 100)).toEqual({ chosen: ['a'], refusal: undefined });
    expect(await choose({ a: 0 }, undefined, 101)).toEqual({
      chosen: [],
      refusal: { oids: ['a'], usedBytes: 101, limitBytes: 100 },
    });
    expect(read).toHaveBeenCalledTimes(1);
  });

  it('includes what another live issued reservation of the repo promises: the floor holds it', async () => {
    await promise('other', {});
    expect(await choose({ a: 50 })).toEqual({ chosen: ['a'], refusal: undefined });
  });

  it.each<[string, Partial<Reservation>]>([
    ['only pending', { state: 'pending' }],
    ['of another repo', { repo: 'web' }],
    ['of another object', { claims: new Map([['b', 50]]) }],
    ['dead', { deadAtMs: 1 }],
  ])('does not include what is promised by a reservation that is %s', async (_, more) => {
    await promise('other', more);
    expect(await choose({ a: 50 })).toEqual(refused);
  });

  it('after a reconcile of its own includes what that saw, and what it found issued', async () => {
    const fits = { chosen: ['a'], refusal: undefined };
    expect(await choose({ a: 50 }, basisOf({}, ['a']))).toEqual(fits);
    expect(await choose({ a: 50 }, basisOf({ a: { isIssued: true, largestBytes: 1 } }))).toEqual(fits);
    expect(await choose({ a: 50 }, basisOf({ a: { isIssued: false, largestBytes: 50 } }))).toEqual(refused);
  });
});

describe('what the counter does not hold yet', () => {
  const chosen = new Map([
    ['a', 10],
    ['b', 20],
  ]);

  it('is everything, unless a reconcile of our own tells', () => {
    expect(claimsNotYetAdded(chosen, undefined)).toEqual(chosen);
  });

  it('is what that reconcile neither saw nor found promised with at least this size', () => {
    const left = (basis: ReconcileBasis) => [...claimsNotYetAdded(chosen, basis).keys()];
    expect(left(basisOf({}))).toEqual(['a', 'b']);
    expect(left(basisOf({}, ['a']))).toEqual(['b']);
    expect(left(basisOf({ a: { isIssued: false, largestBytes: 10 } }))).toEqual(['b']);
    expect(left(basisOf({ a: { isIssued: true, largestBytes: 9 } }))).toEqual(['a', 'b']);
    expect([...claimsNotYetAdded(new Map([['z', 0]]), basisOf({})).keys()]).toEqual(['z']);
  });
});
