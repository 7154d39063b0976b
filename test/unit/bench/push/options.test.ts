import { describe, expect, it } from 'vitest';
import { readOptions } from '../../../../bench/push/options.ts';

describe('the options of the push benchmark', () => {
  it('measure everything three times by default, but no older commit', () => {
    const { cases, ...rest } = readOptions([]);
    expect(cases.map(({ name, files, fileBytes }) => [name, files, fileBytes])).toEqual([
      ['1,000 × 4 KB', 1000, 4000],
      ['200 × 1 MB', 200, 1_000_000],
      ['4 × 500 MB', 4, 500_000_000],
    ]);
    expect(rest).toEqual({ rounds: 3, latencies: ['on', 'off'], peers: true, before: false, add: undefined });
  });

  it('choose cases, latency, rounds and servers', () => {
    const args = [
      '--rounds',
      '5',
      '--cases',
      'large,small',
      '--latency',
      'off',
      '--peers',
      'off',
      '--before',
    ];
    const options = readOptions(args);
    expect(options.cases.map(({ fileBytes }) => fileBytes)).toEqual([500_000_000, 4000]);
    expect(options).toMatchObject({ rounds: 5, latencies: ['off'], peers: false, before: true });
  });

  it('scale the number of files, and say so in the name', () => {
    expect(readOptions(['--scale', '0.1']).cases).toEqual([
      { name: '100 × 4 KB', files: 100, fileBytes: 4000 },
      { name: '20 × 1 MB', files: 20, fileBytes: 1_000_000 },
      { name: '1 × 500 MB', files: 1, fileBytes: 500_000_000 },
    ]);
  });

  it.each([
    [['--rounds', '0'], '--rounds takes a whole number from 1 to 50'],
    [['--rounds', '1.5'], '--rounds takes a whole number'],
    [['--scale', '2'], '--scale takes a number above 0, up to 1'],
    [['--scale', '0'], '--scale takes'],
    [['--cases', 'small,huge'], "--cases takes small, medium, large; 'huge' is none of them."],
    [['--latency', 'some'], '--latency takes both, on, off'],
    [['--peers', 'yes'], '--peers takes on, off'],
    [['--round', '1'], "Unknown option '--round'"],
  ])('refuse %j', (args, message) => {
    expect(() => readOptions(args)).toThrow(message);
  });
});
