import { ListObjectVersionsCommand, type ListObjectVersionsCommandOutput } from '@aws-sdk/client-s3';
import { z } from 'zod';
import { compareKeys } from '../../lambda/core/rules/names.ts';
import { parseJson } from '../../lambda/core/rules/text.ts';
import type { ArchiveClient } from '../../lambda/core/store/archive-client.ts';
import { MalformedAnswerError } from '../../lambda/core/store/http-exchange.ts';
import {
  type ListedPage,
  type ListPageRequest,
  type ObjectListing,
  pageKeysMax,
} from '../../lambda/core/store/rules/store.ts';
import { keyOf } from '../../lambda/core/store/s3-archives.ts';
import { type Sums, sumsSchema } from './groups.ts';

const noSums = (): Sums => [0, 0, 0, 0, 0, 0];

/** Where a page begins: after a version of a key. What of that key came before is taken along, so a key counts once. */
const tokenSchema = z.strictObject({ key: z.string(), version: z.string().optional(), sums: sumsSchema });
type Token = z.output<typeof tokenSchema>;

/** Keys with all of their versions, each key once. */
class VersionPage implements ListedPage {
  readonly #keys: readonly (readonly [key: string, sums: Sums])[];
  readonly isInOrder: boolean;
  readonly nextContinuationToken: string | undefined;

  constructor(keys: ReadonlyMap<string, Sums>, { isInOrder, next }: { isInOrder: boolean; next?: Token }) {
    this.#keys = [...keys].sort(([a], [b]) => compareKeys(a, b));
    this.isInOrder = isInOrder;
    this.nextContinuationToken = next && JSON.stringify(next);
  }

  get keyCount(): number {
    return this.#keys.length;
  }
  get totalBytes(): number {
    return this.#keys.reduce((sum, _, index) => sum + this.sizeAt(index), 0);
  }
  get isTruncated(): boolean {
    return this.nextContinuationToken !== undefined;
  }
  keyAt(index: number): string {
    return this.#at(index)[0];
  }
  /** Of all versions. */
  sizeAt(index: number): number {
    const [, current, , old, , markers] = this.#at(index)[1];
    return current + old + markers;
  }
  lastModifiedMsAt(): undefined {
    return undefined;
  }
  etagAt(): string {
    return '';
  }
  /** In the place of a class, which each version has of its own: its {@link Sums}. */
  storageClassAt(index: number): string {
    return JSON.stringify(this.#at(index)[1]);
  }
  #at(index: number) {
    const found = this.#keys[index];
    if (!found) throw new RangeError(`The page has ${this.keyCount} keys, none at ${index}.`);
    return found;
  }
}

/** Lists keys with all of their versions, by ListObjectVersions. It tells no times and no classes. */
export class VersionListing implements Pick<ObjectListing, 'listPage'> {
  readonly #client: ArchiveClient;

  constructor(client: ArchiveClient) {
    this.#client = client;
  }

  /** One request. @throws {StoreUnavailableError} @throws {StoreRefusedError} */
  listPage({ prefix, startAfter, continuationToken, signal }: ListPageRequest): Promise<ListedPage> {
    const token =
      continuationToken === undefined ? undefined : tokenSchema.parse(parseJson(continuationToken));
    const input = {
      Bucket: this.#client.bucket,
      Prefix: prefix,
      EncodingType: 'url',
      // A key may have any number of versions, so fewer make no page shorter.
      MaxKeys: pageKeysMax,
      KeyMarker: token?.key ?? startAfter,
      VersionIdMarker: token?.version,
    } as const;
    return this.#client.send('ListObjectVersions', async ({ client, abortSignal }) => {
      const stop = signal ? AbortSignal.any([abortSignal, signal]) : abortSignal;
      return pageOf(await client.send(new ListObjectVersionsCommand(input), { abortSignal: stop }), token);
    });
  }
}

/** @throws {MalformedAnswerError} */
function pageOf(answer: ListObjectVersionsCommandOutput, before: Token | undefined): VersionPage {
  const { Versions = [], DeleteMarkers = [], IsTruncated = false } = answer;
  const decode = (text: string | undefined) => {
    if (text === undefined) throw new MalformedAnswerError('The response has a version without a key.');
    return keyOf(text, answer);
  };
  const keys = new Map<string, Sums>();
  if (before?.sums.some((count) => count > 0)) keys.set(before.key, [...before.sums]);
  const add = (key: string, kind: number, bytes: number) => {
    const sums = keys.get(key) ?? noSums();
    sums[2 * kind] = (sums[2 * kind] ?? 0) + 1;
    sums[2 * kind + 1] = (sums[2 * kind + 1] ?? 0) + bytes;
    keys.set(key, sums);
  };
  let isInOrder = true;
  let last = '';
  for (const { Key, IsLatest, Size } of Versions) {
    const key = decode(Key);
    isInOrder &&= compareKeys(key, last) >= 0;
    last = key;
    if (Size === undefined) throw new MalformedAnswerError('The response has a version without a size.');
    add(key, IsLatest ? 0 : 1, Size);
  }
  for (const { Key } of DeleteMarkers) add(decode(Key), 2, 0);
  if (!IsTruncated) return new VersionPage(keys, { isInOrder });
  const key = decode(answer.NextKeyMarker);
  const version = answer.NextVersionIdMarker || undefined;
  if (key === before?.key && version === before.version)
    throw new MalformedAnswerError('The response repeats the start of its page.');
  // Without a version, the next page begins behind the key.
  const sums = version === undefined ? undefined : keys.get(key);
  if (sums) keys.delete(key);
  return new VersionPage(keys, {
    isInOrder,
    next: { key, ...(version !== undefined && { version }), sums: sums ?? noSums() },
  });
}
