import type { Clock } from '../rules/clock-and-log.ts';
import { compareKeys } from '../rules/names.ts';
import type { Settings } from '../rules/settings.ts';
import { type ListedPage, type ObjectListing, StoreUnavailableError } from '../store/rules/store.ts';
import {
  type RangePage,
  RecentNames,
  readPage,
  readPageInAnyOrder,
  seenInAnyOrder,
  seenOnPage,
} from './page-in-range.ts';
import { wholeKeySpace } from './rules/key-space.ts';
import {
  chooseStrategy,
  type PathScan,
  type PathScanInput,
  type PathScanOutcome,
  ScanPlan,
  type ScanRest,
  type ScanStrategy,
} from './rules/scan-plan.ts';
import type { PageTask } from './rules/uneven-ranges.ts';

/**
 * The pages of a range that continues by tokens. Each page must lead further: in a listing that comes back to where it
 * was, keys would be counted twice, or the scan would never end.
 *
 * It needs little memory, so not every way back is detected at once. A cycle of tokens always is, after at most a few
 * rounds.
 */
export class PageTrail {
  /** The last page that had keys. */
  #previous: ListedPage | undefined;
  // Brent's algorithm: a token is marked, then one twice as many pages later, and so on. A cycle returns to a mark.
  #mark: string | undefined;
  #pagesSinceMark = 0;
  #pagesToMark = 1;

  /**
   * Notes the next page.
   *
   * @param requestedToken the token by which it was requested.
   * @throws {StoreUnavailableError} if it leads back.
   */
  follow(page: ListedPage, requestedToken: string | undefined): void {
    const { nextContinuationToken: token, keyCount } = page;
    if (token !== undefined && (token === requestedToken || token === this.#mark)) {
      throw new StoreUnavailableError(
        'The listing of the store goes in a circle: it repeats a continuation token.',
      );
    }
    if (token !== undefined) this.#count(token);
    if (keyCount === 0) return;
    if (this.#previous && hasKey(this.#previous, page.keyAt(0))) {
      throw new StoreUnavailableError("The store's listing repeats a key on two pages in a row.");
    }
    this.#previous = page;
  }

  #count(token: string): void {
    this.#pagesSinceMark += 1;
    if (this.#pagesSinceMark < this.#pagesToMark) return;
    this.#mark = token;
    this.#pagesSinceMark = 0;
    this.#pagesToMark *= 2;
  }
}

function hasKey(page: ListedPage, key: string): boolean {
  for (let index = 0; index < page.keyCount; index += 1) if (page.keyAt(index) === key) return true;
  return false;
}

interface PathScanDeps {
  readonly listing: Pick<ObjectListing, 'listPage'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly settings: Pick<Settings, 'scanConcurrency'>;
}

/** Scans paths with a listing. docs/decisions.md explains how, and what it costs. */
export function createPathScan(deps: PathScanDeps): PathScan {
  return { scan: (input) => new PathScanRun(deps, input).run() };
}

/** One scan. It runs the pages that its plan asks for, adds up what they list, and stops at its limits. */
class PathScanRun {
  readonly #deps: PathScanDeps;
  readonly #input: PathScanInput;
  readonly #isSequential: boolean;
  readonly #plan: ScanPlan;
  readonly #lookFor: readonly string[];
  readonly #seen: Map<string, number>;
  readonly #recent: RecentNames | undefined;
  readonly #abort = new AbortController();
  /** The pages of each range that continues by tokens, by where the range begins. */
  readonly #trails = new Map<string | null, PageTrail>();
  #running = 0;
  #onIdle: () => void = () => {};
  #failure: { readonly error: unknown } | undefined;
  #isStopped = false;
  /** Sums and plan fit together. */
  #isConsistent = true;
  #storedBytes: number;
  #objectCount: number;
  #requests = 0;
  #pages = 0;

