import { type FileHandle, open } from 'node:fs/promises';
import { errorCode } from '../../../local/system/durable-file.ts';
import type { BatchAction, LfsObject } from '../../lfs-batch.ts';
import { piecesOf } from '../../move/archive.ts';
import { putObject, sendAgain, WrongBytesError } from '../../move/put.ts';
import type { DownloadDeps } from '../../transfer.ts';
import { type HashedPart, PartHasher, type PartToHash } from './part-hasher.ts';

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
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #sizeBytes: number;
  readonly #changedAtMs: number;
  #hasher: PartHasher | undefined;

  private constructor(path: string, file: FileHandle, { size, mtimeMs }: { size: number; mtimeMs: number }) {
    this.#path = path;
    this.#file = file;
    this.#sizeBytes = size;
    this.#changedAtMs = mtimeMs;
  }

  /** @throws {UploadError} */
  static async open(path: string, sizeBytes: number): Promise<PushedFile> {
    const file = await open(path, 'r').catch((cause) => throwUnreadable(path, cause));
    const opened = new PushedFile(path, file, await file.stat());
    if (opened.#sizeBytes === sizeBytes) return opened;
    await file.close();
    throw changed();
  }

  async close(): Promise<void> {
    await this.#hasher?.close();
    await this.#file.close();
  }

  /** One part after the other. @throws {UploadError} if it can't be read, or isn't there any more. */
  async hash(part: PartToHash): Promise<HashedPart> {
    this.#hasher ??= new PartHasher(this.#file);
    const hashed = await this.#hasher.hash(part).catch((cause) => throwUnreadable(this.#path, cause));
    if (hashed) return hashed;
    throw changed();
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
    input: { nextUpload: () => Promise<BatchAction>; onBytes: (bytes: number) => void },
  ): Promise<void> {
    await sendAgain(deps, {
      onBytes: input.onBytes,
      attempt: async (counted) => {
        const upload = await input.nextUpload();
        const opened = async () => piecesOf(this.#file, part);
        const sent = { open: opened, to: 'store', upload, object: part, onBytes: counted } as const;
        await putObject(deps, sent).catch(async (error) => {
          deps.stop.throwIfAborted();
          if (error instanceof WrongBytesError || (await this.#hasChanged())) throw changed();
          throw error;
        });
      },
    });
  }

  async #hasChanged(): Promise<boolean> {
    const { size, mtimeMs } = await this.#file.stat();
    return size !== this.#sizeBytes || mtimeMs !== this.#changedAtMs;
  }
}

/** @throws {UploadError} if it's the system's error, and not ours. */
function throwUnreadable(path: string, cause: unknown): never {
  const code = errorCode(cause);
  if (code === undefined || code.startsWith('ERR_')) throw cause;
  throw new UploadError(`Can't read ${path} (${code}). Fix that, then push again.`, { cause });
}

export const changed = () =>
  new UploadError(
    'The file is damaged, or changed while it was uploaded. Run git lfs fsck, then push again.',
  );
