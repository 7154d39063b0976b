import { beforeEach, describe, expect, it } from 'vitest';
import { reservation } from '../../../../support/ledger-records.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { unlimitedRepo } from '../../../../support/tenant-record.ts';

const others = 3000;
const entriesOfEach = 100;

describe(`a batch near the limit, beside ${others} reservations of ${entriesOfEach} in other repos`, () => {
  let world: MemoryStack;
  /** Reservations read of all repos, and of the batch's own. */
  let readAll: number;
  let readOwn: number;

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(1e9);
    for (let index = 0; index < others; index += 1) {
      const entries = new Map(
        Array.from({ length: entriesOfEach }, (_, entry) => [oidOf(index * entriesOfEach + entry), 1000]),
      );
      const id = index.toString(16).padStart(32, '0');
      const endsMs = world.nowMs + 30 * minute;
      const times = { createdAtMs: world.nowMs, expiresAtMs: endsMs, lapsedAtMs: endsMs + 6 * minute };
      const held = reservation(id, { repo: `other${index % 20}`, state: 'issued', entries, ...times });
      await world.ledger.putReservation({ tenant, reservation: held });
    }
    await world.consume();
    expect(await world.record()).toMatchObject({
      committedBytes: others * entriesOfEach * 1000,
      entryCount: others * (1 + entriesOfEach),
    });
    [readAll, readOwn] = [0, 0];
    const { reservations, reservationsOf } = world.ledger;
    world.ledger.reservations = (name) => counting(reservations.call(world.ledger, name), 'all');
    world.ledger.reservationsOf = (path) => counting(reservationsOf.call(world.ledger, path), 'own');
  });

  async function* counting<T>(pages: AsyncIterable<readonly T[]>, which: 'all' | 'own') {
    for await (const page of pages) {
      if (which === 'all') readAll += page.length;
      else readOwn += page.length;
      yield page;
    }
  }

  it('is refused by its own repo alone if the confirmed usage proves it', async () => {
    expect(await world.kinds('mine', { [oidOf(1)]: 800_000_000 })).toBe('over-limit');
    expect([readAll, readOwn]).toEqual([0, 1]);
  });

  it('is told to come again if only a reconcile can tell, and is admitted after it', async () => {
    await world.ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 600_000_000, limitBytes: 1e9 });
    expect(await world.push('mine', { [oidOf(1)]: 200_000_000 })).toBe('retry');
    expect([readAll, readOwn]).toEqual([0, 1]);
    expect(world.requests).toMatchObject([{ tenant, reason: 'refusal' }]);
    await world.consume();
    expect(await world.kinds('mine', { [oidOf(1)]: 200_000_000 })).toBe('upload');
  });
});

it('a push that is repeated near the limit is admitted again by its own repo alone, however much is reserved', async () => {
  const world = new MemoryStack();
  await world.create(60_000);
  const batch = (index: number) =>
    Object.fromEntries(Array.from({ length: 1000 }, (_, entry) => [oidOf(1000 * index + entry), 1]));
  for (let index = 0; index < 60; index += 1) await world.push('app', batch(index));
  await world.consume();
  expect(await world.record()).toMatchObject({ committedBytes: 60_000, entryCount: 60_060 });
  expect(new Set((await world.kinds('app', batch(3))).split(' '))).toEqual(new Set(['upload']));
  expect((await world.record()).committedBytes).toBe(60_000);
});
