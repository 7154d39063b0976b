import type { Mix } from './actor.ts';

const fair: Mix = { name: 'fair', fail: 0, lostAnswer: 0, twice: 0, late: 0, freeze: 0, kill: 0, skewMs: 0 };

/** With large repos in every run: what their many writes do if they happen twice, or long after somebody gave them up. */
export const lateMixes: readonly Mix[] = [1, 12].map((minutes) => ({
  ...fair,
  name: `writes up to ${minutes} min late`,
  fail: 0.01,
  lostAnswer: 0.02,
  twice: 0.03,
  late: 0.08,
  lateMaxMs: minutes * 60_000,
  givenUp: 0.02,
  freeze: 0.003,
  kill: 0.05,
  skewMs: 2_000,
}));

/** Six mixes of faults. Each seed runs with one of them. */
export const faultMixes: readonly Mix[] = [
  { ...fair, name: 'concurrency alone', skewMs: 1_000 },
  { ...fair, name: 'clock skew', skewMs: 5_000 },
  {
    ...fair,
    name: 'writes twice, late and unanswered',
    twice: 0.05,
    late: 0.05,
    lostAnswer: 0.03,
    skewMs: 2_000,
  },
  { ...fair, name: 'throttling', fail: 0.05, twice: 0.02, skewMs: 2_000 },
  { ...fair, name: 'killed and frozen functions', kill: 0.3, freeze: 0.02, skewMs: 2_000 },
  {
    name: 'all at once',
    fail: 0.02,
    lostAnswer: 0.02,
    twice: 0.03,
    late: 0.03,
    freeze: 0.01,
    kill: 0.15,
    skewMs: 5_000,
  },
];
