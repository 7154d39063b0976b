import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { mkdir, rm, unlink } from 'node:fs/promises';
import path from 'node:path';
import { parseJson } from '../../lambda/domain/json.ts';
import { syncFolder, writeDurably } from '../system/durable-file.ts';
import { type ObjectRecord, type ObjectUpload, readRecord } from './object-files.ts';
import { S3Error } from './protocol.ts';

/** What CreateMultipartUpload declares of the object. */
export interface MultipartRecord {
  /** Begins with the time, so that ids sort by it. */
  readonly id: string;
  readonly key: string;
  readonly contentType: string;
  /** Of the whole object. (Older stores have kept other kinds here, which are ignored.) */
  readonly checksum?: { readonly name: string; readonly type: string };
  readonly initiatedAtMs: number;
}

/** An unfinished upload in parts. */
export interface MultipartUpload {
  readonly record: MultipartRecord;
  /** By number. */
  readonly parts: ReadonlyMap<number, ObjectRecord>;
}

interface OpenUpload extends MultipartUpload {
  readonly parts: Map<number, ObjectRecord>;
  /** Ends when whoever has its turn is done. */
  turn: Promise<unknown>;
}

const openUploadsMax = 1_000;
const hourMs = 3_600_000;
/** An upload that is older is aborted. */
const abandonedAfterMs = 48 * hourMs;
const recordFile = 'upload.json';

/**
 * Unfinished uploads in parts, below `multipart/`: a folder each, with its record and a file for each part, made like an
 * object's file (object-record.ts). A folder without a record is the rest of an upload that has ended. So the removal of
 * one file ends an upload, and a kill at any moment leaves it as it was before or after.
 */
export class MultipartFiles {
  readonly #folder: string;
  readonly #uploads = new Map<string, OpenUpload>();

  /**
   * Reads all uploads, and removes the rests of ended ones.
   *
   * @param isCompleted whether an upload has become an object. It is asked because a kill can come between that and the
   * end of the upload.
   * @throws when a part's file is damaged.
   */
  constructor(folder: string, isCompleted: (record: MultipartRecord) => boolean) {
    this.#folder = path.join(folder, 'multipart');
    mkdirSync(this.#folder, { recursive: true });
    for (const id of readdirSync(this.#folder)) {
      const upload = this.#read(id);
      if (upload !== undefined && !isCompleted(upload.record)) this.#uploads.set(id, upload);
      else rmSync(this.#folderOf(id), { recursive: true });
    }
  }

  /** In no order. */
  list(): readonly MultipartUpload[] {
    return [...this.#uploads.values()];
  }

  /** @throws {S3Error} NoSuchUpload */
  get(where: { id: string; key: string }): MultipartUpload {
    return this.#open(where);
  }

  /** @throws {S3Error} InvalidRequest */
  async create(input: Omit<MultipartRecord, 'id'>): Promise<MultipartRecord> {
    if (this.#uploads.size >= openUploadsMax) {
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
    this.#uploads.set(id, { record, parts: new Map(), turn: Promise.resolve() });
    return record;
  }

  /** Makes a received file the part of this number, in place of an earlier one. @throws {S3Error} NoSuchUpload */
  async commitPart(
    where: { id: string; key: string; partNumber: number },
    { file, record }: { file: ObjectUpload; record: ObjectRecord },
  ): Promise<void> {
    await file.seal(record);
    await this.inTurn(where, async () => {
      const { parts } = this.#open(where);
      renameSync(file.file, this.#partFile(where));
      parts.set(where.partNumber, record);
      await syncFolder(this.#folderOf(where.id));
    });
  }

  /** A part's bytes followed by its record. */
  openPart(where: { id: string; partNumber: number }): number {
    return openSync(this.#partFile(where), 'r');
  }

  /**
   * Runs the work while nothing else changes the upload.
   *
   * @throws {S3Error} NoSuchUpload if it has ended, also while others had their turn.
   */
  async inTurn<T>(
    where: { id: string; key: string },
    work: (upload: MultipartUpload) => Promise<T>,
  ): Promise<T> {
    const upload = this.#open(where);
    const mine = upload.turn.then(() => work(this.#open(where)));
    upload.turn = mine.catch(() => undefined);
    return await mine;
  }

  /** Ends an upload and removes its parts. For whoever has its turn. */
  async end({ id }: { id: string }): Promise<void> {
    const folder = this.#folderOf(id);
    this.#uploads.delete(id);
    await unlink(path.join(folder, recordFile));
    await syncFolder(folder);
    await rm(folder, { recursive: true });
  }

  /** Aborts the uploads that are too old. */
  async abortAbandoned(nowMs: number): Promise<void> {
    for (const { record } of [...this.#uploads.values()]) {
      if (nowMs - record.initiatedAtMs < abandonedAfterMs) continue;
      try {
        await this.inTurn(record, () => this.end(record));
      } catch (error) {
        if (!(error instanceof S3Error)) throw error;
        // It was completed or aborted meanwhile.
      }
    }
  }

  #open({ id, key }: { id: string; key: string }): OpenUpload {
    const upload = this.#uploads.get(id);
    if (upload?.record.key === key) return upload;
    throw new S3Error(
      'NoSuchUpload',
      "The specified upload doesn't exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
    );
  }

  #folderOf(id: string): string {
    return path.join(this.#folder, id);
  }

  #partFile({ id, partNumber }: { id: string; partNumber: number }): string {
    return path.join(this.#folderOf(id), String(partNumber).padStart(5, '0'));
  }

  /** @returns undefined if it has ended. */
  #read(id: string): OpenUpload | undefined {
    const folder = this.#folderOf(id);
    const names = readdirSync(folder);
    if (!names.includes(recordFile)) return undefined;
    const record = parseJson(readFileSync(path.join(folder, recordFile), 'utf8')) as
      | MultipartRecord
      | undefined;
    if (record?.id !== id) throw damaged(path.join(folder, recordFile));
    const parts = new Map<number, ObjectRecord>();
    for (const name of names.filter((candidate) => /^\d{5}$/.test(candidate))) {
      const fd = openSync(path.join(folder, name), 'r');
      const part = readRecord(fd);
      closeSync(fd);
      if (part === undefined) throw damaged(path.join(folder, name));
      parts.set(Number(name), part);
    }
    return { record, parts, turn: Promise.resolve() };
  }
}

function damaged(file: string): Error {
  return new Error(`The store's file ${file} is damaged. Move its folder out of the data folder.`);
}
