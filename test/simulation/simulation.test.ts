import { describe, expect, it } from 'vitest';
import { faultMixes } from './mixes.ts';
import { runSeed } from './seeds.ts';

/** CI runs all of them. While you work, you want the answer soon. */
const seedsPerMix = process.env['CI'] ? 180 : 30;
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
});
