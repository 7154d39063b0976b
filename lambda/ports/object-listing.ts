/** Listing: the part of ListObjectsV2 that a scan needs, and how to follow its pages. */

import { StoreUnavailableError } from './object-store.ts';

export interface ListPageRequest {
  /** Only keys that begin with this. */
  readonly prefix: string;
  /**
   * Only keys after this one, in the order of their UTF-8 bytes. Ignored if a token is given. It begins with the prefix:
   * after any other key, older versions of MinIO list nothing.
   */
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
 * One page. It may be empty though more pages follow: use {@link nextPage} or {@link listPages} to follow them. Keys are read one by one, because a scan never needs most of them: an implementation decodes a key
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

/** Pages in a row without a key. A store that returns more of them doesn't get to the end of its listing. */
const emptyPagesMax = 1_000;

/**
 * The first page that has keys, or the last page of the listing.
 *
 * @param onPage called after each LIST request, and awaited.
 * @throws {StoreUnavailableError} also after 1,000 empty pages in a row.
 */
export async function nextPage(
  listing: Pick<ObjectListing, 'listPage'>,
  request: ListPageRequest,
  onPage?: () => Promise<void>,
): Promise<ListedPage> {
  let next = request;
  for (let pages = 0; pages < emptyPagesMax; pages += 1) {
    const page = await listing.listPage(next);
    await onPage?.();
    if (page.keyCount > 0 || !page.isTruncated) return page;
    next = { ...request, continuationToken: tokenOf(page) };
  }
  throw endlessError(request);
}

/**
 * All pages of a listing, each with keys, except that the last one may be empty.
 *
 * @param onPage called after each LIST request, and awaited.
 * @throws {StoreUnavailableError} also after 1,000 empty pages in a row.
 */
export async function* listPages(
  listing: Pick<ObjectListing, 'listPage'>,
  request: ListPageRequest,
  onPage?: () => Promise<void>,
): AsyncGenerator<ListedPage> {
  let next = request;
  for (;;) {
    const page = await nextPage(listing, next, onPage);
    yield page;
    if (!page.isTruncated) return;
    next = { ...request, continuationToken: tokenOf(page) };
  }
}

/** Whether a key begins with the prefix. @throws {StoreUnavailableError} */
export async function hasKeys(listing: Pick<ObjectListing, 'listPage'>, prefix: string): Promise<boolean> {
  return (await nextPage(listing, { prefix, maxKeys: 1 })).keyCount > 0;
}

/**
 * All pages of what is one level below a prefix.
 *
 * @throws {StoreUnavailableError} also after 1,000 empty pages in a row.
 */
export async function* listFolderPages(
  listing: Pick<ObjectListing, 'listFolders'>,
  prefix: string,
): AsyncGenerator<DelimitedPage> {
  let continuationToken: string | undefined;
  let emptyPages = 0;
  do {
    const page = await listing.listFolders({
      prefix,
      ...(continuationToken !== undefined && { continuationToken }),
    });
    emptyPages = page.commonPrefixes.length + page.keys.length === 0 ? emptyPages + 1 : 0;
    if (emptyPages > emptyPagesMax) throw endlessError({ prefix });
    yield page;
    continuationToken = page.nextContinuationToken;
  } while (continuationToken !== undefined);
}

function tokenOf({ nextContinuationToken }: ListedPage): string {
  if (nextContinuationToken !== undefined) return nextContinuationToken;
  throw new StoreUnavailableError("The store doesn't say where its listing continues.");
}

const endlessError = ({ prefix }: Pick<ListPageRequest, 'prefix'>) =>
  new StoreUnavailableError(`The store returned ${emptyPagesMax} empty pages in a row below "${prefix}".`);
