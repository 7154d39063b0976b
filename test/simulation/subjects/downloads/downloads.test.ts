import { expect, it } from 'vitest';
import { faultMixes } from '../../mixes.ts';
import { firstViolation, runSeed } from '../../seeds.ts';
import { downloadMutants } from './mutants-downloads.ts';
import * as stories from './stories-downloads.ts';

it.each(Object.entries(stories))(
  'what is metered was offered in a scenario written by hand: %s',
  async (_, story) => {
    for (const seed of faultMixes.keys()) await runSeed(seed, { story });
  },
);

it.each(downloadMutants)('$name: caught within $seeds seeds', async ({ invariant, seeds, ...how }) => {
  const found = await firstViolation({ from: 0, count: seeds, invariant, ...how });
  expect(found?.message).toMatch(invariant);
});
