import fc from 'fast-check';
import type { Coverage } from './coverage.ts';
import { Violation } from './invariants.ts';
import { faultMixes } from './mixes.ts';
import { type Scenario, scenario } from './scenario.ts';
import { simulate } from './simulate.ts';
import type { Mutant } from './world.ts';

/** The scenario of a seed, and the mix of faults that it runs with. */
function seeded(seed: number) {
  const [story] = fc.sample(scenario, { seed, numRuns: 1 });
  const mix = faultMixes[seed % faultMixes.length];
  if (!story || !mix) throw new Error('No scenario for that seed.');
  return { story, mix };
}

export function runSeed(seed: number, mutant?: Mutant): Promise<Coverage> {
  const { story, mix } = seeded(seed);
  return simulate(story, { mix, ...(mutant && { mutant }) });
}

/** The first of `count` seeds, beginning with `from`, that breaks an invariant of this name. */
export async function firstViolation(input: {
  from: number;
  count: number;
  invariant: RegExp;
  mutant: Mutant;
}): Promise<{ seed: number; message: string } | undefined> {
  for (let seed = input.from; seed < input.from + input.count; seed += 1) {
    try {
      await runSeed(seed, input.mutant);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      if (input.invariant.test(error.message)) return { seed, message: error.message };
    }
  }
  return undefined;
}

/** The scenario of a seed that fails, shrunk to the actions that matter, and the invariant that it breaks. */
export async function shrink(seed: number): Promise<{ scenario: Scenario; error: string } | undefined> {
  const { story, mix } = seeded(seed);
  const property = fc.asyncProperty(scenario, async (candidate) => {
    await simulate(candidate, { mix });
  });
  const result = await fc.check(property, { seed, numRuns: 1, examples: [[story]] });
  const found = result.counterexample?.[0];
  return found && { scenario: found, error: String(result.errorInstance) };
}
