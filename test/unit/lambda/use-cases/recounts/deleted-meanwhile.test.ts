import { describe, expect, it } from 'vitest';
import { markObject } from '../../../../../lambda/use-cases/deletes/delete-objects.ts';
import { runDeletions } from '../../../../../lambda/use-cases/deletes/run-deletions.ts';
import { reconcile } from '../../../../../lambda/use-cases/recounts/reconcile.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;
const deathMs = 37 * minute;

describe('a reconcile beside a delete', () => {
  it('frees the room of what may come back no further than the limit', async () => {
    const world = new MemoryStack();
    await world.create(1000);
    const slow: Record<string, number> = {};
    const upload = async (round: number) => {
      const path = `repo${round}/${oidOf(round)}`;
      const verdicts = await world.push(`repo${round}`, { [oidOf(round)]: 1000 });
      if (typeof verdicts === 'string' || verdicts.get(oidOf(round))?.kind !== 'upload') return false;
      world.put({ [path]: 1000 });
      slow[path] = 1000;
      await world.consume();
      world.nowMs += deathMs;
      await world.runSchedule();
      await markObject(world.deps, { tenant, repo: `repo${round}`, oid: oidOf(round), dryRun: false });
      world.nowMs += hour + 1;
      return true;
    };
    for (let round = 1; round <= 5; round += 1) {
      if (!(await upload(round))) continue;
      // A batch at the limit has read the reservations when the queue's run deletes, before it reads the repos.
      const { repos } = world.ledger;
      let hasDeleted = false;
      world.ledger.repos = async function* (name: string) {
        if (!hasDeleted) await runDeletions(world.deps, { tenant, untilMs: world.nowMs + minute });
        hasDeleted = true;
        yield* repos.call(world.ledger, name);
      };
      await reconcile(world.deps, { tenant, full: false, isAwaited: true });
      world.ledger.repos = repos;
    }
    expect(Object.keys(slow)).toHaveLength(2);
    world.put(slow);
    await world.pass(27 * hour);
    expect(await world.usage()).toEqual({ committedBytes: 2000, storedBytes: 2000 });
  });
});
