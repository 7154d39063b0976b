import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { commandsOf } from '../../../cli/help.ts';
import { programForTest } from '../cli/harness.ts';
import { commandLinePage } from './command-line-page.ts';
import { codeBlockLines, codeSpans, readPages } from './pages.ts';

const page = fileURLToPath(new URL('../../../docs/command-line.md', import.meta.url));
const commands = commandsOf(programForTest());

it('docs/command-line.md is as the commands are now', async () => {
  await expect(commandLinePage(programForTest())).toMatchFileSnapshot(page);
});

it('docs/command-line.md has each command', () => {
  const shown = [...readFileSync(page, 'utf8').matchAll(/^- `lfs-quota ([a-z][a-z -]*[a-z])/gm)].map(
    ([, words]) => words,
  );
  expect(commands.map(({ words }) => words).filter((words) => !shown.includes(words))).toEqual([]);
});

/** What a text calls: `lfs-quota WORDS`, up to the end of its line. */
const called = /(?:^|[\s`(])(?:npx |~\/lfs-quota\/bin\/|\.\/bin\/)?lfs-quota(?:\.js)? ([a-z][^`]*)/;

describe('README.md and all pages', () => {
  it('show no command and no option that does not exist', () => {
    const groups = new Set(programForTest().commands.map((command) => command.name()));
    const wrong = [...readPages()].flatMap(([file, content]) =>
      [...codeBlockLines(content), ...codeSpans(content)].flatMap((line) => {
        const [, words = ''] = called.exec(line) ?? [];
        const [first = ''] = words.split(' ');
        if (!groups.has(first)) return [];
        const found = commands.find((each) => `${words} `.startsWith(`${each.words} `));
        // A group may be named alone.
        if (!found)
          return /^[a-z]+( [A-Z…|].*| [a-z|]+)?$/.test(words) && words === first ? [] : [`${file}: ${line}`];
        const [own = ''] = words.split(/[|#>;]| && | \\/);
        const flags = [...own.matchAll(/(?<= |\[)--[a-z][a-z-]*/g)].map(([flag]) => flag);
        const known = found.command
          .createHelp()
          .visibleOptions(found.command)
          .map(({ long }) => long);
        return flags.filter((flag) => !known.includes(flag)).map((flag) => `${file}: ${flag} in ${line}`);
      }),
    );
    expect(wrong).toEqual([]);
  });
});
