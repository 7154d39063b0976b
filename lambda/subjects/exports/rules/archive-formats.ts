import { crc32 } from 'node:zlib';
export interface Member {
  readonly name: string;
  readonly sizeBytes: number;
}

/** A file of an archive, where it begins, and the CRC-32 of its bytes. */
interface PlacedMember extends Member {
  readonly startByte: number;
  readonly crc32: number;
}

/** Where the directory at the end of an archive lies, and how many files it lists. */
interface ArchiveEnd {
  readonly members: number;
  readonly directoryStartByte: number;
  readonly directoryEndByte: number;
}

/**
 * A format of archives whose files are stored as they are. An archive is, for each file, a head, its bytes and padding;
 * then for each file a record of the directory; then an end. Every size is known before any content is.
 */
export interface ArchiveFormat {
  readonly name: 'tar' | 'zip';
  /** True if it has a directory. Heads and records then hold the CRC-32 of each file. */
  readonly hasDirectory: boolean;
  headBytes(member: Member): number;
  head(member: Member & { crc32: number }): Uint8Array;
  /** Bytes of padding behind a content. They are zeros. */
  padBytes(contentBytes: number): number;
  /** 0 without a directory, as is every record. */
  recordBytes(member: Member & { startByte: number }): number;
  record(member: PlacedMember): Uint8Array;
  endBytes(end: ArchiveEnd): number;
  end(end: ArchiveEnd): Uint8Array;
}

/** Headers of tar as POSIX.1-2001 has them: ustar, and pax records for what does not fit. */

/** Everything in a tar is a multiple of it. */
const blockBytes = 512;

/** Eleven octal digits. */
const largestUstarSize = 8 ** 11 - 1;
const ustarNameBytes = 100;
const ustarPrefixBytes = 155;

/** Bytes up to the end of the block. */
function blockPadding(bytes: number): number {
  return (blockBytes - (bytes % blockBytes)) % blockBytes;
}

interface HeaderFields {
  readonly name: string;
  readonly prefix: string;
  readonly sizeBytes: number;
  readonly modifiedAtSeconds: number;
  /** `0` is a file, `x` has pax records for the file that follows. */
  readonly type: '0' | 'x';
}

/** One block. Owner and group are root's, as only root gives files away when it extracts. */
function ustarHeader(fields: HeaderFields): Uint8Array {
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, at: number, digits: number) =>
    header.write(value.toString(8).padStart(digits, '0'), at, 'latin1');
  header.write(fields.name, 0, ustarNameBytes, 'latin1');
  octal(0o644, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(fields.sizeBytes, 124, 11);
  octal(fields.modifiedAtSeconds, 136, 11);
  header.fill(' ', 148, 156);
  header.write(fields.type, 156, 'latin1');
  header.write('ustar\u000000', 257, 'latin1');
  header.write(fields.prefix, 345, ustarPrefixBytes, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148, 'latin1');
  return header;
}

/** Whether a file needs no pax records. */
function fitsUstar({ name, sizeBytes }: { name: string; sizeBytes: number }): boolean {
  // Most names are short: for a million of them it matters that nothing is made here.
  return (
    sizeBytes <= largestUstarSize && isAscii(name) && (name.length <= ustarNameBytes || !!ustarName(name))
  );
}

/** A name in the two fields of ustar, or undefined if it does not fit there. */
function ustarName(name: string): { name: string; prefix: string } | undefined {
  if (!isAscii(name)) return undefined;
  if (name.length <= ustarNameBytes) return { name, prefix: '' };
  // The first slash behind which the rest fits leaves the shortest prefix.
  const slash = name.indexOf('/', name.length - ustarNameBytes - 1);
  if (slash <= 0 || slash > ustarPrefixBytes) return undefined;
  return { name: name.slice(slash + 1), prefix: name.slice(0, slash) };
}

/** The pax records that a file needs, for its name, its size or both. */
function paxRecords(member: { name: string; sizeBytes: number }): Uint8Array {
  const path = ustarName(member.name) ? '' : paxRecord('path', member.name);
  const size = member.sizeBytes > largestUstarSize ? paxRecord('size', String(member.sizeBytes)) : '';
  return Buffer.from(path + size);
}

/** `LENGTH KEY=VALUE\n`, where the length counts its own digits too. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const restBytes = Buffer.byteLength(rest);
  let length = restBytes + String(restBytes).length;
  length = restBytes + String(length).length;
  return `${length}${rest}`;
}

/** What stands in ustar's fields beside a pax record that overrides them. */
function ustarFallback(member: { name: string; sizeBytes: number }): {
  name: string;
  prefix: string;
  sizeBytes: number;
} {
  const name = ustarName(member.name) ?? {
    name: member.name.replaceAll(/[^ -~]/g, '_').slice(0, ustarNameBytes),
    prefix: '',
  };
  return { ...name, sizeBytes: member.sizeBytes > largestUstarSize ? 0 : member.sizeBytes };
}

/** Two blocks of zeros end a tar. */
const tarEndBytes = 2 * blockBytes;

/**
 * Tar, as every system extracts it. It has no checksum of contents and no directory, so each of its bytes is known from
 * names and sizes alone.
 *
 * @param modifiedAtMs the time that every file gets.
 */
