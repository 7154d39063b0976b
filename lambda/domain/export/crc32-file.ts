import { crc32 } from 'node:zlib';
import type { StoredObject } from './stored-object.ts';

/**
 * Files that keep the CRC-32 of a tenant's objects for its next zip. A file has the objects whose oids begin with one
 * digit, in the order of the oids: for each the oid, the size, the CRC-32 of the ETag and that of the bytes. Behind them
 * stands the CRC-32 of the file, so a broken one is noticed.
 */

/** How many files a tenant has: one for each first digit of an oid. */
export const crc32Files = 16;

/** Objects of one file, unless a single export has more. Sixteen such files have as many as an export may. */
export const keptObjectsMax = 131_072;

const oidBytes = 32;
const sizeAt = oidBytes;
const etagAt = sizeAt + 8;
const crc32At = etagAt + 4;
const recordBytes = crc32At + 4;
const sumBytes = 4;

/** Which file an object is in, from 0. */
export function crc32FileOf({ oid }: Pick<StoredObject, 'oid'>): number {
  return Number.parseInt(oid.slice(0, 1), 16);
}

/**
 * Finds the CRC-32 of objects in a file. It is known of an object with the same size and ETag alone, so of the bytes
 * that were hashed. A file that is broken knows none.
 *
 * @param objects in the order of their oids.
 * @param found gets what is found, by oid.
 */
export function findCrc32s(
  file: Uint8Array,
  objects: readonly StoredObject[],
  found: Map<string, number>,
): void {
  const records = recordsOf(file);
  const oid = Buffer.alloc(oidBytes);
  let at = 0;
  for (const object of objects) {
    oid.write(object.oid, 'hex');
    while (at < records.length && compareOids(records, at, oid) < 0) at += recordBytes;
    if (at >= records.length) return;
    if (compareOids(records, at, oid) === 0 && isOf(records, at, object))
      found.set(object.oid, records.readUInt32BE(at + crc32At));
  }
}

/**
 * The file of these objects.
 *
 * @param objects in the order of their oids.
 * @param input.crc32Of of one of them.
 * @param input.others an older file, whose objects are kept too, as long as there is room. undefined: none.
 */
export function encodeCrc32s(
  objects: readonly StoredObject[],
  input: { crc32Of: (object: StoredObject) => number; others: Uint8Array | undefined },
): Uint8Array {
  const others = recordsOf(input.others ?? new Uint8Array(0));
  const room = Math.max(0, keptObjectsMax - objects.length) * recordBytes;
  const file = Buffer.alloc(objects.length * recordBytes + Math.min(room, others.length) + sumBytes);
  let [at, from, copied] = [0, 0, 0];
  const copyUpTo = (oid: Buffer | undefined) => {
    for (; from < others.length; from += recordBytes) {
      const order = oid === undefined ? -1 : compareOids(others, from, oid);
      if (order > 0) return;
      if (order === 0 || copied >= room) continue;
      at += others.copy(file, at, from, from + recordBytes);
      copied += recordBytes;
    }
  };
  const oid = Buffer.alloc(oidBytes);
  for (const object of objects) {
    oid.write(object.oid, 'hex');
    copyUpTo(oid);
    oid.copy(file, at);
    file.writeDoubleBE(object.sizeBytes, at + sizeAt);
    file.writeUInt32BE(crc32(object.etag), at + etagAt);
    file.writeUInt32BE(input.crc32Of(object), at + crc32At);
    at += recordBytes;
  }
  copyUpTo(undefined);
  file.writeUInt32BE(crc32(file.subarray(0, at)), at);
  return file.subarray(0, at + sumBytes);
}

/** The records of a file; none if it is broken. */
function recordsOf(file: Uint8Array): Buffer {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const records = bytes.subarray(0, Math.max(0, bytes.length - sumBytes));
  const isWhole =
    records.length > 0 &&
    records.length % recordBytes === 0 &&
    crc32(records) === bytes.readUInt32BE(records.length);
  return isWhole ? records : Buffer.alloc(0);
}

const compareOids = (records: Buffer, at: number, oid: Buffer) =>
  records.compare(oid, 0, oidBytes, at, at + oidBytes);

function isOf(records: Buffer, at: number, { sizeBytes, etag }: StoredObject): boolean {
  return records.readDoubleBE(at + sizeAt) === sizeBytes && records.readUInt32BE(at + etagAt) === crc32(etag);
}
