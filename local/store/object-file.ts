import { createHash } from 'node:crypto';
import { closeSync, constants, createReadStream, fstatSync, openSync, readSync } from 'node:fs';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { parseJson } from '../../lambda/core/rules/text.ts';

const sha256Field = z
  .string()
  .regex(/^[\w+/]{43}=$/)
  .optional();

/** All of it is checked: a flipped bit may rename a field, or make a text that can't be a header. */
const recordShape = z.object({
  key: z.string(),
  sizeBytes: z.number(),
  /** MD5 of the bytes, hex. */
  etag: z.string().regex(/^[0-9a-f]{32}(-\d+)?$/),
  /** What the upload declared, verified, in base64. */
  checksums: z.object({ sha256: sha256Field }),
  /** SHA-256 of the bytes, base64. Older files, and what was made of parts, don't have it. */
  sha256: sha256Field,
  lastModifiedMs: z.number().min(0).max(8.64e15),
  /** The upload in parts that made the object. */
  uploadId: z.string().optional(),
  /** Of an empty object that the service put: what HEAD says of it. */
  mark: z
    .string()
    .regex(/^[ -~]+$/)
    .optional(),
});

/** An object's metadata, or that of a part of an upload. Older stores have kept more in it, which is ignored. */
export type ObjectRecord = Readonly<z.infer<typeof recordShape>>;

/** Some bytes of an object, or of a part. */
export interface Extent {
  readonly first: number;
  readonly sizeBytes: number;
}

/** The last bytes of every file. The last digit is the version of the format. */
const magic = Buffer.from('LFSQOBJ1', 'latin1');
const tailBytes = magic.length + 4;
const recordBytesMax = 16_384;

/** A file has not what its name says, or not all of it. */
export class DamagedFileError extends Error {
  override readonly name = 'DamagedFileError';
}

/**
 * A file has the object's bytes, then its record as JSON, the record's length (4 bytes, big endian) and the magic. It is
 * one file so that one rename makes bytes and record visible together.
 */
export function encodeRecord(record: ObjectRecord): Buffer {
  const json = Buffer.from(JSON.stringify(record), 'utf8');
  if (json.length > recordBytesMax) throw new Error(`The record of an object has ${json.length} bytes.`);
  const tail = Buffer.alloc(4);
  tail.writeUInt32BE(json.length);
  return Buffer.concat([json, tail, magic]);
}

/** @returns undefined if the file is incomplete, or not from this store. */
function decodeRecord(fd: number): ObjectRecord | undefined {
  const fileBytes = fstatSync(fd).size;
  const end = Buffer.allocUnsafe(Math.min(fileBytes, recordBytesMax + tailBytes));
  if (readSync(fd, end, 0, end.length, fileBytes - end.length) !== end.length) return undefined;
  const jsonEnd = end.length - tailBytes;
  if (jsonEnd < 0 || !end.subarray(jsonEnd + 4).equals(magic)) return undefined;
  const jsonBytes = end.readUInt32BE(jsonEnd);
  if (jsonBytes > jsonEnd) return undefined;
  const json = parseJson(end.toString('utf8', jsonEnd - jsonBytes, jsonEnd));
  const { data } = recordShape.safeParse(json);
  return data?.sizeBytes === fileBytes - jsonBytes - tailBytes ? data : undefined;
}

/** A named pipe isn't waited for. */
const readAtOnce = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** The caller closes it. @throws {DamagedFileError} or the error of the file system. */
function openFile(file: string): { readonly fd: number; readonly record: ObjectRecord } {
  const fd = openSync(file, readAtOnce);
  try {
    const record = decodeRecord(fd);
    if (record !== undefined) return { fd, record };
    throw new DamagedFileError(`The file ${file} isn't whole, or isn't an object of this store.`);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** The record of an object or a part. @throws {DamagedFileError} or the error of the file system. */
export function readRecord(file: string): ObjectRecord {
  const { fd, record } = openFile(file);
  closeSync(fd);
  return record;
}

/** The last bytes are held back until all are verified: no object of this size goes out wrong, and no larger one whole. */
const pieceBytes = 128 * 1024;
/** Larger objects aren't verified: SHA-256 takes 0.5 ms of CPU a MiB, and sending a large one 1.5 ms. */
export const verifiedBytesMax = 64 * 1024 ** 2;

/**
 * Bytes of an object or a part, of which nothing is replaced from here on. The file is open until they
 * are read. It fails with {@link DamagedFileError} at the end, if there are fewer, or if all were asked for
 * and have another SHA-256.
 *
 * @param record what the file must have.
 * @throws {DamagedFileError} or the error of the file system.
 */
export function readBytes(file: string, record: ObjectRecord, { first, sizeBytes }: Extent): Readable {
  const { fd, record: found } = openFile(file);
  const isSame = found.key === record.key && found.etag === record.etag;
  if (!isSame || sizeBytes === 0) closeSync(fd);
  if (!isSame) throw new DamagedFileError(`The file ${file} has another object.`);
  const isWhole = sizeBytes === record.sizeBytes && sizeBytes <= verifiedBytesMax;
  const sha256 = isWhole ? (record.sha256 ?? record.checksums.sha256) : undefined;
  const hash = sha256 === undefined ? undefined : createHash('sha256');
  const range = { start: first, end: first + sizeBytes - 1, highWaterMark: pieceBytes };
  const pieces = sizeBytes === 0 ? [] : createReadStream('', { fd, ...range });
  async function* verified(): AsyncGenerator<Buffer> {
    let leftBytes = sizeBytes;
    let held: Buffer | undefined;
    for await (const piece of pieces as AsyncIterable<Buffer>) {
      hash?.update(piece);
      leftBytes -= piece.length;
      if (held) yield held;
      held = piece;
    }
    if (leftBytes !== 0 || hash?.digest('base64') !== sha256)
      throw new DamagedFileError(`The bytes of ${file} changed since they were stored.`);
    if (held) yield held;
  }
  return Readable.from(verified());
}
