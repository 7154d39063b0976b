import { Argument, type Command } from 'commander';
import { bashScript } from '../completion/bash.ts';
import { fishScript } from '../completion/fish.ts';
import { type OfferedCommand, offeredCommands } from '../completion/model.ts';
import { zshScript } from '../completion/zsh.ts';
import type { CliContext } from '../context.ts';

const shells: Readonly<Record<string, (commands: readonly OfferedCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** `completion SHELL`: the script says all that there is, so that the Tab key starts no program and asks no service. */
export function registerCompletion(program: Command, context: CliContext): void {
  program
    .command('completion')
    .description('print a script with which a shell completes the commands and options of lfs-quota')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(shells)))
    .action((shell: string) => context.out(shells[shell]?.(offeredCommands(program)) ?? ''));
}
