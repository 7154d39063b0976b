import { Command } from 'commander';
import { registerAudit } from './commands/audit.ts';
import { registerCompletion } from './commands/completion.ts';
import { registerConnect } from './commands/connect.ts';
import { registerCount } from './commands/count.ts';
import { registerDeletion } from './commands/deletion.ts';
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
import { registerStatus } from './commands/status.ts';
import { registerTenant } from './commands/tenant.ts';
import { registerToken } from './commands/token.ts';
import { registerUsage } from './commands/usage.ts';
import { registerWebhook } from './commands/webhook.ts';
import type { CliContext } from './context.ts';
import { commandsOf } from './help/command-table.ts';
import { examples } from './help/examples.ts';
import { commandHelp, mainHelp } from './help/help-text.ts';
import { terminalWidth } from './view.ts';

/** Of a help text that goes to a file. */
const helpWidthDefault = 80;

/** The command line with all of its commands. */
export function buildProgram(context: CliContext): Command {
  // Set before the commands are added, because they inherit it.
  const program = new Command(context.program)
    .description(
      'Manage the tenants of an lfs-quota service, count what any S3 bucket holds, and try a store.',
    )
    .version(context.version)
    .configureOutput({
      writeOut: context.out,
      writeErr: (text) => context.err(asCalled(text, context)),
      getOutHelpWidth: () => terminalWidth(context, 'out') ?? helpWidthDefault,
      getErrHelpWidth: () => terminalWidth(context, 'err') ?? helpWidthDefault,
    })
    .showHelpAfterError('Add --help to see how the command is used.')
    .exitOverride();
  registerStatus(program, context);
  registerTenant(program, context);
  registerToken(program, context);
  registerRule(program, context);
  registerConnect(program, context);
  registerAudit(program, context);
  registerDownloads(program, context);
  registerRepo(program, context);
  registerObject(program, context);
  registerDeletion(program, context);
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
  registerCompletion(program, context);
  addHelp(program, context);
  return program;
}

function addHelp(program: Command, context: CliContext): void {
  for (const { words, command } of commandsOf(program))
    command.addHelpText('after', () => asTyped(commandHelp(examples[words] ?? []), context));
  program.addHelpText('after', () => mainHelp(program.name()));
}

/** Hints are written with `lfs-quota …` for a command. A person is shown the command as they have to type it. */
export function asCalled(text: string, { program }: CliContext): string {
  return text.replaceAll('`lfs-quota ', () => `\`${program} `);
}

/** The same for examples, which stand in lines of their own. */
function asTyped(text: string, { program }: CliContext): string {
  return text.replaceAll(/^( +(?:source <\()?)lfs-quota /gm, (_, before) => `${before}${program} `);
}
