import type { Argument, Command, Option } from 'commander';

/** What the shell may offer for a value: these words, files, folders, or nothing. */
export type Offer = readonly string[] | 'files' | 'folders' | 'nothing';

export interface OfferedOption {
  /** `-y` and `--yes`. */
  readonly flags: readonly string[];
  readonly about: string;
  /** Of its value; undefined: it takes none. */
  readonly value: Offer | undefined;
}

/** A command or a group of some, as a shell completes it. */
export interface OfferedCommand {
  /** Its words, without the program's: `tenant create`; empty for the program itself. */
  readonly words: string;
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly OfferedOption[];
  readonly operands: readonly { readonly name: string; readonly offer: Offer; readonly isLast: boolean }[];
}

/** The program, its groups and its commands, each before those that it has. */
export function offeredCommands(command: Command, words: readonly string[] = []): OfferedCommand[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  return [
    {
      words: words.join(' '),
      commands: commands.map((each) => ({ name: each.name(), about: aboutOf(each.description()) })),
      options: help.visibleOptions(command).map(offeredOption),
      operands: command.registeredArguments.map((operand) => ({
        name: operand.name(),
        offer: offerOf(operand, operand.name()),
        isLast: operand.variadic,
      })),
    },
    ...command.commands.flatMap((each) => offeredCommands(each, [...words, each.name()])),
  ];
}

function offeredOption(option: Option): OfferedOption {
  const [, placeholder] = /[<[]([^>\]]+)[>\]]/.exec(option.flags) ?? [];
  return {
    flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
    about: aboutOf(option.description),
    value: placeholder === undefined ? undefined : offerOf(option, placeholder),
  };
}

function offerOf({ argChoices }: Option | Argument, placeholder: string): Offer {
  if (argChoices) return argChoices;
  if (placeholder === 'file') return 'files';
  return placeholder === 'dir' ? 'folders' : 'nothing';
}

/** Of a description: what comes before details. */
function aboutOf(description: string): string {
  return (description.split(/[;(]|, such as/)[0] ?? '').trim();
}
