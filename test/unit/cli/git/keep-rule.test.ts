import { expect, it } from 'vitest';
import { keptOfHistory } from './keep-rule-histories.ts';

it.each([200, 201, 202, 203, 204])('a rule keeps what its model keeps of random history %i', async (seed) => {
  const history = await keptOfHistory(seed);
  expect(history.found, JSON.stringify(history.rule)).toEqual(history.expected);
});
