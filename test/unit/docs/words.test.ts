import { describe, expect, it } from 'vitest';
import { filesBelow, readPages, readText } from './pages.ts';
import { allowed, rules } from './words-rules.ts';
import { commentTexts, pageTexts, sourceTexts, type Text } from './words-texts.ts';

/**
 * Texts that read like a translation: CONTRIBUTING.md says how to fix one. What can't be fixed is in the list of
 * exceptions, with the reason.
 */
const exceptions: readonly { readonly file: string; readonly text: string; readonly reason: string }[] =
  JSON.parse(readText('test/unit/docs/words-allowed.json'));
const exceptionsMax = 20;

/** Folders with texts that a person reads: help, errors, problems of the API, the console, settings. */
const sources = ['cli', 'console/src', 'lambda', 'lib/settings', 'local'];

const files = sources.flatMap(filesBelow).filter((file) => /\.tsx?$/.test(file));

function textsByFile(): Map<string, Text[]> {
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

const texts = textsByFile();

describe('texts that people read', () => {
  it('break no rule, but for the exceptions', () => {
    const hits = [...texts].flatMap(([file, all]) => {
      const own = exceptions.filter((exception) => exception.file === file);
      const without = (text: string) =>
        own.reduce((rest, exception) => rest.replace(exception.text, ''), text);
      return all
        .flatMap(({ line, text }) => hitsOf({ line, text: without(text) }))
        .map((hit) => `${file}:${hit}`);
    });
    expect(hits).toEqual([]);
  });

  it('have few exceptions, each with a reason, and none that is not needed', () => {
    expect(exceptions.length).toBeLessThanOrEqual(exceptionsMax);
    expect(exceptions.filter(({ reason }) => reason === '')).toEqual([]);
    const unneeded = exceptions.filter(
      ({ file, text }) =>
        hitsOf({ line: 1, text }).length === 0 || !texts.get(file)?.some((each) => each.text.includes(text)),
    );
    expect(unneeded).toEqual([]);
  });

  it.runIf(process.env['WORDS'] === 'comments')('are used in comments too', () => {
    const hits = files.flatMap((file) =>
      commentTexts(file, readText(file))
        .flatMap(hitsOf)
        .map((hit) => `${file}:${hit}`),
    );
    expect(hits).toEqual([]);
  });

  it('finds a comment, and where it begins', () => {
    const code = 'const a = 1;\n/** Whoever\n * begins. */\nconst b = 2; // It cannot be.\n';
    expect(commentTexts('x.ts', code)).toEqual([
      { line: 2, text: 'Whoever begins.' },
      { line: 4, text: 'It cannot be.' },
    ]);
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
