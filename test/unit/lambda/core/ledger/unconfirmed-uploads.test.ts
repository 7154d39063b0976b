import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;
/** A reservation of small objects is lapsed then, by every clock. */
const deathMs = 37 * minute;

describe('uploads that end when their reservation is lapsed', () => {
  let world: MemoryStack;
  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(1000);
  });

  it('never bring more than twice the limit, in however many rounds and repos they are promised', async () => {
    const landed: string[] = [];
    for (let round = 0; round < 8; round += 1) {
      const objects = { [oidOf(2 * round)]: 500, [oidOf(2 * round + 1)]: 500 };
      const verdicts = await world.push(`repo${round}`, objects);
      if (typeof verdicts === 'string') throw new Error(verdicts);
      for (const [oid, { kind }] of verdicts) if (kind === 'upload') landed.push(`repo${round}/${oid}`);
      world.nowMs += deathMs;
      await world.runSchedule();
    }
    expect(landed).toHaveLength(4);
    for (const path of landed) world.put({ [path]: 500 });
    await world.pass(25 * hour);
    expect(await world.usage()).toEqual({ committedBytes: 2000, storedBytes: 2000 });
    const refused = await world.push('last', { [oidOf(99)]: 1 });
    expect(refused).toEqual(new Map([[oidOf(99), expect.objectContaining({ kind: 'over-limit' })]]));
  });

  it('give their room back at once if they never come, and are looked for with growing pauses', async () => {
    await world.push('app', { [oidOf(1)]: 900 });
    world.nowMs += deathMs;
    expect(await world.runSchedule()).toBe(true);
    expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
    const verdicts = await world.push('app', { [oidOf(2)]: 900 });
    expect(verdicts).toEqual(new Map([[oidOf(2), expect.objectContaining({ kind: 'upload' })]]));
    world.put({ [`app/${oidOf(2)}`]: 900 });
    await world.consume();
    const hours = await world.pass(30 * hour);
    expect(hours).toEqual([0.25, 0.75, 1, 6, expect.any(Number), 24]);
    expect(world.ledger.inspect(tenant).reservations).toEqual([]);
    expect(await world.usage()).toEqual({ committedBytes: 900, storedBytes: 900 });
  });

  it('are counted at the next look, without a full count', async () => {
    await world.push('app', { [oidOf(1)]: 900 });
    world.nowMs += deathMs;
    await world.runSchedule();
    world.put({ [`app/${oidOf(1)}`]: 900 });
    await world.consume();
    expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
    world.nowMs += 15 * minute;
    expect(await world.runSchedule()).toBe(true);
    expect(await world.usage()).toEqual({ committedBytes: 900, storedBytes: 900 });
    expect(world.ledger.inspect(tenant).reservations).toEqual([]);
  });

  it('count once, however often they were promised', async () => {
    for (let round = 0; round < 5; round += 1) {
      const verdicts = await world.push('app', { [oidOf(1)]: 900 });
      expect(verdicts).toEqual(new Map([[oidOf(1), expect.objectContaining({ kind: 'upload' })]]));
      world.nowMs += deathMs;
      await world.runSchedule();
    }
    expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
  });

  it('are not counted twice when one of their repo arrives later with another push', async () => {
    await world.push('app', { [oidOf(1)]: 400 });
    world.nowMs += deathMs;
    await world.runSchedule();
    await world.push('app', { [oidOf(1)]: 400 });
    world.put({ [`app/${oidOf(1)}`]: 400 });
    await world.consume();
    expect(await world.usage()).toEqual({ committedBytes: 400, storedBytes: 400 });
    await world.pass(25 * hour);
    expect(await world.usage()).toEqual({ committedBytes: 400, storedBytes: 400 });
    expect(world.ledger.inspect(tenant).reservations).toEqual([]);
  });
});
