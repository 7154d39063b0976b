import { describe, expect, it } from 'vitest';
import { estimateLeftMs, formatProgress } from '../../../../bench/push/progress.ts';

const minute = 60_000;
const step = (name: string, latency: string, server: string) => ({ case: name, latency, server });
const done = [
  { ...step('small', 'on', 'ours'), tookMs: 1 * minute },
  { ...step('small', 'on', 'ours'), tookMs: 3 * minute },
  { ...step('small', 'on', 'slow'), tookMs: 10 * minute },
  { ...step('small', 'off', 'ours'), tookMs: 1 * minute },
];

describe('what is left of a run', () => {
  it.each([
    ['the rounds of the same server, case and latency', step('small', 'on', 'ours'), 2],
    ['… or with the other latency', step('small', 'off', 'slow'), 10],
    ['… or of the other servers in the case', step('small', 'on', 'third'), 15 / 4],
    ['… or of all', step('large', 'on', 'ours'), 15 / 4],
  ])('is estimated by %s', (_, left, expectedMinutes) => {
    expect(estimateLeftMs(done, [left])).toBe(expectedMinutes * minute);
  });

  it('is the sum of the steps, and unknown at the beginning', () => {
    const left = [step('small', 'on', 'ours'), step('small', 'off', 'slow')];
    expect(estimateLeftMs(done, left)).toBe(12 * minute);
    expect(estimateLeftMs(done, [])).toBe(0);
    expect(estimateLeftMs([], left)).toBeUndefined();
  });

  it('is printed with what is done', () => {
    const left = [step('small', 'off', 'slow')];
    expect(formatProgress({ done, left, goneMs: 15 * minute })).toBe(
      '4 of 5, 15 min gone, about 10 min left',
    );
    expect(formatProgress({ done, left: [], goneMs: 15 * minute })).toBe('4 of 4, 15 min gone');
    expect(formatProgress({ done: [], left, goneMs: 0 })).toBe('0 of 1, 0 min gone');
  });
});
