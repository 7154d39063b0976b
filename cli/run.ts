import { CommanderError } from 'commander';
import { painter } from './colour.ts';
import type { CliContext } from './context.ts';
import { CliError, UsageError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { asCalled, buildProgram } from './program.ts';

/**
 * Runs one command line.
 *
 * @param args without the interpreter and the script.
 * @returns the exit code, as docs/command-line.md has them.
 */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  const program = buildProgram(context);
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCodes.done.code;
  } catch (error) {
    return report(error, context);
  }
}

function report(error: unknown, context: CliContext): number {
  // Commander has printed these already. Help that was asked for is no error.
  if (error instanceof CommanderError)
    return error.exitCode === 0 ? exitCodes.done.code : exitCodes.usage.code;
  if (error instanceof UsageError) {
    context.err(asCalled(`${mark(context)} ${error.message}\n`, context));
    return exitCodes.usage.code;
  }
  if (error instanceof CliError) {
    context.err(asCalled(`${mark(context)} ${error.message}\n${error.hint}\n`, context));
    return exitCodes[error.failure].code;
  }
  throw error;
}

const mark = ({ env, errIsTerminal }: CliContext) => painter(env, errIsTerminal)('red', 'error:');
