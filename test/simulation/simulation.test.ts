import { describe, expect, it } from 'vitest';
import { faultMixes } from './mixes.ts';
import { runSeed } from './seeds.ts';
import * as otherStories from './stories.ts';
import * as batchStories from './stories-batches.ts';
import * as besideStories from './stories-beside.ts';
import * as countStories from './stories-counts.ts';
import * as lateStories from './stories-late.ts';
import * as limitStories from './stories-limits.ts';
import * as slowStories from './stories-slow.ts';

/** `.ci/run` runs all of them. While you work, you want the answer soon. */
const [seedsPerMix, adoptedSeeds] = process.env['CI'] ? [350, 150] : [30, 15];
/** How often each of these must happen at least, in 350 scenarios of one mix: a third of what was seen. */
const leastPerMix = {
  tenants: 400,
  admissions: 230,
  refusals: 95,
  retries: 50,
  puts: 400,
  broken: 30,
  deletes: 180,
  around: 15,
  outages: 5,
  staleReads: 85,
  deferred: 230,
  deadLetters: 5,
  told: 185,
  cleanups: 10,
  exports: 8,
  downloads: 30,
  repoLimits: 170,
};

describe('the ledger under a seeded scheduler', () => {
  it.each(faultMixes.map((mix, index) => ({ name: mix.name, index })))(
    `keeps its invariants in ${seedsPerMix} scenarios: $name`,
    async ({ index }) => {
      const total = new Map<string, number>();
      for (let run = 0; run < seedsPerMix; run += 1) {
        const seed = run * faultMixes.length + index;
        const coverage = await runSeed(seed).catch((error: unknown) => {
          throw new Error(`Seed ${seed}: replay it with npm run simulate -- --seed ${seed} --seeds 1`, {
            cause: error,
          });
        });
        const { refusals, partial, ...others } = coverage;
        for (const [name, count] of Object.entries({ ...others, refusals: refusals + partial }))
          total.set(name, (total.get(name) ?? 0) + count);
      }
      // A simulation in which nothing happens proves nothing. Of 30 scenarios, what is rare may be in none.
      const names = process.env['CI'] ? leastPerMix : { admissions: leastPerMix.admissions };
      for (const [name, least] of Object.entries(names))
        expect(total.get(name), name).toBeGreaterThanOrEqual(Math.floor((least * seedsPerMix) / 350));
    },
  );

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
      ...besideStories,
    }),
  )('keeps its invariants in a scenario written by hand: %s', async (_, story) => {
    for (const seed of faultMixes.keys()) await runSeed(seed, { story });
  });

  it('replays a seed exactly', async () => {
    const all = async () => Promise.all([3, 4, 5].map(async (seed) => runSeed(seed)));
    expect(await all()).toEqual(await all());
  });
});
