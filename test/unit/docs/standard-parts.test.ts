import { describe, expect, it } from 'vitest';
import { reachedFrom, sources } from '../import-graph.ts';
import { codeSpans, readText } from './pages.ts';

const [, section = ''] = readText('docs/architecture.md').split('\n## Standard parts\n');
const rows = (section.split('\n## ')[0] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('| ') && line.includes('`'))
  .map((line) => {
    const [part = '', job = '', where = ''] = line.slice(2, -2).split(' | ');
    return { part, job, file: codeSpans(where)[0] ?? '' };
  });

const filesIn = (folder: string) => [...sources.keys()].filter((file) => file.startsWith(folder));
const deployed = reachedFrom([...filesIn('lambda/handlers/'), ...filesIn('bin/'), ...filesIn('lib/')]);
const tests = reachedFrom(filesIn('test/'));

const packages = rows.flatMap(({ part, file }) => codeSpans(part).map((name) => ({ name, file })));
const words = rows.filter(({ part }) => codeSpans(part).length === 0);

describe('the standard parts', () => {
  it('are the packages of the beginning, and what it asked for', () => {
    expect(packages.map(({ name }) => name).sort()).toEqual([
      '@aws-sdk/client-dynamodb',
      '@aws-sdk/client-s3',
      '@aws-sdk/lib-dynamodb',
      'aws-cdk-lib',
      'aws-sdk-client-mock',
      'constructs',
      'vitest',
      'zod',
    ]);
    expect(words.length).toBeGreaterThanOrEqual(6);
  });

  it.each(packages)('$name does its job in $file', ({ name, file }) => {
    const text = sources.get(file) ?? '';
    const isUsed = new RegExp(`^import (?!type )[^;]*? from '${name}(?:/[^']*)?';`, 'm').test(text);
    expect(isUsed).toBe(true);
    const isOfTests = name === 'vitest' || name === 'aws-sdk-client-mock';
    expect((isOfTests ? tests : deployed).has(file)).toBe(true);
  });

  it.each(words)('$part is in $file', ({ job, file }) => {
    expect(deployed.has(file)).toBe(true);
    expect(sources.get(file)).toContain(codeSpans(job)[0]);
  });
});
