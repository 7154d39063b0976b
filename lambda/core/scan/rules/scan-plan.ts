import { compareKeys } from '../../rules/names.ts';
import type { ListedPage, ListPageRequest } from '../../store/rules/store.ts';
import { pageKeysMax } from '../../store/rules/store.ts';
import { areSpreadEvenly, FolderDensities } from './evenness.ts';
import {
  cutRange,
  deviation,
  type Estimate,
  type KeyRange,
  keySpaceSize,
  type Sample,
  splitAtFolder,
  widthOf,
} from './key-space.ts';
import { type Gap, type Lane, planLanes, surveyLanes } from './lanes.ts';
import {
  type ListedNames,
  type OpenRange,
  OpenTasks,
  type PageResult,
  type PageTask,
  UnevenRanges,
} from './uneven-ranges.ts';

/**
 * How a scan begins, and whether it cuts into parts what its first pages leave.
 *
 * - `hint`: the number of objects is roughly known. All parts at once, each expected to end within its pages.
 * - `probe`: one page, which gives an estimate, then as with a hint. Of those that list in parallel, it needs the fewest
 *   requests, whatever the names are.
 * - `sixteen`: one part for each of the 16 hex digits at once, then all the rest at once. Needs the fewest rounds if
 *   nothing is known.
 * - `fixed-sixteen`: one part for each of the 16 hex digits at once, each listed page by page.
 * - `sequential`: page by page, exactly as many requests as pages. Correct even if the store does not list names in order.
 */
export type ScanStrategy =
  | { readonly kind: 'hint'; readonly objects: number }
  | { readonly kind: 'probe' | 'sixteen' | 'fixed-sixteen' | 'sequential' };

/**
 * The strategy for a scan.
 *
 * @param input.hintObjects the number of objects that the last scan found.
 * @param input.isAwaited somebody waits for the result.
 */
export function chooseStrategy(input: { hintObjects?: number; isAwaited?: boolean }): ScanStrategy {
  if (input.hintObjects !== undefined) return { kind: 'hint', objects: input.hintObjects };
  return { kind: input.isAwaited ? 'sixteen' : 'probe' };
}

/** Lanes that an estimate from too few pages may open at once. If keys are skewed, it may be far off. */
const boldLanesMax = 20;
/** If the rest is expected to take more pages than this, such an estimate is checked by a survey first. */
const boldPagesMax = 36;
/** Lanes of the survey: enough to estimate the density to within one percent. */
const surveyLanesWanted = 4;
/** From this many pages on, the density is trusted. */
const pagesToTrust = 4;
/** Requests above ⌈keys / 1000⌉ that all rounds up to and including the first cut may take together. */
const extraRequestsMax = { urgent: 19, otherwise: 2 };
/** A lane is cut again if its rest should take this many times the pages it has left and more requests may run. */
const recutFactor = 1.5;
/** Fewest keys to request: the estimate for a short rest may be wrong. */
const keysRequestedMin = 200;

/** Fewest keys that a folder of hashes must be expected to go on with, to be cut by positions of its own. */
const keysToCutFolder = 2500;

interface HeldRest {
  readonly task: PageTask;
  readonly range: OpenRange;
  readonly page: ReadPage;
}

type ReadPage = PageResult & { readonly sample: Sample };

interface ScanPlanInput {
  readonly strategy: ScanStrategy;
  readonly ranges: readonly OpenRange[];
  /** Requests at a time, at most. */
  readonly concurrency: number;
}

/**
 * Decides which pages to request. Pure bookkeeping: no I/O and no clock.
 *
 * Take tasks until there are none, run them in any order, and report each. A report may add new tasks. The scan is
 * complete when there is no task to take and none is running. At every moment, the counted parts and
 * {@link ScanPlan.rest} together cover the whole key space, each part once.
 */
