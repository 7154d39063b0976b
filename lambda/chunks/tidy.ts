import { objectKey } from '../rules/names.ts';
import { type AssembleDeps, deleteChunks, pathOf } from './assemble.ts';
import { type ChunkedUpload, dueAtMs, inState, isOpen, type UploadPath } from './rules/upload.ts';

type TidyOutcome =
  /** Everything of it is removed, and its claim with it. */
  | 'removed'
  /** A worker that assembled it has died: another goes on. */
  | 'reassembled'
  /** Its time has not come, or a chunk can still arrive. The schedule asks again. */
  | 'early'
  /** There is no such upload. */
  | 'unwanted';

/**
 * Looks at an upload whose time has come: gives it up if no client has asked about it for long, goes on if a worker died,
 * and removes what is left once no chunk can arrive any more. May be repeated, and end anywhere in between.
 *
 * @throws {StoreUnavailableError} @throws {LedgerUnavailableError} It is to be looked at again.
 */
export async function tidyUpload(deps: AssembleDeps, path: UploadPath): Promise<TidyOutcome> {
  const { chunkedUploads, chunkQueue, clock } = deps;
  const nowMs = clock.nowMs();
  let isToGoOn = false;
  const found = await chunkedUploads.change(path, (upload) => {
    isToGoOn = upload.state === 'assembling' && isOpen(upload, nowMs);
    const isAtWork = upload.state === 'open' || upload.state === 'assembling';
    return isAtWork && !isToGoOn && isDue(upload, nowMs) ? inState(upload, 'ended', nowMs) : undefined;
  });
  if (!found) return 'unwanted';
  const { upload } = found;
  if (!isDue(upload, nowMs)) return 'early';
  if (isToGoOn) {
    await chunkQueue.send([{ step: 'assemble', ...pathOf(path) }]);
    return 'reassembled';
  }
  await removeUpload(deps, upload);
  return 'removed';
}

const isDue = (upload: ChunkedUpload, nowMs: number) => nowMs >= dueAtMs(upload);

/** In this order: what is stored is deleted before its claim is released, and its record last of all. */
async function removeUpload(deps: AssembleDeps, upload: ChunkedUpload): Promise<void> {
  const { archives, chunkedUploads, ledger, queue, clock, settings } = deps;
  const { tenant, repo, oid, multipart } = upload;
  const key = objectKey(upload);
  // A worker that was frozen can complete nothing afterwards.
  if (multipart) await archives.abort({ key, uploadId: multipart.id });
  await deleteChunks(deps, upload);
  const isStored = upload.state === 'stored' || (await archives.head(key)) !== undefined;
  const isGone = !isStored && (multipart?.isAhead ?? multipart === null);
  const endedMs = clock.nowMs() + 2 * settings.clockSkewMs;
  await ledger.endChunked({ tenant, repo, reservationId: upload.upload, oid, isGone, endedMs });
  // Up to then its claim is in the confirmed usage. And an attempt whose answer was lost may have made the object.
  await queue.request({ tenant, reason: 'upload', full: false });
  await chunkedUploads.remove(upload);
}
