import { describe, expect, it } from 'vitest';
import { faultMixes } from './mixes.ts';
import { runSeed, runsOf } from './seeds.ts';
import type { SimSubject } from './subject.ts';
import * as subjects from './subjects.ts';

const seedsPerMix = runsOf({ usual: 30, nightly: 180 });
/** How often each of these happens at least in a scenario, on average: a third of what was seen. */
const leastPerScenario: Readonly<Record<string, number>> = {
  tenants: 1.1,
  admissions: 0.66,
  refusals: 0.27,
  retries: 0.14,
  puts: 1.1,
  broken: 0.085,
  deletes: 0.5,
  around: 0.04,
  outages: 0.014,
  staleReads: 0.24,
  deferred: 0.66,
  deadLetters: 0.014,
  told: 0.5,
  repoLimits: 0.48,
  ...Object.assign({}, ...Object.values<SimSubject>(subjects).map(({ least }) => least)),
};

describe('the ledger under a seeded scheduler', () => {
  const total = new Map<string, number>();

  it.each(faultMixes.map((mix, index) => ({ name: mix.name, index })))(
    `keeps its invariants in ${seedsPerMix} scenarios: $name`,
    async ({ index }) => {
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
    },
  );

  it('has seen what can happen: a simulation in which nothing happens proves nothing', () => {
    const scenarios = seedsPerMix * faultMixes.length;
    for (const [name, least] of Object.entries(leastPerScenario))
      expect(total.get(name), name).toBeGreaterThanOrEqual(Math.floor(least * scenarios));
  });
});
