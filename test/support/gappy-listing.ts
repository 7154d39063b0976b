import type { ListedPage, ListPageRequest, ObjectListing } from '../../lambda/core/store/rules/store.ts';
import type { Random } from './random.ts';

const none = { keyCount: 0, totalBytes: 0, isTruncated: true } as const;
const outside = (): never => {
  throw new RangeError('An empty page has no keys.');
};

/** Where a listing continues behind a page without keys. */
interface Gap {
  readonly startAfter?: string;
  readonly continuationToken?: string;
}

/**
 * A listing whose pages are short, and some of them empty though more follow, as the contract of {@link ObjectListing} lets
 * them be.
 *
 * @param options.gapChance probability that a page is empty. 1: each one is, and no listing ends.
 */
export class GappyListing implements ObjectListing {
  readonly #inner: ObjectListing;
  readonly #random: Random;
  readonly #options: { readonly gapChance: number; readonly pageSize: number };
  #gaps = 0;

  constructor(
    inner: ObjectListing,
    random: Random,
    options: { readonly gapChance: number; readonly pageSize: number },
  ) {
    this.#inner = inner;
    this.#random = random;
    this.#options = options;
  }

  async listPage(request: ListPageRequest): Promise<ListedPage> {
    const { startAfter, continuationToken, maxKeys = 1000, ...others } = request;
    const from = this.#from({
      ...(startAfter && { startAfter }),
      ...(continuationToken && { continuationToken }),
    });
    if (this.#random.chance(this.#options.gapChance)) {
      const nextContinuationToken = this.#tokenOf(from);
      const [keyAt, sizeAt, lastModifiedMsAt, etagAt] = [outside, outside, outside, outside];
      return { ...none, nextContinuationToken, keyAt, sizeAt, lastModifiedMsAt, etagAt };
    }
    return this.#inner.listPage({ ...others, ...from, maxKeys: Math.min(maxKeys, this.#options.pageSize) });
  }

  async listFolders({ prefix, continuationToken }: { prefix: string; continuationToken?: string }) {
    const { startAfter: _, ...from } = this.#from({ ...(continuationToken && { continuationToken }) });
    if (this.#random.chance(this.#options.gapChance))
      return { commonPrefixes: [], keys: [], nextContinuationToken: this.#tokenOf(from) };
    return this.#inner.listFolders({ prefix, ...from });
  }

  /** Each gap has a token of its own. */
  #tokenOf(gap: Gap): string {
    this.#gaps += 1;
    return `gap ${JSON.stringify([this.#gaps, gap])}`;
  }

  #from(asked: Gap): Gap {
    const { continuationToken: token } = asked;
    return token?.startsWith('gap ') ? JSON.parse(token.slice('gap '.length))[1] : asked;
  }
}
