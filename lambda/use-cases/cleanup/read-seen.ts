import type { Deps } from '../../deps.ts';
import { PrefixSet, TooManyPrefixesError } from '../../domain/cleanup/prefixes.ts';

/**
 * What batches have named in a watch.
 *
 * @param input.fromMs only by those that began then or later.
 * @returns undefined if they are more than one set holds.
 * @throws {LedgerUnavailableError}
 */
export async function readSeen(
  { ledger }: Pick<Deps, 'ledger'>,
  input: { tenant: string; watchId: string; fromMs: number },
): Promise<PrefixSet | undefined> {
  const seen = new PrefixSet();
  try {
    for await (const page of ledger.seen(input)) for (const { prefixes } of page) seen.addText(prefixes);
  } catch (error) {
    if (error instanceof TooManyPrefixesError) return undefined;
    throw error;
  }
  return seen;
}
