import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { Crowded, Ticket, WayInput } from '../../core/ledger/rules/upload-way.ts';
import { forEachLimited, mapLimited } from '../../core/rules/async.ts';
import { sha256Hex } from '../../core/rules/hash.ts';
import type { ChunkPorts } from './ports.ts';
import {
  type ChunkedUpload,
  crowded,
  isOpen,
  newUpload,
  renewed,
  tokenForMs,
  withToken,
} from './rules/upload.ts';

const atOnce = 16;

const chunkedOf = ({ objects, chunked }: WayInput) =>
  chunked ? [...objects].filter(([oid]) => chunked.has(oid)) : [];

/**
 * Puts the record of each upload of a batch. Its reservation is counted by then, and issued after it. If it is never issued,
 * no client gets a token, and the schedule finds the record.
 *
 * @returns `isFull`: one that began at the same time is in the way of one of them. None may be issued then.
 * @throws {LedgerUnavailableError}
 */
export async function beginUploads(
  deps: Pick<CoreDeps, 'ids' | 'settings'> & Pick<ChunkPorts, 'chunkedUploads'>,
  input: WayInput & { reservationId: string; nowMs: number; storageClass?: string | undefined },
): Promise<{ tickets: ReadonlyMap<string, Ticket>; isFull: boolean }> {
  const { tenant, repo, reservationId: upload, madeBy = '', nowMs, storageClass } = input;
  let isFull = false;
  const tickets = await mapLimited(chunkedOf(input), atOnce, async ([oid, sizeBytes]) => {
    const { token, ticket } = newTicket(deps, input, upload);
    const place = { tenant, repo, oid, upload };
    const record = newUpload(deps.settings, { ...place, sizeBytes, madeBy, nowMs, storageClass });
    await deps.chunkedUploads.put(withToken(record, token, nowMs));
    // Each puts its own before it counts, so of many at once no more than there are places for go on.
    const others = (await deps.chunkedUploads.ofObject(record)).filter((each) => each.upload !== upload);
    if (crowded(others, { madeBy, nowMs })) isFull = true;
    return [oid, ticket] as const;
  });
  return { tickets: new Map(tickets), isFull };
}

/** Removes the records of uploads that no client knows of. */
export async function removeUploads(
  { chunkedUploads }: Pick<ChunkPorts, 'chunkedUploads'>,
  { tickets, ...place }: { tenant: string; repo: string; tickets: ReadonlyMap<string, Ticket> },
): Promise<void> {
  await forEachLimited(tickets, atOnce, ([oid, { upload }]) =>
    chunkedUploads.remove({ ...place, oid, upload }),
  );
}

function newTicket({ ids }: Pick<CoreDeps, 'ids'>, { tokenId }: Pick<WayInput, 'tokenId'>, upload: string) {
  const token = `lfsc_${ids.random(40)}`;
  const ticket: Ticket = { upload, token, expiresInMs: tokenForMs };
  return { token: { sha256: sha256Hex(token), ...(tokenId !== undefined && { tokenId }) }, ticket };
}

/**
 * Open uploads of the same objects by the same maker, to be continued. They count already.
 *
 * @throws {LedgerUnavailableError}
 */
export async function resumeUploads(
  deps: Pick<CoreDeps, 'ledger' | 'clock' | 'ids'> & Pick<ChunkPorts, 'chunkedUploads'>,
  input: WayInput,
): Promise<ReadonlyMap<string, Ticket | Crowded>> {
  const found = new Map<string, Ticket | Crowded>();
  await forEachLimited(chunkedOf(input), atOnce, async ([oid, sizeBytes]) => {
    const outcome = await resumeOne(deps, { ...input, oid, sizeBytes });
    if (outcome) found.set(oid, outcome);
  });
  return found;
}

async function resumeOne(
  deps: Parameters<typeof resumeUploads>[0],
  input: Omit<WayInput, 'objects'> & { oid: string; sizeBytes: number },
): Promise<Ticket | Crowded | undefined> {
  const nowMs = deps.clock.nowMs();
  const { madeBy = '' } = input;
  const isOwn = (upload: ChunkedUpload) =>
    upload.madeBy === madeBy && upload.sizeBytes === input.sizeBytes && isOpen(upload, nowMs);
  const uploads = await deps.chunkedUploads.ofObject(input);
  const begun = new Set<ChunkedUpload>();
  for (const upload of uploads.filter(isOwn)) {
    const { tenant, repo, oid } = upload;
    const reservation = await deps.ledger.readReservation({ tenant, repo, reservationId: upload.upload });
    if (reservation?.state !== 'issued' || !reservation.chunked?.has(oid)) {
      // Nothing of it is counted, nor stored. Its batch is about to issue the reservation, or has died before.
      if (upload.putsUntilMs === 0) begun.add(upload);
      if (upload.putsUntilMs === 0 && !reservation) await deps.chunkedUploads.remove(upload);
      continue;
    }
    const { token, ticket } = newTicket(deps, input, upload.upload);
    const outcome = await deps.chunkedUploads.change(upload, (now) =>
      isOwn(now) ? withToken(renewed(now, nowMs), token, nowMs) : undefined,
    );
    if (outcome?.isChanged) return ticket;
  }
  const kept = uploads.filter((upload) => !begun.has(upload));
  return crowded(kept, { madeBy, nowMs });
}
