import { PrefixSet } from '../../domain/cleanup/prefixes.ts';
import type { Deps } from '../deps.ts';

/**
 * What batches have named in a watch.
 *
 * @param input.fromMs only by those that began then or later.
 * @throws {LedgerUnavailableError} @throws {TooManyPrefixesError}
 */
export async function readSeen(
  { ledger }: Pick<Deps, 'ledger'>,
  input: { tenant: string; watchId: string; fromMs: number },
): Promise<PrefixSet> {
  const seen = new PrefixSet();
  for await (const page of ledger.seen(input)) for (const { prefixes } of page) seen.addText(prefixes);
  return seen;
}
