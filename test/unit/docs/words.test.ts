import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesBelow, readPages, readText, root } from './pages.ts';
import { allowed, rules } from './words-rules.ts';
import { pageTexts, sourceTexts, type Text } from './words-texts.ts';

/**
 * Texts that read like a translation: CONTRIBUTING.md says how to fix one. The baseline has the hits that each file
 * had when the check was written. They may only fall, and a file that isn't listed has none.
 */
const baselineFile = 'test/unit/docs/words-baseline.json';
const baseline: Readonly<Record<string, number>> = JSON.parse(readText(baselineFile));

/** Folders with texts that a person reads: help, errors, problems of the API, the console, settings. */
const sources = ['cli', 'console/src', 'lambda', 'lib/settings', 'local'];

function textsByFile(): Map<string, Text[]> {
  const files = sources.flatMap(filesBelow).filter((file) => /\.tsx?$/.test(file));
  const texts = new Map(files.map((file) => [file, sourceTexts(file, readText(file))]));
  for (const [page, markdown] of readPages()) texts.set(page, pageTexts(markdown));
  return texts;
}

/** Each rule that a text breaks: the line, the words, and what to write instead. */
function hitsOf({ line, text }: Text): string[] {
  const left = allowed.reduce((rest, term) => rest.replace(term, ''), text);
  return rules.flatMap(([pattern, instead]) => {
    const found = pattern.exec(left)?.[0].trim();
    return found === undefined ? [] : [`${line}: "${found}": ${instead}`];
  });
}

const found = new Map([...textsByFile()].map(([file, texts]) => [file, texts.flatMap(hitsOf)]));

if (process.env['WORDS'] === 'write') {
  const rows = [...found]
    .map(([file, hits]) => [file, hits.length] as const)
    .filter(([, count]) => count > 0);
  const sorted = Object.fromEntries(rows.sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(path.join(root, baselineFile), `${JSON.stringify(sorted, null, 2)}\n`);
}

describe('texts that people read', () => {
  it('get no new hits in any file', () => {
    const worse = [...found].filter(([file, hits]) => hits.length > (baseline[file] ?? 0));
    const shown = worse.map(([file, hits]) => [`${file}: ${baseline[file] ?? 0} allowed`, ...hits]);
    expect(shown).toEqual([]);
  });

  it('have the hits that the baseline lists: after you fix some, lower it (WORDS=write)', () => {
    const counts = [...found].map(([file, hits]) => [file, hits.length] as const);
    expect(baseline).toEqual(Object.fromEntries(counts.filter(([, count]) => count > 0)));
  });

  it.each([
    ['It cannot be changed.', 'contraction'],
    ['Whoever begins runs this once.', 'name the actor: you, a user, the client'],
    ['The reservation is dead.', 'expired, unconfirmed'],
  ])('a rule finds "%s"', (text, instead) => {
    expect(hitsOf({ line: 1, text }).join()).toContain(instead);
  });

  it('reads strings, templates, sums and JSX, and neither imports nor types', () => {
    const code = `import x from 'an import here';
      type T = 'a type here';
      const a = 'one string here', b = \`for \${a('an inner text')} here\`, c = 'a sum ' + a + ' here';
      const d = <p class="not this one">A text here</p>;`;
    const texts = sourceTexts('x.tsx', code).map(({ text }) => text);
    expect(texts).toEqual([
      'one string here',
      'for {} here',
      'an inner text',
      'a sum {} here',
      'A text here',
    ]);
  });

  it('reads a page without its code', () => {
    const page = 'Run `npm ci` here.\n```\nnot this\n```\n[A link](to.md#there) is read.';
    expect(pageTexts(page)).toEqual([
      { line: 1, text: 'Run `x` here.' },
      { line: 5, text: '[A link] is read.' },
    ]);
  });
});