export function tarFormat({ modifiedAtMs }: { modifiedAtMs: number }): ArchiveFormat {
  const modifiedAtSeconds = Math.max(0, Math.floor(modifiedAtMs / 1000));
  return {
    name: 'tar',
    hasDirectory: false,
    headBytes(member) {
      if (fitsUstar(member)) return blockBytes;
      const { length } = paxRecords(member);
      return blockBytes + length + blockPadding(length) + blockBytes;
    },
    head: (member) => tarHead(member, modifiedAtSeconds),
    padBytes: blockPadding,
    recordBytes: () => 0,
    record: () => new Uint8Array(0),
    endBytes: () => tarEndBytes,
    end: () => new Uint8Array(tarEndBytes),
  };
}

function tarHead(member: Member, modifiedAtSeconds: number): Uint8Array {
  const { name, prefix, sizeBytes } = ustarFallback(member);
  const header = ustarHeader({ name, prefix, sizeBytes, modifiedAtSeconds, type: '0' });
  if (fitsUstar(member)) return header;
  const records = paxRecords(member);
  const paxHeader = ustarHeader({
    name: `PaxHeaders/${name.slice(-80)}`,
    prefix: '',
    sizeBytes: records.length,
    modifiedAtSeconds,
    type: 'x',
  });
  return Buffer.concat([paxHeader, records, new Uint8Array(blockPadding(records.length)), header]);
}

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

/**
 * What ZIP64 says of a file in the directory, in the order of the fields. An offset never comes alone: behind a file of exactly
 * 4 GiB - 1, whose size is all ones, unzip takes the first field of the next record for a size.
 */
function longFields({ sizeBytes, startByte }: Member & { startByte: number }): number[] {
  const sizes = [sizeBytes, sizeBytes];
  if (isLong(startByte)) return [...sizes, startByte];
  return isLong(sizeBytes) ? sizes : [];
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
/** Where a record of the directory has the CRC-32. */
export const recordCrc32Byte = 16;

/** Bytes of {@link localHeader}. */
function localHeaderBytes(member: Member): number {
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
function localHeader(member: Member & { crc32: number; modifiedAtMs: number }): Uint8Array {
  const extra = zip64Extra(isLong(member.sizeBytes) ? [member.sizeBytes, member.sizeBytes] : []);
  const fixed = Buffer.alloc(localBytes);
  fixed.writeUInt32LE(0x04034b50, 0);
  fixed.writeUInt16LE(extra.length > 0 ? versionZip64 : versionPlain, 4);
  writeShared(fixed, 4, member);
  fixed.writeUInt16LE(extra.length, 28);
  return Buffer.concat([fixed, Buffer.from(member.name), extra]);
}

/** Bytes of {@link centralRecord}. */
function centralRecordBytes(member: Member & { startByte: number }): number {
  const fields = longFields(member).length;
  return centralBytes + Buffer.byteLength(member.name) + (fields > 0 ? 4 + 8 * fields : 0);
}

/** A file in the directory at the end. */
function centralRecord(member: PlacedMember & { modifiedAtMs: number }): Uint8Array {
  const extra = zip64Extra(longFields(member));
  const version = extra.length > 0 ? versionZip64 : versionPlain;
  const fixed = Buffer.alloc(centralBytes);
  fixed.writeUInt32LE(0x02014b50, 0);
  fixed.writeUInt16LE(madeByUnix | version, 4);
  fixed.writeUInt16LE(version, 6);
  writeShared(fixed, 6, extra.length > 0 ? { ...member, sizeBytes: allOnes32 } : member);
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
function endOfDirectoryBytes(end: ArchiveEnd): number {
  return isLongEnd(end) ? zip64EndBytes + zip64LocatorBytes + endBytes : endBytes;
}

/** What ends a zip: where the directory is. */
function endOfDirectory(end: ArchiveEnd): Uint8Array {
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

/**
 * Zip without compression. ZIP64 records are only where a size, an offset or the number of files asks for them. The
 * CRC-32 of each file stands before and behind all of them, so it must be known before its head is uploaded.
 *
 * So whoever makes a head finds it out, from the part's own bytes if all of the file's are there. To wait for the parts
 * with its other bytes would be to wait for other workers. And a store that reports the whole object's checksum for a
 * range (versitygw 1.8.0) makes archives that no program opens.
 *
 * @param modifiedAtMs the time that every file gets, in UTC.
 */
export function zipFormat({ modifiedAtMs }: { modifiedAtMs: number }): ArchiveFormat {
  return {
    name: 'zip',
    hasDirectory: true,
    headBytes: localHeaderBytes,
    head: (member) => localHeader({ ...member, modifiedAtMs }),
    padBytes: () => 0,
    recordBytes: centralRecordBytes,
    record: (member) => centralRecord({ ...member, modifiedAtMs }),
    endBytes: endOfDirectoryBytes,
    end: endOfDirectory,
  };
}

/** A format by its name. */
export function formatFor(name: 'tar' | 'zip', options: { modifiedAtMs: number }): ArchiveFormat {
  return name === 'tar' ? tarFormat(options) : zipFormat(options);
}

/** The CRC-32 of bytes that follow others with this CRC-32. */
export function crc32After(before: number, bytes: Uint8Array): number {
  return crc32(bytes, before);
}

function isAscii(text: string): boolean {
  return !/[^ -~]/.test(text);
}
