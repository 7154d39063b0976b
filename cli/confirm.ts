import { formatBytes } from '../lambda/core/rules/sizes.ts';
import type { ApiClient, Asking, BodyOf, RouteId } from './api-client.ts';
import { flag } from './command.ts';
import type { CliContext } from './context.ts';
import { CliError, UsageError } from './errors.ts';
import { formatObjects } from './render.ts';

export type DeletePlanBody = BodyOf<'deleteTenant' | 'deleteRepo' | 'deleteObject'>;
/** One that answers what is deleted, and with `dryRun` deletes nothing. */
type DeleteRoute = {
  [Id in RouteId & `delete${string}`]: 'dryRun' extends keyof NonNullable<Asking<Id>['query']> ? Id : never;
}[RouteId & `delete${string}`];

export const deleteOptions = {
  dryRun: flag('--dry-run', 'preview, and delete nothing'),
  yes: flag('-y, --yes', 'skip the prompt; required without a terminal'),
};

interface DeleteDialog<Id extends DeleteRoute> {
  readonly client: ApiClient;
  readonly options: {
    readonly dryRun?: boolean | undefined;
    readonly yes?: boolean | undefined;
    readonly json?: boolean;
  };
  readonly route: Id;
  /** What of it's asked by pages, it asks page by page. */
  readonly requests: readonly Pick<Asking<Id>, 'params' | 'query'>[];
  /** Lines that say what is deleted and what follows from it. */
  readonly summary: (plans: readonly BodyOf<Id>[]) => string;
  readonly question: string;
  readonly isYes: (answer: string) => boolean;
}

/**
 * Shows what would be deleted, asks for confirmation, and deletes.
 *
 * @returns the server's answer to each request; undefined after a dry run.
 * @throws {UsageError} when confirmation is needed and there is no terminal; nothing was sent.
 * @throws {CliError} when the person does not confirm, or the server refuses.
 */
export async function runDelete<Id extends DeleteRoute>(
  context: CliContext,
  dialog: DeleteDialog<Id>,
): Promise<readonly BodyOf<Id>[] | undefined> {
  const { options, summary } = dialog;
  const { ask } = context;
  if (options.dryRun) {
    const { plans, text } = await sendAll(dialog, true);
    context.out(options.json ? text : summary(plans));
    return undefined;
  }
  if (!options.yes) {
    if (ask === undefined) {
      throw new UsageError("Can't prompt without a terminal. Pass --yes to delete, or --dry-run to preview.");
    }
    context.err(summary((await sendAll(dialog, true)).plans));
    if (!dialog.isYes((await ask(dialog.question)).trim())) throw notConfirmed();
  }
  const { plans, text } = await sendAll(dialog);
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

function notConfirmed(message = 'Canceled. Nothing deleted.'): CliError {
  return new CliError(message, { hint: 'Pass --yes to skip the prompt.' });
}

async function sendAll<Id extends DeleteRoute>(dialog: DeleteDialog<Id>, dryRun?: boolean) {
  const plans: BodyOf<Id>[] = [];
  let text = '';
  const { client, route, requests: all } = dialog;
  const end = client.busy.begin(() => `asked for ${plans.length} of ${all.length}`);
  try {
    for (const { params, query } of all) {
      let cursor: string | null | undefined;
      do {
        const asking = { params, query: { ...query, cursor: cursor ?? undefined, dryRun } } as Asking<Id>;
        const answer = await client.ask(route, asking);
        plans.push(answer.body);
        text += `${answer.text}\n`;
        cursor = (answer.body as { nextCursor?: string | null }).nextCursor;
      } while (cursor);
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
    if (plan.objectCount === null || plan.bytes === null) return 'not scanned yet';
    objectCount += plan.objectCount;
    freedBytes += plan.bytes;
  }
  return `${formatObjects(objectCount)}, ${formatBytes(freedBytes)}`;
}

/** Whether the answer to a question that ends in `[y/N]` is yes. */
export function saysYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer);
}

/** The option of every command that sets a limit. */
export const limitOptions = {
  yes: flag('-y, --yes', "don't ask before a limit below current usage; required without a terminal"),
};

/**
 * Asks before a limit that stops uploads or downloads immediately: one below current usage. A slip of the hand, such as
 * a wrong unit, must not stop a tenant.
 *
 * @param input.bytes the new limit. null: unlimited.
 * @param input.readUsed what counts against it now, or null if that's unknown. Only called if it matters.
 * @param input.warning what happens next, with the bytes that are too many.
 * @throws {UsageError} without a terminal. Nothing was sent.
 * @throws {CliError} if the answer isn't yes.
 */
export async function confirmLimit(
  context: CliContext,
  options: { readonly yes?: boolean | undefined },
  input: {
    bytes: number | null;
    readUsed: () => Promise<number | null>;
    warning: (used: string, limit: string, excess: string) => string;
  },
): Promise<void> {
  const { bytes, readUsed, warning } = input;
  if (bytes === null || options.yes) return;
  const usedBytes = (await readUsed()) ?? 0;
  if (usedBytes <= bytes) return;
  const text = warning(formatBytes(usedBytes), formatBytes(bytes), formatBytes(usedBytes - bytes));
  await requireYes(context, {
    question: `${text} Continue? [y/N] `,
    withoutTerminal: `${text} To continue, pass --yes.`,
    otherwise: 'Canceled. Nothing changed.',
  });
}
