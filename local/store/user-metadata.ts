import { S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';

/** What clients note on an object, by the names of their headers without {@link metadataPrefix}. */
export type UserMetadata = Readonly<Record<string, string>>;

export const metadataPrefix = 'x-amz-meta-';

/** Bytes of all names and values, as on S3. */
const metadataBytesMax = 2048;

/** @returns undefined if there is none. @throws {S3Error} MetadataTooLarge */
export function readUserMetadata({ headers }: StoreRequest): UserMetadata | undefined {
  const entries = Object.entries(headers)
    .filter(([name]) => name.startsWith(metadataPrefix))
    .map(([name, value]) => [name.slice(metadataPrefix.length), String(value)] as const);
  const bytes = entries.reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value), 0);
  if (bytes > metadataBytesMax) {
    throw new S3Error('MetadataTooLarge', 'Your metadata headers exceed the maximum allowed metadata size.');
  }
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

export function metadataHeaders(metadata: UserMetadata | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata ?? {}).map(([name, value]) => [metadataPrefix + name, value]),
  );
}
