import { expect, it } from 'vitest';
import { runNested } from './nested.ts';
import { runsOf } from './seeds.ts';

it('operations that run within each other never let more than twice the limit arrive, and end exact', async () => {
  for (let seed = 0; seed < runsOf({ usual: 30, nightly: 300 }); seed += 1)
    await expect(runNested(seed), `seed ${seed}`).resolves.toBeUndefined();
});
