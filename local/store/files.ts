import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, mkdir, open, rm, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { parseJson } from '../../lambda/core/rules/text.ts';
import { syncFolder, writeDurably } from '../system/durable-file.ts';
import { Damage, type DamagedFile, isOfFile } from './damage.ts';
import { KeyIndex } from './listing.ts';
import {
  type Extent,
  encodeRecord,
  type ObjectRecord,
  readBytes,
  readRecord,
  verifiedBytesMax,
} from './object-file.ts';
import { S3Error } from './protocol.ts';
import { UrlUploads } from './url-uploads.ts';

/** A running upload: a file that no reader sees. It ends with `seal` and a rename, or is discarded. */
export class ObjectUpload {
  readonly file: string;
  readonly #handle: FileHandle;

  constructor(handle: FileHandle, file: string) {
    this.#handle = handle;
    this.file = file;
  }

  async write(chunk: Buffer): Promise<void> {
    await this.#handle.writeFile(chunk);
  }

  /** Appends the record and syncs the file to disk. */
  async seal(record: ObjectRecord): Promise<void> {
    await this.write(encodeRecord(record));
    await this.#handle.sync();
  }

  /** Removes the file if it wasn't renamed. */
  async end(): Promise<void> {
    await this.#handle.close();
    await rm(this.file, { force: true });
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
  readonly urlUploads = new UrlUploads();
  readonly damage: Damage;
  readonly #folder: string;
  /** The folders below `objects/` that this process has made sure of. */
  readonly #shards = new Set<string>();
  /** By folder. */
  readonly #turns: Turns = new Map();

  /**
   * Removes interrupted uploads, and reads every object's record. What isn't a whole object is ignored or set aside.
   *
   * @param tell hears of what is damaged.
   */
  constructor(folder: string, tell: (found: DamagedFile) => void = () => {}) {
    this.#folder = folder;
    this.damage = new Damage(folder, tell);
    this.damage.remove(path.join(folder, 'uploads'));
    mkdirSync(path.join(folder, 'uploads'), { recursive: true });
    mkdirSync(path.join(folder, 'objects'), { recursive: true });
    this.index = new KeyIndex(this.#readAll());
  }

  /** @throws {S3Error} NoSuchKey */
  get(key: string): ObjectRecord {
    const record = this.index.get(key);
    if (record !== undefined) return record;
    throw noSuchKey();
  }

  /** Runs the work with a new upload, of which nothing is left unless it was committed. */
  async withUpload<T>(work: (upload: ObjectUpload) => Promise<T>): Promise<T> {
    const file = path.join(this.#folder, 'uploads', randomUUID());
    const upload = new ObjectUpload(await open(file, 'wx'), file);
    try {
      return await work(upload);
    } finally {
      await upload.end();
    }
  }

  /**
   * Makes an upload the object at its key.
   *
   * @param check is called right before the upload gets its name. It isn't made an object if that throws.
   */
  async commit(upload: ObjectUpload, record: ObjectRecord, check = () => {}): Promise<void> {
    await upload.seal(record);
    const { key } = record;
    const file = this.#fileOf(key);
    const folder = path.dirname(file);
    await inTurn(this.#turns, folder, async () => {
      // It may have been removed since.
      if (!this.#shards.has(folder) || !existsSync(folder)) await makeFolder(folder);
      this.#shards.add(folder);
      check();
      renameSync(upload.file, file);
      // Readers of what it replaces get its bytes from now on. A new one is told to nobody before it is on the disk.
      if (this.index.get(key) !== undefined) this.index.set(key, record);
      try {
        await syncFolder(folder);
      } finally {
        // After an error, too: the index has what the folder has.
        this.index.set(key, record);
        this.damage.lost.delete(key);
      }
    });
  }

  /**
   * Bytes of the object that the index has at this moment. The first ones are read when this resolves. An object that can't
   * be read is taken out of the index: the next push stores it again.
   *
   * @throws {S3Error} NoSuchKey
   */
  async read(record: ObjectRecord, extent: Extent): Promise<Readable> {
    const lose = (error: unknown) => this.#lose(record, error);
    try {
      const body = readBytes(this.#fileOf(record.key), record, extent).on('error', lose);
      await once(body, 'readable');
      return body;
    } catch (error) {
      throw lose(error) ? noSuchKey() : error;
    }
  }

  /** @returns the size of an object that was taken out now, because its file is gone, cut, or has wrong bytes. */
  async discardDamaged(key: string): Promise<number | undefined> {
    const record = this.index.get(key);
    if (record === undefined) return undefined;
    const sizeBytes = record.sizeBytes <= verifiedBytesMax ? record.sizeBytes : 0;
    const reading = this.read(record, { first: 0, sizeBytes }).then((body) => finished(body.resume()));
    await reading.catch(() => undefined);
    return this.index.get(key) === record ? undefined : record.sizeBytes;
  }

  /** @returns whether the object that was read isn't there any more. */
  #lose(record: ObjectRecord, error: unknown): boolean {
    const { key } = record;
    if (this.index.get(key) !== record) return true;
    if (!isOfFile(error)) return false;
    // No await between them, as in a delete.
    this.index.delete(key);
    this.damage.setAside({ file: this.#fileOf(key), key, error });
    return true;
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
      const folder = path.dirname(this.#fileOf(key));
      byFolder.set(folder, [...(byFolder.get(folder) ?? []), key]);
    }
    for (const [folder, inFolder] of byFolder)
      await inTurn(this.#turns, folder, () => this.#deleteIn(folder, inFolder, failed));
    return failed;
  }

  async #deleteIn(folder: string, keys: readonly string[], failed: Map<string, unknown>): Promise<void> {
    const there = keys.filter((key) => this.index.get(key) !== undefined);
    for (const key of keys) this.damage.lost.delete(key);
    for (const key of there) {
      try {
        // No await between them, so that the file and the index always belong together.
        rmSync(this.#fileOf(key), { force: true });
        this.index.delete(key);
      } catch (error) {
        failed.set(key, error);
      }
    }
    // What isn't there may have been deleted without a sync that succeeded.
    if (there.length === 0 && !existsSync(folder)) return;
    await syncFolder(folder).catch((error) => {
      for (const key of keys) failed.set(key, error);
    });
  }

  #fileOf(key: string): string {
    const name = createHash('sha256').update(key, 'utf8').digest('hex');
    return path.join(this.#folder, 'objects', name.slice(0, 2), name.slice(2));
  }

  *#readAll(): Generator<readonly [string, ObjectRecord]> {
    const root = path.join(this.#folder, 'objects');
    const orSetAside = <T>(file: string, isOurs: boolean, read: () => T): T | undefined => {
      try {
        if (isOurs) return read();
        this.damage.ignore(file);
      } catch (error) {
        this.damage.setAside({ file, error });
      }
      return undefined;
    };
    for (const shard of readdirSync(root)) {
      const folder = path.join(root, shard);
      for (const name of orSetAside(folder, /^[0-9a-f]{2}$/.test(shard), () => readdirSync(folder)) ?? []) {
        const file = path.join(folder, name);
        const record = orSetAside(file, /^[0-9a-f]{62}$/.test(name), () => readRecord(file));
        if (record && this.#fileOf(record.key) === file) yield [record.key, record];
        else if (record) this.damage.setAside({ file });
      }
    }
  }
}

/** Each ends when the last who wants to change the same thing has done so. None rejects. */
type Turns = Map<string, Promise<unknown>>;

async function inTurn<T>(turns: Turns, name: string, work: () => Promise<T>): Promise<T> {
  const mine = (turns.get(name) ?? Promise.resolve()).then(work);
  const ended = mine.catch(() => undefined);
  turns.set(name, ended);
  return await mine;
}

const noSuchKey = () => new S3Error('NoSuchKey', "The specified key doesn't exist.");

async function makeFolder(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await syncFolder(path.dirname(folder));
}

/** What CreateMultipartUpload declares of the object. Older stores have kept more in it, which is ignored. */
export interface MultipartRecord {
  /** Begins with the time, so that ids sort by it. */
  readonly id: string;
  readonly key: string;
  /** The answers to its copied parts tell their CRC-32. */
  readonly withCrc32: boolean;
  readonly initiatedAtMs: number;
}

/** How requests name an upload. */
export type UploadPlace = Pick<MultipartRecord, 'id' | 'key'>;

/** How requests name a part. */
export type PartPlace = UploadPlace & { readonly partNumber: number };

const openUploadsMax = 1_000;
const hourMs = 3_600_000;
/** An upload that is older is aborted, as in the bucket that we deploy. */
const abandonedAfterMs = 8 * 24 * hourMs;
const recordFile = 'upload.json';
const idPattern = /^[0-9a-f]{12,}-[0-9a-f-]{36}$/;

/**
 * Unfinished uploads in parts, below `multipart/`: a folder each, with its record and a file for each part, made like an
 * object's file (object-files.ts). A folder without a record is the rest of an upload that has ended. So the removal of
 * one file ends an upload, and a kill at any moment leaves it as it was before or after. What is there is read from the
 * disk at each request.
 */
export class MultipartFiles {
  readonly #folder: string;
  /** By id. */
  readonly #turns: Turns = new Map();

  /**
   * Removes the rests of uploads that have ended.
   *
   * @param isCompleted whether an upload has become an object. It is asked because a kill can come between that and the
   * end of the upload.
   */
  constructor(folder: string, damage: Damage, isCompleted: (record: MultipartRecord) => boolean) {
    this.#folder = path.join(folder, 'multipart');
    mkdirSync(this.#folder, { recursive: true });
    for (const id of readdirSync(this.#folder)) {
      const file = this.#folderOf(id);
      const record = this.#read(id);
      const isEnded = record ? isCompleted(record) : !existsSync(path.join(file, recordFile));
      if (!idPattern.test(id)) damage.ignore(file);
      else if (isEnded) damage.remove(file);
      else if (!record) damage.setAside({ file });
    }
  }

  /** In no order. */
  list(): readonly MultipartRecord[] {
    return readdirSync(this.#folder).flatMap((id) => this.#read(id) ?? []);
  }

  /** @throws {S3Error} NoSuchUpload */
  get({ id, key }: UploadPlace): MultipartRecord {
    const record = this.#read(id);
    if (record?.key === key) return record;
    throw new S3Error(
      'NoSuchUpload',
      "The specified upload doesn't exist. The upload ID is invalid, or the upload was aborted or completed.",
    );
  }

  /** The numbers of an upload's parts, in order. @throws {S3Error} NoSuchUpload */
  partNumbers(where: UploadPlace): readonly number[] {
    const { id } = this.get(where);
    const names = readdirSync(this.#folderOf(id)).filter((name) => /^\d{5}$/.test(name));
    return names.sort().map(Number);
  }

  /** @returns undefined if there is no whole one: it's to be sent again. */
  part(where: PartPlace): ObjectRecord | undefined {
    try {
      return readRecord(this.#partFile(where));
    } catch (error) {
      if (isOfFile(error)) return undefined;
      throw error;
    }
  }

  readPart(where: PartPlace, record: ObjectRecord): Readable {
    return readBytes(this.#partFile(where), record, { first: 0, sizeBytes: record.sizeBytes });
  }

  /** @throws {S3Error} InvalidRequest */
  async create(input: Omit<MultipartRecord, 'id'>): Promise<MultipartRecord> {
    if (readdirSync(this.#folder).length >= openUploadsMax) {
      const text = `This store has ${openUploadsMax} unfinished uploads. Complete or abort some of them first.`;
      throw new S3Error('InvalidRequest', text);
    }
    const id = `${input.initiatedAtMs.toString(16).padStart(12, '0')}-${randomUUID()}`;
    const record = { ...input, id };
    const folder = this.#folderOf(id);
    try {
      await mkdir(folder);
      await writeDurably(path.join(folder, recordFile), JSON.stringify(record));
      await syncFolder(this.#folder);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
    return record;
  }

  /**
   * Makes a received file the part of this number, in place of an earlier one.
   *
   * @param check is called right before. It isn't made a part if that throws.
   * @throws {S3Error} NoSuchUpload
   */
  async commitPart(
    where: PartPlace,
    upload: ObjectUpload,
    record: ObjectRecord,
    check = () => {},
  ): Promise<void> {
    await upload.seal(record);
    await this.inTurn(where, async () => {
      check();
      renameSync(upload.file, this.#partFile(where));
      await syncFolder(this.#folderOf(where.id));
    });
  }

  /**
   * Runs the work while nothing else changes the upload.
   *
   * @throws {S3Error} NoSuchUpload if it has ended, also while others had their turn.
   */
  async inTurn<T>(where: UploadPlace, work: (record: MultipartRecord) => Promise<T>): Promise<T> {
    this.get(where);
    return await inTurn(this.#turns, where.id, () => work(this.get(where)));
  }

  /** Ends an upload and removes its parts. For whoever has its turn. */
  async end({ id }: UploadPlace): Promise<void> {
    const folder = this.#folderOf(id);
    await unlink(path.join(folder, recordFile));
    this.#turns.delete(id);
    await syncFolder(folder);
    await rm(folder, { recursive: true });
  }

  /** Aborts the uploads that are too old. */
  async abortAbandoned(nowMs: number): Promise<void> {
    for (const record of this.list()) {
      if (nowMs - record.initiatedAtMs < abandonedAfterMs) continue;
      try {
        await this.inTurn(record, () => this.end(record));
      } catch (error) {
        if (!(error instanceof S3Error)) throw error;
        // It was completed or aborted meanwhile.
      }
    }
  }

  #folderOf(id: string): string {
    return path.join(this.#folder, id);
  }

  #partFile({ id, partNumber }: PartPlace): string {
    return path.join(this.#folderOf(id), String(partNumber).padStart(5, '0'));
  }

  /** @returns undefined if it has ended, or its record is damaged. */
  #read(id: string): MultipartRecord | undefined {
    if (!idPattern.test(id)) return undefined;
    try {
      const file = path.join(this.#folderOf(id), recordFile);
      // A named pipe would be waited for.
      if (!statSync(file).isFile()) return undefined;
      const text = readFileSync(file, 'utf8');
      const record = parseJson(text) as MultipartRecord | undefined;
      return record?.id === id && record.key && record.initiatedAtMs >= 0 ? record : undefined;
    } catch (error) {
      if (isOfFile(error)) return undefined;
      throw error;
    }
  }
}
