/** Counting what lies below a path. */

export interface PathScanInput {
  /** Ends with `/`. All keys that begin with it are counted, whatever they look like below it. */
  readonly prefix: string;
  /** Objects that the last scan found; a wrong hint costs requests, never correctness. */
  readonly hintObjects?: number;
  /** Somebody waits: begin with the 16 hex prefixes at once instead of probing one page. */
  readonly someoneWaits?: boolean;
  /** Names directly below the prefix (oids) of which the result says whether they were seen. */
  readonly lookFor?: ReadonlySet<string>;
  /** The scan gives up then; an absolute time. */
  readonly deadlineMs?: number;
  /** Called after each page, so that a lease can be renewed and progress shown. May be slow: it is awaited. */
  readonly onPage?: () => Promise<void> | void;
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
  | { readonly kind: 'unfinished'; readonly requests: number };

export interface PathScan {
  /** @throws {StoreUnavailableError} where the store stays broken. */
  scan(input: PathScanInput): Promise<PathScanOutcome>;
}
