import { expect, it } from 'vitest';
import { faultMixes } from '../../mixes.ts';
import { firstViolation, runSeed } from '../../seeds.ts';
import { partMutants } from './mutants-parts.ts';
import * as stories from './stories-parts.ts';

it.each(Object.entries(stories))(
  'files in parts keep the invariants in a scenario written by hand: %s',
  async (_, story) => {
    let made = 0;
    for (const seed of faultMixes.keys()) made += (await runSeed(seed, { story, focus: 'files' })).ofParts;
    expect(made).toBeGreaterThan(0);
  },
);

it.each(partMutants)('$name: caught within $seeds seeds', async ({ invariant, seeds, ...how }) => {
  const found = await firstViolation({ from: 0, count: seeds, invariant, ...how });
  expect(found?.message).toMatch(invariant);
});
