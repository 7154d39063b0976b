import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '../..');

/** Paths from the root. */
export const pageNames: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...readdirSync(path.join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/${name}`),
];

/** A fenced block of a page. */
export interface DocBlock {
  readonly page: string;
  /** The last heading before it. */
  readonly heading: string;
  readonly language: string;
  /** Without the indentation of its fence. */
  readonly text: string;
}

/** The fenced blocks of a page, in their order. */
export function docBlocks(page: string): DocBlock[] {
  const text = readFileSync(path.join(root, page), 'utf8');
  let heading = '';
  return [...text.matchAll(/^#+ (.+)$|^( *)```(.*)\n((?:.*\n)*?)\2```$/gm)].flatMap(
    ([, title, indent = '', language = '', body = '']) => {
      if (title !== undefined) {
        heading = title;
        return [];
      }
      return [{ page, heading, language, text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }];
    },
  );
}

interface NotRun {
  readonly page?: string;
  readonly block: RegExp;
  readonly why: string;
}

/** The `sh` blocks that test/e2e/pages.test.ts can't paste. Their syntax, commands and files are still checked. */
export const notRun: readonly NotRun[] = [
  { block: /(?:^|[\s(])(?:aws|npx cdk) [a-z]/m, why: 'needs an AWS account' },
  {
    block: /^npm ci && npm start$/m,
    why: 'the test starts it on a free port; `npm ci` is a lane of .ci/run',
  },
  { block: /^npm cit$/m, why: 'a lane of .ci/run' },
  { page: 'CONTRIBUTING.md', block: /^(?:npm|npx) /m, why: 'runs tests' },
  { block: /^lfs-quota tenant storage-class /m, why: 'needs a store that has storage classes' },
  {
    block: /^lfs-quota user allow /m,
    why: 'needs an organization of a git host: test/blackbox/subjects/sign-in/sign-in.ts has one',
  },
  { block: /s3:\/\/[A-Za-z-]+ /, why: 'needs a bucket of the reader; tests of `du` and `doctor` have one' },
  {
    page: 'docs/serve.md',
    block: /^npm install -g|tenant create/m,
    why: 'needs a machine with a name: .ci/first-push.sh has one, and runs them',
  },
  {
    page: 'docs/serve.md',
    block: /^lfs-quota (?:serve|table (?:backup|restore)) /m,
    why: 'needs that server: test/embedded/serve.test.ts and backups.test.ts have one',
  },
  {
    page: 'docs/proxies.md',
    block: /^/,
    why: 'needs a proxy: test/proxies has some',
  },
  {
    page: 'docs/serve.md',
    block: /docker /m,
    why: 'needs Docker: the lane `image` builds the image and runs it',
  },
  {
    block: /^npx lfs-quota table /m,
    why: 'needs a table on AWS, or a lost one: test/engines/backups.test.ts, test/embedded/backups.test.ts',
  },
  {
    page: 'docs/limit-uploads.md',
    block: /^/,
    why: 'needs a browser: test/console/subjects/files/limit-uploads.test.ts has one, and runs them',
  },
  { page: 'docs/measured.md', block: /^cargo install /m, why: "fetches other projects' servers" },
];

export const whyNotRun = ({ page, text }: DocBlock): string | undefined =>
  notRun.find((each) => (each.page ?? page) === page && each.block.test(text))?.why;
