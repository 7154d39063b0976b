import type { IncomingHttpHeaders } from 'node:http';
import type { ObjectFiles } from './files.ts';
import type { ObjectRecord } from './object-file.ts';
import { notImplemented, S3Error } from './protocol.ts';
import type { StoreRequest } from './signed-request.ts';

/** What a request asks of the object's version: RFC 9110, 13, as S3 answers it. What is no date counts as absent. */

const namesTag = (header: string, { etag }: ObjectRecord) =>
  header.split(',').some((tag) => ['*', etag, `"${etag}"`].includes(tag.trim()));

/** HTTP's dates have no milliseconds. */
const secondOf = (ms: number) => Math.floor(ms / 1000);
const readSecond = (date = '') =>
  secondOf(/^[A-Z][a-z]{2,8},? .*GMT$/.test(date) ? Date.parse(date) : Number.NaN);

/** The client means the object with this ETag. @throws {S3Error} PreconditionFailed */
export function checkTag(header: string | string[] | undefined, record: ObjectRecord, isMeant = true): void {
  if (isMeant && (header === undefined || namesTag(String(header), record))) return;
  throw new S3Error('PreconditionFailed', "At least one of the pre-conditions you specified didn't hold");
}

/** @returns whether the client has this version already. @throws {S3Error} PreconditionFailed */
export function isUnchanged(headers: IncomingHttpHeaders, record: ObjectRecord): boolean {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  const changed = secondOf(record.lastModifiedMs);
  checkTag(match, record, match !== undefined || !(changed > readSecond(headers['if-unmodified-since'])));
  if (noneMatch !== undefined) return namesTag(noneMatch.replaceAll('W/"', '"'), record);
  return changed <= readSecond(headers['if-modified-since']);
}

/** The range, unless it was to be of another version. */
export function rangeOf({ range, 'if-range': ifRange }: IncomingHttpHeaders, record: ObjectRecord) {
  if (ifRange === undefined) return range;
  const tag = String(ifRange);
  return tag === `"${record.etag}"` || readSecond(tag) === secondOf(record.lastModifiedMs)
    ? range
    : undefined;
}

/**
 * `If-None-Match: *` of what stores an object. It's checked when the request begins, and again as the object gets its name: another may
 * have been stored meanwhile.
 *
 * @returns throws if it doesn't hold now. @throws {S3Error} NotImplemented; later PreconditionFailed
 */
export function absenceCheck(files: Pick<ObjectFiles, 'index'>, { headers, key }: StoreRequest): () => void {
  const absent = headers['if-none-match'];
  if (absent !== undefined && absent !== '*') throw notImplemented('If-None-Match, except *');
  return () => {
    if (absent === undefined || files.index.get(key) === undefined) return;
    throw new S3Error('PreconditionFailed', 'If-None-Match is *, and the key has an object.');
  };
}
