import type { Deps } from '../deps.ts';
import { forEachLimited } from '../rules/async.ts';
import { inState } from './rules/upload.ts';

const atOnce = 16;

/**
 * Ends the open uploads of a repo that is closed: nobody can push to it, so what they store is of no use, and what they claim
 * holds up its delete. What is being assembled ends by itself, and is found by the next run if it's open again.
 *
 * @param input.untilMs no others are ended after this. Those that were have less to read in the next run.
 * @throws {LedgerUnavailableError}
 */
export async function endUploads(
  { ledger, chunkedUploads, clock }: Pick<Deps, 'ledger' | 'chunkedUploads' | 'clock'>,
  { tenant, repo, untilMs }: { tenant: string; repo: string; untilMs: number },
): Promise<void> {
  for await (const page of ledger.reservationsOf({ tenant, repo, ofUploads: true }))
    for (const { id: upload, chunked = [] } of page)
      await forEachLimited(chunked, atOnce, async (oid) => {
        if (clock.nowMs() > untilMs) return;
        await chunkedUploads.change({ tenant, repo, oid, upload }, (before) =>
          before.state === 'open' ? inState(before, 'ended', clock.nowMs()) : undefined,
        );
      });
}
