import { describe, expect, it } from 'vitest';
import { isInTurn } from '../support/turn.ts';
import type { Mix } from './actor.ts';
import { faultMixes } from './mixes.ts';
import { runSeed, runsOf } from './seeds.ts';
import * as otherStories from './stories.ts';
import * as batchStories from './stories-batches.ts';
import * as besideStories from './stories-beside.ts';
import { fileStories } from './stories-files.ts';
import * as lateStories from './stories-late.ts';
import * as limitStories from './stories-limits.ts';
import * as makerStories from './stories-makers.ts';
import * as countStories from './stories-scans.ts';
import * as slowStories from './stories-slow.ts';

const adoptedSeeds = runsOf({ usual: 15, nightly: 80 });

describe('the ledger under a seeded scheduler', () => {
  it('keeps its invariants over adopted repos', async () => {
    const total = { admissions: 0, deletes: 0, around: 0 };
    for (let seed = 0; seed < adoptedSeeds; seed += 1) {
      const coverage = await runSeed(seed, { focus: 'adopted' }).catch((error: unknown) => {
        const replay = `npm run simulate -- --focus adopted --seed ${seed} --seeds 1`;
        throw new Error(`Seed ${seed}: replay it with ${replay}`, { cause: error });
      });
      for (const name of ['admissions', 'deletes', 'around'] as const) total[name] += coverage[name];
    }
    for (const [name, count] of Object.entries(total))
      expect(count, name).toBeGreaterThanOrEqual(Math.floor(adoptedSeeds / 15));
  });

  it.each(
    Object.entries({
      ...otherStories,
      ...batchStories,
      ...countStories,
      ...limitStories,
      ...slowStories,
      ...lateStories,
      ...makerStories,
      ...besideStories,
      ...fileStories,
    }).map(([name, story], number) => ({ name, story, number })),
  )('keeps its invariants in a scenario written by hand: $name', async ({ story, number }) => {
    // Each of the 5,600 batches is throttled many times: a minute of CPU.
    const isLong = (mix: Mix) => story === otherStories.manyReservations && mix.name === 'throttling';
    for (const [seed, mix] of faultMixes.entries())
      if (!isLong(mix) && isInTurn(seed + number, 3)) await runSeed(seed, { story });
  });

  it('replays a seed exactly', async () => {
    const all = async () => Promise.all([3, 4, 5].map(async (seed) => runSeed(seed)));
    expect(await all()).toEqual(await all());
  });
});
