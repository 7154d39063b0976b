import fc from 'fast-check';
import type { Mix } from './actor.ts';
import type { Code } from './code.ts';
import type { Coverage } from './coverage.ts';
import { Violation } from './invariants.ts';
import { faultMixes, lateMixes } from './mixes.ts';
import { type Scenario, scenario } from './scenario.ts';
import { simulate } from './simulate.ts';
import { adoptedStageOf, filesStageOf, largeRepoStageOf, type Stage, stageOf } from './stage.ts';
import { type Story, stageFor } from './story.ts';
import type { Mutant } from './world.ts';

/**
 * What runs are about. `late-large repos`: large repos in every run, and writes that happen late. `adopted`: repos that lie where
 * another server put them. `slow`: pages of reads and listings, and deletes, take long in every run.
 * `files`: repos of files in every run.
 */
export const focuses = ['everything', 'large-repos', 'adopted', 'slow', 'files'] as const;
export type Focus = (typeof focuses)[number];

const stages: Readonly<Record<Focus, (seed: number) => Stage>> = {
  everything: stageOf,
  'large-repos': largeRepoStageOf,
  adopted: adoptedStageOf,
  slow: (seed) => ({ ...stageOf(seed), isSlow: true }),
  files: filesStageOf,
};

/** Each run has one of these. */
export function mixesOf(focus: Focus): readonly Mix[] {
  return focus === 'large-repos' ? lateMixes : faultMixes;
}

/** How many random runs a test makes: few after each change, most in `.ci/run nightly`. */
export const runsOf = (runs: { readonly usual: number; readonly nightly: number }): number =>
  process.env['NIGHTLY'] ? runs.nightly : runs.usual;

/** The scenario of a seed, the mix of faults that it runs with, and what the stage is like. */
function seeded(
  seed: number,
  { story, focus = 'everything' }: { story?: Story; focus?: Focus } = {},
): { scenario: Scenario; mix: Mix; stage: (seed: number) => Stage } {
  const [random] = story ? [{ ...story, seed }] : fc.sample(scenario, { seed, numRuns: 1 });
  const mixes = mixesOf(focus);
  const mix = mixes[seed % mixes.length];
  if (!random || !mix) throw new Error('No scenario for that seed.');
  return { scenario: random, mix, stage: (of) => stageFor(story, stages[focus](of)) };
}

/** @param input.story instead of a random scenario. */
export function runSeed(
  seed: number,
  input: { mutant?: Mutant; story?: Story; focus?: Focus; other?: Code } = {},
): Promise<Coverage> {
  const { mutant, other } = input;
  const { scenario, mix, stage } = seeded(seed, input);
  return simulate(scenario, {
    mix,
    stage: stage(scenario.seed),
    ...(mutant && { mutant }),
    ...(other && { other }),
  });
}

/** The first of `count` seeds, beginning with `from`, that breaks an invariant of this name. */
export async function firstViolation(input: {
  from: number;
  count: number;
  invariant: RegExp;
  mutant: Mutant;
  story?: Story;
  focus?: Focus;
  other?: Code;
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
export async function shrink(
  seed: number,
  focus: Focus,
): Promise<{ scenario: Scenario; error: string } | undefined> {
  const { scenario: found, mix, stage } = seeded(seed, { focus });
  const property = fc.asyncProperty(scenario, async (candidate) => {
    await simulate(candidate, { mix, stage: stage(candidate.seed) });
  });
  const result = await fc.check(property, { seed, numRuns: 1, examples: [[found]] });
  const least = result.counterexample?.[0];
  return least && { scenario: least, error: String(result.errorInstance) };
}
