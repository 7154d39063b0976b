import { beforeEach, describe, expect, it } from 'vitest';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import type { Reservation } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const repo = 'game';
const count = 20_000;
const oid = oidOf(1);

describe(`a repo with ${count} reservations`, () => {
  let world: MemoryStack;

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ [`${repo}/${oid}`]: 10 });
    await world.create(100);
    for (let index = 0; index < count; index += 1) {
      const reservation: Reservation = {
        id: index.toString(16).padStart(32, '0'),
        repo,
        state: 'issued',
        entries: new Map([[oid, 10]]),
        createdAtMs: world.nowMs,
        expiresAtMs: world.nowMs + 30 * minute,
        lapsedAtMs: world.nowMs + 36 * minute,
        lookAtMs: null,
      };
      await world.ledger.putReservation({ tenant, reservation });
    }
  });

  const left = () => world.ledger.inspect(tenant).reservations.length;
  const covered = async () => (await world.ledger.readRepo({ tenant, repo }))?.covered.size;

  it('is reconciled while all of them are alive', async () => {
    for (let run = 0; run < 2; run += 1) {
      world.nowMs += minute;
      expect(await world.consume()).toBe('done');
      expect(await world.record()).toMatchObject({
        committedBytes: 10,
        scanned: { storedBytes: 10, scannedAtMs: world.nowMs },
      });
      expect([left(), await covered()]).toEqual([count, 5000]);
    }
  });

  it('is reconciled when all of them are lapsed, and they go', async () => {
    world.nowMs += 37 * minute;
    expect(await world.consume()).toBe('done');
    expect((await world.record()).committedBytes).toBe(10);
    expect([left(), await world.isDue()]).toEqual([0, false]);
  });

  it('loses a thousand lapsed ones at a time in a reconcile that somebody waits for', async () => {
    world.nowMs += 37 * minute;
    for (let run = 1; run <= 3; run += 1) {
      const outcome = await reconcile(world.deps, { tenant, full: false, isAwaited: true });
      expect(outcome.kind).toBe('committed');
      expect(left()).toBe(count - run * 1000);
    }
  });

  it('loses no more of them after the deadline, and the others in the next reconcile', async () => {
    world.nowMs += 37 * minute;
    const { deleteReservation } = world.ledger;
    world.ledger.deleteReservation = async (input) => {
      world.nowMs += 1;
      return deleteReservation.call(world.ledger, input);
    };
    const input = { tenant, full: false, deadlineMs: world.nowMs + 100 };
    expect((await reconcile(world.deps, input)).kind).toBe('committed');
    expect(left()).toBe(count - 100);
    await world.consume();
    expect(left()).toBe(0);
  });
});
