import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  read,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { parseJson } from '../../lambda/domain/json.ts';
import { syncFolder } from '../system/durable-file.ts';
import type { Checksums } from './bodies.ts';
import { KeyIndex } from './listing.ts';

/** An object's metadata, or that of a part of an upload. Older stores have kept more in it, which is ignored. */
export interface ObjectRecord {
  readonly key: string;
  readonly sizeBytes: number;
  /** MD5 of the bytes, hex. */
  readonly etag: string;
  readonly contentType: string;
  /** The checksums that the upload declared, all verified. */
  readonly checksums: Checksums;
  readonly lastModifiedMs: number;
  /** The upload in parts that made the object. */
  readonly uploadId?: string;
}

/** The last bytes of every file. The last digit is the version of the format. */
const magic = Buffer.from('LFSQOBJ1', 'latin1');
const tailBytes = magic.length + 4;
const recordBytesMax = 16_384;
/** Large, so that few calls move many bytes. */
const pieceBytes = 1024 * 1024;

/**
 * A file has the object's bytes, then its record as JSON, the record's length (4 bytes, big endian) and the magic. It is
 * one file so that one rename makes bytes and record visible together.
 */
function encodeRecord(record: ObjectRecord): Buffer {
  const json = Buffer.from(JSON.stringify(record), 'utf8');
  if (json.length > recordBytesMax) throw new Error(`The record of an object has ${json.length} bytes.`);
  const tail = Buffer.alloc(4);
  tail.writeUInt32BE(json.length);
  return Buffer.concat([json, tail, magic]);
}

/** @returns undefined if the file is incomplete, or not from this store. */
export function readRecord(fd: number): ObjectRecord | undefined {
  const fileBytes = fstatSync(fd).size;
  const end = Buffer.allocUnsafe(Math.min(fileBytes, recordBytesMax + tailBytes));
  if (readSync(fd, end, 0, end.length, fileBytes - end.length) !== end.length) return undefined;
  const jsonEnd = end.length - tailBytes;
  if (jsonEnd < 0 || !end.subarray(jsonEnd + 4).equals(magic)) return undefined;
  const jsonBytes = end.readUInt32BE(jsonEnd);
  if (jsonBytes > jsonEnd) return undefined;
  const record = parseJson(end.toString('utf8', jsonEnd - jsonBytes, jsonEnd)) as ObjectRecord | undefined;
  return record?.sizeBytes === fileBytes - jsonBytes - tailBytes ? record : undefined;
}

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

/** Copies bytes of an opened file to an upload, and hashes them. */
export async function copyRange(
  { fd, first, sizeBytes }: { fd: number; first: number; sizeBytes: number },
  { upload, digest }: { upload: ObjectUpload; digest: { update(bytes: Buffer): void } },
): Promise<void> {
  const piece = Buffer.allocUnsafe(Math.min(pieceBytes, sizeBytes));
  for (let done = 0; done < sizeBytes; ) {
    const wanted = Math.min(piece.length, sizeBytes - done);
    const { bytesRead } = await promisify(read)(fd, piece, 0, wanted, first + done);
    if (bytesRead === 0) throw new Error('A file of the store is shorter than its record says.');
    const bytes = piece.subarray(0, bytesRead);
    digest.update(bytes);
    await upload.write(bytes);
    done += bytesRead;
  }
}

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
   * Makes an upload the object at its key.
   *
   * @param isLate is asked right before the upload becomes visible.
   * @returns false if it is late. The upload is then discarded.
   */
  async commit(upload: ObjectUpload, record: ObjectRecord, isLate = () => false): Promise<boolean> {
    await upload.seal(record);
    const file = this.#fileOf(record.key);
    await this.#makeShard(path.dirname(file));
    if (isLate()) {
      await upload.discard();
      return false;
    }
    // No await between them, so that the file and the index always belong to the same upload.
    renameSync(upload.file, file);
    this.index.set(record.key, record);
    await syncFolder(path.dirname(file));
    return true;
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
