import type { OpenRange } from '../domain/scan/page-task.ts';
import type { ScanStrategy } from '../domain/scan/strategy.ts';
import type { ListedPage } from './object-listing.ts';

/** Counting what lies below a path. */

export interface PathScanInput {
  /** Ends with `/`, or is empty. Every key that begins with it is counted, whatever follows. */
  readonly prefix: string;
  /** Number of objects that the last scan found. A wrong hint costs requests, never correctness. */
  readonly hintObjects?: number;
  /** Somebody waits: begin with the 16 hex prefixes at once, instead of probing with one page. */
  readonly isAwaited?: boolean;
  /** How to begin. By default the two fields above decide. */
  readonly strategy?: ScanStrategy;
  /**
   * Names directly below the prefix (oids) to look for. The result says which of them were seen. `everything`: it has
   * the names of all keys.
   */
  readonly lookFor?: ReadonlySet<string> | 'everything';
  /**
   * Report the names of the keys that were stored at this time or later, by the store's clock. A key counts as recent if
   * the store does not say when it was stored.
   */
  readonly recentSinceMs?: number;
  /** Names of recent keys that are kept, at most. Defaults to 100,000, about 20 MB. */
  readonly recentMax?: number;
  /** Absolute time at which the scan gives up. */
  readonly deadlineMs?: number;
  /** LIST requests at a time, at most. Defaults to the setting `scanConcurrency`. */
  readonly concurrency?: number;
  /** LIST requests in total, at most. */
  readonly requestsMax?: number;
  /** What a scan of the same prefix left unfinished. This scan continues it, and the result covers both. */
  readonly resume?: ScanRest;
  /** Once aborted, no more pages are asked for. The scan ends as unfinished when those on their way have ended. */
  readonly stop?: AbortSignal;
  /**
   * Called with each part that is counted, in step with the sums: all of a part is in {@link ScanRest}, or nothing of
   * it. If it throws, the part is not counted, and the scan fails. Who adds up the parts can count beyond 2^53 − 1
   * bytes: with it, only the bytes of a single page are limited.
   */
  readonly onPart?: (part: CountedPart) => void;
  /**
   * Called once, before the first page, so that a scan can be continued if its process is killed.
   *
   * @param rest what the scan would leave if it ended now, at any time until it ends. Pages on their way count as not
   *   listed. undefined: a page was counted by halves, so ranges and sums do not fit together.
   */
  readonly onBegin?: (rest: () => ScanRest | undefined) => void;
  /**
   * Called and awaited after each page, so that a lease can be renewed and progress shown. Every few seconds, with sums
   * of 0, while another process scans. If it throws, the scan fails.
   */
  readonly onPage?: (progress: ScanProgress) => Promise<void> | void;
}

/** What was counted of a page: its first `keyCount` keys. */
export interface CountedPart {
  readonly page: ListedPage;
  readonly keyCount: number;
  /** Bytes of those keys. */
  readonly sizeBytes: number;
}

/** How far a scan is. */
interface ScanProgress {
  readonly storedBytes: number;
  readonly objectCount: number;
  readonly requests: number;
  /** Share of the key space that was counted, from 0 to 1. undefined: it means nothing, or that is not known yet. */
  readonly share: number | undefined;
}

/** What a scan counted, and the ranges that it left. Plain JSON, so that it can be continued anywhere. */
export interface ScanRest {
  readonly prefix: string;
  readonly ranges: readonly OpenRange[];
  readonly storedBytes: number;
  readonly objectCount: number;
  /** The names of `lookFor` that were seen, with their bytes. The continuation must look for the same names. */
  readonly seen: readonly (readonly [name: string, sizeBytes: number])[];
  /** The names of recent keys, if they were asked for. The continuation must ask for the same time. */
  readonly recent?: readonly string[] | 'too many';
  readonly requests: number;
  /** The store's order proved unreliable, so the continuation too lists one page after the other. */
  readonly isSequential: boolean;
  /** Objects expected in total, to plan the continuation. null: nothing is known yet. */
  readonly objectsExpected: number | null;
}

export type PathScanOutcome =
  | {
      readonly kind: 'done';
      readonly storedBytes: number;
      readonly objectCount: number;
      /** The names of `lookFor` that a page listed → bytes. */
      readonly seen: ReadonlyMap<string, number>;
      /** The names of the keys that `recentSinceMs` asked for. Empty if it did not. */
      readonly recent: ReadonlySet<string> | 'too many';
      readonly requests: number;
    }
  /** The deadline passed, `requestsMax` was reached, or it was stopped, before every key was counted. */
  | { readonly kind: 'unfinished'; readonly requests: number; readonly rest: ScanRest };

export interface PathScan {
  /**
   * Counts every key that exists during the whole scan once. A key that is created or deleted meanwhile is counted
   * at most once.
   *
   * @throws {StoreUnavailableError} when the store keeps failing, or does not list as S3 does.
   */
  scan(input: PathScanInput): Promise<PathScanOutcome>;
}
