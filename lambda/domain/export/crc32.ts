import { crc32 } from 'node:zlib';

/** The CRC-32 of bytes that follow others with this CRC-32. */
export function crc32After(before: number, bytes: Uint8Array): number {
  return crc32(bytes, before);
}
