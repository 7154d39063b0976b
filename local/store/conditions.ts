import type { IncomingHttpHeaders } from 'node:http';
import type { ObjectRecord } from './object-file.ts';
import { S3Error } from './protocol.ts';

/** What a client asks of an object's version before it wants the bytes: RFC 9110, 13.1, as S3 answers it. */

type Version = Pick<ObjectRecord, 'etag' | 'lastModifiedMs'>;

/** Whether a list of ETags names the object's. `*` names any; clients of S3 may leave the quotes out. */
const names = (tags: string, { etag }: Version) =>
  tags.split(',').some((tag) => ['*', etag, `"${etag}"`].includes(tag.trim()));

/** HTTP's dates have no milliseconds. What is no date counts as absent. */
const changedSince = (date: string | undefined, { lastModifiedMs }: Version) =>
  Number.isNaN(Date.parse(date ?? ''))
    ? undefined
    : Math.floor(lastModifiedMs / 1000) * 1000 > Date.parse(date ?? '');

/** The client means the object with this ETag. @throws {S3Error} PreconditionFailed */
export function checkTag(header: string | string[] | undefined, version: Version): void {
  if (header !== undefined && !names(String(header), version)) throw preconditionFailed();
}

function preconditionFailed(): S3Error {
  return new S3Error('PreconditionFailed', "At least one of the pre-conditions you specified didn't hold");
}

/** @returns whether the client has this version already. @throws {S3Error} PreconditionFailed */
export function isUnchanged(headers: IncomingHttpHeaders, version: Version): boolean {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  checkTag(match, version);
  if (match === undefined && changedSince(headers['if-unmodified-since'], version))
    throw preconditionFailed();
  if (noneMatch !== undefined) return names(noneMatch.replaceAll('W/"', '"'), version);
  return changedSince(headers['if-modified-since'], version) === false;
}

/** The range that is asked for, unless it was to be of another version. */
export function rangeOf(headers: IncomingHttpHeaders, version: Version): string | undefined {
  const ifRange = headers['if-range'];
  if (ifRange === undefined) return headers.range;
  const date = Math.floor(version.lastModifiedMs / 1000) * 1000;
  const isSame = ifRange === `"${version.etag}"` || Date.parse(String(ifRange)) === date;
  return isSame ? headers.range : undefined;
}
