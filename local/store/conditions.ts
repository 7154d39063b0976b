import type { ObjectRecord } from './object-record.ts';
import { preconditionFailed } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';

/**
 * Refuses a read of an object that is not the one that the client means: what If-Match says, or else
 * If-Unmodified-Since (RFC 9110, 13.2.2). An invalid date says nothing.
 *
 * @throws {S3Error} PreconditionFailed
 */
export function checkUnchanged({ headers }: StoreRequest, record: ObjectRecord): void {
  const ifMatch = headers['if-match'];
  const sinceMs = Date.parse(headers['if-unmodified-since'] ?? '');
  const isChanged = ifMatch === undefined ? modifiedMs(record) > sinceMs : !namesTag(ifMatch, record);
  if (isChanged) throw preconditionFailed();
}

/**
 * Whether the client has this object already: what If-None-Match says, or else If-Modified-Since (RFC 9110, 13.2.2).
 * An invalid date says nothing.
 */
export function isUnmodified({ headers }: StoreRequest, record: ObjectRecord): boolean {
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined) return namesTag(ifNoneMatch, record);
  return modifiedMs(record) <= Date.parse(headers['if-modified-since'] ?? '');
}

/** Whether a header such as If-Match names the object's ETag. */
export function namesTag(header: string, { etag }: ObjectRecord): boolean {
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(`"${etag}"`) || tags.includes(etag);
}

/** In whole seconds, as Last-Modified and the headers that are compared with it. */
export function modifiedMs({ lastModifiedMs }: ObjectRecord): number {
  return Math.floor(lastModifiedMs / 1000) * 1000;
}
