import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { shownOf } from '../../../cli/help.ts';
import { contract } from '../../../lambda/contract.ts';
import type { RouteContract } from '../../../lambda/frame/contract/contract.ts';
import { problemTypes } from '../../../lambda/frame/contract/problems.ts';
import { deploymentSettings, parseDeploymentSettings } from '../../../lib/settings/stages.ts';
import { type DocBlock, docBlocks, notRun, whyNotRun } from '../../support/doc-blocks.ts';
import type { TestedSubject } from '../../support/subject.ts';
import * as subjects from '../../support/subjects.ts';
import { programForTest } from '../cli/harness.ts';
import { codeSpans, readPages, root } from './pages.ts';

const pages = readPages();
const blocks = [...pages.keys()].flatMap(docBlocks);
const ofSubjects = Object.values<TestedSubject>(subjects).flatMap(({ blocks }) => blocks ?? []);
const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

const placeholder =
  /(?<![\w$"{#@-])(?!(?:DELETE|GLACIER_IR|HEAD|JSON|LFS|PATCH|STANDARD_IA)\b)[A-Z]{2,}(?:_[A-Z]+)*(?![\w=#:-])/;

/** What a reader fills in, in the text: a command line's own check must accept it. */
const filledIn: Readonly<Record<string, string>> = {
  N: '2',
  SIZE: '1GiB',
  OID: '0'.repeat(64),
  TOKEN_ID: '5f0c1e2d3b4a5968',
  EXPORT_ID: '019a9d3c2f805f0c1e2d3b4a',
};

/** The command lines of `lfs-quota` in a text, without what the shell does. */
function commandLines(text: string): string[][] {
  return [...text.replaceAll('\\\n', ' ').matchAll(/(?:npx |^|[\s(])lfs-quota(?:\.js)? ([^|>&;)\n#]+)/g)].map(
    ([, line = '']) =>
      [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, word = '']) => {
        const given = single ?? double ?? word;
        return (
          filledIn[given] ?? given.replace(/^\$\w+$/, 'x').replace(/^[A-Z]+$/, (name) => name.toLowerCase())
        );
      }),
  );
}

/** What is wrong with a command line. undefined: nothing. */
/** What no help shows, too: pages tell of `agent`. */
const leavesOf = (group: Command): readonly Command[] =>
  group.commands.flatMap((command) => (shownOf(command).length > 0 ? leavesOf(command) : [command]));

async function wrongIn(words: readonly string[]): Promise<string | undefined> {
  const printed: string[] = [];
  const program = programForTest({ err: (text) => printed.push(text) });
  for (const leaf of leavesOf(program)) leaf.action(() => undefined);
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    return `${words.join(' ')}: ${printed.join('') || error}`;
  }
  return undefined;
}

/** What bash says of the syntax of each block of a shell. One bash reads them all, as functions that it doesn't call. */
const inBash = syntaxErrors(blocks.filter(({ language }) => language === 'sh').map(({ text }) => text));

function syntaxErrors(texts: readonly string[]): Map<string, string> {
  const script = 'while IFS= read -rd "" text; do eval "block() { :\n$text\n}" 2>&1; printf "\\0"; done';
  const { stdout } = spawnSync('bash', ['-c', script], {
    input: texts.map((text) => `${text}\0`).join(''),
    encoding: 'utf8',
  });
  const found = stdout.split('\0');
  return new Map(texts.map((text, index) => [text, found[index] ?? 'bash ended']));
}

/** test/console/subjects/files/limit-uploads.test.ts runs the apps of this page, and no others. */
const app = ({ page }: DocBlock) => expect(page).toBe('docs/limit-uploads.md');

/** Each kind of block that a page may have, and what makes one wrong. */
const rules: Readonly<Record<string, (block: DocBlock) => unknown>> = {
  async sh({ text }) {
    expect(inBash.get(text)).toBe('');
    expect(text, 'is not what a reader pastes').not.toMatch(/^\s*[$>#] /m);
    expect(text, 'has a placeholder').not.toMatch(placeholder);
    for (const words of commandLines(text)) expect(await wrongIn(words)).toBeUndefined();
    for (const [, name = ''] of text.matchAll(/npm run (?:-s )?([\w:]+)/g))
      expect(scripts).toHaveProperty(name);
    for (const [line] of text.matchAll(/\bcdk (?:diff|deploy|destroy) .*/g)) {
      const { stage = '', ...others } = Object.fromEntries(
        [...line.matchAll(/ -c (\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
      );
      expect(deploymentSettings(stage)).toBeDefined();
      // Without its file, a deployment would have the defaults.
      expect(others).toEqual(stage === 'prod' ? { settings: 'prod.json' } : {});
    }
    for (const [file] of text.matchAll(/\b(?:test|lambda|lib|cli|docs)\/\S+\.\w+/g))
      expect(existsSync(path.join(root, file)), file).toBe(true);
  },
  /** Files of packaging/, as packaging.test.ts says. The lane `proxies` runs them. */
  caddyfile: ({ text }) => expect(text).toContain('reverse_proxy'),
  nginx: ({ text }) => expect(text).toContain('proxy_pass'),
  /** What a command prints, or a list that other tests read. */
  text({ text }) {
    expect(text).not.toMatch(/^\s*(?:[$>] )?(?:npx|npm|git|aws|curl|export|lfs-quota) /m);
  },
  /** A query of CloudWatch Logs Insights. runbook-page.test.ts checks its messages. */
  logs({ text }) {
    for (const line of text.trim().split('\n'))
      expect(line).toMatch(/^(?:filter|\| (?:fields|sort|stats)) \S/);
  },
  yaml({ text }) {
    const { jobs, build } = parseYaml(text);
    const { steps } = jobs?.build ?? jobs?.gc ?? {};
    expect(steps?.at(-1).run ?? build.script.at(-1)).toMatch(/git lfs pull|lfs-quota gc acme game/);
  },
  json({ text }) {
    const value = JSON.parse(text);
    if (value.code !== undefined) {
      const { status, title } = problemTypes[value.code as keyof typeof problemTypes];
      expect(value).toMatchObject({ status, title, type: `urn:lfs-quota:problem:${value.code}` });
    } else if (value.source !== undefined || value.data !== undefined) {
      expect(ofSubjects.some(({ json }) => json(value))).toBe(true);
    } else if (value.nextCursor !== undefined || value.tenant !== undefined) {
      expect(answers.some((schema) => isDeepStrictEqual(schema.safeParse(value).data, value))).toBe(true);
    } else parseDeploymentSettings('prod', { ...value, ...withoutProfile(value) });
  },
  /** No server of it is started. */
  async js({ text }) {
    const [functions = ''] = text.split(/^createServer/m);
    const loaded = await import(`data:text/javascript,${encodeURIComponent(functions)}`);
    expect(ofSubjects.map(({ js }) => js(loaded))).toContain(true);
  },
  mjs: app,
  html: app,
  python: app,
  go: app,
};

/** The reader has that file, this checkout doesn't. */
function withoutProfile({ objectStore }: { objectStore?: { profile?: string } }) {
  const { profile: _, ...store } = objectStore ?? {};
  return objectStore && { objectStore: store };
}

/** Each body that the API answers. */
const answers = Object.values<RouteContract>(contract).flatMap((route) =>
  Object.values(route.answers).flatMap(({ schema }) => schema ?? []),
);

describe('the blocks of the pages', () => {
  it.each(blocks)('$page, $heading ($language)', async (block) => {
    expect(Object.keys(rules)).toContain(block.language);
    await rules[block.language]?.(block);
  });

  it('are all found', () => {
    const fences = [...pages.values()].flatMap((text) => text.match(/^ *```/gm) ?? []);
    expect(blocks).toHaveLength(fences.length / 2);
  });

  it('are not run only if a reason says why, and each reason has a block', () => {
    const shell = blocks.filter(({ language }) => language === 'sh');
    const unused = notRun.filter(({ why }) => !shell.some((block) => whyNotRun(block) === why));
    expect(unused).toEqual([]);
  });
});

/** Of the text of a page, which may name a command without what it needs. command-line.md is made of the commands. */
it.each([...pages].filter(([page]) => page !== 'docs/command-line.md'))(
  'the command lines in the text of %s are right',
  async (_, text) => {
    const spans = codeSpans(text).filter((span) => /^(?:npx )?lfs-quota (?!COMMAND)\S/.test(span));
    const wrong = await Promise.all(spans.flatMap(commandLines).map(wrongIn));
    expect(
      wrong.filter(
        (each) => each && !/CommanderError: 1\.2\.3$|missing required argument|required option/.test(each),
      ),
    ).toEqual([]);
  },
);
