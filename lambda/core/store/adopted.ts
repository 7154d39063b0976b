import { AdoptedListing } from './adopted-listing.ts';
import type { AdoptedRepos } from './rules/adopted-repos.ts';
import {
  type ArchiveStore,
  type MultipartUpload,
  SourceGoneError,
  type SourceObject,
} from './rules/archive-store.ts';
import type { ObjectListing, ObjectStore, UrlSigner } from './rules/store.ts';

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

export const adoptedListing = (listing: WarmListing, repos: AdoptedRepos): WarmListing =>
  repos.all.length === 0 ? listing : new AdoptedListing(listing, repos);

export function adoptedStore(store: ObjectStore, repos: AdoptedRepos): ObjectStore {
  if (repos.all.length === 0) return store;
  return {
    ...store,
    async head(key) {
      const storedKey = repos.storedKey(key);
      return storedKey === undefined ? undefined : store.head(storedKey);
    },
    putEmpty: async (key, options) => store.putEmpty(objectKeyOf(repos, key), options),
    async delete(keys, options) {
      const byStored = new Map<string, string>();
      for (const key of keys) {
        const storedKey = repos.storedKey(key);
        if (storedKey !== undefined) byStored.set(storedKey, key);
      }
      if (byStored.size === 0) return new Map();
      const failed = await store.delete([...byStored.keys()], options);
      return new Map([...failed].map(([storedKey, error]) => [byStored.get(storedKey) ?? storedKey, error]));
    },
  };
}

export function adoptedSigner(signer: UrlSigner, repos: AdoptedRepos): UrlSigner {
  if (repos.all.length === 0) return signer;
  return {
    signUpload: async (input) => signer.signUpload({ ...input, key: objectKeyOf(repos, input.key) }),
    signDownload: async (input) => signer.signDownload({ ...input, key: objectKeyOf(repos, input.key) }),
  };
}

/**
 * What is read may be an object of an adopted repo, and so may be what is made of parts. All else that is written lies in
 * the service's own folders.
 */
export function adoptedArchives(archives: ArchiveStore, repos: AdoptedRepos): ArchiveStore {
  if (repos.all.length === 0) return archives;
  const stored = ({ key, uploadId }: MultipartUpload) => ({ key: objectKeyOf(repos, key), uploadId });
  /** Calls with the source as it is stored. */
  const withSource = async <T>(
    source: SourceObject,
    call: (stored: SourceObject) => Promise<T>,
  ): Promise<T> => {
    const storedKey = repos.storedKey(source.key);
    if (storedKey === undefined) throw new SourceGoneError(source);
    try {
      return await call({ ...source, key: storedKey });
    } catch (error) {
      // Who asked for the object knows it by its key.
      if (error instanceof SourceGoneError) throw new SourceGoneError(source, { cause: error });
      throw error;
    }
  };
  return {
    async head(key) {
      const storedKey = repos.storedKey(key);
      return storedKey === undefined ? undefined : archives.head(storedKey);
    },
    async get(key) {
      const storedKey = repos.storedKey(key);
      return storedKey === undefined ? undefined : archives.get(storedKey);
    },
    readInto: (source, range, into) => withSource(source, (found) => archives.readInto(found, range, into)),
    copyPart(upload, part) {
      const to = stored(upload);
      return withSource(part.source, (source) => archives.copyPart(to, { ...part, source }));
    },
    async put(key, bytes) {
      repos.requireOwn(key);
      await archives.put(key, bytes);
    },
    async putSource(key, bytes) {
      repos.requireOwn(key);
      return archives.putSource(key, bytes);
    },
    async delete(keys) {
      for (const key of keys) repos.requireOwn(key);
      await archives.delete(keys);
    },
    list(prefix) {
      repos.requireOwn(prefix);
      return archives.list(prefix);
    },
    async createUpload(key, options) {
      const { uploadId } = await archives.createUpload(objectKeyOf(repos, key), options);
      return { key, uploadId };
    },
    uploads(prefix) {
      repos.requireOwn(prefix);
      return archives.uploads(prefix);
    },
    parts: (upload, options) => archives.parts(stored(upload), options),
    uploadPart: (upload, part) => archives.uploadPart(stored(upload), part),
    complete: (upload, parts, options) => archives.complete(stored(upload), parts, options),
    abort: (upload) => archives.abort(stored(upload)),
  };
}
