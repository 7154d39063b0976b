import { compareKeys, repoPrefix } from '../rules/names.ts';
import {
  type AdoptedRepo,
  type AdoptedRepos,
  endOfGap,
  keyIn,
  storedAfter,
  storedBeginning,
} from './rules/adopted-repos.ts';
import {
  BrokenListingError,
  type DelimitedPage,
  hasKeys,
  type ListedPage,
  type ListPageRequest,
  nextPage,
  type ObjectListing,
  pageKeysMax,
  StoreUnavailableError,
  UnorderedListingError,
} from './rules/store.ts';

/**
 * A stretch of keys that lie together in the bucket, in the same order. The keys of a tenant are several: between its own
 * keys are those of its adopted repos, each in its place.
 */
interface Stretch {
  /** What to ask the store for. undefined: nothing can be stored there. */
  readonly storedPrefix: string | undefined;
  /** Where to begin, to list what comes after a key, or all. undefined: at the beginning. */
  storedAfter(key: string | undefined): string | undefined;
  /** The key of what is stored under one. undefined: it is hidden, and the listing passes over it. */
  keyOf(storedKey: string): string | undefined;
  /** Whether the listing has passed the end of the stretch. */
  isPast(storedKey: string): boolean;
  /** How far to skip from something hidden. */
  skipFrom(storedKey: string): string;
  /** Whether all keys of the stretch come before this one, or are it. */
  isOver(key: string): boolean;
}

/** Objects of an adopted repo. @param prefix of their keys, with all of `{tenant}/{repo}/`. */
function adoptedStretch(repo: AdoptedRepo, prefix: string): Stretch {
  const { path, names } = repo;
  const base = repoPrefix(repo);
  const beginning = storedBeginning(names, prefix.slice(base.length));
  return {
    storedPrefix: beginning === undefined ? undefined : path + beginning,
    storedAfter: (key) =>
      key?.startsWith(base) ? path + storedAfter(names, key.slice(base.length)) : undefined,
    keyOf: (storedKey) => keyIn(repo, storedKey),
    isPast: () => false,
    skipFrom: (storedKey) => path + endOfGap(names, storedKey.slice(path.length)),
    // No oid begins with a letter behind f.
    isOver: (key) => compareKeys(key, `${base}g`) >= 0,
  };
}

/** Keys that are stored as they are, between two adopted repos. null: from the first, or up to the last key. */
function ownStretch(
  repos: AdoptedRepos,
  stretch: { prefix: string; from: AdoptedRepo | null; to: AdoptedRepo | null },
): Stretch {
  const { prefix, from, to } = stretch;
  const end = to && repoPrefix(to);
  // After what is hidden below the repo's own path. What is not, of names that are no oids, is passed over.
  const begin = from && `${repoPrefix(from)}~`;
  return {
    storedPrefix: prefix,
    storedAfter: (key) =>
      begin !== null && (key === undefined || compareKeys(key, begin) < 0) ? begin : key,
    keyOf: (storedKey) => (repos.at(storedKey) ? undefined : storedKey),
    isPast: (storedKey) => end !== null && compareKeys(storedKey, end) >= 0,
    skipFrom: (storedKey) => storedKey,
    isOver: (key) => end !== null && compareKeys(key, end) >= 0,
  };
}

/** The keys with a prefix, in order. @param below the adopted repos that all lie below it, in the order of their keys. */
function stretchesOf(
  repos: AdoptedRepos,
  { prefix, below }: { prefix: string; below: readonly AdoptedRepo[] },
): readonly Stretch[] {
  const stretches: Stretch[] = [];
  let from: AdoptedRepo | null = null;
  for (const repo of below) {
    stretches.push(ownStretch(repos, { prefix, from, to: repo }), adoptedStretch(repo, repoPrefix(repo)));
    from = repo;
  }
  return [...stretches, ownStretch(repos, { prefix, from, to: null })];
}

/** Which keys of a page belong to a stretch. */
function keptOf(stretch: Stretch, page: ListedPage): { indexes: readonly number[]; isPast: boolean } {
  const indexes: number[] = [];
  for (let index = 0; index < page.keyCount; index += 1) {
    const storedKey = page.keyAt(index);
    if (!storedKey.startsWith(stretch.storedPrefix ?? ''))
      throw new BrokenListingError('The store listed a key without the requested prefix.');
    if (stretch.isPast(storedKey)) return { indexes, isPast: true };
    if (stretch.keyOf(storedKey) !== undefined) indexes.push(index);
  }
  return { indexes, isPast: false };
}

/** Some of the keys of a page that the store listed. */
export interface PagePart {
  readonly page: ListedPage;
  /** Which keys of the page, in order. */
  readonly indexes: readonly number[];
  /** The key of what is stored under one. */
  readonly keyOf: (storedKey: string) => string;
}

