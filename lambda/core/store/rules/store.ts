/** The part of the object store (S3 or compatible) that the ledger and the LFS API need. */
export interface StoredObject {
  readonly sizeBytes: number;
  /** SHA-256 in lower-case hex, if the store kept the checksum that it verified on upload. */
  readonly sha256: string | undefined;
  /** When it was put, to a second, by the store's clock. It may be when its PUT began. undefined: the store does not say. */
  readonly lastModifiedMs?: number | undefined;
  /** Of one that {@link ObjectStore.putEmpty} put. Nobody's file has one. */
  readonly mark?: string | undefined;
}

/** Metadata that has the mark. */
export const markHeader = 'x-amz-meta-lfs-quota-empty';

export interface ObjectStore {
  /**
   * The object at a key, or undefined if there is none.
   *
   * @throws {StoreUnavailableError} when the store did not answer, retries included.
   */
  head(key: string): Promise<StoredObject | undefined>;
  /**
   * Deletes keys. One that doesn't exist is no error. The call ends by `deadlineMs`, and nothing that it sends lands later.
   *
   * @returns key → why nobody knows whether it's gone. Empty: all of them are.
   */
  delete(
    keys: readonly string[],
    options: { deadlineMs: number },
  ): Promise<ReadonlyMap<string, StoreUnavailableError>>;
  /**
   * Puts an object of 0 bytes at a key. From then on no URL that was signed with `onlyNew` stores anything there: also not one whose
   * PUT is under way, as it ends. The call ends by `deadlineMs`, and nothing that it sends lands later.
   *
   * @param options.mark what HEAD says of it: printable ASCII.
   * @param options.onlyNew it replaces nothing.
   * @returns `taken`: with `onlyNew`, there is an object, and be it an empty one of an earlier call whose answer was lost.
   * @throws {StoreUnavailableError} when nobody knows whether it was put.
   */
  putEmpty(
    key: string,
    options: { mark: string; onlyNew: boolean; deadlineMs: number },
  ): Promise<'put' | 'taken'>;
  /**
   * Takes an object out at once if its bytes are lost or damaged. Only the store of `serve` can.
   *
   * @returns its size, if it did.
   */
  discardDamaged?(key: string): Promise<number | undefined>;
  /**
   * Keeps space for uploads until they are stored, or can't come any more. Absent: it has no disk that could be full.
   *
   * @returns those that it has no space for, and how much is left.
   */
  takeSpace?<T extends { key: string; diskBytes: number }>(
    uploads: readonly T[],
    untilMs: number,
  ): { readonly lacking: readonly T[]; readonly freeBytes: number };
  /** Keeps none any more for an upload that has ended without an object. */
  leaveSpace?(key: string): void;
}

export interface SignUploadInput {
  readonly key: string;
  /** Hex SHA-256 that the stored bytes must have. undefined: any bytes. */
  readonly oid?: string | undefined;
  /** Exact length that the upload must have. */
  readonly sizeBytes: number;
  /** When the lifetime begins. */
  readonly signedAtMs: number;
  readonly lifetimeMs: number;
  /** One that the store has. Default: the bucket's own. */
  readonly storageClass?: string | undefined;
  /** It stores only where no object is, as its PUT ends (412). Not every store obeys that: `condition-proof.ts` tries it. */
  readonly onlyNew?: boolean | undefined;
  /** Content-Type that the upload must have, in printable ASCII. undefined: any, which the signature doesn't cover. */
  readonly contentType?: string | undefined;
  /**
   * It's a part of an upload in parts, by a number from 1: class, condition and type are then those of the whole. undefined: it's an
   * object.
   */
  readonly part?: { readonly uploadId: string; readonly number: number } | undefined;
}

export interface SignedRequest {
  readonly href: string;
  /** Headers that the client must send unchanged, or the store refuses the request. */
  readonly header: Readonly<Record<string, string>>;
}

/** Signs URLs without a request to the store. Only the batch function may sign uploads. */
export interface UrlSigner {
  /**
   * A URL that accepts exactly these bytes: length and SHA-256 are signed as headers
   * (`host;content-length;x-amz-checksum-sha256`), so the store refuses another length or content. So is all else that is given.
   *
   * @throws {RangeError} of a content type that no header can have.
   */
  signUpload(input: SignUploadInput): Promise<SignedRequest>;
  /**
   * @param input.sizeBytes of an object: a CDN serves not any size.
   * @param input.saveAs the name under which browsers save it, without folders: they show nothing of it themselves.
   * Such a URL is always the store's, because a CDN keeps objects by their paths alone.
   */
  signDownload(input: {
    key: string;
    sizeBytes?: number;
    signedAtMs: number;
    lifetimeMs: number;
    saveAs?: string | undefined;
  }): Promise<SignedRequest>;
}

/** The store did not answer, or answered that it cannot serve now. The cause is the last failure. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}

/** The store lists in a way that S3 doesn't. A retry doesn't help. */
export class BrokenListingError extends StoreUnavailableError {}

/** It doesn't list in the order of keys. Its pages, from the first to the last by their tokens, still count. */
export class UnorderedListingError extends BrokenListingError {}

/**
 * The store refused the request: bucket, region, credentials or permissions are wrong, or it doesn't know such requests. A
 * retry does not help. Somebody has to change the configuration.
 */
export class StoreRefusedError extends Error {
  override readonly name = 'StoreRefusedError';
}

/** Listing: the part of ListObjectsV2 that a scan needs, and how to follow its pages. */
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
  /** The pages needn't be in order, but must all be there, from the first to the last by their tokens. */
  readonly inAnyOrder?: boolean;
  /** At most this many keys; the store caps it at 1,000. */
  readonly maxKeys?: number;
  /** Read when each object was stored, for {@link ListedPage.lastModifiedMsAt}. */
  readonly readsTimes?: boolean;
  /** Read the version of each object, for {@link ListedPage.etagAt}. */
  readonly readsEtags?: boolean;
  /** Read the storage class of each object, for {@link ListedPage.storageClassAt}. */
  readonly readsClasses?: boolean;
  /** Aborts the request. The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Absolute time. The request ends by then, retries included, with {@link StoreUnavailableError}. */
  readonly deadlineMs?: number;
}

/** Keys of a full page of ListObjectsV2. S3 returns no more, even if more are requested. */
export const pageKeysMax = 1000;

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
  /** StorageClass of the i-th key. Empty: it was not asked for, or the store's answer has none. */
  storageClassAt?(index: number): string;
  /** The last dot of the i-th key's name and up to 15 ASCII letters, digits, `_` and `-` after it, in lower case. Or empty. */
  suffixAt?(index: number): string;
  /** True if more pages follow. */
  readonly isTruncated: boolean;
  /** Given if more pages follow. */
  readonly nextContinuationToken: string | undefined;
  /** False: some key doesn't come after the one before it. */
  readonly isInOrder?: boolean;
  /** Entries that were left out: they have the key of the one before. */
  readonly repeatedKeys?: number;
  /** The i-th key as the store wrote it, whatever it says of its encoding. Two keys never have the same. */
  textAt?(index: number): string;
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
export const emptyPagesMax = 1_000;

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

/** @throws {BrokenListingError} without one. */
export function tokenOf({ nextContinuationToken }: ListedPage): string {
  if (nextContinuationToken !== undefined) return nextContinuationToken;
  throw new BrokenListingError("The store doesn't say where its listing continues.");
}

export const endlessError = ({ prefix }: Pick<ListPageRequest, 'prefix'>) =>
  new BrokenListingError(
    `The store returned ${emptyPagesMax} pages in a row without a new key below "${prefix}".`,
  );
