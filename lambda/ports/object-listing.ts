/** Listing: the part of ListObjectsV2 that a scan needs. */

export interface ListPageRequest {
  /** Only keys that begin with this. */
  readonly prefix: string;
  /** Only keys after this one, in the order of their UTF-8 bytes. Ignored if a token is given. */
  readonly startAfter?: string;
  /** `nextContinuationToken` of the previous page. */
  readonly continuationToken?: string;
  /** At most this many keys; the store caps it at 1,000. */
  readonly maxKeys?: number;
  /** Read when each object was stored, for {@link ListedPage.lastModifiedMsAt}. */
  readonly readsTimes?: boolean;
  /** Read the version of each object, for {@link ListedPage.etagAt}. */
  readonly readsEtags?: boolean;
  /** Aborts the request. The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Absolute time. The request ends by then, retries included, with {@link StoreUnavailableError}. */
  readonly deadlineMs?: number;
}

/**
 * One page. Keys are read one by one, because a scan never needs most of them: an implementation decodes a key
 * only when it is read.
 */
export interface ListedPage {
  readonly keyCount: number;
  /** Bytes of all objects of the page. */
  readonly totalBytes: number;
  /** The i-th key (0 ≤ i < keyCount), decoded. */
  keyAt(index: number): string;
  /** Size in bytes of the i-th key. */
  sizeAt(index: number): number;
  /**
   * LastModified of the i-th key. S3 rounds it down to a second. undefined: it was not asked for, or the store's answer
   * has none that can be read.
   */
  lastModifiedMsAt(index: number): number | undefined;
  /** ETag of the i-th key, with its quotes. Empty: it was not asked for, or the store's answer has none. */
  etagAt(index: number): string;
  /** True if more pages follow. */
  readonly isTruncated: boolean;
  /** Given if more pages follow. */
  readonly nextContinuationToken: string | undefined;
}

export interface DelimitedPage {
  /** Common prefixes, each in full, up to and including the next `/`. */
  readonly commonPrefixes: readonly string[];
  /** Keys directly below the prefix. */
  readonly keys: readonly { readonly key: string; readonly sizeBytes: number }[];
  readonly nextContinuationToken: string | undefined;
}

export interface ObjectListing {
  /** One LIST request. @throws {StoreUnavailableError} */
  listPage(request: ListPageRequest): Promise<ListedPage>;
  /** One LIST request with `Delimiter=/`: what is one level below a prefix. @throws {StoreUnavailableError} */
  listFolders(request: { prefix: string; continuationToken?: string }): Promise<DelimitedPage>;
}
