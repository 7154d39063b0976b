import { describe, expect, it } from 'vitest';
import { problemHints } from '../../../cli/errors.ts';
import { commandsOf } from '../../../cli/help.ts';
import { programForTest } from '../cli/harness.ts';
import { elementTexts } from './element-texts.ts';
import { filesBelow, readText } from './pages.ts';
import { sourceTexts } from './words-texts.ts';

/** Texts that are read in a hurry are short. Those that git prints: test/unit/lambda/subjects/lfs/messages.test.ts. */

const helpMax = 80;
const errorMax = 140;
const labelMax = 3;
const noticeMax = 20;

const program = programForTest();

describe('the help of the command line', () => {
  const texts = commandsOf(program).flatMap(({ words, command }) => [
    { of: words, text: command.description() },
    ...command.registeredArguments.map((operand) => ({
      of: `${words} ${operand.name()}`,
      text: operand.description,
    })),
    ...command
      .createHelp()
      .visibleOptions(command)
      .map(({ flags, description }) => ({ of: `${words} ${flags}`, text: description })),
  ]);

  it(`takes at most ${helpMax} characters for a command, an operand and an option`, () => {
    expect(texts.length).toBeGreaterThan(200);
    expect(texts.filter(({ text }) => text.length > helpMax)).toEqual([]);
  });

  it('is there for each', () => {
    expect(texts.filter(({ text }) => text === '')).toEqual([]);
  });

  it('has one line for each command of the first level', () => {
    const help = program.createHelp();
    const lines = help.visibleCommands(program).map((command) => help.subcommandDescription(command));
    expect(lines.filter((line) => line.length > 50)).toEqual([]);
  });
});

describe('an error of the command line', () => {
  it(`takes at most ${errorMax} characters for what failed, and for what to do`, () => {
    // Scripts for shells, and the help with its examples.
    const files = filesBelow('cli').filter(
      (file) => file.endsWith('.ts') && !/\/(completion|help)\.ts$/.test(file),
    );
    const texts = files.flatMap((file) =>
      sourceTexts(file, readText(file)).map(({ line, text }) => ({ at: `${file}:${line}`, text })),
    );
    expect(texts.length).toBeGreaterThan(500);
    expect(texts.filter(({ text }) => text.length > errorMax)).toEqual([]);
  });

  it('is as short when it is printed', () => {
    // Commander's own start of an error, and its list of the values that an option takes.
    const byCommander =
      /^error: (command-argument value|option) .* is invalid( for argument '[^']*')?\. (Allowed choices .*)?/;
    const files = filesBelow('test/unit/cli/golden');
    const long = files.flatMap((file) =>
      readText(file)
        .split('\n')
        .filter((line) => line.startsWith('! '))
        .map((line) => line.slice(2).replace(byCommander, ''))
        .filter((line) => line.length > errorMax)
        .map((line) => `${file}: ${line}`),
    );
    expect(long).toEqual([]);
  });

  it('has a hint within the bound for each problem', () => {
    expect(Object.values(problemHints).filter((hint) => hint.length > errorMax)).toEqual([]);
  });
});

describe('the console', () => {
  const texts = filesBelow('console/src')
    .filter((file) => file.endsWith('.tsx'))
    .flatMap((file) => elementTexts(file, readText(file)).map((each) => ({ file, ...each })));
  /** Without values that are filled in. */
  const longer = (names: RegExp, most: number) =>
    texts
      .filter(
        ({ name, text }) =>
          names.test(name) && text.split(' ').filter((word) => /[a-z0-9]/i.test(word)).length > most,
      )
      .map(({ file, line, name, text }) => `${file}:${line}: ${name}: ${text}`);

  it(`has labels of at most ${labelMax} words`, () => {
    expect(
      longer(/^(button|label|legend|summary|option|th|dt|h[1-6]|title|aria-label|placeholder)$/, labelMax),
    ).toEqual([]);
  });

  it(`has notices of at most ${noticeMax} words`, () => {
    expect(longer(/^(p|note)$/, noticeMax)).toEqual([]);
  });

  it('is read with its attributes, its alternatives and what is inside', () => {
    const code = `<Card title={isNew ? 'A long title' : 'Title'}><p>One {count} <b>bold</b>{' end'}</p></Card>`;
    const found = elementTexts('x.tsx', `const a = ${code};`).map(({ name, text }) => `${name}: ${text}`);
    expect(found).toEqual(['Card: One {} bold end', 'title: A long title', 'p: One {} bold end', 'b: bold']);
  });
});