export class ScanPlan {
  readonly #strategy: ScanStrategy;
  readonly #concurrency: number;
  /** The share of the key space that was counted before this plan began. */
  readonly #shareBefore: number;
  readonly #tasks: OpenTasks;
  readonly #folders = new FolderDensities();
  readonly #uneven: UnevenRanges;
  /** Rests that wait until their round is over, and are then cut by the density that the whole round gave. */
  readonly #held: HeldRest[] = [];
  /** A round is running: its rests are held until it is over. */
  #isRound: boolean;
  #pages = 0;
  #requests = 0;
  #keys = 0;

  constructor(input: ScanPlanInput) {
    this.#strategy = input.strategy;
    this.#concurrency = Math.max(1, input.concurrency);
    this.#tasks = new OpenTasks(this.#concurrency);
    this.#uneven = new UnevenRanges(this.#tasks);
    this.#push(this.#begin(input.ranges));
    this.#isRound = input.strategy.kind === 'sixteen' || this.#tasks.waitingCount === 1;
    if (input.ranges.some(({ isUneven }) => isUneven)) this.#uneven.noteFound();
    this.#shareBefore = this.#shareCounted;
  }

  /** The next page to request. undefined: none can be requested now. */
  take(): PageTask | undefined {
    const task = this.#tasks.take();
    if (task !== undefined) this.#requests += 1;
    return task;
  }

