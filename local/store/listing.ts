import { escapeUri } from '@smithy/core/protocols';
import { compareKeys } from '../../lambda/core/rules/names.ts';
import { element, notImplemented, S3Error, type StoreReply, xmlReply } from './protocol.ts';
import type { StoreRequest } from './signed-request.ts';

/** Most entries (keys and common prefixes together) of one page, as on S3. */
export const pageEntriesMax = 1000;

interface PageRequest {
  readonly prefix: string;
  readonly startAfter?: string | undefined;
  readonly continuationToken?: string | undefined;
  readonly maxKeys?: number | undefined;
  /** Groups the keys that contain it after the prefix. */
  readonly delimiter?: string | undefined;
}

interface Page<V> {
  readonly entries: readonly { readonly key: string; readonly value: V }[];
  readonly commonPrefixes: readonly string[];
  /** Undefined: this is the last page. */
  readonly nextContinuationToken: string | undefined;
}

/**
 * Values by key, in S3's order. A page costs a binary search and its own entries, however many keys there are. Listing
 * follows ListObjectsV2.
 */
export class KeyIndex<V> {
  readonly #values: Map<string, V>;
  readonly #keys: string[];

  constructor(entries: Iterable<readonly [string, V]> = []) {
    this.#values = new Map(entries);
    this.#keys = [...this.#values.keys()].sort(compareKeys);
  }

  get size(): number {
    return this.#keys.length;
  }

  get(key: string): V | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: V): void {
    if (!this.#values.has(key)) this.#keys.splice(this.#firstAtOrAfter(key), 0, key);
    this.#values.set(key, value);
  }

  delete(key: string): boolean {
    if (!this.#values.delete(key)) return false;
    this.#keys.splice(this.#firstAtOrAfter(key), 1);
    return true;
  }

  /** @throws {S3Error} InvalidArgument if the continuation token isn't from a page of this index. */
  page(request: PageRequest): Page<V> {
    const entriesMax = Math.min(request.maxKeys ?? pageEntriesMax, pageEntriesMax);
    const entries: { key: string; value: V }[] = [];
    const commonPrefixes: string[] = [];
    let last = '';
    let index = this.#start(request);
    // S3 answers max-keys=0 with an empty page that isn't truncated.
    while (entriesMax > 0) {
      const key = this.#keys[index];
      if (key === undefined || !key.startsWith(request.prefix)) break;
      if (entries.length + commonPrefixes.length === entriesMax)
        return { entries, commonPrefixes, nextContinuationToken: tokenAfter(last) };
      const folder = folderOf(key, request);
      last = folder ?? key;
      if (folder === undefined) entries.push({ key, value: this.#values.get(key) as V });
      else commonPrefixes.push(folder);
      index = folder === undefined ? index + 1 : this.#firstBeyondPrefix(folder, index);
    }
    return { entries, commonPrefixes, nextContinuationToken: undefined };
  }

  #start(request: PageRequest): number {
    const { prefix, continuationToken, startAfter } = request;
    const after = continuationToken === undefined ? startAfter : readToken(continuationToken);
    const first = this.#firstAtOrAfter(prefix);
    if (after === undefined) return first;
    // A page that ended with a folder has listed all of it.
    const isFolder = continuationToken !== undefined && folderOf(after, request) === after;
    return Math.max(
      first,
      isFolder ? this.#firstBeyondPrefix(after, this.#firstAtOrAfter(after)) : this.#firstAfter(after),
    );
  }

  #firstAtOrAfter(key: string): number {
    return this.#search(0, (candidate) => compareKeys(candidate, key) >= 0);
  }

  #firstAfter(key: string): number {
    return this.#search(0, (candidate) => compareKeys(candidate, key) > 0);
  }

  /** The first position after all keys with the prefix, which are adjacent. `from` is the first of them, or after them. */
  #firstBeyondPrefix(prefix: string, from: number): number {
    return this.#search(from, (candidate) => !candidate.startsWith(prefix));
  }

  /** The first position from `low` on whose key passes the test. Every key after one that passes must pass too. */
  #search(low: number, holds: (key: string) => boolean): number {
    let begin = low;
    let end = this.#keys.length;
    while (begin < end) {
      const middle = (begin + end) >>> 1;
      if (holds(this.#keys[middle] as string)) end = middle;
      else begin = middle + 1;
    }
    return begin;
  }
}

