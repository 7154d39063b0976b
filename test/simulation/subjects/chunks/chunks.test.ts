import { describe, expect, it } from 'vitest';
import { takenForLate } from '../../mutants-makers.ts';
import { replacing } from '../../replacing.ts';
import { runsOf } from '../../seeds.ts';
import type { Mutant } from '../../world.ts';
import { run as runChunks } from './chunks.ts';

/** How often each of these must happen at least, in 100 runs: a third of what was seen. */
const least = {
  uploads: 80,
  resumed: 25,
  proofs: 180,
  made: 30,
  wrong: 25,
  ended: 18,
  pairs: 22,
  takeovers: 10,
  endedByName: 5,
  unserved: 0.8,
  refusals: 10,
  deletes: 5,
  kills: 120,
  lateWrites: 100,
};

/** What is copied for an upload that is given up stays. */
const neverAborts: Mutant = {
  deps: (deps) => ({ ...deps, archives: replacing(deps.archives, { abort: async () => undefined }) }),
};
const seeds = runsOf({ usual: 20, nightly: 700 });

describe('chunked uploads, while people lie and functions die', () => {
  it(`never store wrong bytes, nor more than the limit, nor leave anything, in ${seeds} random runs`, async () => {
    const total = new Map<string, number>();
    for (let seed = 0; seed < seeds; seed += 1) {
      const coverage = await runChunks(seed).catch((cause: unknown) => {
        const replay = `npm run simulate -- --focus chunks --seed ${seed} --seeds 1`;
        throw new Error(`Seed ${seed}: replay it with ${replay}`, { cause });
      });
      for (const [name, count] of Object.entries(coverage)) total.set(name, (total.get(name) ?? 0) + count);
    }
    for (const [name, count] of Object.entries(least))
      expect(total.get(name), name).toBeGreaterThanOrEqual(Math.floor((count * seeds) / 100));
  });

  it('notice within 20 runs that no multipart upload is aborted', async () => {
    const left = async (seed: number): Promise<unknown> =>
      seed < 20 && (await runChunks(seed, neverAborts).then(() => left(seed + 1), String));
    expect(await left(0)).toMatch(/never ends: .*a multipart upload of/);
  });

  it('notice within 20 runs that an object which was assembled and deleted is taken for what never came', async () => {
    const mutant = takenForLate(() => true);
    const mistaken = async (seed: number): Promise<unknown> =>
      seed < 20 && (await runChunks(seed, mutant).then(() => mistaken(seed + 1), String));
    expect(await mistaken(0)).toMatch(/I2: maker-\d is to wait/);
  });

  it('replay a seed exactly', async () => {
    expect(await runChunks(5)).toEqual(await runChunks(5));
  });
});
