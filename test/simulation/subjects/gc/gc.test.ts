import { describe, expect, it } from 'vitest';
import { isInTurn } from '../../../support/turn.ts';
import { Violation } from '../../invariants.ts';
import { runsOf } from '../../seeds.ts';
import { runGc } from './gc.ts';
import { gcMutants, slowNotes } from './mutants-gc.ts';

/** How often each of these must happen at least, in 100 histories. A simulation in which nothing happens proves nothing. */
const least = { pushes: 5_000, renamed: 1_000, runs: 150, deleted: 300, lateWrites: 100, kills: 100 };
const histories = runsOf({ usual: 12, nightly: 100 });

describe('a gc run, while people push', () => {
  it(`never deletes what a ref needs, in ${histories} random histories`, async () => {
    const total = new Map<string, number>();
    for (let seed = 0; seed < histories; seed += 1) {
      const coverage = await runGc(seed).catch((cause: unknown) => {
        throw new Error(`Seed ${seed} of the gc runs`, { cause });
      });
      for (const [name, count] of Object.entries(coverage)) total.set(name, (total.get(name) ?? 0) + count);
    }
    for (const [name, count] of Object.entries(least))
      expect(total.get(name), name).toBeGreaterThanOrEqual(Math.floor((count * histories) / 100));
    // A run that fails deletes nothing. If that were frequent, something would be wrong.
    expect(total.get('spoiled')).toBeLessThanOrEqual(Math.floor(histories / 20));
  });

  it('goes on if batches take long to note what they name', async () => {
    for (let seed = 0; seed < 6; seed += 1) await runGc(seed, slowNotes);
  });

  it.each(gcMutants.filter((_, index) => isInTurn(index)))(
    '$name is caught within $seeds seeds',
    async (each) => {
      const messages: string[] = [];
      for (let seed = 0; seed < each.seeds && messages.length === 0; seed += 1) {
        await runGc(seed, each.mutant).catch((error: unknown) => {
          if (!(error instanceof Violation)) throw error;
          if (/^I[79]/.test(error.message)) messages.push(error.message);
        });
      }
      expect(messages[0]).toMatch(/^I[79]/);
    },
  );
});
