import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Reservation } from '../../../../../lambda/domain/reservation.ts';
import type { ReconcileBasis } from '../../../../../lambda/use-cases/recounts/reconcile.ts';
import { newAttempt } from '../../../../../lambda/use-cases/uploads/batch-attempt.ts';
import { chooseByFloor } from '../../../../../lambda/use-cases/uploads/choose-by-floor.ts';
import { reservation } from '../../../../support/ledger-records.ts';
import { MemoryStack, tenant } from '../../../../support/memory/stack.ts';

const basisOf = (
  promised: Record<string, { isIssued: boolean; largestBytes: number }>,
  seen: string[] = [],
): ReconcileBasis => ({ promised: new Map(Object.entries(promised)), seen: new Set(seen) });

describe('what fits above the floor', () => {
  let world: MemoryStack;
  /** The oids that the counter does not hold yet, of what was chosen last. */
  let added: string[];
  const choose = async (claims: Record<string, number>, basis?: ReconcileBasis, floorBaseBytes = 60) => {
    const record = { ...(await world.record()), floorBaseBytes, floorUntilMs: world.nowMs + 1 };
    const missing = new Map(Object.entries(claims));
    const attempt = newAttempt(world.deps, { tenant: record, repo: 'app', objects: missing });
    await world.ledger.putReservation({ tenant, reservation: attempt.reservation });
    const choice = await chooseByFloor(world.deps, { attempt, missing, tenant: record, basis });
    // A batch of which nothing fits is refused, not admitted with nothing.
    if (choice.kind === 'fits') expect(choice.chosen.size).toBeGreaterThan(0);
    added = choice.kind === 'fits' ? [...choice.notYetAdded.keys()] : [];
    const { oids, storedBytes = 0, reservedBytes = 0, limitBytes } = choice.refusal ?? {};
    return {
      chosen: choice.kind === 'fits' ? [...choice.chosen.keys()] : [],
      refusal: oids && { oids, usedBytes: storedBytes + reservedBytes, limitBytes },
    };
  };
  const promise = (id: string, more: Partial<Reservation>) => {
    const claims = new Map([['a', 50]]);
    const other = reservation(id, { state: 'issued', claims, deadAtMs: world.nowMs, ...more });
    return world.ledger.putReservation({ tenant, reservation: other });
  };
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

  it('was not added to the counter yet, unless our own reconcile saw it or found it promised at this size', async () => {
    const left = async (basis: ReconcileBasis) => {
      await choose({ a: 10, b: 20 }, basis);
      return added;
    };
    expect(await left(basisOf({}))).toEqual(['a', 'b']);
    expect(await left(basisOf({}, ['a']))).toEqual(['b']);
    expect(await left(basisOf({ a: { isIssued: false, largestBytes: 10 } }))).toEqual(['b']);
    expect(await left(basisOf({ a: { isIssued: true, largestBytes: 9 } }))).toEqual(['a', 'b']);
    await choose({ z: 0 }, basisOf({}));
    expect(added).toEqual(['z']);
  });

  it.each<[string, Partial<Reservation>, string[]]>([
    ['issued with the same size', {}, []],
    ['issued with a smaller size', { claims: new Map([['a', 49]]) }, ['a']],
    ['about to die', { deadAtMs: 5 }, ['a']],
    ['only pending', { state: 'pending' }, ['a']],
  ])('without a reconcile: another reservation that is %s', async (_, more, expected) => {
    const skewMs = world.deps.settings.clockSkewMs;
    const deadAtMs = more.deadAtMs === undefined ? world.nowMs + 2 * skewMs : world.nowMs + 2 * skewMs - 1;
    await promise('other', { ...more, deadAtMs });
    await choose({ a: 50 }, undefined, 10);
    expect(added).toEqual(expected);
  });
});
