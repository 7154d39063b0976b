import type { Command } from 'commander';
import { formatBytes } from '../lambda/domain/bytes.ts';
import type { ApiClient } from './api-client.ts';
import { type DeletePlanBody, deletePlanShape } from './api-schemas.ts';
import type { CliContext } from './context.ts';
import { CliError, UsageError } from './errors.ts';
import { type ApiOptions, withApiOptions } from './options.ts';
import { formatObjects } from './render.ts';

export interface DeleteOptions extends ApiOptions {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** Adds the options that every delete has. */
export function withDeleteOptions(command: Command): Command {
  return withApiOptions(command)
    .option('--dry-run', 'only show what it frees')
    .option('-y, --yes', 'delete without asking; needed where nobody can be asked');
}

export interface DeleteDialog {
  readonly client: ApiClient;
  readonly options: DeleteOptions;
  /** One for each request; what is below the base URL. */
  readonly paths: readonly string[];
  /** What it frees and what becomes of it, in lines. */
  readonly describe: (plans: readonly DeletePlanBody[]) => string;
  readonly question: string;
  /** What must be answered to go on. */
  readonly isYes: (answer: string) => boolean;
}

/**
 * Shows what a delete frees, asks, and deletes.
 *
 * @returns what the server said to each request; undefined after a dry run.
 * @throws {UsageError} where nobody can be asked, before anything is sent.
 * @throws {CliError} where the answer is no, or the server refuses.
 */
export async function runDelete(
  context: CliContext,
  dialog: DeleteDialog,
): Promise<readonly DeletePlanBody[] | undefined> {
  const { options, describe } = dialog;
  const { ask } = context;
  if (options.dryRun) {
    const { plans, text } = await sendAll(dialog, '?dryRun=true');
    context.out(options.json ? text : describe(plans));
    return undefined;
  }
  if (!options.yes) {
    if (ask === undefined) {
      throw new UsageError(
        'nobody can be asked here: give --yes to delete, or --dry-run to see what it would free',
      );
    }
    context.err(describe((await sendAll(dialog, '?dryRun=true')).plans));
    if (!dialog.isYes((await ask(dialog.question)).trim())) throw new CliError('Nothing was deleted.');
  }
  const { plans, text } = await sendAll(dialog, '');
  if (options.json) context.out(text);
  else if (options.yes) context.out(describe(plans));
  return plans;
}

async function sendAll(dialog: DeleteDialog, query: string) {
  const plans: DeletePlanBody[] = [];
  let text = '';
  for (const path of dialog.paths) {
    const answer = await dialog.client.send({
      method: 'DELETE',
      path: `${path}${query}`,
      shape: deletePlanShape,
    });
    plans.push(answer.body);
    text += `${answer.text}\n`;
  }
  return { plans, text };
}

/** `1,204 objects, 1.5 GiB` of all plans together. */
export function formatFreed(plans: readonly DeletePlanBody[]): string {
  let [objectCount, freedBytes] = [0, 0];
  for (const plan of plans) {
    if (plan.objectCount === null || plan.bytes === null) return 'not counted yet';
    objectCount += plan.objectCount;
    freedBytes += plan.bytes;
  }
  return `${formatObjects(objectCount)}, ${formatBytes(freedBytes)}`;
}

/** The answer to a question that ends with `[y/N]`. */
export function saysYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer);
}
