import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { codeBlockLines, codeSpans, filesBelow, readPages, root, withoutCodeBlocks } from './pages.ts';

const pages = readPages();
const topFolders = [
  '.ci',
  'bench',
  'bin',
  'cli',
  'console',
  'cost',
  'docs',
  'lambda',
  'lib',
  'local',
  'test',
];

/** Written by a command, and not kept in git. */
const generated = /^\.lfs-quota\//;

/** Names of all files of the project. */
const fileNames: ReadonlySet<string> = new Set(
  [...readdirSync(root), ...topFolders.flatMap(filesBelow)].map((file) => path.basename(file)),
);

/** The anchors that GitHub gives the headings of a page. */
function anchorsOf(page: string): Set<string> {
  const headings = [...withoutCodeBlocks(pages.get(page) ?? '').matchAll(/^#+ (.+)$/gm)];
  return new Set(
    headings.map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

interface Link {
  readonly page: string;
  /** From the root. */
  readonly file: string;
  readonly anchor: string;
}

const links: readonly Link[] = [...pages].flatMap(([page, text]) =>
  [...withoutCodeBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file = '', anchor = ''] = target.split('#');
      return { page, anchor, file: file === '' ? page : path.posix.join(path.posix.dirname(page), file) };
    }),
);

/** A path from the root, or undefined for any other word. */
function asPath(word: string): string | undefined {
  const trimmed = word.replace(/^["'(]+|["'),.:;]+$/g, '');
  const [top = ''] = trimmed.split('/');
  const isPath = trimmed.includes('/') && topFolders.includes(top) && /^[\w./-]+$/.test(trimmed);
  return isPath && !generated.test(trimmed) ? trimmed : undefined;
}

/** Files that a reader of deploy.md makes. */
const madeByReaders: ReadonlySet<string> = new Set(['prod.json', 'outputs.json']);

describe('README.md and docs/', () => {
  it('link only to files and headings that exist', () => {
    expect(links.length).toBeGreaterThan(30);
    const broken = links.filter(
      ({ file, anchor }) =>
        !existsSync(path.join(root, file)) ||
        (anchor !== '' && pages.has(file) && !anchorsOf(file).has(anchor)),
    );
    expect(broken).toEqual([]);
  });

  it.each([...pages])('name in %s only paths that exist', (_page, text) => {
    const words = [...codeSpans(text), ...codeBlockLines(text)].flatMap((code) => code.split(/\s+/));
    const mentioned = [...text.matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([match]) => match);
    const paths = [...words.flatMap((word) => asPath(word) ?? []), ...mentioned];
    expect(paths.filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
  });

  it.each([...pages])('name in %s only files that exist, where they leave the folder out', (_page, text) => {
    const names = codeSpans(text).filter((span) => /^[a-z][\w.-]*\.(?:ts|mjs|md|sh|json)$/.test(span));
    expect(names.filter((name) => !fileNames.has(name) && !madeByReaders.has(name))).toEqual([]);
  });

  it('have an entry page that links to every other page', () => {
    const linked = new Set(links.filter(({ page }) => page === 'README.md').map(({ file }) => file));
    const unlinked = [...pages.keys()].filter((page) => page !== 'README.md' && !linked.has(page));
    expect(unlinked).toEqual([]);
  });
});
