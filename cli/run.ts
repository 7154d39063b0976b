import { Command, CommanderError } from 'commander';
import { registerDu } from './commands/du.ts';
import { registerObject } from './commands/object.ts';
import { registerReconcile } from './commands/reconcile.ts';
import { registerRepo } from './commands/repo.ts';
import { registerTenant } from './commands/tenant.ts';
import { registerToken } from './commands/token.ts';
import { registerUsage } from './commands/usage.ts';
import type { CliContext } from './context.ts';
import { CliError, UsageError } from './errors.ts';

/**
 * Runs one command line.
 *
 * @param args without the interpreter and the script.
 * @returns the exit code: 0, 1 where the command failed, 2 where it was called wrongly.
 */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  const program = buildProgram(context);
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return report(error, context);
  }
}

function buildProgram(context: CliContext): Command {
  // Set before the commands are added: they inherit it.
  const program = new Command(context.program)
    .description('The command line of lfs-quota: tenants, tokens, limits and usage.')
    .version(context.version)
    .configureOutput({ writeOut: context.out, writeErr: context.err })
    .showHelpAfterError('See --help.')
    .exitOverride();
  registerTenant(program, context);
  registerToken(program, context);
  registerRepo(program, context);
  registerObject(program, context);
  registerUsage(program, context);
  registerReconcile(program, context);
  registerDu(program, context);
  return program;
}

function report(error: unknown, context: CliContext): number {
  // Commander has printed these already; help that was asked for is no error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof UsageError) {
    context.err(`error: ${error.message}\n`);
    return 2;
  }
  if (error instanceof CliError) {
    context.err(`error: ${error.message}\n${error.hint === undefined ? '' : `${error.hint}\n`}`);
    return 1;
  }
  throw error;
}
