import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { LeaseLostError } from '../../core/rules/lease.ts';
import { objectKey } from '../../core/rules/names.ts';
import { readPieces } from '../../core/store/read-pieces.ts';
import { NoPartCopyError, SourceGoneError, UploadGoneError } from '../../core/store/rules/archive-store.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { StoreRefusedError } from '../../core/store/rules/store.ts';
import { beginMultipart } from './assemble.ts';
import type { ChunkPorts } from './ports.ts';
import {
  type ChunkedUpload,
  chunkCountOf,
  chunkKey,
  initialState,
  isTimely,
  type Proof,
  sizeOfChunk,
  type UploadPath,
} from './rules/upload.ts';
import { Sha256 } from './sha256.ts';

/** Bytes of a chunk that are in memory at a time. */
const pieceBytes = 8 * 1024 ** 2;

type ProveOutcome =
  | 'proven'
  /** It was proven before. */
  | 'known'
  /** It isn't there, not whole, or was replaced while it was read. A client reports it again. */
  | 'absent'
  /** Nobody needs the proof: the upload has ended, or the object has no such chunk. */
  | 'unwanted';

type ProveDeps = Pick<CoreDeps, 'clock' | 'settings' | 'storageClasses'> &
  Pick<ChunkPorts, 'chunkedUploads'> &
  Pick<FilePorts, 'archives'>;

/**
 * Reads a chunk, copies it into the object to be, and keeps in which state of SHA-256 it ends. That the state before it is
 * right shows when the chunk before it is proven: nothing is taken on trust.
 *
 * @throws {StoreUnavailableError} @throws {LedgerUnavailableError} The chunk is to be proven again.
 */
export async function proveChunk(
  deps: ProveDeps,
  { path, chunk, stateBefore }: { path: UploadPath; chunk: number; stateBefore: string },
): Promise<ProveOutcome> {
  const { archives, chunkedUploads } = deps;
  const upload = await chunkedUploads.read(path);
  const isWanted = upload?.state === 'open' || upload?.state === 'assembling';
  if (!isWanted || chunk >= chunkCountOf(upload)) return 'unwanted';
  const key = chunkKey(path, chunk);
  const [stored, known] = await Promise.all([archives.head(key), chunkedUploads.readProof(path, chunk)]);
  const sizeBytes = sizeOfChunk(upload, chunk);
  if (stored?.sizeBytes !== sizeBytes) return 'absent';
  const { etag } = stored;
  if (known?.etag === etag) return 'known';
  const before = chunk === 0 ? initialState : stateBefore;
  const hash = await Sha256.create({ state: before, bytes: chunk * upload.chunkBytes });
  const readAll = async () => {
    for await (const piece of readPieces(archives, { key, etag, sizeBytes }, { pieceBytes }))
      for await (const bytes of inTurns(piece)) hash.update(bytes);
  };
  try {
    await Promise.all([readAll(), copyAhead(deps, upload, { chunk, etag, sizeBytes })]);
  } catch (error) {
    if (error instanceof SourceGoneError) return 'absent';
    throw error;
  }
  const isLast = chunk === chunkCountOf(upload) - 1;
  const after = isLast ? hash.digest() : hash.state();
  await chunkedUploads.putProof(upload, { chunk, before, after, etag, sizeBytes });
  return 'proven';
}

/**
 * Copies a chunk while others still arrive, so that little is left to do once all are proven. The first chunk begins the
 * multipart upload, and those that arrive before it are copied in the end. What is given up is stored twice until then.
 *
 * @throws {SourceGoneError} @throws {StoreUnavailableError} @throws {LedgerUnavailableError}
 */
async function copyAhead(
  deps: ProveDeps,
  upload: ChunkedUpload,
  { chunk, etag, sizeBytes }: Pick<Proof, 'chunk' | 'etag' | 'sizeBytes'>,
): Promise<void> {
  const { archives, chunkedUploads, clock, settings } = deps;
  const uploadId = upload.multipart?.id;
  try {
    let multipart = uploadId &&
      isTimely(settings, upload, clock.nowMs()) && { key: objectKey(upload), uploadId };
    if (uploadId === undefined && chunk === 0)
      multipart = await beginMultipart(deps, upload, async (begun) => {
        const changed = await chunkedUploads.change(upload, (now) =>
          now.state === 'open' && !now.multipart
            ? { ...now, multipart: { ...begun, isAhead: true } }
            : undefined,
        );
        if (!changed?.isChanged) throw new LeaseLostError('Another worker was first.');
      });
    const source = { key: chunkKey(upload, chunk), etag };
    if (multipart) await archives.copyPart(multipart, { number: chunk + 1, source, sizeBytes });
  } catch (error) {
    // What the store refuses now, such as one more multipart upload, it may allow the assembly, which tells if it doesn't.
    const harmless = [LeaseLostError, UploadGoneError, StoreRefusedError, NoPartCopyError];
    if (!harmless.some((kind) => error instanceof kind)) throw error;
  }
}

/** Bytes that SHA-256 takes some 6 ms for. */
const turnBytes = 1024 ** 2;

/** The same bytes, a MiB at a time, so that `serve` answers requests in between. */
async function* inTurns(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += turnBytes) {
    if (from > 0) await nextTurn();
    yield bytes.subarray(from, from + turnBytes);
  }
}
