import { type Argument, Command, type Option } from 'commander';
import { exitCodes } from '../../../cli/errors.ts';
import { type CalledCommand, commandsOf, examples } from '../../../cli/help.ts';
import { withServiceOptions } from '../../../cli/options.ts';

/** The page with its generated parts as the commands have them now. */
export function commandLinePage(page: string, program: Command): string {
  const withCodes = replaced(page, 'exit-codes', exitCodeTable());
  return replaced(withCodes, 'commands', commandSections(program));
}

function replaced(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [before, rest] = page.split(begin);
  const [, after] = rest?.split(end) ?? [];
  if (before === undefined || after === undefined) throw new Error(`The page lacks ${begin} … ${end}.`);
  return `${before}${begin}\n\n${text}\n${end}${after}`;
}

function exitCodeTable(): string {
  const rows = Object.values(exitCodes).map(({ code, meaning }) => `| ${code} | ${meaning} |`);
  return ['| code | meaning |', '| --- | --- |', ...rows, ''].join('\n');
}

/** Options of nearly every command: the page has them once. */
const common: readonly string[] = serviceOptions();

function serviceOptions(): string[] {
  const command = withServiceOptions(new Command());
  return command.options.map(({ description }) => description);
}

/** A section for each group, and one for each command that is in none. */
function commandSections(program: Command): string {
  const index = program.commands.map((command) => {
    const inside = command.commands.map((each) => {
      const anchor = `${command.name()}-${each.name()}`;
      return `[${each.name()}](#${anchor})`;
    });
    const what = inside.length > 0 ? inside.join(', ') : escaped(command.description());
    return `| [${command.name()}](#${command.name()}) | ${what} |\n`;
  });
  const sections = program.commands
    .map((command) => {
      if (command.commands.length === 0) return commandText({ words: command.name(), command }, '##');
      const inside = commandsOf(command, [command.name()]);
      const texts = inside.map((each) => commandText(each, '###'));
      return [`## ${command.name()}\n`, `${sentence(command.description())}\n`, ...texts].join('\n');
    })
    .join('\n');
  return `## All commands\n\n| | |\n| --- | --- |\n${index.join('')}\n${sections}`;
}

function commandText({ words, command }: CalledCommand, heading: string): string {
  const operands = command.registeredArguments;
  const usage = ['lfs-quota', words, ...operands.map(operandText), '[options]'].join(' ');
  const options = command.createHelp().visibleOptions(command);
  const rows = [
    ...operands.map((operand) => row(operandText(operand), operand)),
    ...options
      .filter(({ long, description }) => long !== '--help' && !common.includes(description))
      .map((option) => row(option.flags, option)),
  ];
  const lines = (examples[words] ?? []).flatMap(([line, what]) => [
    ...(what === undefined ? [] : [`# ${what}`]),
    line,
  ]);
  return [
    `${heading} ${words}\n`,
    `${sentence(command.description())}\n`,
    '```sh',
    usage,
    '',
    ...lines,
    '```\n',
    ...(rows.length === 0 ? [] : ['| | |', '| --- | --- |', ...rows, '']),
  ].join('\n');
}

const operandText = (operand: Argument) => {
  const name = `${operand.name().toUpperCase()}${operand.variadic ? '…' : ''}`;
  return operand.required ? name : `[${name}]`;
};

function row(name: string, { description, argChoices }: Option | Argument): string {
  const choices = argChoices ? ` (${argChoices.join(', ')})` : '';
  return `| \`${name}\` | ${escaped(description)}${choices} |`;
}

const sentence = (text: string) => {
  const all = escaped(text);
  return `${all.slice(0, 1).toUpperCase()}${all.slice(1)}.`
    .replace(/.{1,120}(?: |$)/g, (line) => `${line.trimEnd()}\n`)
    .trimEnd();
};

const escaped = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
