import { describe, expect, it } from 'vitest';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

/** The delay of every message in the queue. */
const delayMs = 35_000;

/** A tenant whose batch function died after it had added to the counter, and before it issued its reservation. */
async function afterDeath(): Promise<MemoryStack> {
  const world = new MemoryStack({ reconcileRestMs: minute });
  await world.create(1000);
  world.nowMs += 10 * minute;
  const { issueReservation } = world.ledger;
  world.ledger.issueReservation = async () => {
    throw new LedgerUnavailableError('The function died.');
  };
  await expect(world.push('app', { [oidOf(1)]: 900 })).rejects.toThrow('The function died.');
  world.ledger.issueReservation = issueReservation;
  expect(await world.record()).toMatchObject({ committedBytes: 900 });
  return world;
}

describe('a batch that dies after it added to the counter', () => {
  it('holds the room for less than two minutes: it had asked for a reconcile, which asks for another', async () => {
    const world = await afterDeath();
    const diedMs = world.nowMs;
    expect(world.requests).toEqual([{ tenant, reason: 'upload', full: false }]);
    let delivered = 0;
    for (let request = world.requests.shift(); request; request = world.requests.shift()) {
      world.nowMs += delayMs;
      delivered += 1;
      await runReconcile(world.deps, { request, deadlineMs: world.nowMs + 14 * minute });
      if ((await world.record()).committedBytes === 0) break;
    }
    expect(delivered).toBe(2);
    expect(world.nowMs - diedMs).toBeLessThan(2 * minute);
    expect(world.reservations).toEqual([]);
    expect(world.requests).toEqual([]);
    expect(await world.kinds('app', { [oidOf(2)]: 900 })).toBe('upload');
  });

  it('makes its tenant due for the schedule after a minute, should every message be lost', async () => {
    const world = await afterDeath();
    world.nowMs += minute - 1;
    expect(await world.isDue()).toBe(false);
    world.nowMs += 2;
    expect(await world.isDue()).toBe(true);
    await world.consume();
    expect(await world.record()).toMatchObject({ committedBytes: 0 });
    expect(await world.isDue()).toBe(false);
  });
});
