import type { ArchiveFormat } from './archive-format.ts';
import {
  centralRecord,
  centralRecordBytes,
  endOfDirectory,
  endOfDirectoryBytes,
  localHeader,
  localHeaderBytes,
} from './zip-records.ts';

/**
 * Zip without compression. ZIP64 records are only where a size, an offset or the number of files asks for them. The
 * CRC-32 of each file stands before and behind all of them, so it must be known before its head is uploaded.
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
