import { describe, expect, it } from 'vitest';
import { faultMixes } from './mixes.ts';
import { runSeed } from './seeds.ts';
import * as stories from './stories.ts';

const seedsPerMix = 350;

describe('the ledger under a seeded scheduler', () => {
  it.each(faultMixes.map((mix, index) => ({ name: mix.name, index })))(
    `keeps its invariants in ${seedsPerMix} scenarios: $name`,
    { timeout: 180_000 },
    async ({ index }) => {
      const total = { admissions: 0, refusals: 0, deletes: 0, retries: 0, deferred: 0, told: 0 };
      for (let run = 0; run < seedsPerMix; run += 1) {
        const seed = run * faultMixes.length + index;
        const coverage = await runSeed(seed).catch((error: unknown) => {
          throw new Error(`Seed ${seed}: replay it with npm run simulate -- --seed ${seed} --seeds 1`, {
            cause: error,
          });
        });
        total.admissions += coverage.admissions;
        total.refusals += coverage.refusals + coverage.partial;
        total.deletes += coverage.deletes;
        total.retries += coverage.retries;
        total.deferred += coverage.deferred;
        total.told += coverage.told;
      }
      // A simulation in which nothing happens proves nothing.
      for (const count of Object.values(total)) expect(count).toBeGreaterThan(30);
    },
  );

  it.each(Object.entries(stories))(
    'keeps its invariants in a scenario written by hand: %s',
    { timeout: 180_000 },
    async (_, story) => {
      for (const seed of faultMixes.keys()) await runSeed(seed, { story });
    },
  );

  it('replays a seed exactly', async () => {
    const all = async () => Promise.all([3, 4, 5].map(async (seed) => runSeed(seed)));
    expect(await all()).toEqual(await all());
  });
});
