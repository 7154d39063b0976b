import { type AssembleDeps, endClaim, pathOf } from './assemble.ts';
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
  // A claim is released before its record goes: else nobody would release it.
  await endClaim(deps, upload);
  await chunkedUploads.remove(upload);
  return 'removed';
}

const isDue = (upload: ChunkedUpload, nowMs: number) => nowMs >= dueAtMs(upload);
