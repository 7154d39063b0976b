import type { Command } from 'commander';
import { type DeletePlanBody, deletePlanSchema } from '../lambda/api/contract/deletes.ts';
import { formatBytes } from '../lambda/domain/bytes.ts';
import type { ApiClient } from './api-client.ts';
import type { CliContext } from './context.ts';
import { CliError, UsageError } from './errors.ts';
import { type ApiOptions, withApiOptions } from './options.ts';
import { formatObjects } from './render.ts';

export interface DeleteOptions extends ApiOptions {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** Adds the options that all delete commands share. */
export function withDeleteOptions(command: Command): Command {
  return withApiOptions(command)
    .option('--dry-run', 'show what would be deleted, and delete nothing')
    .option('-y, --yes', 'do not ask for confirmation; required without a terminal');
}

export interface DeleteDialog {
  readonly client: ApiClient;
  readonly options: DeleteOptions;
  /** One request for each: its path below the base URL. */
  readonly paths: readonly string[];
  /** Lines that say what is deleted and what follows from it. */
  readonly summary: (plans: readonly DeletePlanBody[]) => string;
  readonly question: string;
  /** Whether the answer confirms the delete. */
  readonly isYes: (answer: string) => boolean;
}

/**
 * Shows what would be deleted, asks for confirmation, and deletes.
 *
 * @returns the server's answer to each request; undefined after a dry run.
 * @throws {UsageError} when confirmation is needed and there is no terminal; nothing was sent.
 * @throws {CliError} when the person does not confirm, or the server refuses.
 */
export async function runDelete(
  context: CliContext,
  dialog: DeleteDialog,
): Promise<readonly DeletePlanBody[] | undefined> {
  const { options, summary } = dialog;
  const { ask } = context;
  if (options.dryRun) {
    const { plans, text } = await sendAll(dialog, '?dryRun=true');
    context.out(options.json ? text : summary(plans));
    return undefined;
  }
  if (!options.yes) {
    if (ask === undefined) {
      throw new UsageError(
        'There is no terminal to ask for confirmation. Add --yes to delete, or --dry-run to see what would be deleted.',
      );
    }
    context.err(summary((await sendAll(dialog, '?dryRun=true')).plans));
    if (!dialog.isYes((await ask(dialog.question)).trim())) throw notConfirmed();
  }
  const { plans, text } = await sendAll(dialog, '');
  if (options.json) context.out(text);
  else if (options.yes) context.out(summary(plans));
  return plans;
}

/**
 * Asks a question that ends in `[y/N]`.
 *
 * @param input.withoutTerminal what to do where it can't be asked. @param input.otherwise what a no means.
 * @throws {UsageError} without a terminal. @throws {CliError} if the answer isn't yes.
 */
export async function requireYes(
  { ask }: Pick<CliContext, 'ask'>,
  input: { question: string; withoutTerminal: string; otherwise: string },
): Promise<void> {
  if (ask === undefined) throw new UsageError(input.withoutTerminal);
  if (!saysYes((await ask(input.question)).trim())) throw notConfirmed(input.otherwise);
}

/** The person did not say yes. */
export function notConfirmed(message = 'Nothing was deleted.'): CliError {
  return new CliError(message, { hint: 'It was not confirmed. To go on without a question, add --yes.' });
}

async function sendAll(dialog: DeleteDialog, query: string) {
  const plans: DeletePlanBody[] = [];
  let text = '';
  const { client, paths } = dialog;
  const end = client.busy.begin(() => `asked for ${plans.length} of ${paths.length}`);
  try {
    for (const path of paths) {
      const request = { method: 'DELETE' as const, path: `${path}${query}`, shape: deletePlanSchema };
      const answer = await client.send(request);
      plans.push(answer.body);
      text += `${answer.text}\n`;
    }
  } finally {
    end();
  }
  return { plans, text };
}

/** `1,204 objects, 1.5 GiB`: the sum of all plans. */
export function formatFreed(plans: readonly DeletePlanBody[]): string {
  let [objectCount, freedBytes] = [0, 0];
  for (const plan of plans) {
    if (plan.objectCount === null || plan.bytes === null) return 'not counted yet';
    objectCount += plan.objectCount;
    freedBytes += plan.bytes;
  }
  return `${formatObjects(objectCount)}, ${formatBytes(freedBytes)}`;
}

/** Whether the answer to a question that ends in `[y/N]` is yes. */
export function saysYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer);
}
