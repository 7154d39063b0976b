import { compareKeys } from '../../lambda/domain/key-order.ts';

/** Most entries (keys and common prefixes together) of one page, as on S3. */
export const pageEntriesMax = 1000;

export interface IndexPageRequest {
  readonly prefix: string;
  readonly startAfter?: string | undefined;
  readonly continuationToken?: string | undefined;
  readonly maxKeys?: number | undefined;
  /** Groups the keys that contain it after the prefix. */
  readonly delimiter?: string | undefined;
}

export interface IndexPage<V> {
  readonly entries: readonly { readonly key: string; readonly value: V }[];
  readonly commonPrefixes: readonly string[];
  readonly isTruncated: boolean;
  readonly nextContinuationToken: string | undefined;
}

/** The continuation token is not from a page of this index. */
export class InvalidContinuationTokenError extends Error {
  override readonly name = 'InvalidContinuationTokenError';
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

  /** @throws {InvalidContinuationTokenError} */
  page(request: IndexPageRequest): IndexPage<V> {
    const entriesMax = Math.min(request.maxKeys ?? pageEntriesMax, pageEntriesMax);
    const entries: { key: string; value: V }[] = [];
    const commonPrefixes: string[] = [];
    let resume: Position | undefined;
    let index = this.#start(request);
    // S3 answers max-keys=0 with an empty page that is not truncated.
    while (entriesMax > 0) {
      const key = this.#keys[index];
      if (key === undefined || !key.startsWith(request.prefix)) break;
      if (entries.length + commonPrefixes.length === entriesMax) {
        return { entries, commonPrefixes, isTruncated: true, nextContinuationToken: encodePosition(resume) };
      }
      const folder = folderOf(key, request);
      if (folder === undefined) {
        entries.push({ key, value: this.#values.get(key) as V });
        resume = { after: key, wholePrefix: false };
        index += 1;
      } else {
        commonPrefixes.push(folder);
        resume = { after: folder, wholePrefix: true };
        index = this.#firstBeyondPrefix(folder, index);
      }
    }
    return { entries, commonPrefixes, isTruncated: false, nextContinuationToken: undefined };
  }

  #start(request: IndexPageRequest): number {
    const first = this.#firstAtOrAfter(request.prefix);
    if (request.continuationToken !== undefined) {
      const { after, wholePrefix } = decodePosition(request.continuationToken);
      const next = wholePrefix
        ? this.#firstBeyondPrefix(after, this.#firstAtOrAfter(after))
        : this.#firstAfter(after);
      return Math.max(first, next);
    }
    return request.startAfter === undefined ? first : Math.max(first, this.#firstAfter(request.startAfter));
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

/** The end of a page: after one key, or after all keys with a common prefix. */
interface Position {
  readonly after: string;
  readonly wholePrefix: boolean;
}

function folderOf(key: string, { prefix, delimiter }: IndexPageRequest): string | undefined {
  if (delimiter === undefined || delimiter === '') return undefined;
  const at = key.indexOf(delimiter, prefix.length);
  return at < 0 ? undefined : key.slice(0, at + delimiter.length);
}

function encodePosition(position: Position | undefined): string | undefined {
  if (position === undefined) return undefined;
  return Buffer.from(`${position.wholePrefix ? 'p' : 'k'}${position.after}`, 'utf8').toString('base64url');
}

function decodePosition(token: string): Position {
  const text = Buffer.from(token, 'base64url').toString('utf8');
  const after = text.slice(1);
  const position = { after, wholePrefix: text[0] === 'p' };
  if ((text[0] !== 'p' && text[0] !== 'k') || encodePosition(position) !== token) {
    throw new InvalidContinuationTokenError('The continuation token is not from this store.');
  }
  return position;
}
