import { AdoptedListing } from './adopted-listing.ts';
import type { AdoptedRepos } from './rules/adopted-repos.ts';
import {
  type ArchiveStore,
  type MultipartUpload,
  SourceGoneError,
  type SourceObject,
} from './rules/archive-store.ts';
import type {
  ObjectListing,
  ObjectStore,
  SignedRequest,
  SignUploadInput,
  StoredObject,
  StoreUnavailableError,
  UrlSigner,
} from './rules/store.ts';

type Input<M extends keyof ArchiveStore, N extends number> = Parameters<ArchiveStore[M]>[N];

/**
 * Archives of a bucket in which some repos are adopted. What is read may be an object of such a repo, and so may be what is
 * made of parts. All else that is written lies in the service's own folders.
 */
class AdoptedArchiveStore implements ArchiveStore {
  readonly #inner: ArchiveStore;
  readonly #repos: AdoptedRepos;

  constructor(inner: ArchiveStore, repos: AdoptedRepos) {
    this.#inner = inner;
    this.#repos = repos;
  }

  async head(key: string) {
    const storedKey = this.#repos.storedKey(key);
    return storedKey === undefined ? undefined : this.#inner.head(storedKey);
  }

  async get(key: string) {
    const storedKey = this.#repos.storedKey(key);
    return storedKey === undefined ? undefined : this.#inner.get(storedKey);
  }

  readInto(source: SourceObject, range: Input<'readInto', 1>, into: Uint8Array) {
    return this.#withSource(source, (stored) => this.#inner.readInto(stored, range, into));
  }

  copyPart(upload: MultipartUpload, part: Input<'copyPart', 1>) {
    const stored = this.#stored(upload);
    return this.#withSource(part.source, (source) => this.#inner.copyPart(stored, { ...part, source }));
  }

  async put(key: string, bytes: Uint8Array) {
    this.#repos.requireOwn(key);
    await this.#inner.put(key, bytes);
  }

  async putSource(key: string, bytes: Uint8Array) {
    this.#repos.requireOwn(key);
    return this.#inner.putSource(key, bytes);
  }

  async delete(keys: readonly string[]) {
    for (const key of keys) this.#repos.requireOwn(key);
    await this.#inner.delete(keys);
  }

  list(prefix: string) {
    this.#repos.requireOwn(prefix);
    return this.#inner.list(prefix);
  }

  async createUpload(key: string, options?: Input<'createUpload', 1>) {
    const { uploadId } = await this.#inner.createUpload(objectKeyOf(this.#repos, key), options);
    return { key, uploadId };
  }

  uploads(prefix: string) {
    this.#repos.requireOwn(prefix);
    return this.#inner.uploads(prefix);
  }

  parts(upload: MultipartUpload, options?: Input<'parts', 1>) {
    return this.#inner.parts(this.#stored(upload), options);
  }

  uploadPart(upload: MultipartUpload, part: Input<'uploadPart', 1>) {
    return this.#inner.uploadPart(this.#stored(upload), part);
  }

  complete(upload: MultipartUpload, parts: Input<'complete', 1>, options?: Input<'complete', 2>) {
    return this.#inner.complete(this.#stored(upload), parts, options);
  }

  abort(upload: MultipartUpload) {
    return this.#inner.abort(this.#stored(upload));
  }

  #stored({ key, uploadId }: MultipartUpload): MultipartUpload {
    return { key: objectKeyOf(this.#repos, key), uploadId };
  }

  /** Calls with the source as it is stored. */
  async #withSource<T>(source: SourceObject, call: (stored: SourceObject) => Promise<T>): Promise<T> {
    const storedKey = this.#repos.storedKey(source.key);
    if (storedKey === undefined) throw new SourceGoneError(source.key);
    try {
      return await call({ ...source, key: storedKey });
    } catch (error) {
      // Who asked for the object knows it by its key.
      if (error instanceof SourceGoneError) throw new SourceGoneError(source.key, { cause: error });
      throw error;
    }
  }
}

/** A bucket in which some repos are adopted. */
class AdoptedObjectStore implements ObjectStore {
  readonly #inner: ObjectStore;
  readonly #repos: AdoptedRepos;

  constructor(inner: ObjectStore, repos: AdoptedRepos) {
    this.#inner = inner;
    this.#repos = repos;
  }

  async head(key: string): Promise<StoredObject | undefined> {
    const storedKey = this.#repos.storedKey(key);
    return storedKey === undefined ? undefined : this.#inner.head(storedKey);
  }

  async delete(
    keys: readonly string[],
    options: { deadlineMs: number },
  ): Promise<ReadonlyMap<string, StoreUnavailableError>> {
    const byStored = new Map<string, string>();
    for (const key of keys) {
      const storedKey = this.#repos.storedKey(key);
      if (storedKey !== undefined) byStored.set(storedKey, key);
    }
    if (byStored.size === 0) return new Map();
    const failed = await this.#inner.delete([...byStored.keys()], options);
    return new Map([...failed].map(([storedKey, error]) => [byStored.get(storedKey) ?? storedKey, error]));
  }
}

/** Signs URLs of a bucket in which some repos are adopted. */
class AdoptedUrlSigner implements UrlSigner {
  readonly #inner: UrlSigner;
  readonly #repos: AdoptedRepos;

  constructor(inner: UrlSigner, repos: AdoptedRepos) {
    this.#inner = inner;
    this.#repos = repos;
  }

  async signUpload(input: SignUploadInput): Promise<SignedRequest> {
    return this.#inner.signUpload({ ...input, key: objectKeyOf(this.#repos, input.key) });
  }

  async signDownload(input: Parameters<UrlSigner['signDownload']>[0]): Promise<SignedRequest> {
    return this.#inner.signDownload({ ...input, key: objectKeyOf(this.#repos, input.key) });
  }
}

/** Where an object is stored, or what is of no adopted repo. @throws {RangeError} for anything else. */
function objectKeyOf(repos: AdoptedRepos, key: string): string {
  const storedKey = repos.storedKey(key);
  if (storedKey === undefined) throw new RangeError('An adopted repo has only objects.');
  return storedKey;
}

type WarmListing = ObjectListing & { warmUp(): Promise<void> };

/*
 * Everything that sends keys to the bucket, or gets keys from it, must pass through one of these. Without adopted repos
 * nothing stands between a function and the bucket.
 */

export const adoptedStore = (store: ObjectStore, repos: AdoptedRepos): ObjectStore =>
  repos.all.length === 0 ? store : new AdoptedObjectStore(store, repos);

export const adoptedSigner = (signer: UrlSigner, repos: AdoptedRepos): UrlSigner =>
  repos.all.length === 0 ? signer : new AdoptedUrlSigner(signer, repos);

export const adoptedListing = (listing: WarmListing, repos: AdoptedRepos): WarmListing =>
  repos.all.length === 0 ? listing : new AdoptedListing(listing, repos);

export const adoptedArchives = (archives: ArchiveStore, repos: AdoptedRepos): ArchiveStore =>
  repos.all.length === 0 ? archives : new AdoptedArchiveStore(archives, repos);
