import { beforeEach, describe, expect, it } from 'vitest';
import type { Reservation } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

/** A reservation of small objects is lapsed then, by every clock. */
const deathMs = 37 * minute;
const hour = 60 * minute;
const day = 24 * hour;

let world: MemoryStack;
const reservations = () => world.ledger.inspect(tenant).reservations;
/** Batches of three objects of 2 bytes that are never sent. */
const pushUnsent = async (batches: number, from = 0) => {
  for (let index = from; index < from + batches; index += 1) {
    const objects = [0, 1, 2].map((object) => [oidOf(10 * index + object), 2]);
    await world.push(`repo${index % 2}`, Object.fromEntries(objects));
  }
};

beforeEach(async () => {
  world = new MemoryStack();
  await world.create(10_000);
});

describe('what is late', () => {
  it('keeps its names, however many there are', async () => {
    await pushUnsent(26);
    world.nowMs += deathMs;
    await world.consume();
    expect(reservations()).toHaveLength(26);
    expect(reservations().every(({ entries }) => entries.size === 3)).toBe(true);
    await world.consume();
    expect((await world.record()).entryCount).toBe(4 * 26);
    expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
  });

  it('still counts beyond the limit, for a day and no longer, however many become late meanwhile', async () => {
    world = new MemoryStack();
    await world.create(1000);
    for (let round = 0; round < 10; round += 1) {
      await pushUnsent(100, 100 * round);
      world.nowMs += deathMs;
      await world.runSchedule();
      expect((await world.record()).committedBytes).toBeLessThanOrEqual(1000);
    }
    const refused = await world.push('last', { [oidOf(1)]: 900 });
    expect(refused).toEqual(new Map([[oidOf(1), expect.objectContaining({ kind: 'over-limit' })]]));
    await world.pass(26 * hour);
    expect(reservations()).toEqual([]);
    expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
  });
});

describe('the sum of several unconfirmed ones, as an older version has stored it', () => {
  const putSum = async () => {
    const lapsedAtMs = world.nowMs - hour;
    const sum = {
      id: '~5f1c2d3e4a59687',
      repo: 'repo0',
      state: 'issued',
      entries: new Map([['*~5f1c2d3e4a59687', 700]]),
      createdAtMs: world.nowMs,
      expiresAtMs: lapsedAtMs,
      lapsedAtMs,
      lookAtMs: lapsedAtMs + 6 * hour,
      objectCount: 7,
      partIds: ['0b5f1c2d3e4a59687766554433221100'],
    } satisfies Reservation & { objectCount: number; partIds: string[] };
    await world.ledger.putReservation({ tenant, reservation: sum });
  };

  it.each(['ordinary', 'large'])('counts until its day is over, and is deleted then: %s', async (kind) => {
    world = new MemoryStack(kind === 'large' ? { largeRepoObjects: 1 } : {});
    await world.create(600);
    world.put({ [`repo0/${oidOf(1)}`]: 1 });
    await world.consume({ full: true });
    await putSum();
    await world.consume();
    // By 100 more than the limit.
    expect(await world.usage()).toEqual({ committedBytes: 101, storedBytes: 1 });
    await world.pass(day);
    expect(reservations()).toEqual([]);
    expect(await world.usage()).toEqual({ committedBytes: 1, storedBytes: 1 });
  });

  it('counts beside what it was made of, where that is left', async () => {
    await world.create(600);
    await putSum();
    const part = { ...(reservations()[0] as Reservation), id: '0b5f1c2d3e4a59687766554433221100' };
    const entries = new Map([[oidOf(1), 700]]);
    await world.ledger.putReservation({ tenant, reservation: { ...part, entries } });
    await world.ledger.updateTenant({ tenant, settingsVersion: 0, limitBytes: 600 });
    await world.consume();
    expect((await world.record()).committedBytes).toBe(800);
    await world.pass(day);
    expect([reservations(), (await world.record()).committedBytes]).toEqual([[], 0]);
  });
});
