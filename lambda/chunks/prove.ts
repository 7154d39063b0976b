import type { Deps } from '../deps.ts';
import { readPieces } from '../store/read-pieces.ts';
import { SourceGoneError } from '../store/rules/archive-store.ts';
import { chunkCountOf, chunkKey, initialState, sizeOfChunk, type UploadPath } from './rules/upload.ts';
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

/**
 * Reads a chunk, and keeps in which state of SHA-256 it ends. That the state before it is right shows when the chunk
 * before it is proven: nothing is taken on trust.
 *
 * @throws {StoreUnavailableError} @throws {LedgerUnavailableError} The chunk is to be proven again.
 */
export async function proveChunk(
  deps: Pick<Deps, 'archives' | 'chunkedUploads'>,
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
  try {
    for await (const piece of readPieces(archives, { key, etag, sizeBytes }, { pieceBytes }))
      hash.update(piece);
  } catch (error) {
    if (error instanceof SourceGoneError) return 'absent';
    throw error;
  }
  const isLast = chunk === chunkCountOf(upload) - 1;
  const after = isLast ? hash.digest() : hash.state();
  await chunkedUploads.putProof(upload, { chunk, before, after, etag, sizeBytes });
  return 'proven';
}
