import type { ArchiveFormat, Member } from './archive-format.ts';
import { blockBytes, blockPadding, fitsUstar, paxRecords, ustarFallback, ustarHeader } from './tar-header.ts';

/** Two blocks of zeros end a tar. */
const endBytes = 2 * blockBytes;

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
    endBytes: () => endBytes,
    end: () => new Uint8Array(endBytes),
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