/** Parts of pages, one after the other, as one page. */
export class JoinedPage implements ListedPage {
  readonly keyCount: number;
  readonly totalBytes: number;
  readonly isTruncated: boolean;
  readonly nextContinuationToken: string | undefined;
  readonly #parts: readonly PagePart[];

  /**
   * @param parts in the order of their keys.
   * @param token leads to the next page. undefined: it's the last. A function makes it of the last key.
   */
  constructor(parts: readonly PagePart[], token: string | undefined | ((lastKey: string) => string)) {
    this.#parts = parts;
    this.keyCount = parts.reduce((sum, { indexes }) => sum + indexes.length, 0);
    this.totalBytes = parts.reduce((sum, part) => sum + bytesOf(part), 0);
    this.isTruncated = token !== undefined;
    this.nextContinuationToken = typeof token === 'function' ? token(this.keyAt(this.keyCount - 1)) : token;
  }

  keyAt(index: number): string {
    const { page, pageIndex, keyOf } = this.#find(index);
    return keyOf(page.keyAt(pageIndex));
  }

  sizeAt(index: number): number {
    const { page, pageIndex } = this.#find(index);
    return page.sizeAt(pageIndex);
  }

  lastModifiedMsAt(index: number): number | undefined {
    const { page, pageIndex } = this.#find(index);
    return page.lastModifiedMsAt(pageIndex);
  }

  etagAt(index: number): string {
    const { page, pageIndex } = this.#find(index);
    return page.etagAt(pageIndex);
  }

  storageClassAt(index: number): string {
    const { page, pageIndex } = this.#find(index);
    return page.storageClassAt?.(pageIndex) ?? '';
  }

  suffixAt(index: number): string {
    const { page, pageIndex } = this.#find(index);
    return page.suffixAt?.(pageIndex) ?? '';
  }

  #find(index: number) {
    let left = index;
    for (const part of this.#parts) {
      const pageIndex = part.indexes[left];
      if (pageIndex !== undefined) return { ...part, pageIndex };
      left -= part.indexes.length;
    }
    throw new RangeError(`The page has ${this.keyCount} keys, none at ${index}.`);
  }
}

function bytesOf({ page, indexes }: PagePart): number {
  if (indexes.length === page.keyCount) return page.totalBytes;
  return indexes.reduce((bytes, index) => bytes + page.sizeAt(index), 0);
}

/** Pages in a row, of one listing, with nothing but what is hidden. */
const hiddenPagesMax = 1_000;

/** A listing that can be warmed up, or not. */
type Inner = ObjectListing & { warmUp?(): Promise<void> };

/**
 * Lists a bucket in which some repos are adopted, as if their objects lay at `{tenant}/{repo}/`. A page has keys, or it is
 * the last, as S3's pages: a page of nothing but what is hidden is not shown. A listing that meets no adopted repo is passed
 * on as it is.
 */
export class AdoptedListing implements ObjectListing {
  readonly #inner: Inner;
  readonly #repos: AdoptedRepos;

  constructor(inner: Inner, repos: AdoptedRepos) {
    this.#inner = inner;
    this.#repos = repos;
  }

  /** @throws {StoreUnavailableError} @throws {AdoptedPathError} */
  async listPage(request: ListPageRequest): Promise<ListedPage> {
    const { prefix } = request;
    const repo = this.#repos.at(prefix);
    if (repo && request.inAnyOrder) return this.#listAsStored(adoptedStretch(repo, prefix), request);
    if (repo) return this.#list([adoptedStretch(repo, prefix)], request);
    this.#repos.requireOwn(prefix);
    const below = this.#repos.below(prefix);
    if (below.length === 0) return this.#inner.listPage(request);
    return this.#list(stretchesOf(this.#repos, { prefix, below }), request);
  }

  /**
   * The folders of adopted repos are all on the first page.
   *
   * @throws {StoreUnavailableError} @throws {AdoptedPathError}
   */
  async listFolders(request: { prefix: string; continuationToken?: string }): Promise<DelimitedPage> {
    const { prefix, continuationToken } = request;
    if (this.#repos.at(prefix)) return this.#listFolderless(request);
    // Of the whole bucket, the folders are those of tenants: the ones that lead into adopted paths are left out.
    if (prefix !== '') this.#repos.requireOwn(prefix);
    const below = this.#repos.below(prefix);
    const asked = continuationToken === undefined ? below : [];
    const [page, ...isThere] = await Promise.all([
      this.#inner.listFolders(request),
      ...asked.map((repo) => this.#hasObjects(repoPrefix(repo))),
    ]);
    const adopted = asked.map(repoPrefix).filter((_, index) => isThere[index]);
    const own = page.commonPrefixes.filter((folder) => !this.#repos.at(folder) && !this.#isReserved(folder));
    return { ...page, commonPrefixes: [...own, ...adopted].sort(compareKeys) };
  }

  async warmUp(): Promise<void> {
    await this.#inner.warmUp?.();
  }

  #isReserved(folder: string): boolean {
    return this.#repos.isReserved(folder.slice(0, folder.indexOf('/')));
  }

  async #hasObjects(prefix: string): Promise<boolean> {
    return hasKeys(this, prefix);
  }

  /** An adopted repo has objects, and no folders. */
  async #listFolderless(request: { prefix: string; continuationToken?: string }): Promise<DelimitedPage> {
    const page = await this.listPage(request);
    const keys = Array.from({ length: page.keyCount }, (_, index) => ({
      key: page.keyAt(index),
      sizeBytes: page.sizeAt(index),
    }));
    return { commonPrefixes: [], keys, nextContinuationToken: page.nextContinuationToken };
  }