  constructor(deps: PathScanDeps, input: PathScanInput) {
    const { resume } = input;
    if (resume && resume.prefix !== input.prefix) {
      throw new RangeError(`Can't continue a scan of "${resume.prefix}" as a scan of "${input.prefix}".`);
    }
    this.#deps = deps;
    this.#input = input;
    const strategy = strategyOf(input);
    this.#isSequential = strategy.kind === 'sequential';
    this.#plan = new ScanPlan({
      strategy,
      ranges: resume?.ranges ?? [wholeKeySpace],
      concurrency: input.concurrency ?? deps.settings.scanConcurrency,
    });
    const { lookFor = new Set() } = input;
    this.#lookFor = lookFor === 'everything' ? [] : [...lookFor].sort(compareKeys);
    this.#seen = new Map(resume?.seen);
    const { recentSinceMs, recentMax } = input;
    if (recentSinceMs !== undefined)
      this.#recent = new RecentNames(
        { prefix: input.prefix, sinceMs: recentSinceMs, max: recentMax },
        resume?.recent,
      );
    this.#storedBytes = resume?.storedBytes ?? 0;
    this.#objectCount = resume?.objectCount ?? 0;
  }

  async run(): Promise<PathScanOutcome> {
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      this.#input.onBegin?.(() => (this.#isConsistent ? this.#rest() : undefined));
      this.#start();
      if (this.#running === 0) resolve();
    });
    if (this.#failure) throw this.#failure.error;
    const requests = this.#requests;
    const rest = this.#rest();
    const [storedBytes, objectCount] = [this.#storedBytes, this.#objectCount];
    if (rest.ranges.length === 0) {
      return {
        kind: 'done',
        storedBytes,
        objectCount,
        seen: this.#seen,
        recent: this.#recent?.names ?? new Set(),
        requests,
      };
    }
    return { kind: 'unfinished', requests, rest };
  }

  #rest(): ScanRest {
    const recent = this.#recent?.names;
    const { prefix, resume } = this.#input;
    return {
      prefix,
      ranges: this.#plan.rest(),
      storedBytes: this.#storedBytes,
      objectCount: this.#objectCount,
      seen: [...this.#seen],
      ...(recent !== undefined && { recent: recent === 'too many' ? recent : [...recent] }),
      requests: this.#requests + (resume?.requests ?? 0),
      isSequential: this.#isSequential,
      objectsExpected: this.#pages > 0 ? this.#plan.keysExpected : (resume?.objectsExpected ?? null),
    };
  }

  /** Starts as many pages as the plan and the limits allow. */
  #start(): void {
    for (;;) {
      if (this.#mustStop()) return;
      const task = this.#plan.take();
      if (task === undefined) return;
      this.#requests += 1;
      this.#running += 1;
      void this.#runPage(task)
        .catch((error: unknown) => this.#fail(error))
        .then(() => {
          this.#running -= 1;
          if (this.#running === 0) this.#onIdle();
        });
    }
  }

  #mustStop(): boolean {
    const { deadlineMs, requestsMax } = this.#input;
    const isLate = deadlineMs !== undefined && this.#deps.clock.nowMs() >= deadlineMs;
    const isSpent = requestsMax !== undefined && this.#requests >= requestsMax;
    const isStopped = this.#isStopped || this.#input.stop?.aborted === true;
    return this.#failure !== undefined || isStopped || isLate || isSpent;
  }

  async #runPage(task: PageTask): Promise<void> {
    const page = await this.#list(task);
    if (page === undefined) return;
    const result = this.#read(task, page);
    try {
      this.#count(page, result);
      this.#plan.report(task, result);
    } catch (error) {
      this.#isConsistent = false;
      throw error;
    }
    this.#start();
    await this.#input.onPage?.({
      storedBytes: this.#storedBytes,
      objectCount: this.#objectCount,
      requests: this.#requests,
      share: this.#plan.share,
    });
  }

  #read(task: PageTask, page: ListedPage): RangePage {
    const { after, continuationToken } = task.range;
    if (this.#isSequential || page.keyCount === 0) {
      const trail = this.#trails.get(after) ?? new PageTrail();
      this.#trails.set(after, trail);
      trail.follow(page, continuationToken);
    } else this.#trails.delete(after);
    return this.#isSequential ? readPageInAnyOrder(task, page) : readPage(task, page, this.#input);
  }

  /**
   * @returns undefined if the scan was stopped, or the deadline passed first. A scan that has counted a page, or that goes
   *   on with what another one counted, ends as unfinished then: the store has answered.
   */
  async #list(task: PageTask): Promise<ListedPage | undefined> {
    const { prefix, deadlineMs, resume, reads } = this.#input;
    const { after, continuationToken } = task.range;
    try {
      return await this.#deps.listing.listPage({
        prefix,
        maxKeys: task.keysMax,
        signal: this.#abort.signal,
        ...reads,
        ...(this.#recent && { readsTimes: true }),
        ...(deadlineMs !== undefined && { deadlineMs }),
        ...(continuationToken !== undefined
          ? { continuationToken }
          : after !== null && { startAfter: prefix + after }),
      });
    } catch (error) {
      const isLate = deadlineMs !== undefined && this.#deps.clock.nowMs() >= deadlineMs;
      const hasAnswered = this.#pages > 0 || resume !== undefined;
      const mayEnd = isLate && hasAnswered && error instanceof StoreUnavailableError;
      if (!mayEnd && this.#input.stop?.aborted !== true) throw error;
      this.#isStopped = true;
      this.#plan.putBack(task);
      return undefined;
    }
  }

  #count(page: ListedPage, { keyCount, sizeBytes }: RangePage): void {
    const { prefix, lookFor, onPart } = this.#input;
    const storedBytes = this.#storedBytes + sizeBytes;
    if (!Number.isSafeInteger(onPart === undefined ? storedBytes : sizeBytes)) {
      throw new RangeError(`More than 2^53 − 1 bytes are stored below "${prefix}".`);
    }
    onPart?.({ page, keyCount, sizeBytes });
    this.#pages += 1;
    this.#objectCount += keyCount;
    this.#storedBytes = storedBytes;
    const isAny = this.#isSequential || lookFor === 'everything';
    const seen = isAny
      ? seenInAnyOrder(lookFor, page, { prefix, keyCount })
      : seenOnPage(this.#lookFor, page, { prefix, keyCount });
    for (const [name, bytes] of seen) this.#seen.set(name, bytes);
    this.#recent?.add(page, keyCount);
  }

  /** The first failure ends the scan and aborts its running requests. */
  #fail(error: unknown): void {
    if (this.#failure) return;
    this.#failure = { error };
    this.#abort.abort(error);
  }
}

function strategyOf({ resume, strategy, hintObjects, isAwaited = false }: PathScanInput): ScanStrategy {
  if (resume?.isSequential) return { kind: 'sequential' };
  const objects = resume?.objectsExpected ?? hintObjects;
  return strategy ?? chooseStrategy({ isAwaited, ...(objects !== undefined && { hintObjects: objects }) });
}
