import type {
  DelimitedPage,
  ListedPage,
  ListPageRequest,
  ObjectListing,
  ObjectStore,
  StoredObject,
  StoreUnavailableError,
} from '../../../lambda/core/store/rules/store.ts';
import { KeyIndex } from '../../../local/store/listing.ts';

/**
 * An object store that keeps sizes and hashes, but no bytes. It lists as S3 does: order, paging, delimiter. Every method
 * takes effect at once, before its promise settles.
 */
export class MemoryObjectStore implements ObjectStore, ObjectListing {
  readonly #objects = new KeyIndex<{
    readonly object: StoredObject;
    readonly lastModifiedMs: number | undefined;
    /** A text, or a number for each time that something was put. */
    readonly etag: string | number;
  }>();
  #puts = 0;

  /** Stores an object as an accepted upload does. @param sha256 in lower-case hex. @param lastModifiedMs as listed. */
  put(key: string, sizeBytes: number, sha256?: string, lastModifiedMs?: number, mark?: string): void {
    this.#puts += 1;
    this.#objects.set(key, {
      object: { sizeBytes, sha256, ...(mark !== undefined && { mark }) },
      lastModifiedMs,
      etag: this.#puts,
    });
  }

  /** Stores an object in a version that is named: two of the same ETag have the same bytes. */
  putVersion(key: string, version: { sizeBytes: number; etag: string }): void {
    const { sizeBytes, etag } = version;
    const object = { sizeBytes, sha256: undefined };
    this.#objects.set(key, { object, lastModifiedMs: undefined, etag });
  }

  /** The size and ETag of an object; undefined if there is none. */
  versionOf(key: string): { sizeBytes: number; etag: string } | undefined {
    const found = this.#objects.get(key);
    return found && { sizeBytes: found.object.sizeBytes, etag: etagText(found.etag) };
  }

  /** The keys that begin so, up to a thousand. */
  keysBelow(prefix: string): string[] {
    return this.#objects.page({ prefix }).entries.map(({ key }) => key);
  }

  /** How many objects there are. */
  get objectCount(): number {
    return this.#objects.size;
  }

  async head(key: string): Promise<StoredObject | undefined> {
    const found = this.#objects.get(key);
    return found && { ...found.object, lastModifiedMs: found.lastModifiedMs };
  }

  async putEmpty(
    key: string,
    { mark, onlyNew }: { mark: string; onlyNew: boolean },
  ): Promise<'put' | 'taken'> {
    if (onlyNew && this.#objects.get(key)) return 'taken';
    this.put(key, 0, undefined, undefined, mark);
    return 'put';
  }

  async delete(keys: readonly string[]): Promise<ReadonlyMap<string, StoreUnavailableError>> {
    for (const key of keys) this.#objects.delete(key);
    return new Map();
  }

  async listPage(request: ListPageRequest): Promise<ListedPage> {
    request.signal?.throwIfAborted();
    const { entries, nextContinuationToken } = this.#objects.page({
      prefix: request.prefix,
      startAfter: request.startAfter,
      continuationToken: request.continuationToken,
      maxKeys: request.maxKeys,
    });
    const at = (index: number) => {
      const entry = entries[index];
      if (entry === undefined) throw new RangeError(`The page has ${entries.length} keys, none at ${index}.`);
      return entry;
    };
    return {
      keyCount: entries.length,
      totalBytes: entries.reduce((sum, entry) => sum + entry.value.object.sizeBytes, 0),
      keyAt: (index) => at(index).key,
      sizeAt: (index) => at(index).value.object.sizeBytes,
      lastModifiedMsAt: (index) => {
        const { lastModifiedMs } = at(index).value;
        return request.readsTimes ? lastModifiedMs : undefined;
      },
      etagAt: (index) => {
        const { etag } = at(index).value;
        return request.readsEtags ? etagText(etag) : '';
      },
      isTruncated: nextContinuationToken !== undefined,
      nextContinuationToken,
    };
  }

  async listFolders(request: { prefix: string; continuationToken?: string }): Promise<DelimitedPage> {
    const page = this.#objects.page({ ...request, delimiter: '/' });
    return {
      commonPrefixes: page.commonPrefixes,
      keys: page.entries.map(({ key, value }) => ({ key, sizeBytes: value.object.sizeBytes })),
      nextContinuationToken: page.nextContinuationToken,
    };
  }
}

const etagText = (etag: string | number) =>
  typeof etag === 'string' ? etag : `"${etag.toString(16).padStart(32, '0')}"`;
