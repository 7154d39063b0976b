import { expect, it } from 'vitest';
import { FirstItems } from '../../../cli/extreme-items.ts';

it('the first items are those of all that were added, in order', () => {
  const numbers = Array.from({ length: 5000 }, (_, index) => (index * 7919) % 5003);
  for (const count of [1, 10, 6000]) {
    const first = new FirstItems<number>(count, (a, b) => a - b);
    for (const number of numbers) first.add(number);
    const expected = [...numbers].sort((a, b) => a - b).slice(0, count);
    expect(first.sorted()).toEqual(expected);
    // Asking changes nothing.
    expect(first.sorted()).toEqual(expected);
  }
});
