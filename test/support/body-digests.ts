import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Digests of bytes, as S3's headers have them. */
export const md5Hex = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex');

export function crc32Base64(bytes: Buffer): string {
  const value = Buffer.alloc(4);
  value.writeUInt32BE(crc32(bytes));
  return value.toString('base64');
}
