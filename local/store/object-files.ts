import { createHash, randomUUID } from 'node:crypto';
import { closeSync, constants, mkdirSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { copyFile, open, truncate } from 'node:fs/promises';
import path from 'node:path';
import { syncFolder } from '../system/durable-file.ts';
import { errorCode } from '../system/startup-error.ts';
import { KeyIndex } from './key-index.ts';
import { type ObjectRecord, readRecord } from './object-record.ts';
import { ObjectUpload } from './object-upload.ts';

/**
 * Objects as files in a folder, with an index in memory.
 *
 * An object's file is `objects/HH/…`, named by the SHA-256 of its key. So no key can leave the folder, be too long for a
 * file name, collide with another where the file system ignores case, or be a parent folder of another. Uploads are
 * written to `uploads/` and renamed once they are complete and on disk. So readers see only complete objects, and an
 * acknowledged object survives a kill. Only one process at a time may use the folder.
 */
export class ObjectFiles {
  readonly index: KeyIndex<ObjectRecord>;
  readonly #folder: string;
  /** The existing folders below `objects/`. */
  readonly #shards: Set<string>;

  /** Removes interrupted uploads, and reads every object's record. @throws when a file is damaged. */
  constructor(folder: string) {
    this.#folder = folder;
    rmSync(path.join(folder, 'uploads'), { recursive: true, force: true });
    mkdirSync(path.join(folder, 'uploads'), { recursive: true });
    mkdirSync(path.join(folder, 'objects'), { recursive: true });
    this.#shards = new Set(readdirSync(path.join(folder, 'objects')));
    this.index = new KeyIndex(this.#readAll());
  }

  async beginUpload(): Promise<ObjectUpload> {
    const file = path.join(this.#folder, 'uploads', randomUUID());
    return new ObjectUpload(await open(file, 'wx'), file);
  }

  /**
   * An upload that has an object's bytes already. The system copies them, or shares them where the file system can.
   *
   * @returns undefined if there is no such object. The record is that of the copied bytes.
   */
  async beginClone(key: string): Promise<{ upload: ObjectUpload; record: ObjectRecord } | undefined> {
    const file = path.join(this.#folder, 'uploads', randomUUID());
    try {
      await copyFile(this.#fileOf(key), file, constants.COPYFILE_FICLONE);
      const copy = await open(file, 'r');
      const record = readRecord(copy.fd);
      await copy.close();
      if (record === undefined) throw new Error(`The file of an object is damaged: ${this.#fileOf(key)}`);
      await truncate(file, record.sizeBytes);
      return { upload: new ObjectUpload(await open(file, 'a'), file), record };
    } catch (error) {
      rmSync(file, { force: true });
      if (this.index.get(key) === undefined && errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /**
   * Makes an upload the object at its key.
   *
   * @param input.isLate is asked right before the upload becomes visible.
   * @returns `exists` if there is an object and `mayReplace` is false, `late` if `isLate` says so. The upload is
   * then discarded.
   */
  async commit(
    upload: ObjectUpload,
    input: { record: ObjectRecord; mayReplace: boolean; isLate: () => boolean },
  ): Promise<'stored' | 'exists' | 'late'> {
    const { record, mayReplace, isLate } = input;
    await upload.seal(record);
    const file = this.#fileOf(record.key);
    await this.#makeShard(path.dirname(file));
    if (!mayReplace && this.index.get(record.key) !== undefined) {
      await upload.discard();
      return 'exists';
    }
    if (isLate()) {
      await upload.discard();
      return 'late';
    }
    // No await between them, so that the file and the index always belong to the same upload.
    renameSync(upload.file, file);
    this.index.set(record.key, record);
    await syncFolder(path.dirname(file));
    return 'stored';
  }

  /** Opens an object for reading; the caller closes it. The record is read from the opened file. */
  open(key: string): { readonly fd: number; readonly record: ObjectRecord } | undefined {
    if (this.index.get(key) === undefined) return undefined;
    const fd = openSync(this.#fileOf(key), 'r');
    const record = readRecord(fd);
    if (record !== undefined) return { fd, record };
    closeSync(fd);
    throw new Error(`The file of an object is damaged: ${this.#fileOf(key)}`);
  }

  /**
   * Deletes objects. What is answered is on the disk.
   *
   * @returns what went wrong, by key. Such an object may be there, or gone.
   */
  async delete(keys: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    const failed = new Map<string, unknown>();
    const byFolder = new Map<string, string[]>();
    for (const key of keys) {
      if (this.index.get(key) === undefined) continue;
      const file = this.#fileOf(key);
      const folder = path.dirname(file);
      byFolder.set(folder, [...(byFolder.get(folder) ?? []), key]);
      try {
        // No await between them, so that the file and the index always belong together.
        rmSync(file, { force: true });
        this.index.delete(key);
      } catch (error) {
        failed.set(key, error);
      }
    }
    for (const [folder, inFolder] of byFolder) {
      await syncFolder(folder).catch((error) => {
        for (const key of inFolder) failed.set(key, error);
      });
    }
    return failed;
  }

  async #makeShard(folder: string): Promise<void> {
    const shard = path.basename(folder);
    if (this.#shards.has(shard)) return;
    mkdirSync(folder, { recursive: true });
    this.#shards.add(shard);
    await syncFolder(path.dirname(folder));
  }

  #fileOf(key: string): string {
    const name = createHash('sha256').update(key, 'utf8').digest('hex');
    return path.join(this.#folder, 'objects', name.slice(0, 2), name.slice(2));
  }

  *#readAll(): Generator<readonly [string, ObjectRecord]> {
    const root = path.join(this.#folder, 'objects');
    for (const shard of this.#shards) {
      for (const name of readdirSync(path.join(root, shard))) {
        const file = path.join(root, shard, name);
        const fd = openSync(file, 'r');
        const record = readRecord(fd);
        closeSync(fd);
        if (record === undefined || this.#fileOf(record.key) !== file) {
          throw new Error(
            `The store's file ${file} is damaged or does not belong here. Move it out of the data folder.`,
          );
        }
        yield [record.key, record];
      }
    }
  }
}
