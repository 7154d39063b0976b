import type { Deps } from '../deps.ts';
import { inState } from './rules/upload.ts';

/**
 * Ends the open uploads of a repo that is closed: nobody can push to it, so what they store is of no use, and what they claim
 * holds up its delete. What is being assembled ends by itself, and is found by the next run if it's open again.
 *
 * @throws {LedgerUnavailableError}
 */
export async function endUploads(
  { ledger, chunkedUploads, clock }: Pick<Deps, 'ledger' | 'chunkedUploads' | 'clock'>,
  { tenant, repo }: { tenant: string; repo: string },
): Promise<void> {
  for await (const page of ledger.reservationsOf({ tenant, repo, ofUploads: true }))
    for (const { id: upload, chunked = [] } of page)
      for (const oid of chunked)
        await chunkedUploads.change({ tenant, repo, oid, upload }, (before) =>
          before.state === 'open' ? inState(before, 'ended', clock.nowMs()) : undefined,
        );
}
