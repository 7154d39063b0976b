import type { Command } from 'commander';

/** A command that does something, with the words that call it: `tenant create`. */
export interface CalledCommand {
  readonly words: string;
  readonly command: Command;
}

/** All commands of the command line but `help`, in their order. Groups do nothing, and are left out. */
export function commandsOf(program: Command, before: readonly string[] = []): CalledCommand[] {
  return program.commands.flatMap((command) => {
    const words = [...before, command.name()];
    return command.commands.length > 0 ? commandsOf(command, words) : [{ words: words.join(' '), command }];
  });
}
