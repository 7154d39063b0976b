import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { printScan } from '../../../cost/scan-command.ts';

const printed = (...args: string[]) => {
  const lines: string[] = [];
  printScan(args, (text) => lines.push(...text.split('\n')));
  return lines;
};
/** A line without the widths of its columns. */
const plain = (line: string) => line.trim().replaceAll(/ {2,}/g, '  ');

describe('npm run cost -- scan', () => {
  it('prints a row for each size, and its rolling scans', () => {
    const lines = printed().map(plain);
    expect(lines).toContain('objects  shards  LISTs  $ LISTs  $ rest  100/s  1,000/s  3,500/s  5,500/s');
    expect(lines.filter((line) => line.startsWith('1,000,000,000 '))).toEqual([
      '1,000,000,000  4,096  1,024,000  5.12  0.073  2.84 h  17.1 min  4.88 min  3.13 min',
      '1,000,000,000  11.9/155.75  1.69/22.25  0.40/5.19',
    ]);
  });

  it('prints one size line by line, with the round that a ceiling allows', () => {
    const lines = printed('--objects', '67000000000', '--lists-per-month', '100000000').map(plain);
    expect(lines).toContain('LISTs  68,681,728');
    expect(lines).toContain('$ S3 Inventory instead of a count  167.50');
    expect(lines.filter((line) => line.includes('  100,000,000  '))).toHaveLength(1);
    expect(printed('--objects', '1000', '--store', 'r2').join('\n')).toMatch(/Inventory .*there is none/);
  });

  it.each([
    [['--objects', '0'], '--objects must be a whole number, at least 1. It is "0".'],
    [['--lists-per-second', 'many'], '--lists-per-second must be a number above 0. It is "many".'],
    [['--page-ms', '0'], '--page-ms must be a number above 0. It is "0".'],
    [['--objects', '9', '--round-days', '-1'], '--round-days'],
    [['--store', 'gcs'], '--store must be s3 or r2. It is "gcs".'],
    [['--object', '9'], "Unknown option '--object'"],
  ])('refuses %j', (args, message) => {
    expect(() => printed(...args)).toThrow(message);
  });

  it('explains its options', () => {
    expect(printed('--help').join('\n')).toContain('--lists-per-second');
  });
});

describe('docs/scale.md', () => {
  const page = readFileSync(new URL('../../../docs/scale.md', import.meta.url), 'utf8')
    .split('\n')
    .map(plain);

  it('has the tables of the command', () => {
    const rows = printed()
      .filter((line) => /^\d/.test(line))
      .map(plain);
    expect(rows).toHaveLength(12);
    for (const row of rows) expect(page).toContain(row);
  });

  it('has the count of 67 billion objects line by line', () => {
    const lines = printed('--objects', '67000000000', '--lists-per-second', '5500').map(plain);
    for (const line of lines.filter((each) => /^(?:\$|workers|busy|Gbit)/.test(each)))
      expect(page).toContain(line);
  });
});
