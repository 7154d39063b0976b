import type { ArchiveStore, SourceObject } from './rules/archive-store.ts';

/**
 * Reads an object in one version, a piece at a time, from a byte on. A piece is valid until the next one is asked for. Each is a request of
 * its own, so a broken connection costs no more than a piece.
 *
 * @throws {SourceGoneError} @throws {StoreUnavailableError}
 */
export async function* readPieces(
  archives: Pick<ArchiveStore, 'readInto'>,
  object: SourceObject & { readonly sizeBytes: number },
  { pieceBytes, fromByte = 0 }: { pieceBytes: number; fromByte?: number },
): AsyncGenerator<Uint8Array> {
  const { key, etag, sizeBytes } = object;
  const piece = new Uint8Array(Math.min(pieceBytes, sizeBytes - fromByte));
  for (let startByte = fromByte; startByte < sizeBytes; startByte += pieceBytes) {
    const endByte = Math.min(sizeBytes, startByte + pieceBytes);
    const into = piece.subarray(0, endByte - startByte);
    await archives.readInto({ key, etag }, { startByte, endByte }, into);
    yield into;
  }
}
