import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { Reservation } from '../../core/ledger/rules/reservation.ts';
import { forEachLimited } from '../../core/rules/async.ts';
import type { ChunkPorts } from './ports.ts';
import { inState, type UploadState } from './rules/upload.ts';

const atOnce = 16;

type EndDeps = Pick<CoreDeps, 'clock'> & Pick<ChunkPorts, 'chunkedUploads'>;

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
