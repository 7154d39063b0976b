import { describe, expect, it } from 'vitest';
import { forgetHistory } from '../../../../../lambda/use-cases/history/forget-history.ts';
import { MemoryStack, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { MemoryHistory } from '../../../../support/memory/stores.ts';

const range = { tenant, from: '2020-01-01', to: '2099-01-01' };

describe('the history of a tenant', () => {
  it('goes with it, and is not written again by the recount that empties it', async () => {
    const world = new MemoryStack();
    world.put({ [`a/${oidOf(1)}`]: 1 });
    await world.create();
    expect(await world.deps.history.days(range)).toHaveLength(1);
    await world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });
    await world.consume({ full: true });
    expect(await world.deps.history.days(range)).toEqual([]);
  });

  it('that is long goes a part at a time, until the time is up', async () => {
    const { deps } = new MemoryStack();
    const asked: number[] = [];
    let nowMs = 1000;
    const history = Object.assign(new MemoryHistory(), {
      forgetSome: async ({ daysMax }: { daysMax: number }) => {
        asked.push(daysMax);
        nowMs += 10;
        return { hasMore: asked.length % 3 !== 0 };
      },
    });
    const clock = { ...deps.clock, nowMs: () => nowMs };
    expect(await forgetHistory({ history, clock }, { tenant, untilMs: 2000 })).toBe(true);
    expect(asked).toEqual([100, 100, 100]);
    expect(await forgetHistory({ history, clock }, { tenant, untilMs: nowMs })).toBe(false);
    expect(asked).toHaveLength(4);
    // To the last moment of its time.
    expect(await forgetHistory({ history, clock }, { tenant, untilMs: nowMs + 10 })).toBe(true);
    expect(asked).toHaveLength(6);
  });
});
