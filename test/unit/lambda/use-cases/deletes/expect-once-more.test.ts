import { beforeEach, describe, expect, it } from 'vitest';
import { deleteRepo } from '../../../../../lambda/use-cases/deletes/delete-objects.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;
/** A reservation of small objects is dead then, by every clock. */
const deathMs = 37 * minute;

describe('deleted objects that a second PUT may bring back', () => {
  let world: MemoryStack;

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(1000);
  });

  it('never bring more than twice the limit, in however many rounds they are sent twice and deleted', async () => {
    const slow: Record<string, number> = {};
    let admitted = 0;
    for (let round = 0; round < 20; round += 1) {
      const repo = `repo${round}`;
      const verdicts = await world.push(repo, { [oidOf(round)]: 1000 });
      if (typeof verdicts === 'string') throw new Error(verdicts);
      if (verdicts.get(oidOf(round))?.kind === 'upload') {
        admitted += 1;
        world.put({ [`${repo}/${oidOf(round)}`]: 1000 });
        await world.consume();
        // A second PUT of the same URL has begun.
        slow[`${repo}/${oidOf(round)}`] = 1000;
      }
      world.nowMs += deathMs;
      await world.runSchedule();
      expect(world.ledger.inspect(tenant).reservations.every(({ lookAtMs }) => lookAtMs !== null)).toBe(true);
      await deleteRepo(world.deps, { tenant, repo, dryRun: false });
      await world.consume();
      expect(await world.keys()).toEqual([]);
    }
    expect(admitted).toBe(2);
    world.put(slow);
    await world.pass(26 * hour);
    expect(await world.usage()).toEqual({ committedBytes: 2000, storedBytes: 2000 });
  });

  it('are not expected if they were uploaded more than a day before they are deleted', async () => {
    for (const round of [1, 2, 3]) {
      await world.push('app', { [oidOf(round)]: 1000 });
      world.put({ [`app/${oidOf(round)}`]: 1000 });
      await world.consume();
      await world.pass(25 * hour);
      await deleteRepo(world.deps, { tenant, repo: 'app', dryRun: false });
      await world.consume();
      expect(world.ledger.inspect(tenant).reservations).toEqual([]);
    }
    expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
  });

  it('are not expected if they were not uploaded by the API, or have a name that no URL can have', async () => {
    await world.push('app', { [oidOf(1)]: 10 });
    world.put({ [`app/${oidOf(1)}`]: 10, 'app/notes.txt': 500, [`other/${oidOf(2)}`]: 500 });
    await world.consume({ full: true });
    world.nowMs += deathMs;
    await world.runSchedule();
    for (const repo of ['app', 'other']) await deleteRepo(world.deps, { tenant, repo, dryRun: false });
    await world.consume();
    expect(world.ledger.inspect(tenant).reservations).toMatchObject([
      { repo: 'app', claims: new Map([[oidOf(1), 10]]) },
    ]);
  });

  it('are looked for once, at the end of their day, and then forgotten', async () => {
    await world.push('app', { [oidOf(1)]: 900 });
    world.put({ [`app/${oidOf(1)}`]: 900 });
    await world.consume();
    await world.pass(hour);
    await deleteRepo(world.deps, { tenant, repo: 'app', dryRun: false });
    await world.consume();
    expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
    const hours = await world.pass(30 * hour);
    expect(hours.at(-1)).toBeGreaterThan(23);
    expect(hours.length).toBeLessThanOrEqual(3);
    expect(world.ledger.inspect(tenant).reservations).toEqual([]);
  });

  it('are counted once when they come back, whichever scan finds them', async () => {
    await world.push('app', { [oidOf(1)]: 900 });
    world.put({ [`app/${oidOf(1)}`]: 900 });
    await world.consume();
    await world.pass(hour);
    await deleteRepo(world.deps, { tenant, repo: 'app', dryRun: false });
    await world.consume();
    // The repo is open again, and the scan that comes before the look finds what arrived.
    await world.pass(hour);
    world.put({ [`app/${oidOf(1)}`]: 900 });
    await world.consume({ full: true });
    expect(await world.usage()).toEqual({ committedBytes: 900, storedBytes: 900 });
    expect(world.ledger.inspect(tenant).reservations).toEqual([]);
  });
});
