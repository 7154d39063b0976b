import type { HistoryDay, LastRefusal } from '../domain/history.ts';
import type { Counted } from '../domain/tenant.ts';

type Stored = Pick<Counted, 'storedBytes' | 'objectCount'>;

/** What a recount found, for the day on which it ended. */
export interface NotedCount extends Stored {
  readonly tenant: string;
  readonly atMs: number;
  /** The epoch of the reconcile that committed it. */
  readonly epoch: number;
  /** The most that was stored since the recount before, as far as the two know. */
  readonly highestBytes: number;
}

/** Batches of which something was refused. */
export interface NotedRefusals extends Stored {
  readonly tenant: string;
  readonly atMs: number;
  /** Added to the day's refusals. 0: it was a repo's limit, which says nothing of the tenant. */
  readonly count: number;
  readonly last: LastRefusal;
}

/**
 * A point for each day of each tenant. It is no part of the ledger: nothing is decided by it, and what is lost is made up
 * for by the next recount.
 */
export interface History {
  /**
   * @returns `older`: a newer epoch was noted on this day, and nothing changes. The same epoch may be noted twice.
   * @throws {LedgerUnavailableError}
   */
  note(count: NotedCount): Promise<'noted' | 'older'>;
  /**
   * Adds to the refusals of the day. What is stored is noted too if nothing was yet on this day.
   *
   * @throws {LedgerUnavailableError}
   */
  addRefusals(refused: NotedRefusals): Promise<void>;
  /**
   * What was noted from one day to another, both included, by day. Eventually consistent.
   *
   * @throws {LedgerUnavailableError}
   */
  days(input: { tenant: string; from: string; to: string }): Promise<readonly HistoryDay[]>;
  /** Removes a part of all that was noted of a tenant. @throws {LedgerUnavailableError} */
  forgetSome(input: { tenant: string; daysMax: number }): Promise<{ readonly hasMore: boolean }>;
}
