import { describe, expect, it } from 'vitest';
import { ExportStack } from '../../../../support/subjects/exports/export-stack.ts';
import { expectObjects } from './expect-archives.ts';

describe('exports with kills', () => {
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
