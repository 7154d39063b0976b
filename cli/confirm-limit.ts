import type { Command } from 'commander';
import { formatBytes } from '../lambda/domain/bytes.ts';
import { requireYes } from './confirm-delete.ts';
import type { CliContext } from './context.ts';
import type { ApiOptions } from './options.ts';

export interface LimitOptions extends ApiOptions {
  readonly yes?: boolean;
}

/** Adds the options of every command that sets a limit. */
export function withLimitOptions(command: Command): Command {
  return command.option(
    '-y, --yes',
    "don't ask before a limit below current usage; required without a terminal",
  );
}

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
  options: LimitOptions,
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
    otherwise: 'Nothing changed.',
  });
}
