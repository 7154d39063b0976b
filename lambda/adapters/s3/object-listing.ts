import {
  type EncodingType,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3';
import type {
  DelimitedPage,
  ListedPage,
  ListPageRequest,
  ObjectListing,
} from '../../ports/object-listing.ts';
import { StoreUnavailableError } from '../../ports/object-store.ts';
import { translateStoreError } from './errors.ts';

/**
 * Lists one bucket with the unmodified SDK: correct for every key, and fast enough for a few pages.
 *
 * It requests keys in URL encoding, because XML cannot represent some characters that a key may contain.
 */
export class S3ObjectListing implements ObjectListing {
  readonly #client: S3Client;
  readonly #bucket: string;

  constructor(input: { client: S3Client; bucket: string }) {
    this.#client = input.client;
    this.#bucket = input.bucket;
  }

  /** Closes the connections that are kept alive. */
  destroy(): void {
    this.#client.destroy();
  }

  /** @throws {StoreUnavailableError} @throws {StoreRefusedError} */
  async listPage(request: ListPageRequest): Promise<ListedPage> {
    const { prefix, startAfter, continuationToken, maxKeys, signal } = request;
    const command = new ListObjectsV2Command({
      Bucket: this.#bucket,
      EncodingType: 'url',
      Prefix: prefix,
      StartAfter: continuationToken === undefined ? startAfter : undefined,
      ContinuationToken: continuationToken,
      MaxKeys: maxKeys,
    });
    return new SdkPage(await this.#send(command, signal));
  }

  /** @throws {StoreUnavailableError} @throws {StoreRefusedError} */
  async listFolders(request: { prefix: string; continuationToken?: string }): Promise<DelimitedPage> {
    const command = new ListObjectsV2Command({
      Bucket: this.#bucket,
      EncodingType: 'url',
      Prefix: request.prefix,
      Delimiter: '/',
      ContinuationToken: request.continuationToken,
    });
    const output = await this.#send(command);
    return {
      commonPrefixes: (output.CommonPrefixes ?? []).map(({ Prefix }) => decodeKey(Prefix, output)),
      keys: (output.Contents ?? []).map(({ Key, Size }) => ({
        key: decodeKey(Key, output),
        sizeBytes: sizeOf(Size),
      })),
      nextContinuationToken: nextToken(output),
    };
  }

  async #send(command: ListObjectsV2Command, signal?: AbortSignal): Promise<ListObjectsV2CommandOutput> {
    signal?.throwIfAborted();
    try {
      return await this.#client.send(command, signal === undefined ? {} : { abortSignal: signal });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw translateStoreError(error, 'LIST');
    }
  }
}

class SdkPage implements ListedPage {
  readonly keyCount: number;
  readonly totalBytes: number;
  readonly isTruncated: boolean;
  readonly nextContinuationToken: string | undefined;
  readonly #output: ListObjectsV2CommandOutput;
  readonly #contents: NonNullable<ListObjectsV2CommandOutput['Contents']>;

  constructor(output: ListObjectsV2CommandOutput) {
    this.#output = output;
    this.#contents = output.Contents ?? [];
    this.keyCount = this.#contents.length;
    this.totalBytes = this.#contents.reduce((sum, { Size }) => sum + sizeOf(Size), 0);
    this.nextContinuationToken = nextToken(output);
    this.isTruncated = this.nextContinuationToken !== undefined;
  }

  keyAt(index: number): string {
    return decodeKey(this.#at(index).Key, this.#output);
  }

  sizeAt(index: number): number {
    return sizeOf(this.#at(index).Size);
  }

  #at(index: number) {
    const entry = this.#contents[index];
    if (entry === undefined)
      throw new RangeError(`The page has ${this.keyCount} keys, but none at index ${index}.`);
    return entry;
  }
}

/**
 * Decodes a key if the answer says that it is encoded: some stores ignore the requested encoding. A space is `+` or
 * `%20`, and a plus is always `%2B`.
 */
function decodeKey(
  key: string | undefined,
  { EncodingType }: { EncodingType?: EncodingType | undefined },
): string {
  if (key === undefined) throw new StoreUnavailableError('LIST returned an entry without a key.');
  return EncodingType === 'url' ? decodeURIComponent(key.replaceAll('+', ' ')) : key;
}

function sizeOf(size: number | undefined): number {
  if (size === undefined) throw new StoreUnavailableError('LIST returned an entry without a size.');
  return size;
}

/** The token for the next page. A truncated page without one is an error: the listing would end too early. */
function nextToken({ IsTruncated, NextContinuationToken }: ListObjectsV2CommandOutput): string | undefined {
  if (IsTruncated !== true) return undefined;
  if (!NextContinuationToken)
    throw new StoreUnavailableError('LIST returned a truncated page without a continuation token.');
  return NextContinuationToken;
}
