import type { Deps } from '../deps.ts';
import type { Reservation } from '../ledger/rules/reservation.ts';
import { forEachLimited } from '../rules/async.ts';
import { inState, type UploadState } from './rules/upload.ts';

const atOnce = 16;

type EndDeps = Pick<Deps, 'chunkedUploads' | 'clock'>;

/**
 * Ends the uploads of a reservation that are in one of these states. The schedule does the rest: once no chunk can arrive any
 * more, their chunks are deleted, and then what they claim is released.
 *
 * @param input.untilMs no others are ended after this.
 * @returns the oids of those that were ended.
 * @throws {LedgerUnavailableError}
 */
export async function endUploadsOf(
  { chunkedUploads, clock }: EndDeps,
  input: { tenant: string; reservation: Reservation; states: readonly UploadState[]; untilMs?: number },
): Promise<readonly string[]> {
  const { tenant, reservation, states, untilMs = Number.POSITIVE_INFINITY } = input;
  const { id: upload, repo, chunked = [] } = reservation;
  const ended: string[] = [];
  await forEachLimited(chunked, atOnce, async (oid) => {
    if (clock.nowMs() > untilMs) return;
    const outcome = await chunkedUploads.change({ tenant, repo, oid, upload }, (before) =>
      states.includes(before.state) ? inState(before, 'ended', clock.nowMs()) : undefined,
    );
    if (outcome?.isChanged) ended.push(oid);
  });
  return ended;
}

/**
 * Ends the open uploads of a repo that is closed: nobody can push to it, so what they store is of no use, and what they claim
 * holds up its delete. What is being assembled ends by itself, and is found by the next run if it's open again.
 *
 * @param input.untilMs no others are ended after this. Those that were have less to read in the next run.
 * @throws {LedgerUnavailableError}
 */
export async function endUploads(
  deps: EndDeps & Pick<Deps, 'ledger'>,
  { tenant, repo, untilMs }: { tenant: string; repo: string; untilMs: number },
): Promise<void> {
  for await (const page of deps.ledger.reservationsOf({ tenant, repo, ofUploads: true }))
    for (const reservation of page)
      await endUploadsOf(deps, { tenant, reservation, states: ['open'], untilMs });
}
