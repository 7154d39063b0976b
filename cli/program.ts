import { Command, CommanderError } from 'commander';
import type { CliSubject, Rows } from './command.ts';
import { auditCommand } from './commands/audit.ts';
import { registerAuth, registerLogin, registerLogout, whoamiCommand } from './commands/auth.ts';
import { registerCheck } from './commands/check.ts';
import { registerCompletion } from './commands/completion.ts';
import { connectCommand } from './commands/connect.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerDu } from './commands/du.ts';
import { filesCommands } from './commands/files.ts';
import { importCommand, mirrorCommand } from './commands/move.ts';
import { repoCommands, repoParts } from './commands/repo.ts';
import { scanCommands } from './commands/scan.ts';
import { registerServe } from './commands/serve.ts';
import { tableCommands } from './commands/table.ts';
import { tenantCommands } from './commands/tenant.ts';
import { tokenCommands } from './commands/token.ts';
import { usageCommand } from './commands/usage.ts';
import { asCalled, type CliContext } from './context.ts';
import { CliError, exitCodes, problemHints, UsageError } from './errors.ts';
import { commandHelp, commandsOf, type Examples, mainHelp, examples as ownExamples } from './help.ts';
import { type OldNames, renamed } from './old-names.ts';
import * as subjects from './subjects.ts';
import { escaped, painter, terminalWidth } from './terminal.ts';

const all: readonly CliSubject[] = Object.values(subjects);

/** Of the help, in their order. */
const headings = ['Log in:', 'Work with a repo:', 'Manage a tenant:', 'Operate:'];

/** By their place in the help: hundreds are its headings. */
const commands: Rows = Object.assign(
  {
    100: registerLogin(all),
    120: whoamiCommand,
    130: registerLogout,
    140: registerAuth,
    200: connectCommand(all.flatMap(({ connect }) => connect ?? [])),
    210: usageCommand,
    220: filesCommands(all),
    240: importCommand(all.flatMap(({ byService }) => byService ?? [])),
    250: mirrorCommand,
    270: registerDu,
    300: tenantCommands(all),
    310: repoCommands(all),
    330: tokenCommands,
    390: auditCommand,
    400: registerServe,
    420: registerCheck(all),
    440: scanCommands,
    480: tableCommands,
    485: registerDoctor,
    490: registerCompletion,
  },
  ...all.map((subject) => subject.commands),
);

/** All of them. */
export const oldNames: OldNames = Object.assign(
  {
    'object list': 'files list --tenant $',
    'object delete': 'files delete --tenant $ --repo $',
    'object keep': 'files keep --tenant $ --repo $',
    'deletion list': 'files deletions --tenant $',
    object: 'files',
    deletion: 'files',
    reservation: 'scan',
    reconcile: 'scan now',
    'reservation list': 'scan uploads',
    'reservation cancel': 'scan cancel-uploads',
    backup: 'table backup',
    restore: 'table restore',
    'table export': 'table backup',
    'table import': 'table restore',
  },
  ...all.map((subject) => subject.oldNames),
);

export const examples: Record<string, Examples[string]> = { ...ownExamples };
for (const subject of all)
  for (const [words, more] of Object.entries(subject.examples))
    examples[words] = [...(examples[words] ?? []), ...more];
repoParts.push(...all.flatMap((subject) => subject.repoParts ?? []));
Object.assign(problemHints, ...all.map(({ hints }) => hints));

/** Of a help text that goes to a file. */
const helpWidthDefault = 80;

/** The command line with all of its commands. */
export function buildProgram(context: CliContext): Command {
  // Set before the commands are added, because they inherit it.
  const program = new Command(context.program)
    .description('Manage Git LFS storage: quotas, tokens and repos.')
    .version(context.version)
    .configureOutput({
      writeOut: context.out,
      writeErr: (text) => context.err(asCalled(text, context)),
      getOutHelpWidth: () => terminalWidth(context, 'out') ?? helpWidthDefault,
      getErrHelpWidth: () => terminalWidth(context, 'err') ?? helpWidthDefault,
    })
    .showHelpAfterError('Add --help to see how the command is used.')
    // `gc` has some that its older commands have, too.
    .enablePositionalOptions()
    .exitOverride();
  for (const [place, register] of Object.entries(commands)) {
    program.commandsGroup(headings[Math.floor(Number(place) / 100) - 1] ?? '');
    register(program, context);
  }
  // Not inherited: the help of a group shows what its commands take.
  program
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .helpCommand('help [command]', 'Show the help of a command');
  addHelp(program, context);
  return program;
}

function addHelp(program: Command, context: CliContext): void {
  for (const { words, command } of commandsOf(program)) {
    command.addHelpText('after', () => asTyped(commandHelp(examples[words] ?? []), context));
    refuseRepeats(command);
  }
  program.addHelpText('after', () => mainHelp(program.name()));
}

/** The last of two values would win unseen. An option that takes several says so. */
function refuseRepeats(command: Command): void {
  const given = new Set<string>();
  for (const option of command.options) {
    if (!option.required || option.description.includes('repeatable')) continue;
    command.on(`option:${option.name()}`, () => {
      if (given.has(option.name())) throw new UsageError(`You passed ${option.long} twice. Remove one.`);
      given.add(option.name());
    });
  }
}

/** As `asCalled`, for examples, which stand in lines of their own. */
function asTyped(text: string, { program }: CliContext): string {
  return text.replaceAll(/^( +(?:source <\()?)lfs-quota /gm, (_, before) => `${before}${program} `);
}

/**
 * Runs one command line.
 *
 * @param args without the interpreter and the script.
 * @returns the exit code, as docs/command-line.md has them.
 */
export async function runCli(args: readonly string[], given: CliContext): Promise<number> {
  const context: CliContext = {
    ...given,
    out: (text) => given.out(escaped(text)),
    err: (text) => given.err(escaped(text)),
  };
  const program = buildProgram(context);
  const takesValue = (words: string, flag: string) =>
    commandsOf(program)
      .filter((leaf) => leaf.words === words)
      .some(({ command }) =>
        command.options.some(({ required, short, long }) => required && [short, long].includes(flag)),
      );
  const renamedArgs = renamed(args, oldNames, takesValue);
  if (renamedArgs) context.err(asCalled(renamedArgs.note, context));
  try {
    await program.parseAsync(renamedArgs?.args ?? args, { from: 'user' });
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
