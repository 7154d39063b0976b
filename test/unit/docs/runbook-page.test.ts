import { describe, expect, it } from 'vitest';
import { metricUnits } from '../../../lambda/core/rules/metrics.ts';
import { codeBlockLines, codeSpans, filesBelow, readText } from './pages.ts';

const page = readText('docs/runbook.md');

function section(title: string): string {
  const [, text = ''] = page.split(`\n## ${title}\n`);
  return text.split('\n## ')[0] ?? '';
}

/** The messages that the functions log. */
const logged: ReadonlySet<string> = new Set(
  filesBelow('lambda')
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...readText(file).matchAll(/\blog\.(?:info|warn|error)\(\s*'([^']+)'/g)])
    .map(([, message = '']) => message),
);

describe('docs/runbook.md', () => {
  it('explains every metric, and no other', () => {
    const named = section('Metrics').match(/\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b/g) ?? [];
    expect([...new Set(named)].sort()).toEqual(Object.keys(metricUnits).sort());
  });

  it('names only messages that a function logs', () => {
    const heads = [...section('Metrics').matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell = '']) =>
      codeSpans(cell),
    );
    const inText = codeSpans(page).filter(
      (span) => /^[a-z]+(?: [a-z]+)+$/.test(span) && !/^(?:repo|tenant|cdk|npm) /.test(span),
    );
    const inQueries = codeBlockLines(page)
      .filter((line) => /\bmessage (?:=|in) /.test(line))
      .flatMap((line) => [...(line.split(/\bmessage (?:=|in) /)[1] ?? '').matchAll(/"([^"]+)"/g)])
      .map(([, message = '']) => message);
    const named = [...heads, ...inText, ...inQueries];
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((message) => !logged.has(message))).toEqual([]);
  });
});