/** The common prefix that a page has in place of a key. */
function folderOf(key: string, { prefix, delimiter }: PageRequest): string | undefined {
  if (delimiter === undefined || delimiter === '') return undefined;
  const at = key.indexOf(delimiter, prefix.length);
  return at < 0 ? undefined : key.slice(0, at + delimiter.length);
}

const tokenAfter = (entry: string) => Buffer.from(`k${entry}`).toString('base64url');

/** The last entry of the page before. */
function readToken(token: string): string {
  const entry = Buffer.from(token, 'base64url').toString().slice(1);
  if (tokenAfter(entry) === token) return entry;
  throw new S3Error('InvalidArgument', 'The continuation token provided is incorrect');
}

/** What a listing says of a key. */
interface ListedObject {
  readonly key: string;
  readonly sizeBytes: number;
  readonly etag: string;
  readonly lastModifiedMs: number;
}

/** ListObjectsV2: docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html. @throws {S3Error} */
export function listObjects(index: KeyIndex<ListedObject>, { bucket, query }: StoreRequest): StoreReply {
  if (query.get('list-type') !== '2') throw notImplemented('ListObjects; use list-type=2');
  const maxKeys = Math.min(readCount('max-keys', query.get('max-keys')) ?? pageEntriesMax, pageEntriesMax);
  const encode = readEncoding(query.get('encoding-type'));
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter');
  const startAfter = query.get('start-after');
  const continuationToken = query.get('continuation-token');
  const page = index.page({ prefix, delimiter, startAfter, continuationToken, maxKeys });
  const { entries, commonPrefixes, nextContinuationToken } = page;
  return xmlReply('ListBucketResult', [
    element('Name', bucket),
    element('Prefix', encode(prefix)),
    element('ContinuationToken', continuationToken),
    element('NextContinuationToken', nextContinuationToken),
    element('StartAfter', startAfter && encode(startAfter)),
    element('KeyCount', entries.length + commonPrefixes.length),
    element('MaxKeys', maxKeys),
    element('Delimiter', delimiter && encode(delimiter)),
    element('EncodingType', query.get('encoding-type')),
    element('IsTruncated', nextContinuationToken !== undefined),
    ...entries.map(({ value }) => contents(value, encode)),
    ...commonPrefixes.map(
      (folder) => `<CommonPrefixes>${element('Prefix', encode(folder))}</CommonPrefixes>`,
    ),
  ]);
}

/** One key. The store makes all the other values itself, so they need no escaping. */
function contents(object: ListedObject, encode: (text: string) => string): string {
  return (
    `<Contents>${element('Key', encode(object.key))}` +
    `<LastModified>${new Date(object.lastModifiedMs).toISOString()}</LastModified>` +
    `<ETag>&quot;${object.etag}&quot;</ETag><Size>${object.sizeBytes}</Size>` +
    '<StorageClass>STANDARD</StorageClass></Contents>'
  );
}

/** A number of entries, or the number that a page begins after. @throws {S3Error} InvalidArgument */
export function readCount(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new S3Error('InvalidArgument', `${name} must be a whole number from 0.`);
}

/** How keys are written in the answer. @throws {S3Error} InvalidArgument */
export function readEncoding(type: string | undefined): (text: string) => string {
  if (type === undefined) return (text) => text;
  if (type !== 'url') throw new S3Error('InvalidArgument', 'Invalid Encoding Method specified in Request');
  return encodeKey;
}

const unreserved = /^[\w./~-]*$/;

function encodeKey(key: string): string {
  if (unreserved.test(key)) return key;
  return key.split('/').map(escapeUri).join('/').replaceAll('%20', '+');
}
