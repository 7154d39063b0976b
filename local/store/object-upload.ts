import { type FileHandle, rm } from 'node:fs/promises';
import { encodeRecord, type ObjectRecord } from './object-record.ts';

/** A running upload: a file that no reader sees. It ends with `seal` and a commit, or with `discard`. */
export class ObjectUpload {
  readonly file: string;
  readonly #handle: FileHandle;
  #isOpen = true;

  constructor(handle: FileHandle, file: string) {
    this.#handle = handle;
    this.file = file;
  }

  async write(chunk: Buffer): Promise<void> {
    for (let offset = 0; offset < chunk.length; ) {
      const { bytesWritten } = await this.#handle.write(chunk, offset);
      offset += bytesWritten;
    }
  }

  /** Appends the record and syncs the file to disk. */
  async seal(record: ObjectRecord): Promise<void> {
    await this.write(encodeRecord(record));
    await this.#handle.sync();
    await this.#close();
  }

  /** Removes the file. Does nothing after a commit. */
  async discard(): Promise<void> {
    await this.#close();
    await rm(this.file, { force: true });
  }

  async #close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#handle.close();
  }
}
