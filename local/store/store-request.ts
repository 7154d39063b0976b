import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { S3Error } from './s3-error.ts';

/** Longest key, in bytes of UTF-8. */
export const keyBytesMax = 1024;

/** A request as S3 reads it: path-style and decoded. */
export interface StoreRequest {
  readonly method: string;
  /** Escaped as the signature needs it, however the client escaped it. */
  readonly canonicalPath: string;
  /** Empty for a request to the service. */
  readonly bucket: string;
  /** Empty for a request to the bucket. */
  readonly key: string;
  readonly query: ReadonlyMap<string, string>;
  readonly headers: IncomingHttpHeaders;
}

/** @throws {S3Error} InvalidURI, InvalidArgument, KeyTooLongError */
export function readStoreRequest(message: IncomingMessage): StoreRequest {
  const target = message.url ?? '';
  if (!target.startsWith('/')) throw new S3Error('InvalidURI', 'The request target must be a path.');
  const queryAt = target.indexOf('?');
  const path = decode(queryAt < 0 ? target : target.slice(0, queryAt));
  const slashAt = path.indexOf('/', 1);
  const key = slashAt < 0 ? '' : path.slice(slashAt + 1);
  if (Buffer.byteLength(key) > keyBytesMax) {
    throw new S3Error('KeyTooLongError', `A key has at most ${keyBytesMax} bytes.`);
  }
  return {
    method: message.method ?? '',
    canonicalPath: path.split('/').map(escapeUri).join('/'),
    bucket: slashAt < 0 ? path.slice(1) : path.slice(1, slashAt),
    key,
    query: readQuery(queryAt < 0 ? '' : target.slice(queryAt + 1)),
    headers: message.headers,
  };
}

function readQuery(text: string): Map<string, string> {
  const query = new Map<string, string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equalsAt = pair.indexOf('=');
    const name = decode((equalsAt < 0 ? pair : pair.slice(0, equalsAt)).replaceAll('+', ' '));
    const value = equalsAt < 0 ? '' : decode(pair.slice(equalsAt + 1).replaceAll('+', ' '));
    if (query.has(name)) throw new S3Error('InvalidArgument', `The query has ${name} more than once.`);
    query.set(name, value);
  }
  return query;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new S3Error('InvalidURI', 'The request target is not percent-encoded UTF-8.', { cause });
  }
}

/**
 * Percent-encodes all but `A-Z a-z 0-9 - . _ ~`. The signer of lambda/adapters/s3 has a function of its own, so that
 * the store checks it.
 */
export function escapeUri(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
