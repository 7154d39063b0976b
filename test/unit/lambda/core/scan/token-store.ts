import { compareKeys } from '../../../../../lambda/core/rules/names.ts';
import type { Exchange } from '../../../../../lambda/core/store/http-exchange.ts';
import type { ListedObject } from '../../../../support/round-listing.ts';
import { renderPage, type XmlOrder } from './pages.ts';

/** How a store fails to lead through its listing. */
export type TokenFault = 'same-token' | 'two-tokens' | 'ignores-token' | 'overlaps';

export interface TokenStoreOptions {
  readonly objects: readonly ListedObject[];
  readonly pageKeysMax: number;
  /** Every token begins with this. */
  readonly tokenStart: string;
  /** So many empty, truncated pages come before each page. */
  readonly emptyPages: number;
  readonly order: XmlOrder;
  readonly isUrlEncoded: boolean;
  readonly fault: TokenFault | undefined;
}

/**
 * A store that names a key in its continuation tokens, as versitygw does. It continues after whatever key a token
 * names, so a token that was changed on the way leads elsewhere without an error.
 */
export class TokenStore {
  readonly #options: TokenStoreOptions;
  readonly #objects: readonly ListedObject[];
  requests = 0;

  constructor(options: TokenStoreOptions) {
    this.#options = options;
    this.#objects = [...options.objects].sort((a, b) => compareKeys(a.key, b.key));
  }

  /** The body of an answer to ListObjectsV2. */
  answer(query: URLSearchParams): Buffer {
    const { pageKeysMax, emptyPages, order, isUrlEncoded, fault } = this.#options;
    this.requests += 1;
    const { after, empty } = this.#position(query);
    const room = Math.min(pageKeysMax, Number(query.get('max-keys') ?? 1000));
    const left = this.#objects.filter(({ key }) => after === undefined || compareKeys(key, after) > 0);
    const page = empty < emptyPages ? [] : left.slice(0, room);
    const isTruncated = page.length < left.length;
    if (!isTruncated && (fault === undefined || fault === 'overlaps'))
      return renderPage(page, { order, isUrlEncoded });
    const next = page.length === 0 ? { after, empty: empty + 1 } : { after: this.#lastKey(page), empty: 0 };
    return renderPage(page, { order, isUrlEncoded, token: this.#token(next) });
  }

  #position(query: URLSearchParams): { after: string | undefined; empty: number } {
    const token = query.get('continuation-token');
    const { tokenStart, fault } = this.#options;
    if (token === null || fault === 'ignores-token')
      return { after: query.get('start-after') ?? undefined, empty: 0 };
    const [, empty, key] = token.startsWith(tokenStart)
      ? (/^(\d+)\|(.*)$/su.exec(token.slice(tokenStart.length)) ?? [])
      : [];
    return { after: key === undefined ? token : key || undefined, empty: Number(empty ?? 0) };
  }

  #token({ after, empty }: { after: string | undefined; empty: number }): string {
    const { tokenStart, fault } = this.#options;
    if (fault === 'same-token') return `${tokenStart}0|`;
    if (fault === 'two-tokens') return `${tokenStart}${this.requests % 2}|`;
    return `${tokenStart}${empty}|${after ?? ''}`;
  }

  /** Where the next page begins. */
  #lastKey(page: readonly ListedObject[]): string {
    const last = this.#options.fault === 'overlaps' ? page.at(-2) : page.at(-1);
    return (last ?? page.at(-1))?.key ?? '';
  }
}

/** Replaces the network: the store's answers, in pieces that end where `cuts` say. */
export function exchangeOf(store: TokenStore, cuts: readonly number[]): Exchange {
  return {
    send: async ({ request, readerOf }) => {
      const body = store.answer(new URL(request.path, request.origin).searchParams);
      const places = [...new Set(cuts.map((cut) => cut % (body.length + 1)))].sort((a, b) => a - b);
      const reader = readerOf({ status: 200, headers: {} });
      for (const [index, place] of [...places, body.length].entries())
        reader.write(body.subarray(places[index - 1] ?? 0, place));
      return reader.end();
    },
    destroy: () => {},
  };
}
