import { expect, it } from 'vitest';
import { CutBudget } from '../../../../../lambda/domain/scan/cut-budget.ts';

/** Cuts that are made after so many full pages, if each is made as soon as it is allowed. */
function cutsAfter(pages: number): number {
  const budget = new CutBudget();
  let cuts = 0;
  for (let page = 0; page < pages; page += 1) {
    budget.addFullPage();
    for (; budget.room > 0; cuts += 1) budget.spend(1);
  }
  return cuts;
}

it.each([
  [0, 0],
  [1, 0],
  [2, 1],
  [10, 3],
  [100, 25],
  [1000, 115],
])('after %i full pages %i cuts were allowed', (pages, cuts) => {
  expect(cutsAfter(pages)).toBe(cuts);
});

it('what else cost requests is taken from the cuts', () => {
  const budget = new CutBudget();
  for (let page = 0; page < 10; page += 1) budget.addFullPage();
  budget.spend(2.5);
  expect(budget.room).toBe(0);
  budget.spend(5);
  expect(budget.room).toBeLessThan(0);
});
