import { describe, expect, it } from 'vitest';
import { digits, inTurns, median, medianRatio, optionsOf, tableOf } from '../../../bench/statistics.ts';
import { cpuMsOfTree, peakMbOfTree } from '../../../bench/usage.ts';

describe('the arithmetic of benchmarks', () => {
  it.each([
    [[], Number.NaN],
    [[3], 3],
    [[9, 1, 2], 2],
    [[4, 1, 10, 2], 3],
  ])('the median of %j is %d', (values, middle) => {
    expect(median(values)).toBe(middle);
  });

  it.each([
    // Not the ratio of the medians: a slow round slows both down.
    [[2, 30, 4], [1, 10, 4], 2],
    // Rounds that only one has.
    [[6], [2, 100, 100], 3],
    [[6, 8], [2], 3],
    [[6], [], Number.NaN],
  ])('the median of the ratios of %j to %j is %d', (values, bases, ratio) => {
    expect(medianRatio(values, bases)).toBe(ratio);
  });

  it('each round starts with the next one', async () => {
    const seen: string[] = [];
    const items = ['a', 'b', 'c'].map((name) => ({ name, base: 'b' }));
    const rows = await inTurns(items, 4, async ({ name }, round) => {
      seen.push(name);
      return [`${name}${round}`];
    });
    expect(seen.join('')).toBe('abcbcacababc');
    expect(rows[0]).toEqual({ name: 'a', samples: ['a0', 'a1', 'a2', 'a3'], base: rows[1]?.samples });
    expect(await inTurns([], 5, async () => [])).toEqual([]);
  });

  it.each([
    [1234.5, '1,235'],
    [19, '19'],
    [12.34, '12.3'],
    [1.234, '1.23'],
    [0.0123, '0.012'],
    [Number.NaN, '–'],
    [Number.POSITIVE_INFINITY, '–'],
  ])('%d is printed as %s', (value, text) => {
    expect(digits(value)).toBe(text);
  });
});

it('a table has medians, with the least and the most, ratios to the base, and maxima', () => {
  const columns = [
    ['s', (value: number) => value],
    ['×', (value: number) => value, 'ratio'],
    ['max', (value: number) => value, 'max'],
    ['rounds', (value: number) => value, 'range'],
  ] as const;
  const table = tableOf(columns, [{ name: 'ours', samples: [2, 8, 4], base: [1, 2, 4] }]);
  expect(table.split('\n').map((line) => line.split(/ {2,}/).filter(Boolean))).toEqual([
    ['s', '×', 'max', 'rounds'],
    ['----', '-', '-', '---', '-------'],
    ['ours', '4', '2', '8', '4 (2–8)'],
  ]);
});

it('an option that a benchmark does not have is refused', () => {
  expect(optionsOf(['--keys=9'], { keys: '1', runs: '5' })).toEqual({ keys: '9', runs: '5' });
  expect(() => optionsOf(['--key=9'], { keys: '1' })).toThrow('--keys=1');
});

it.runIf(process.platform === 'linux')('the CPU time of a process is read from this machine', () => {
  const before = cpuMsOfTree(process.pid);
  const untilMs = performance.now() + 100;
  while (performance.now() < untilMs);
  const tookMs = cpuMsOfTree(process.pid) - before;
  expect(before).toBeGreaterThan(0);
  expect(tookMs).toBeGreaterThan(1);
  expect(cpuMsOfTree('no-such-process')).toBe(0);
});

it.runIf(process.platform === 'linux')('the memory of a process is read from this machine', () => {
  expect(peakMbOfTree(process.pid)).toBeGreaterThan(10);
  expect(peakMbOfTree(0)).toBe(0);
});
