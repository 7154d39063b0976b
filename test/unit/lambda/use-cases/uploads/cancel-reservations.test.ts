import { beforeEach, expect, it } from 'vitest';
import type { Reservation } from '../../../../../lambda/domain/reservation.ts';
import { cancelReservations } from '../../../../../lambda/use-cases/uploads/cancel-reservations.ts';
import { reservation } from '../../../../support/ledger-records.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const deathMs = 37 * minute;

let world: MemoryStack;
const put = (id: string, more: Partial<Reservation> = {}) => {
  const dead = world.nowMs - minute;
  const late = {
    state: 'issued',
    expiresAtMs: dead,
    deadAtMs: dead,
    lookAtMs: world.nowMs + minute,
  } as const;
  return world.ledger.putReservation({ tenant, reservation: reservation(id, { ...late, ...more }) });
};
const left = () => world.reservations.map(({ id }) => id);
const cancelLate = (filter: { repo?: string; id?: string; madeBy?: string } = {}) =>
  cancelReservations(world.deps, { tenant, ...filter });

beforeEach(async () => {
  world = new MemoryStack();
  await world.create(1000);
});

it('frees the room that late claims hold beyond the limit, after a recount', async () => {
  for (const index of [1, 2]) {
    await world.push('app', { [oidOf(index)]: 1000 });
    world.nowMs += deathMs;
    await world.runSchedule();
  }
  expect(await world.usage()).toEqual({ committedBytes: 1000, storedBytes: 0 });
  expect(await cancelLate()).toEqual({ count: 2, bytes: 2000, hasMore: false });
  expect(world.requests.at(-1)).toMatchObject({ reason: 'manual', full: false });
  await world.consume();
  expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
});

it('leaves what is alive, pending, or is to be looked at', async () => {
  await put('alive', { deadAtMs: world.nowMs, lookAtMs: null });
  await put('pending', { state: 'pending', lookAtMs: null });
  await put('unseen', { lookAtMs: null });
  // A giant's, of which a part was found: by a clock that is ahead.
  await put('partly', { lookAtMs: world.nowMs + 2 * world.deps.settings.clockSkewMs });
  // Looked at by a clock that is ahead, while its URLs are still valid by this one.
  await put('early', { deadAtMs: world.nowMs + minute, lookAtMs: world.nowMs + 5 * minute });
  await put('late');
  expect(await cancelLate()).toEqual({ count: 1, bytes: 10, hasMore: false });
  expect(left().sort()).toEqual(['alive', 'early', 'partly', 'pending', 'unseen']);
});

it('takes those that are named', async () => {
  await put('a', { madeBy: 'ada' });
  await put('b', { madeBy: 'ben' });
  await put('c', { madeBy: 'ada', repo: 'web' });
  await put('d');
  await cancelLate({ madeBy: 'ada', repo: 'web' });
  expect(left().sort()).toEqual(['a', 'b', 'd']);
  await cancelLate({ id: 'b' });
  expect(left().sort()).toEqual(['a', 'd']);
  await cancelLate({ madeBy: 'ada' });
  expect(left()).toEqual(['d']);
  await cancelLate({ repo: 'web' });
  expect(left()).toEqual(['d']);
});

it('takes a thousand at a time, and recounts only if it took any', async () => {
  for (let index = 0; index < 1001; index += 1) await put(`r${index}`);
  expect(await cancelLate()).toEqual({ count: 1000, bytes: 10_000, hasMore: true });
  expect(await cancelLate()).toEqual({ count: 1, bytes: 10, hasMore: false });
  const { length } = world.requests;
  expect(await cancelLate()).toEqual({ count: 0, bytes: 0, hasMore: false });
  expect(world.requests).toHaveLength(length);
});
