import { fstatSync, readSync } from 'node:fs';
import { parseJson } from '../../lambda/domain/json.ts';
import type { Checksums } from './checksums.ts';
import type { UserMetadata } from './user-metadata.ts';

/** An object's metadata, or that of a part of an upload. */
export interface ObjectRecord {
  readonly key: string;
  readonly sizeBytes: number;
  /** MD5 of the bytes, hex. */
  readonly etag: string;
  readonly contentType: string;
  /** The checksums that the upload declared, all verified. */
  readonly checksums: Checksums;
  readonly lastModifiedMs: number;
  /** What the client noted on it; absent if that is nothing. */
  readonly metadata?: UserMetadata;
  /** Checksums of the parts' checksums, with `-N`, of an object that was uploaded in parts. */
  readonly compositeChecksums?: Checksums;
  /** The upload in parts that made the object. */
  readonly uploadId?: string;
  /** The sizes of its parts; absent if they would make the record too long. */
  readonly partSizes?: PartSizes;
}

/** `[count, bytes]` for each run of parts of the same size. */
export type PartSizes = readonly (readonly [count: number, sizeBytes: number])[];

/** The last bytes of every file. The last digit is the version of the format. */
const magic = Buffer.from('LFSQOBJ1', 'latin1');
const tailBytes = magic.length + 4;
const recordBytesMax = 16_384;

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