  /** Records what a page contained. */
  report(task: PageTask, result: PageResult): void {
    this.#tasks.end(task);
    this.#pages += 1;
    this.#keys += result.keyCount;
    this.#uneven.notePage(task, result);
    const { rest } = result;
    const width = widthOf(task.range) - (rest === undefined ? 0 : widthOf(rest));
    const sample = { keys: result.keyCount, width };
    this.#folders.of(task.range).add(sample);
    if (rest !== undefined) this.#continue(task, rest, { ...result, sample });
    if (this.#held.length > 0 && this.#tasks.isEmpty) this.#cutHeld();
  }

  /** Puts back a task whose page was not received. */
  putBack(task: PageTask): void {
    this.#tasks.putBack(task);
  }

  /** The parts of the key space that are not counted yet. */
  rest(): OpenRange[] {
    return [...this.#tasks.ranges(), ...this.#held.map((held) => held.range)];
  }

  /**
   * The share of the key space that was counted, from 0 to 1. undefined as long as no page showed that names are spread
   * evenly, and once one showed that they are not.
   */
  get share(): number | undefined {
    if (this.rest().length === 0) return 1;
    return this.#folders.hasEven && !this.#uneven.found ? this.#shareCounted : undefined;
  }

  get #shareCounted(): number {
    const open = this.rest().reduce((sum, { after, last }) => sum + widthOf({ after, last }), 0);
    return Math.max(0, 1 - open / keySpaceSize);
  }

  /** Keys expected in the whole key space, by what was counted so far. */
  get keysExpected(): number {
    const share = this.#shareCounted - this.#shareBefore;
    return share > 0 ? Math.round(this.#keys / share) : this.#keys;
  }

  #begin(ranges: readonly OpenRange[]): readonly Lane[] {
    const strategy = this.#strategy;
    const [first] = ranges;
    if (strategy.kind === 'hint') {
      // Of a range that another scan left in a folder, or among uneven names, the hint tells nothing.
      const isTold = ({ folder, isUneven }: OpenRange) => folder === undefined && !isUneven;
      const gaps = ranges.filter(isTold).map((range) => {
        const keys = strategy.objects * (widthOf(range) / keySpaceSize);
        return { range, estimate: { keys, relativeError: 0 } };
      });
      const others = ranges.filter((range) => !isTold(range)).map((range) => ({ range, pages: 1 }));
      return [...planLanes({ gaps, lanesMax: this.#concurrency, isUrgent: false }), ...others];
    }
    const isSixteen = strategy.kind === 'sixteen' || strategy.kind === 'fixed-sixteen';
    if (isSixteen && ranges.length === 1 && first !== undefined) {
      return cutRange(first, new Array<number>(16).fill(1)).map(({ range }) => ({ range, pages: 1 }));
    }
    return ranges.map((range) => ({ range, pages: 1 }));
  }

  /** Continues with the rest of a range after one of its pages. */
  #continue(task: PageTask, rest: OpenRange, page: ReadPage): void {
    const { kind } = this.#strategy;
    const { names } = page;
    if (kind === 'sequential' || kind === 'fixed-sixteen') {
      this.#tasks.add({ range: rest, pages: Math.max(1, task.pages - 1), keysMax: pageKeysMax });
    } else if (names === undefined || this.#folders.isEven(task.range, { names, sample: page.sample })) {
      this.#follow(task, rest, page);
    } else {
      this.#endRound();
      if (!this.#cutFolder(task, rest, { ...page, names })) this.#uneven.follow(task, rest, names);
    }
  }

  /**
   * If a page ends in a folder of hashes that goes on for more pages, positions are relative to that folder from there
   * on, and what comes after the folder is a range of its own.
   *
   * @returns false if it does not.
   */
  #cutFolder(task: PageTask, rest: OpenRange, page: ReadPage & { names: ListedNames }): boolean {
    const { folder = '', names } = page;
    const { after } = task.range;
    const isEntered =
      folder.length > (rest.folder ?? '').length && (after === null || compareKeys(after, folder) < 0);
    if (!isEntered || !areSpreadEvenly(names, { after, folder })) return false;
    const { isUneven: _, ...open } = rest;
    const { below, beyond } = splitAtFolder(open, folder);
    const sample = { keys: names.count, width: widthOf({ after, last: rest.after, folder }) };
    const keysBelow = (sample.keys / Math.max(1, sample.width)) * widthOf(below);
    if (keysBelow < keysToCutFolder) return false;
    this.#folders.noteEven(folder);
    this.#folders.of(below).add(sample);
    if (beyond !== undefined) this.#uneven.followBeyond(beyond, names);
    const waiting = this.#tasks.waitingCount;
    if (this.#pages < pagesToTrust && keysBelow > boldPagesMax * pageKeysMax) {
      const gap = { range: below, estimate: this.#folders.of(below).estimate(below, sample) };
      // Each of these pages then cuts its own part.
      this.#push(surveyLanes([gap], surveyLanesWanted).map(({ range }) => ({ range, pages: 1 })));
    } else this.#follow(task, below, { ...page, sample });
    this.#uneven.spend(Math.max(0, this.#tasks.waitingCount - waiting - keysBelow / pageKeysMax));
    return true;
  }

  /** Queues the rest of a range after one of its pages, or cuts it, or holds it until the round is over. */
  #follow(task: PageTask, range: OpenRange, page: ReadPage): void {
    const pages = Math.max(1, task.pages - 1);
    if (this.#isRound) {
      this.#held.push({ task, range, page });
      return;
    }
    const estimate = this.#folders.of(range).estimate(range, page.sample);
    const { idle } = this.#tasks;
    if (idle > 1 && estimate.keys > recutFactor * pages * pageKeysMax) {
      const lanesMax = this.#pages < pagesToTrust ? Math.min(idle, boldLanesMax) : idle;
      this.#push(planLanes({ gaps: [{ range, estimate }], lanesMax, isUrgent: false }));
      return;
    }
    const keysMax = pages === 1 ? keysToRequest(range, estimate) : pageKeysMax;
    this.#tasks.add({ range, pages, keysMax });
  }

  /** Ends the first round early: its other pages tell nothing about the ranges that it still lists. */
  #endRound(): void {
    if (!this.#isRound) return;
    this.#isRound = false;
    const isRefuted = ({ range }: HeldRest) => this.#folders.isRefuted(range);
    const uneven = this.#held.filter(isRefuted);
    this.#held.splice(0, Infinity, ...this.#held.filter((held) => !isRefuted(held)));
    for (const { task, range, page } of uneven) this.#continue(task, range, page);
    if (this.#held.length > 0) this.#cutHeld();
  }

  /** The round is over: cuts the rests by the density that it gave. */
  #cutHeld(): void {
    const gaps = this.#held.splice(0).map(({ range, page }): Gap => {
      return { range, estimate: this.#folders.of(range).estimate(range, page.sample) };
    });
    const restKeys = gaps.reduce((sum, gap) => sum + gap.estimate.keys, 0);
    const pagesWanted = restKeys / pageKeysMax;
    if (this.#pages < pagesToTrust && pagesWanted > boldPagesMax) {
      this.#push(surveyLanes(gaps, Math.min(surveyLanesWanted, this.#concurrency)));
      return;
    }
    this.#isRound = false;
    const isUrgent = this.#strategy.kind === 'sixteen';
    const pagesExpected = Math.ceil((this.#keys + restKeys) / pageKeysMax);
    const requestsMax = pagesExpected + extraRequestsMax[isUrgent ? 'urgent' : 'otherwise'] - this.#requests;
    this.#push(planLanes({ gaps, lanesMax: this.#concurrency, isUrgent, requestsMax }));
  }

  #push(lanes: readonly Lane[]): void {
    for (const { range, pages } of lanes) this.#tasks.add({ range, pages, keysMax: pageKeysMax });
  }
}

/** Requests no more keys than the rest of a range most likely holds. Keys behind its end would be dropped. */
function keysToRequest(range: KeyRange, estimate: Estimate): number {
  if (range.last === null || widthOf(range) === 0) return pageKeysMax;
  const keys = Math.ceil(estimate.keys + 3.5 * deviation(estimate));
  return Math.min(pageKeysMax, Math.max(keysRequestedMin, keys));
}

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
  /** What the pages must tell besides keys and sizes. */
  readonly reads?: Pick<ListPageRequest, 'readsTimes' | 'readsClasses'>;
  /** LIST requests at a time, at most. Defaults to the setting `scanConcurrency`. */
  readonly concurrency?: number;
  /** LIST requests in total, at most. */
  readonly requestsMax?: number;
  /** What a scan of the same prefix left unfinished. This scan continues it, and the result covers both. */
  readonly resume?: ScanRest;
  /** The part of the key space that `resume` and what was counted before are of. Default: all of it. */
  readonly within?: KeyRange;
  /** Once aborted, no more pages are asked for. The scan ends as unfinished when those on their way have ended. */
  readonly stop?: AbortSignal;
  /**
   * Called with each part that is counted, in step with the sums: all of a part is in {@link ScanRest}, or nothing of
   * it. If it throws, the part is not counted, and the scan fails. Who adds up the parts can count beyond 2^53 − 1
   * bytes.
   */
  readonly onPart?: (part: CountedPart) => void;
  /** Called before all is counted again, those parts included that a scan before this one was told. */
  readonly onRestart?: () => void;
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
  /** The keys are in an order of the store's own. */
  readonly inAnyOrder?: boolean;
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
  /** What is remembered of the latest keys then, so that each counts once. */
  readonly listed?: readonly string[];
  /** Cuts of which only one side is known. */
  readonly seams?: readonly (readonly [cut: string, Seam])[];
  /** Objects expected in total, to plan the continuation. null: nothing is known yet. */
  readonly objectsExpected: number | null;
}

/** Where a page begins, and how many keys it may have. */
export type ListedFrom = Pick<ListPageRequest, 'startAfter' | 'continuationToken' | 'maxKeys'>;

/** Two ranges meet at a cut. Both must see the same first key behind it, or what lies between them isn't counted. */
export interface Seam {
  /** How the page was asked for that ended the range before it, and the first key behind the cut that it had. */
  readonly before?: ListedFrom & { readonly next: string | null };
  /** The first key of the range behind it. */
  readonly behind?: string | null;
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