  async #list(stretches: readonly Stretch[], request: ListPageRequest): Promise<ListedPage> {
    const { continuationToken, startAfter, maxKeys = pageKeysMax, ...how } = request;
    const after = continuationToken === undefined ? startAfter : keyOfToken(continuationToken);
    const left = stretches.filter((stretch) => after === undefined || !stretch.isOver(after));
    const found = new FoundKeys(Math.min(maxKeys, pageKeysMax));
    for (const [index, stretch] of left.entries()) {
      const isEnded = await this.#listStretch(stretch, { how, after, found });
      const mayHaveMore = !isEnded || (found.room === 0 && index < left.length - 1);
      if (mayHaveMore) return new JoinedPage(found.parts, tokenAfter);
    }
    return new JoinedPage(found.parts, undefined);
  }

  /** A page of the store, with its own token. */
  async #listAsStored(stretch: Stretch, request: ListPageRequest): Promise<ListedPage> {
    const { storedPrefix: prefix } = stretch;
    if (prefix === undefined) return new JoinedPage([], undefined);
    const page = await this.#inner.listPage({ ...request, prefix });
    const found = new FoundKeys(page.keyCount);
    found.add(stretch, page, keptOf(stretch, page).indexes);
    return new JoinedPage(found.parts, page.nextContinuationToken);
  }

  /** @returns false: more of the stretch may follow, and there are keys to show. */
  async #listStretch(
    stretch: Stretch,
    input: { how: Omit<ListPageRequest, 'prefix'>; after: string | undefined; found: FoundKeys },
  ): Promise<boolean> {
    const { how, found } = input;
    const { storedPrefix: prefix } = stretch;
    if (prefix === undefined) return true;
    let startAfter = stretch.storedAfter(input.after);
    for (let hiddenPages = 0; hiddenPages < hiddenPagesMax; hiddenPages += 1) {
      if (startAfter !== undefined && isBehind(startAfter, prefix)) return true;
      const page = await nextPage(this.#inner, {
        ...how,
        prefix,
        maxKeys: hiddenPages === 0 ? found.room : pageKeysMax,
        // A key may be the prefix itself, as the mark of a folder is.
        ...(startAfter !== undefined && compareKeys(startAfter, prefix) >= 0 && { startAfter }),
      });
      const first = page.keyCount > 0 ? page.keyAt(0) : undefined;
      const isBefore = first !== undefined && startAfter !== undefined && compareKeys(first, startAfter) <= 0;
      if (isBefore || page.isInOrder === false)
        throw new UnorderedListingError(`The store doesn't list keys below "${prefix}" in order.`);
      const kept = keptOf(stretch, page);
      if (!found.add(stretch, page, kept.indexes)) return false;
      if (kept.isPast || !page.isTruncated) return true;
      if (found.parts.length > 0) return false;
      startAfter = stretch.skipFrom(page.keyAt(page.keyCount - 1));
    }
    throw new StoreUnavailableError(
      `${hiddenPagesMax} pages of the bucket below "${prefix}" have nothing of the repo's layout.`,
    );
  }
}

/** What a page is to have. */
class FoundKeys {
  readonly parts: PagePart[] = [];
  room: number;

  constructor(keysMax: number) {
    this.room = keysMax;
  }

  /** @returns false: not all of them had room. */
  add(stretch: Stretch, page: ListedPage, kept: readonly number[]): boolean {
    const indexes = kept.slice(0, this.room);
    const keyOf = (storedKey: string) => stretch.keyOf(storedKey) ?? storedKey;
    if (indexes.length > 0) this.parts.push({ page, indexes, keyOf });
    this.room -= indexes.length;
    return indexes.length === kept.length;
  }
}

/** Whether nothing with the prefix comes after the key. */
const isBehind = (key: string, prefix: string) => compareKeys(key, prefix) > 0 && !key.startsWith(prefix);

/** A token names the last key that was shown: the store's own tokens know nothing of the other stretches. */
const tokenMark = 'after ';
const tokenAfter = (lastKey: string) => `${tokenMark}${lastKey}`;

function keyOfToken(token: string): string {
  if (token.startsWith(tokenMark)) return token.slice(tokenMark.length);
  throw new RangeError('The continuation token is of another listing.');
}
