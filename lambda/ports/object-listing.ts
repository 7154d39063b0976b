/** Listing: what a scan needs of ListObjectsV2, and no more. */

export interface ListPageRequest {
  /** Only keys that begin with this. */
  readonly prefix: string;
  /** Only keys after this one, in the order of their UTF-8 bytes. Ignored where a token is given. */
  readonly startAfter?: string;
  /** Where the page before this one ended. */
  readonly continuationToken?: string;
  /** At most this many keys; the store caps it at 1,000. */
  readonly maxKeys?: number;
  /** Ends the request; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** The request ends by then, retries included, with {@link StoreUnavailableError}; an absolute time. */
  readonly deadlineMs?: number;
}

/**
 * One page. Keys are asked for one by one because most of a scan never needs them: an implementation
 * decodes a key only when it is asked for.
 */
export interface ListedPage {
  readonly keyCount: number;
  /** Bytes of all keys of the page. */
  readonly totalBytes: number;
  /** The i-th key (0 ≤ i < keyCount), decoded. */
  keyAt(index: number): string;
  /** Size in bytes of the i-th key. */
  sizeAt(index: number): number;
  /** True where keys follow. */
  readonly isTruncated: boolean;
  /** Given where keys follow. */
  readonly nextContinuationToken: string | undefined;
}

export interface DelimitedPage {
  /** Common prefixes up to and with the next `/`, each in full. */
  readonly commonPrefixes: readonly string[];
  /** Keys directly below the prefix. */
  readonly keys: readonly { readonly key: string; readonly sizeBytes: number }[];
  readonly nextContinuationToken: string | undefined;
}

export interface ObjectListing {
  /** One LIST request. @throws {StoreUnavailableError} */
  listPage(request: ListPageRequest): Promise<ListedPage>;
  /** One LIST request with Delimiter=/: what lies one level below a prefix. @throws {StoreUnavailableError} */
  listFolders(request: { prefix: string; continuationToken?: string }): Promise<DelimitedPage>;
}
