/** How much was offered for download. */
export interface DownloadSum {
  readonly bytes: number;
  readonly objects: number;
}

/** What one token was offered from one repo on one day. */
export interface DownloadDay extends DownloadSum {
  /** In UTC, such as `2026-11-21`. */
  readonly day: string;
  readonly repo: string;
  readonly tokenId: string;
}

/** Where a page of downloads ends. */
export type DownloadPlace = Pick<DownloadDay, 'day' | 'repo' | 'tokenId'>;

/** What was offered in a month, and on each of its days. */
export interface DownloadMonth extends DownloadSum {
  /** In UTC, such as `2026-11`. */
  readonly month: string;
  /** By day, such as `2026-11-21`. One that is missing had none, if the others sum up to the month. */
  readonly days: ReadonlyMap<string, DownloadSum>;
}

/** Random characters of a {@link DownloadOffer.writeId}. */
export const writeIdCharacters = 8;

/** What a batch offers. */
export interface DownloadOffer extends DownloadSum {
  readonly tenant: string;
  readonly repo: string;
  readonly tokenId: string;
  readonly atMs: number;
  /** A write that is repeated with the same one counts once: {@link writeIdCharacters} random characters. */
  readonly writeId: string;
}

/** What anybody is offered of a public repo. A correction of it may be negative. */
export type PublicOffer = Omit<DownloadOffer, 'tokenId'>;

/**
 * What was offered for download: by tenant and month, and by day, repo and token. Offered is not transferred: what is asked
 * for again counts again, and a URL that is used twice counts once.
 */
export interface Downloads {
  /**
   * Adds what a batch is about to offer to the month.
   *
   * @param offer.limitBytes of the month. null: unlimited. What would exceed it is not added.
   * @throws {LedgerUnavailableError} It may have been added.
   */
  meter(offer: DownloadOffer & { readonly limitBytes: number | null }): Promise<'metered' | 'over-limit'>;
  /** Adds what a batch offers to its day, repo and token. @throws {LedgerUnavailableError} It may have been added. */
  addToDay(offer: DownloadOffer): Promise<void>;
  /**
   * Adds what anybody, without a token, is about to be offered of a repo: to the sum that the repo's ceiling is compared
   * with, and to nothing else.
   *
   * @param offer.limitBytes the ceiling. null: unlimited. What would exceed it is not added.
   * @throws {LedgerUnavailableError} It may have been added.
   */
  meterPublic(offer: PublicOffer & { readonly limitBytes: number | null }): Promise<'metered' | 'over-limit'>;
  /** Takes off what was not offered after all. @throws {LedgerUnavailableError} */
  correctPublic(difference: PublicOffer): Promise<void>;
  /** What anybody was offered of a repo in a month. Strongly consistent. @throws {LedgerUnavailableError} */
  publicMonth(input: { tenant: string; repo: string; month: string }): Promise<DownloadSum>;
  /** What was offered in a month, such as `2026-11`. Strongly consistent. @throws {LedgerUnavailableError} */
  month(input: { tenant: string; month: string }): Promise<DownloadSum>;
  /** The same of several months, with their days. Months without any are left out. @throws {LedgerUnavailableError} */
  months(input: { tenant: string; months: readonly string[] }): Promise<readonly DownloadMonth[]>;
  /**
   * A page of what was offered from one day to another, both included, by day, repo and token.
   *
   * @param input.after `next` of the page before, or any other place.
   * @throws {LedgerUnavailableError}
   */
  days(input: {
    tenant: string;
    from: string;
    to: string;
    pageSize: number;
    after?: DownloadPlace;
  }): Promise<{ readonly days: readonly DownloadDay[]; readonly next: DownloadPlace | null }>;
}
