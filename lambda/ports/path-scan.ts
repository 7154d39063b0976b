import type { OpenRange } from '../domain/scan/scan-plan.ts';
import type { ScanStrategy } from '../domain/scan/strategy.ts';

/** Counting what lies below a path. */

export interface PathScanInput {
  /** Ends with `/`, or is empty: all keys that begin with it are counted, whatever they look like below it. */
  readonly prefix: string;
  /** Objects that the last scan found; a wrong hint costs requests, never correctness. */
  readonly hintObjects?: number;
  /** Somebody waits: begin with the 16 hex prefixes at once instead of probing one page. */
  readonly isAwaited?: boolean;
  /** How to begin, instead of what the two above lead to. */
  readonly strategy?: ScanStrategy;
  /** Names directly below the prefix (oids) of which the result says whether they were seen. */
  readonly lookFor?: ReadonlySet<string>;
  /** The scan gives up then; an absolute time. */
  readonly deadlineMs?: number;
  /** Most LIST requests at once; the setting `scanConcurrency` where it is left out. */
  readonly concurrency?: number;
  /** Most LIST requests in all. */
  readonly requestsMax?: number;
  /** What a scan of the same prefix left unfinished: it is continued, and the result is of both. */
  readonly resume?: ScanRest;
  /** Called after each page, so that a lease can be renewed and progress shown. May be slow: it is awaited. */
  readonly onPage?: (progress: ScanProgress) => Promise<void> | void;
}

/** How far a scan is. */
export interface ScanProgress {
  readonly storedBytes: number;
  readonly objectCount: number;
  readonly requests: number;
  /** Share of the key space that was counted, from 0 to 1. Says little where names are no hashes. */
  readonly share: number;
}

/** What a scan counted and what it left, to be continued anywhere: plain JSON. */
interface ScanRest {
  readonly prefix: string;
  readonly ranges: readonly OpenRange[];
  readonly storedBytes: number;
  readonly objectCount: number;
  /** Those of `lookFor` that were seen; the continuation must look for the same. */
  readonly seen: readonly string[];
  readonly requests: number;
  /** Its store's order is not relied on: the continuation lists one page after the other too. */
  readonly isSequential: boolean;
  /** Objects expected in all, which the continuation plans by; null where nothing is known yet. */
  readonly objectsExpected: number | null;
}

export type PathScanOutcome =
  | {
      readonly kind: 'done';
      readonly storedBytes: number;
      readonly objectCount: number;
      /** Those of `lookFor` that a page listed. */
      readonly seen: ReadonlySet<string>;
      readonly requests: number;
    }
  /** The deadline passed, or the budget is used up, before every key was counted. */
  | { readonly kind: 'unfinished'; readonly requests: number; readonly rest: ScanRest };

export interface PathScan {
  /**
   * Every key that is there during the whole scan is counted once; one that comes or goes meanwhile, at most
   * once.
   *
   * @throws {StoreUnavailableError} where the store stays broken, or does not list as S3 does.
   */
  scan(input: PathScanInput): Promise<PathScanOutcome>;
}
