import type { AdoptedRepos } from '../../domain/adopted-repos.ts';
import { compareKeys } from '../../domain/key-order.ts';
import { repoPrefix } from '../../domain/names.ts';
import { pageKeysMax } from '../../domain/scan/page-size.ts';
import {
  type DelimitedPage,
  hasKeys,
  type ListedPage,
  type ListPageRequest,
  nextPage,
  type ObjectListing,
} from '../../ports/object-listing.ts';
import { StoreUnavailableError } from '../../ports/object-store.ts';
import { JoinedPage, type PagePart } from './pages.ts';
import { adoptedStretch, keptOf, type Stretch, stretchesOf } from './stretch.ts';

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
    this.#repos.requireOwn(prefix);
    const below = this.#repos.below(prefix);
    const asked = continuationToken === undefined ? below : [];
    const [page, ...isThere] = await Promise.all([
      this.#inner.listFolders(request),
      ...asked.map((repo) => this.#hasObjects(repoPrefix(repo))),
    ]);
    const adopted = asked.map(repoPrefix).filter((_, index) => isThere[index]);
    const own = page.commonPrefixes.filter((folder) => !this.#repos.at(folder));
    return { ...page, commonPrefixes: [...own, ...adopted].sort(compareKeys) };
  }

  async warmUp(): Promise<void> {
    await this.#inner.warmUp?.();
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
      if (mayHaveMore) return new JoinedPage(found.parts, { isTruncated: true, tokenAfter });
    }
    return new JoinedPage(found.parts, { isTruncated: false, tokenAfter });
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
      const kept = keptOf(stretch, page);
      if (!found.add(stretch, page, kept)) return false;
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
  add(stretch: Stretch, page: ListedPage, kept: Pick<PagePart, 'indexes' | 'keyCount'>): boolean {
    const keyCount = Math.min(kept.keyCount, this.room);
    const keyOf = (storedKey: string) => stretch.keyOf(storedKey) ?? storedKey;
    if (keyCount > 0) this.parts.push({ page, indexes: kept.indexes, keyCount, keyOf });
    this.room -= keyCount;
    return keyCount === kept.keyCount;
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
