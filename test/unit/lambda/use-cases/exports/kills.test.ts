import { describe, expect, it } from 'vitest';
import { ExportStack } from '../../../../support/export-stack.ts';
import { expectObjects, killedRun } from './expect-archives.ts';

describe('an export with kills', () => {
  it.each(['tar', 'zip'] as const)('%s: a kill at each call of a step', async (format) => {
    const make = async () => {
      const stack = new ExportStack({ partsMax: 20 });
      const stored = await stack.storeMany(3, 900, ['app', 'web']);
      await stack.start({ format });
      return { stack, stored };
    };
    const whole = await make();
    const before = whole.stack.calls;
    await whole.stack.run();
    const archives = await expectObjects(whole.stack, whole.stored);
    const calls = whole.stack.calls - before;
    expect(calls).toBeGreaterThan(100);
    for (let kill = 0; kill < calls; kill += 1) {
      const { stack, stored } = await make();
      stack.callsToLive = kill;
      await killedRun(stack);
      expect(stack.kills, `at call ${kill}`).toBeLessThanOrEqual(1);
      expect(await expectObjects(stack, stored)).toEqual(archives);
    }
  });

  it('200 exports, each step of which may be killed', async () => {
    let kills = 0;
    for (let seed = 0; seed < 200; seed += 1) {
      const kind = seed % 2 === 0 ? 's3' : 'r2';
      const stack = new ExportStack({ seed, kind, partsMax: seed % 4 < 2 ? 10_000 : 30 });
      const stored = await stack.storeMany(stack.random.int(0, 8), 900, ['app', 'web']);
      await stack.start({ format: seed % 3 === 0 ? 'zip' : 'tar' });
      for (let steps = 0; stack.messages.length > 0; steps += 1) {
        if (stack.random.int(0, 2) === 0) stack.callsToLive = stack.random.int(0, 50);
        await stack.deliver({ isRandom: true });
        if (steps > 3000) throw new Error(`Seed ${seed} does not end.`);
        // Messages come twice.
        const message = stack.messages[0];
        if (message && stack.random.int(0, 9) === 0) stack.messages.push(message);
      }
      kills += stack.kills;
      await expectObjects(stack, stored);
    }
    expect(kills).toBeGreaterThan(200);
  });
});
