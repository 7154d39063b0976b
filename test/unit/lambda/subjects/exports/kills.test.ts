import { expect, it } from 'vitest';
import { ExportStack } from '../../../../support/subjects/exports/export-stack.ts';
import { expectObjects } from './expect-archives.ts';

/**
 * Each kill begins with a copy of the world before its step, and is followed until the world is as it once was without a
 * kill: from there on all is the same.
 */
it.each(['tar', 'zip'] as const)('%s: a kill at each call of a step', async (format) => {
  const whole = new ExportStack({ partsMax: 20 });
  const stored = await whole.storeMany(2, 900, ['app', 'web']);
  await whole.start({ format });
  const steps: { readonly before: ExportStack; readonly calls: number }[] = [];
  const worlds = new Set<string>();
  while (whole.messages.length > 0) {
    const [before, calls] = [whole.copy(), whole.calls];
    await whole.deliver();
    steps.push({ before, calls: whole.calls - calls });
    worlds.add(await whole.world());
  }
  const archives = await expectObjects(whole, stored);
  expect(steps.reduce((sum, { calls }) => sum + calls, 0)).toBeGreaterThan(80);
  let joined = 0;
  for (const [index, { before, calls }] of steps.entries())
    for (let kill = 0; kill < calls; kill += 1) {
      const stack = before.copy();
      stack.callsToLive = kill;
      await stack.deliver();
      expect(stack.kills, `step ${index}, call ${kill}`).toBe(1);
      // Its message comes again first, as without the kill.
      stack.messages.unshift(...stack.messages.splice(-1));
      let isJoined = false;
      while (stack.messages.length > 0 && !isJoined) {
        await stack.deliver();
        isJoined = stack.messages.length > 0 && worlds.has(await stack.world());
      }
      if (isJoined) joined += 1;
      else expect(await expectObjects(stack, stored), `step ${index}, call ${kill}`).toEqual(archives);
    }
  expect(joined).toBeGreaterThan(20);
});
