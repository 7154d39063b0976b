import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { mkdir, rm, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { parseJson } from '../../lambda/domain/json.ts';
import { syncFolder, writeDurably } from '../system/durable-file.ts';
import { damaged, type ObjectRecord, type ObjectUpload, readBytes, readRecord } from './object-files.ts';
import { S3Error } from './protocol.ts';

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
/** An upload that is older is aborted. */
const abandonedAfterMs = 48 * hourMs;
const recordFile = 'upload.json';

/**
 * Unfinished uploads in parts, below `multipart/`: a folder each, with its record and a file for each part, made like an
 * object's file (object-files.ts). A folder without a record is the rest of an upload that has ended. So the removal of
 * one file ends an upload, and a kill at any moment leaves it as it was before or after. What is there is read from the
 * disk at each request.
 */
export class MultipartFiles {
  readonly #folder: string;
  /** By id: it ends when the last who wants to change the upload has done so. */
  readonly #turns = new Map<string, Promise<unknown>>();

  /**
   * Removes the rests of uploads that have ended.
   *
   * @param isCompleted whether an upload has become an object. It is asked because a kill can come between that and the
   * end of the upload.
   * @throws when a record is damaged.
   */
  constructor(folder: string, isCompleted: (record: MultipartRecord) => boolean) {
    this.#folder = path.join(folder, 'multipart');
    mkdirSync(this.#folder, { recursive: true });
    for (const id of readdirSync(this.#folder)) {
      const record = this.#read(id);
      if (record === undefined || isCompleted(record)) rmSync(this.#folderOf(id), { recursive: true });
    }
  }

  /** In no order. */
  list(): readonly MultipartRecord[] {
    return readdirSync(this.#folder).flatMap((id) => this.#read(id) ?? []);
  }

  /** @throws {S3Error} NoSuchUpload */
  get({ id, key }: UploadPlace): MultipartRecord {
    const record = /^[\w-]+$/.test(id) ? this.#read(id) : undefined;
    if (record?.key === key) return record;
    throw new S3Error(
      'NoSuchUpload',
      "The specified upload doesn't exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
    );
  }

  /** The numbers of an upload's parts, in order. @throws {S3Error} NoSuchUpload */
  partNumbers(where: UploadPlace): readonly number[] {
    const { id } = this.get(where);
    const names = readdirSync(this.#folderOf(id)).filter((name) => /^\d{5}$/.test(name));
    return names.sort().map(Number);
  }

  /** @throws when the part's file is damaged. */
  part(where: PartPlace): ObjectRecord | undefined {
    const file = this.#partFile(where);
    return existsSync(file) ? readRecord(file) : undefined;
  }

  readPart(where: PartPlace, { sizeBytes }: ObjectRecord): Readable {
    return readBytes(this.#partFile(where), { first: 0, sizeBytes });
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

  /** Makes a received file the part of this number, in place of an earlier one. @throws {S3Error} NoSuchUpload */
  async commitPart(where: PartPlace, upload: ObjectUpload, record: ObjectRecord): Promise<void> {
    await upload.seal(record);
    await this.inTurn(where, async () => {
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
    const mine = (this.#turns.get(where.id) ?? Promise.resolve()).then(() => work(this.get(where)));
    this.#turns.set(
      where.id,
      mine.catch(() => undefined),
    );
    return await mine;
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

  /** @returns undefined if it has ended. */
  #read(id: string): MultipartRecord | undefined {
    const file = path.join(this.#folderOf(id), recordFile);
    if (!existsSync(file)) return undefined;
    const record = parseJson(readFileSync(file, 'utf8')) as MultipartRecord | undefined;
    if (record?.id !== id) throw damaged(file);
    return record;
  }
}
