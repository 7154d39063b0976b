import type { ArchiveEnd, Member, PlacedMember } from './archive-format.ts';

/**
 * Records of zip (APPNOTE 6.3), stored without compression. A field that does not fit holds all ones, and its value is
 * in a ZIP64 record beside it. No data descriptor: some readers take none for stored files.
 */

const allOnes32 = 0xffffffff;
const allOnes16 = 0xffff;
/** Names are UTF-8. */
const utf8Flag = 0x0800;
const versionPlain = 20;
const versionZip64 = 45;
/** A regular file of Unix, `-rw-r--r--`. */
const fileAttributes = 0o100644 * 2 ** 16;
const madeByUnix = 3 << 8;

const isLong = (value: number) => value >= allOnes32;

/** What ZIP64 must say of a file in the directory, in the order of the fields. */
function longFields(member: Member & { startByte: number }): number[] {
  const sizes = isLong(member.sizeBytes) ? [member.sizeBytes, member.sizeBytes] : [];
  return isLong(member.startByte) ? [...sizes, member.startByte] : sizes;
}

/** The extra field of ZIP64, or nothing. */
function zip64Extra(values: readonly number[]): Buffer {
  if (values.length === 0) return Buffer.alloc(0);
  const extra = Buffer.alloc(4 + 8 * values.length);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(8 * values.length, 2);
  for (const [index, value] of values.entries()) extra.writeBigUInt64LE(BigInt(value), 4 + 8 * index);
  return extra;
}

/** Time and date of MS-DOS, in UTC: even seconds from 1980 to 2107. */
export function dosTime(ms: number): { time: number; date: number } {
  const at = new Date(Math.min(Math.max(ms, Date.UTC(1980, 0, 1)), Date.UTC(2107, 11, 31)));
  return {
    time: (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1),
    date: ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate(),
  };
}

const localBytes = 30;
const centralBytes = 46;

/** Bytes of {@link localHeader}. */
export function localHeaderBytes(member: Member): number {
  return localBytes + Buffer.byteLength(member.name) + (isLong(member.sizeBytes) ? 20 : 0);
}

/** The fields that the local header and the directory share: version, flags, method, time, CRC, sizes, lengths. */
function writeShared(record: Buffer, at: number, member: Member & { crc32: number; modifiedAtMs: number }) {
  const { time, date } = dosTime(member.modifiedAtMs);
  record.writeUInt16LE(utf8Flag, at + 2);
  record.writeUInt16LE(0, at + 4);
  record.writeUInt16LE(time, at + 6);
  record.writeUInt16LE(date, at + 8);
  record.writeUInt32LE(member.crc32, at + 10);
  record.writeUInt32LE(Math.min(member.sizeBytes, allOnes32), at + 14);
  record.writeUInt32LE(Math.min(member.sizeBytes, allOnes32), at + 18);
  record.writeUInt16LE(Buffer.byteLength(member.name), at + 22);
}

/** What stands before a file's bytes. */
export function localHeader(member: Member & { crc32: number; modifiedAtMs: number }): Uint8Array {
  const extra = zip64Extra(isLong(member.sizeBytes) ? [member.sizeBytes, member.sizeBytes] : []);
  const fixed = Buffer.alloc(localBytes);
  fixed.writeUInt32LE(0x04034b50, 0);
  fixed.writeUInt16LE(extra.length > 0 ? versionZip64 : versionPlain, 4);
  writeShared(fixed, 4, member);
  fixed.writeUInt16LE(extra.length, 28);
  return Buffer.concat([fixed, Buffer.from(member.name), extra]);
}

/** Bytes of {@link centralRecord}. */
export function centralRecordBytes(member: Member & { startByte: number }): number {
  const fields = longFields(member).length;
  return centralBytes + Buffer.byteLength(member.name) + (fields > 0 ? 4 + 8 * fields : 0);
}

/** A file in the directory at the end. */
export function centralRecord(member: PlacedMember & { modifiedAtMs: number }): Uint8Array {
  const extra = zip64Extra(longFields(member));
  const version = extra.length > 0 ? versionZip64 : versionPlain;
  const fixed = Buffer.alloc(centralBytes);
  fixed.writeUInt32LE(0x02014b50, 0);
  fixed.writeUInt16LE(madeByUnix | version, 4);
  fixed.writeUInt16LE(version, 6);
  writeShared(fixed, 6, member);
  fixed.writeUInt16LE(extra.length, 30);
  fixed.writeUInt32LE(fileAttributes, 38);
  fixed.writeUInt32LE(Math.min(member.startByte, allOnes32), 42);
  return Buffer.concat([fixed, Buffer.from(member.name), extra]);
}

/** Whether the end itself needs ZIP64. */
function isLongEnd({ members, directoryStartByte, directoryEndByte }: ArchiveEnd): boolean {
  return members >= allOnes16 || isLong(directoryStartByte) || isLong(directoryEndByte - directoryStartByte);
}

const endBytes = 22;
const zip64EndBytes = 56;
const zip64LocatorBytes = 20;

/** Bytes of {@link endOfDirectory}. */
export function endOfDirectoryBytes(end: ArchiveEnd): number {
  return isLongEnd(end) ? zip64EndBytes + zip64LocatorBytes + endBytes : endBytes;
}

/** What ends a zip: where the directory is. */
export function endOfDirectory(end: ArchiveEnd): Uint8Array {
  const directoryBytes = end.directoryEndByte - end.directoryStartByte;
  const record = Buffer.alloc(endBytes);
  record.writeUInt32LE(0x06054b50, 0);
  record.writeUInt16LE(Math.min(end.members, allOnes16), 8);
  record.writeUInt16LE(Math.min(end.members, allOnes16), 10);
  record.writeUInt32LE(Math.min(directoryBytes, allOnes32), 12);
  record.writeUInt32LE(Math.min(end.directoryStartByte, allOnes32), 16);
  return isLongEnd(end) ? Buffer.concat([zip64End(end), record]) : record;
}

/** The end with long fields, and the locator that says where it is. */
function zip64End({ members, directoryStartByte, directoryEndByte }: ArchiveEnd): Buffer {
  const record = Buffer.alloc(zip64EndBytes + zip64LocatorBytes);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(BigInt(zip64EndBytes - 12), 4);
  record.writeUInt16LE(madeByUnix | versionZip64, 12);
  record.writeUInt16LE(versionZip64, 14);
  record.writeBigUInt64LE(BigInt(members), 24);
  record.writeBigUInt64LE(BigInt(members), 32);
  record.writeBigUInt64LE(BigInt(directoryEndByte - directoryStartByte), 40);
  record.writeBigUInt64LE(BigInt(directoryStartByte), 48);
  record.writeUInt32LE(0x07064b50, zip64EndBytes);
  record.writeBigUInt64LE(BigInt(directoryEndByte), zip64EndBytes + 8);
  record.writeUInt32LE(1, zip64EndBytes + 16);
  return record;
}
