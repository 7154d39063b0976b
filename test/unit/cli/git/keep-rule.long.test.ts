import { expect, it } from 'vitest';
import { isInTurn } from '../../../support/turn.ts';
import { keptOfHistory } from './keep-rule-histories.ts';

const seeds = Array.from({ length: 200 }, (_, seed) => seed).filter((seed) => isInTurn(seed));

it('keeps what its model keeps of 200 random histories, and frees the rest', async () => {
  let [kept, all] = [0, 0];
  for (const seed of seeds) {
    const history = await keptOfHistory(seed);
    expect(history.found, `history ${seed}, ${JSON.stringify(history.rule)}`).toEqual(history.expected);
    kept += history.found.length;
    all += history.all;
  }
  // Neither all nor nothing.
  expect(kept).toBeGreaterThan(0.5 * all);
  expect(kept).toBeLessThan(0.9 * all);
});
