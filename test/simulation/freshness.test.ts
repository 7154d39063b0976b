import { describe, expect, it } from 'vitest';
import { simulateFreshness } from './freshness.ts';
import { replacing } from './replacing.ts';
import type { Mutant } from './world.ts';

const seeds = Array.from({ length: 60 }, (_, seed) => seed);

describe('usage', () => {
  it('holds each upload as soon as it is promised, whether or not it was verified', async () => {
    let uploads = 0;
    for (const seed of seeds) uploads += (await simulateFreshness(seed)).uploads;
    expect(uploads).toBeGreaterThan(seeds.length * 40);
  }, 120_000);

  it('would not without looking for what nobody verified', async () => {
    const mutant: Mutant = {
      ledger: (ledger) =>
        replacing(ledger, {
          commitTenant: (commit) => ledger.commitTenant({ ...commit, lookAtMs: null }),
        }),
    };
    await expect(firstFailure(mutant)).resolves.toMatch(/^Freshness: /);
  }, 120_000);
});

async function firstFailure(mutant: Mutant): Promise<string | undefined> {
  for (const seed of seeds) {
    const failed = await simulateFreshness(seed, mutant).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (failed) return failed;
  }
  return undefined;
}
