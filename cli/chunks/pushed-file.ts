import { type FileHandle, open } from 'node:fs/promises';
import { errorCode } from '../../local/system/durable-file.ts';
import { type DownloadDeps, retrying, sha256Of, TransferError } from '../export/transfer.ts';
import type { BatchAction, LfsObject } from '../lfs-batch.ts';
import { piecesOf } from '../move/archive.ts';
import { failedAttempt, putObject, RefusedError, WrongBytesError } from '../move/put.ts';

/** Why an upload ends, and what to do: trying again by itself doesn't help. */
export class UploadError extends Error {
  override readonly name = 'UploadError';
}

/** Bytes of a file, with their SHA-256 as `oid`. */
export interface FilePart extends LfsObject {
  readonly startByte: number;
}

/** A file that git-lfs pushes. It must stay as it is until it's stored. */
export class PushedFile {
  readonly #file: FileHandle;
  readonly #sizeBytes: number;
  readonly #changedAtMs: number;

  private constructor(file: FileHandle, { size, mtimeMs }: { size: number; mtimeMs: number }) {
    this.#file = file;
    this.#sizeBytes = size;
    this.#changedAtMs = mtimeMs;
  }

  /** @throws {UploadError} */
  static async open(path: string, sizeBytes: number): Promise<PushedFile> {
    const file = await open(path, 'r').catch((cause) => {
      throw new UploadError(`Can't read ${path} (${errorCode(cause)}). Fix that, then push again.`, {
        cause,
      });
    });
    const opened = new PushedFile(file, await file.stat());
    if (opened.#sizeBytes === sizeBytes) return opened;
    await file.close();
    throw changed();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /** @param onPiece gets all bytes. @returns the SHA-256 of a part. @throws {UploadError} if it isn't there any more. */
  async sha256Of(
    { startByte, sizeBytes }: Omit<FilePart, 'oid'>,
    stop: AbortSignal,
    onPiece: (piece: Uint8Array) => void,
  ): Promise<string> {
    let bytes = 0;
    const sha256 = await sha256Of(this.#file, { startByte, sizeBytes, stop }, (piece) => {
      bytes += piece.length;
      onPiece(piece);
    });
    if (bytes < sizeBytes) throw changed();
    return sha256;
  }

  /**
   * Uploads a part, again if that breaks.
   *
   * @param nextUpload asked before each attempt: a URL expires. @param onBytes called with fewer than none if they're sent
   * again.
   * @throws {UploadError} if the file changed. @throws {TransferError} what the last attempt failed with.
   */
  async put(
    deps: DownloadDeps,
    part: FilePart,
    { nextUpload, onBytes }: { nextUpload: () => Promise<BatchAction>; onBytes: (bytes: number) => void },
  ): Promise<void> {
    let refusals = 0;
    await retrying<void>(deps, async () => {
      let sent = 0;
      try {
        await putObject(deps, {
          open: async () => piecesOf(this.#file, part),
          to: 'store',
          upload: await nextUpload(),
          object: part,
          onBytes(bytes) {
            sent += bytes;
            onBytes(bytes);
          },
        });
        return { kind: 'done', value: undefined };
      } catch (error) {
        onBytes(-sent);
        deps.stop.throwIfAborted();
        if (!(error instanceof TransferError)) throw error;
        if (error instanceof WrongBytesError || (await this.#hasChanged())) throw changed();
        if (error instanceof RefusedError) refusals += 1;
        if (refusals > 1) throw error;
        return failedAttempt(error);
      }
    });
  }

  async #hasChanged(): Promise<boolean> {
    const { size, mtimeMs } = await this.#file.stat();
    return size !== this.#sizeBytes || mtimeMs !== this.#changedAtMs;
  }
}

export const changed = () =>
  new UploadError(
    'The file is damaged, or changed while it was uploaded. Run git lfs fsck, then push again.',
  );
