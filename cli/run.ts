import { Command, CommanderError } from 'commander';
import { registerAudit } from './commands/audit.ts';
import { registerConnect } from './commands/connect.ts';
import { registerCount } from './commands/count.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerDownloads } from './commands/downloads.ts';
import { registerDu } from './commands/du.ts';
import { registerExport } from './commands/export.ts';
import { registerGc } from './commands/gc.ts';
import { registerHistory } from './commands/history.ts';
import { registerLock } from './commands/lock.ts';
import { registerObject } from './commands/object.ts';
import { registerReconcile } from './commands/reconcile.ts';
import { registerRepo } from './commands/repo.ts';
import { registerReservation } from './commands/reservation.ts';
import { registerRule } from './commands/rule.ts';
import { registerTenant } from './commands/tenant.ts';
import { registerToken } from './commands/token.ts';
import { registerUsage } from './commands/usage.ts';
import { registerWebhook } from './commands/webhook.ts';
import type { CliContext } from './context.ts';
import { CliError, UsageError } from './errors.ts';

/**
 * Runs one command line.
 *
 * @param args without the interpreter and the script.
 * @returns the exit code: 0, 1 when the command failed, 2 when it was called in a wrong way.
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
  // Set before the commands are added, because they inherit it.
  const program = new Command(context.program)
    .description(
      'Manage the tenants of an lfs-quota service, count what any S3 bucket holds, and try a store.',
    )
    .version(context.version)
    .configureOutput({ writeOut: context.out, writeErr: (text) => context.err(asCalled(text, context)) })
    .showHelpAfterError('Add --help to see how the command is used.')
    .exitOverride();
  registerTenant(program, context);
  registerToken(program, context);
  registerRule(program, context);
  registerConnect(program, context);
  registerAudit(program, context);
  registerDownloads(program, context);
  registerRepo(program, context);
  registerObject(program, context);
  registerUsage(program, context);
  registerHistory(program, context);
  registerWebhook(program, context);
  registerReservation(program, context);
  registerLock(program, context);
  registerReconcile(program, context);
  registerCount(program, context);
  registerExport(program, context);
  registerGc(program, context);
  registerDu(program, context);
  registerDoctor(program, context);
  return program;
}

function report(error: unknown, context: CliContext): number {
  // Commander has printed these already. Help that was asked for is no error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof UsageError) {
    context.err(asCalled(`error: ${error.message}\n`, context));
    return 2;
  }
  if (error instanceof CliError) {
    const hint = error.hint === undefined ? '' : `${error.hint}\n`;
    context.err(asCalled(`error: ${error.message}\n${hint}`, context));
    return 1;
  }
  throw error;
}

/** Hints are written with `lfs-quota …` for a command. A person is shown the command as they have to type it. */
function asCalled(text: string, { program }: CliContext): string {
  return text.replaceAll('`lfs-quota ', () => `\`${program} `);
}
