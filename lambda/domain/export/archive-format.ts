/** A file of an archive. */
export interface Member {
  readonly name: string;
  readonly sizeBytes: number;
}

/** A file of an archive, where it begins, and the CRC-32 of its bytes. */
export interface PlacedMember extends Member {
  readonly startByte: number;
  readonly crc32: number;
}

/** Where the directory at the end of an archive lies, and how many files it lists. */
export interface ArchiveEnd {
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
