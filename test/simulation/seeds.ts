import fc from 'fast-check';
import type { Mix } from './actor.ts';
import type { Coverage } from './coverage.ts';
import { Violation } from './invariants.ts';
import { faultMixes } from './mixes.ts';
import { type Scenario, scenario } from './scenario.ts';
import { simulate } from './simulate.ts';
import type { Story } from './stories.ts';
import type { Mutant } from './world.ts';

/** The scenario of a seed, and the mix of faults that it runs with. */
function seeded(seed: number, story?: Story): { scenario: Scenario; mix: Mix } {
  const [random] = story ? [{ ...story, seed }] : fc.sample(scenario, { seed, numRuns: 1 });
  const mix = faultMixes[seed % faultMixes.length];
  if (!random || !mix) throw new Error('No scenario for that seed.');
  return { scenario: random, mix };
}

/** @param input.story instead of a random scenario. */
export function runSeed(seed: number, input: { mutant?: Mutant; story?: Story } = {}): Promise<Coverage> {
  const { mutant, story } = input;
  const { scenario, mix } = seeded(seed, story);
  return simulate(scenario, { mix, ...(mutant && { mutant }) });
}

/** The first of `count` seeds, beginning with `from`, that breaks an invariant of this name. */
export async function firstViolation(input: {
  from: number;
  count: number;
  invariant: RegExp;
  mutant: Mutant;
  story?: Story;
}): Promise<{ seed: number; message: string } | undefined> {
  for (let seed = input.from; seed < input.from + input.count; seed += 1) {
    try {
      await runSeed(seed, input);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      if (input.invariant.test(error.message)) return { seed, message: error.message };
    }
  }
  return undefined;
}

/** The scenario of a seed that fails, shrunk to the actions that matter, and the invariant that it breaks. */
export async function shrink(seed: number): Promise<{ scenario: Scenario; error: string } | undefined> {
  const { scenario: found, mix } = seeded(seed);
  const property = fc.asyncProperty(scenario, async (candidate) => {
    await simulate(candidate, { mix });
  });
  const result = await fc.check(property, { seed, numRuns: 1, examples: [[found]] });
  const least = result.counterexample?.[0];
  return least && { scenario: least, error: String(result.errorInstance) };
}
