import type { ListedNames } from './alphabet.ts';
import type { KeyRange } from './key-space.ts';
import type { SplitPoint } from './split-point.ts';

/** A range in which nothing is counted yet. */
export interface OpenRange extends KeyRange {
  /** Its names are not spread evenly: their positions tell nothing. */
  readonly isUneven?: true;
  /** The store's own mark of where its listing ended, if no key marks it. It replaces `after`. */
  readonly continuationToken?: string;
}

/** One page to request. */
export interface PageTask {
  readonly range: OpenRange;
  /** Pages that the range is expected to take, including this one. */
  readonly pages: number;
  /** Keys to request. */
  readonly keysMax: number;
  /** Where the last cut of uneven names was made to begin the range, or the range that it is left of. */
  readonly level?: number;
  /** How much of the names that are possible the range covers, if its names are uneven. */
  readonly span?: number;
  /** The cut that began the range, if this is its first page. */
  readonly cut?: SplitPoint;
}

/** What a page contained. */
export interface PageResult {
  /** Keys of the page that are in the range. */
  readonly keyCount: number;
  /** The part of the range that is still to be listed. undefined: none. */
  readonly rest: OpenRange | undefined;
  /** The folder, with its slash, that contains all keys of the page. Empty: there is no such folder. */
  readonly folder?: string;
  /** The names of the page that are in the range. Needed if there is a rest without a token. */
  readonly names?: ListedNames;
}
