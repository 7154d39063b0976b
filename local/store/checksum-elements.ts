import type { Checksums } from './checksums.ts';
import { element } from './xml.ts';

/** `<ChecksumCRC32>…</ChecksumCRC32>`, and so on. */
export function checksumElements(checksums: Checksums): string {
  return Object.entries(checksums)
    .map(([name, value]) => element(`Checksum${name.toUpperCase()}`, value))
    .join('');
}
