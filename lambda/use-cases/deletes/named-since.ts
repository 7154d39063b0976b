import type { Deps } from '../../deps.ts';
import type { Deletion } from '../../domain/deletion.ts';
import { PrefixSet } from '../../gc/rules/cleanups.ts';

/** No object of a deletion. */
export const noNames: ReadonlySet<string> = new Set();

/**
 * The objects of a deletion that batches have named since a clean-up chose them. The deletion must have been claimed
 * before: a batch that names one later finds the claim.
 *
 * @returns none for a deletion that is not one of a clean-up.
 * @throws {LedgerUnavailableError}
 */
export async function namedSince(
  { ledger }: Pick<Deps, 'ledger'>,
  { tenant, deletion }: { tenant: string; deletion: Deletion },
): Promise<ReadonlySet<string>> {
  const { sweep, objects } = deletion;
  if (!sweep) return noNames;
  const named = new Set<string>();
  for await (const page of ledger.seen({ tenant, watchId: sweep.watchId, fromMs: sweep.seenFromMs })) {
    const seen = new PrefixSet();
    for (const { prefixes } of page) seen.addText(prefixes);
    for (const oid of objects.keys()) if (seen.has(oid)) named.add(oid);
  }
  return named;
}
