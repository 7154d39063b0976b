import { fstatSync, readSync } from 'node:fs';
import type { Checksums } from './checksums.ts';

/** What the store knows of an object besides its bytes. */
export interface ObjectRecord {
  readonly key: string;
  readonly sizeBytes: number;
  /** MD5 of the bytes, hex. */
  readonly etag: string;
  readonly contentType: string;
  /** Those that the upload declared, and that were found right. */
  readonly checksums: Checksums;
  readonly lastModifiedMs: number;
}

/** Ends every file; the last digit is the version of the format. */
const magic = Buffer.from('LFSQOBJ1', 'latin1');
const tailBytes = magic.length + 4;
const recordBytesMax = 16_384;

/**
 * A file is the object's bytes, then its record as JSON, the record's length (4 bytes, big endian) and the
 * magic. One file, so that bytes and record become visible in one rename.
 */
export function encodeRecord(record: ObjectRecord): Buffer {
  const json = Buffer.from(JSON.stringify(record), 'utf8');
  if (json.length > recordBytesMax) throw new Error(`The record of an object has ${json.length} bytes.`);
  const tail = Buffer.alloc(4);
  tail.writeUInt32BE(json.length);
  return Buffer.concat([json, tail, magic]);
}

/** @returns undefined where the file is not one of this store's, or not whole. */
export function readRecord(fd: number): ObjectRecord | undefined {
  const fileBytes = fstatSync(fd).size;
  const end = Buffer.allocUnsafe(Math.min(fileBytes, recordBytesMax + tailBytes));
  if (readSync(fd, end, 0, end.length, fileBytes - end.length) !== end.length) return undefined;
  const jsonEnd = end.length - tailBytes;
  if (jsonEnd < 0 || !end.subarray(jsonEnd + 4).equals(magic)) return undefined;
  const jsonBytes = end.readUInt32BE(jsonEnd);
  if (jsonBytes > jsonEnd) return undefined;
  const record = parse(end.toString('utf8', jsonEnd - jsonBytes, jsonEnd));
  return record?.sizeBytes === fileBytes - jsonBytes - tailBytes ? record : undefined;
}

function parse(json: string): ObjectRecord | undefined {
  try {
    return JSON.parse(json) as ObjectRecord;
  } catch {
    return undefined;
  }
}
