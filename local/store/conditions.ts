import type { ObjectRecord } from './object-record.ts';
import type { StoreRequest } from './store-request.ts';

/**
 * Whether the client has this object already: what If-None-Match says, or else If-Modified-Since (RFC 9110, 13.2.2).
 * An invalid date says nothing.
 */
export function isUnmodified({ headers }: StoreRequest, record: ObjectRecord): boolean {
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined) {
    const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
    return tags.includes('*') || tags.includes(`"${record.etag}"`) || tags.includes(record.etag);
  }
  const sinceMs = Date.parse(headers['if-modified-since'] ?? '');
  // The header has whole seconds, as Last-Modified.
  return Math.floor(record.lastModifiedMs / 1000) * 1000 <= sinceMs;
}
