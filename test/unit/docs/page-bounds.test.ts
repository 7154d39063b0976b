import { describe, expect, it } from 'vitest';
import { readText, withoutCodeBlocks } from './pages.ts';

/** Each page that somebody wrote: its most words outside of code, and whether it talks to its reader. */
const pages: readonly { page: string; most: number; isForUsers?: boolean }[] = [
  { page: 'README.md', most: 450, isForUsers: true },
  { page: 'docs/quickstart.md', most: 430, isForUsers: true },
  { page: 'docs/git-users.md', most: 1500, isForUsers: true },
  { page: 'docs/large-files.md', most: 350, isForUsers: true },
  { page: 'docs/team-admins.md', most: 2780, isForUsers: true },
  { page: 'docs/saas-builders.md', most: 1850, isForUsers: true },
  { page: 'docs/limit-uploads.md', most: 1080, isForUsers: true },
  { page: 'docs/deploy.md', most: 2070, isForUsers: true },
  { page: 'docs/costs.md', most: 950, isForUsers: true },
  { page: 'docs/serve.md', most: 1100, isForUsers: true },
  { page: 'docs/proxies.md', most: 450, isForUsers: true },
  { page: 'docs/runbook.md', most: 2530, isForUsers: true },
  { page: 'docs/migrate.md', most: 1400, isForUsers: true },
  { page: 'docs/limits.md', most: 250 },
  { page: 'docs/security.md', most: 2080 },
  { page: 'docs/how-it-works.md', most: 2260 },
  { page: 'docs/architecture.md', most: 2500 },
  { page: 'docs/decisions.md', most: 2000 },
  { page: 'docs/measured.md', most: 1600 },
  { page: 'CONTRIBUTING.md', most: 940 },
  { page: 'SECURITY.md', most: 200 },
];

const you = /\byou(r|rs|'\w+)?\b/gi;
const contraction = /n't\b|\b(it|that|you|there|here|we|they)'(s|re|ll|ve)\b/gi;

const words = (text: string) => text.split(/\s+/).filter((word) => /\w/.test(word));

/** Sentences of paragraphs and lists: tables, headings and code aren't prose. */
function sentences(page: string): string[] {
  const prose = withoutCodeBlocks(page)
    .split('\n')
    .map((line) => (/^\s*(\||#|<|!\[)/.test(line) ? '' : line.replace(/^\s*([-*]|\d+\.) /, '\n\n')))
    .join('\n')
    .replaceAll(/`[^`]*`/g, 'x')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '');
  return prose
    .split(/\n\s*\n/)
    .flatMap((paragraph) => paragraph.replaceAll('\n', ' ').split(/(?<=[.:?!])\s+/))
    .filter((sentence) => words(sentence).length > 2);
}

describe.each(pages)('$page', ({ page, most, isForUsers = false }) => {
  const text = readText(page);
  const prose = withoutCodeBlocks(text);

  it('is within its budget', () => {
    expect(words(prose).length).toBeLessThanOrEqual(most);
  });

  it('has short sentences', () => {
    const lengths = sentences(text)
      .map((sentence) => ({ sentence, length: words(sentence).length }))
      .sort((a, b) => b.length - a.length);
    expect(lengths.filter(({ length }) => length > 35).map(({ sentence }) => sentence)).toEqual([]);
    expect(lengths[Math.floor(lengths.length * 0.05)]?.length ?? 0).toBeLessThanOrEqual(25);
    expect(lengths[Math.floor(lengths.length / 2)]?.length ?? 0).toBeLessThanOrEqual(14);
  });

  it.runIf(isForUsers)('talks to "you", with contractions', () => {
    const perThousand = (pattern: RegExp) =>
      ((prose.match(pattern) ?? []).length / words(prose).length) * 1000;
    expect(perThousand(you)).toBeGreaterThanOrEqual(10);
    expect(perThousand(contraction)).toBeGreaterThanOrEqual(3);
  });
});
