import type { Clock, Log } from '../rules/clock-and-log.ts';
import { compareKeys } from '../rules/names.ts';
import type { Settings } from '../rules/settings.ts';
import { MalformedPageError } from '../store/http-exchange.ts';
import {
  type ListedPage,
  nextPage,
  type ObjectListing,
  StoreUnavailableError,
  tokenOf,
  UnorderedListingError,
} from '../store/rules/store.ts';
import {
  exactParts,
  firstBehind,
  pickInAnyOrder,
  type RangePage,
  RecentNames,
  readPage,
  seenInAnyOrder,
  seenOnPage,
  unordered,
} from './page-in-range.ts';
import { PageTrail } from './page-trail.ts';
import { wholeKeySpace } from './rules/key-space.ts';
import {
  chooseStrategy,
  type ListedFrom,
  type PathScan,
  type PathScanInput,
  type PathScanOutcome,
  ScanPlan,
  type ScanRest,
  type ScanStrategy,
  type Seam,
} from './rules/scan-plan.ts';
import type { OpenRange, PageTask } from './rules/uneven-ranges.ts';

interface PathScanDeps {
  readonly listing: Pick<ObjectListing, 'listPage'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly settings: Pick<Settings, 'scanConcurrency'>;
  /** Hears once of a scan what its store does in another way than S3. */
  readonly log?: Pick<Log, 'warn'>;
}

/** Scans paths with a listing. docs/decisions.md explains how, and what it costs. */
export function createPathScan(deps: PathScanDeps): PathScan {
  return {
    scan(input) {
      const run = new PathScanRun(deps, input);
      return run.run().catch((error: unknown) => {
        if (!isOfOrder(error) || run.isSequential) throw error;
        return startAgain(deps, input, run.requests);
      });
    },
  };
}

/**
 * Nothing that was counted by order can be trusted, so all of it is counted again. Only the pages in their own order have
 * each key once: of a part of the key space, too, all of them are listed.
 */
function startAgain(deps: PathScanDeps, input: PathScanInput, requests: number): Promise<PathScanOutcome> {
  const { prefix, resume, within = wholeKeySpace } = input;
  deps.log?.warn("The store doesn't list keys in order, so the scan starts again, one page at a time.", {
    prefix,
  });
  input.onRestart?.();
  const nothing = { storedBytes: 0, objectCount: 0, seen: [], requests: resume?.requests ?? 0 };
  const objectsExpected = resume?.objectsExpected ?? null;
  const begin = { prefix, ranges: [within], ...nothing, isSequential: true, objectsExpected };
  return new PathScanRun(deps, { ...input, resume: begin }, requests).run();
}

/** One scan. It runs the pages that its plan asks for, adds up what they list, and stops at its limits. */
class PathScanRun {
  readonly #deps: PathScanDeps;
  readonly #input: PathScanInput;
  readonly isSequential: boolean;
  readonly #plan: ScanPlan;
  readonly #lookFor: readonly string[];
  readonly #seen: Map<string, number>;
  readonly #recent: RecentNames | undefined;
  readonly #abort = new AbortController();
  /** All pages, if they come one after the other. */
  readonly #trail: PageTrail;
  /**
   * Where a range begins → the token that leads there, if pages were listed before. No key is sent back to the store: it
   * may not mean what it says of its encoding.
   */
  readonly #tokens = new Map<string | null, string>();
  /** By the cut, until both sides are known. */
  readonly #seams: Map<string, Seam>;
  #hasRepeated = false;
  #running = 0;
  #onIdle: () => void = () => {};
  #failure: { readonly error: unknown } | undefined;
  #isStopped = false;
  /** Sums and plan fit together. */
  #isConsistent = true;
  #storedBytes: number;
  #objectCount: number;
  requests: number;
  #pages = 0;

  /** @param requests that were sent before, for the same input. */
  constructor(deps: PathScanDeps, input: PathScanInput, requests = 0) {
    const { resume } = input;
    if (resume && resume.prefix !== input.prefix) {
      throw new RangeError(`Can't continue a scan of "${resume.prefix}" as a scan of "${input.prefix}".`);
    }
    this.#deps = deps;
    this.#input = input;
    const strategy = strategyOf(input);
    this.requests = requests;
    this.#trail = new PageTrail(input.prefix, resume?.listed);
    this.#seams = new Map(resume?.seams);
    this.isSequential = strategy.kind === 'sequential';
    this.#plan = new ScanPlan({
      strategy,
      ranges: (resume?.ranges ?? [wholeKeySpace]).map(({ continuationToken, ...range }: OpenRange) => {
        if (continuationToken !== undefined) this.#tokens.set(range.after, continuationToken);
        return range;
      }),
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
    const { requests } = this;
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
      ranges: this.#plan.rest().map((range) => {
        const continuationToken = this.#tokens.get(range.after);
        return continuationToken === undefined ? range : { ...range, continuationToken };
      }),
      storedBytes: this.#storedBytes,
      objectCount: this.#objectCount,
      seen: [...this.#seen],
      ...(recent !== undefined && { recent: recent === 'too many' ? recent : [...recent] }),
      requests: this.requests + (resume?.requests ?? 0),
      isSequential: this.isSequential,
      ...(this.isSequential && { listed: this.#trail.listed }),
      ...(this.#seams.size > 0 && { seams: [...this.#seams] }),
      objectsExpected: this.#pages > 0 ? this.#plan.keysExpected : (resume?.objectsExpected ?? null),
    };
  }

  /** Starts as many pages as the plan and the limits allow. */
  #start(): void {
    for (;;) {
      if (this.#mustStop()) return;
      const task = this.#plan.take();
      if (task === undefined) return;
      this.requests += 1;
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
    const isSpent = requestsMax !== undefined && this.requests >= requestsMax;
    const isStopped = this.#isStopped || this.#input.stop?.aborted === true;
    return this.#failure !== undefined || isStopped || isLate || isSpent;
  }

  async #runPage(task: PageTask): Promise<void> {
    const from = this.#placeOf(task);
    const listed = await this.#list(task, from);
    if (listed === undefined) return;
    const { page, result } = this.#read(task, listed);
    try {
      this.#count(page, result);
      this.#tokens.delete(task.range.after);
      if (result.rest) this.#tokens.set(result.rest.after, tokenOf(listed));
      this.#plan.report(task, result);
    } catch (error) {
      this.#isConsistent = false;
      throw error;
    }
    this.#start();
    if (!this.isSequential) await this.#join(task.range, listed, { from, rest: result.rest });
    await this.#input.onPage?.({
      storedBytes: this.#storedBytes,
      objectCount: this.#objectCount,
      requests: this.requests,
      share: this.#plan.share,
    });
  }

  #read(task: PageTask, page: ListedPage): { page: ListedPage; result: RangePage } {
    const { prefix } = this.#input;
    const indexes = this.isSequential ? this.#trail.follow(page) : undefined;
    if (!this.#hasRepeated && (page.repeatedKeys || this.#trail.hasRepeated)) {
      this.#hasRepeated = true;
      this.#deps.log?.warn('The store lists keys more than once. Each counts once.', { prefix });
    }
    if (indexes === undefined) return { page, result: readPage(task, page, this.#input) };
    const picked = pickInAnyOrder(task, page, { prefix, indexes });
    const { keyCount, totalBytes: sizeBytes } = picked;
    return { page: picked, result: { keyCount, sizeBytes, rest: page.isTruncated ? task.range : undefined } };
  }

  /** @throws {UnorderedListingError} if two ranges leave out keys between them, or have some in common. */
  async #join(
    { after, last }: OpenRange,
    page: ListedPage,
    { from, rest }: { from: ListedFrom; rest: OpenRange | undefined },
  ): Promise<void> {
    if (after !== null && from.startAfter !== undefined)
      await this.#meet(after, { behind: page.keyCount > 0 ? page.keyAt(0) : null });
    if (last === null || rest !== undefined) return;
    const next = firstBehind(page, this.#input.prefix + last);
    if (next !== undefined) await this.#meet(last, { before: { ...from, next } });
  }

  async #meet(cut: string, side: Seam): Promise<void> {
    const { before, behind } = { ...this.#seams.get(cut), ...side };
    if (before === undefined || behind === undefined) {
      this.#seams.set(cut, side);
      return;
    }
    this.#seams.delete(cut);
    if (before.next === behind) return;
    // A key may have come or gone between the two pages. Then they agree the next time.
    this.requests += 2;
    const { prefix, deadlineMs } = this.#input;
    const { next: _, ...again } = before;
    const how = { prefix, signal: this.#abort.signal, ...(deadlineMs !== undefined && { deadlineMs }) };
    const [left, right] = await Promise.all(
      [again, { startAfter: prefix + cut, maxKeys: 1 }].map(async (request) =>
        firstBehind(await nextPage(this.#deps.listing, { ...how, ...request }), prefix + cut),
      ),
    );
    if (left === undefined || left !== right) throw new UnorderedListingError(unordered);
  }

  /**
   * @returns undefined if the scan was stopped, or the deadline passed first. A scan that has counted a page, or that goes
   *   on with what another one counted, ends as unfinished then: the store has answered.
   */
  async #list(task: PageTask, from: ListedFrom): Promise<ListedPage | undefined> {
    const { prefix, deadlineMs, resume, reads } = this.#input;
    try {
      let pages = 0;
      const request = {
        prefix,
        ...from,
        signal: this.#abort.signal,
        ...reads,
        ...(this.#recent && { readsTimes: true }),
        ...(this.isSequential && { inAnyOrder: true }),
        ...(deadlineMs !== undefined && { deadlineMs }),
      };
      const page = await nextPage(this.#deps.listing, request, async () => {
        pages += 1;
      });
      this.requests += pages - 1;
      return page;
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

  #placeOf({ range: { after }, keysMax: maxKeys }: PageTask): ListedFrom {
    const continuationToken = this.#tokens.get(after);
    if (continuationToken !== undefined) return { maxKeys, continuationToken };
    return {
      maxKeys,
      ...(after !== null && !this.isSequential && { startAfter: this.#input.prefix + after }),
    };
  }

  #count(page: ListedPage, { keyCount, sizeBytes }: RangePage): void {
    const { prefix, lookFor, onPart } = this.#input;
    const storedBytes = this.#storedBytes + sizeBytes;
    if (onPart === undefined && !Number.isSafeInteger(storedBytes)) {
      throw new RangeError(`More than 2^53 − 1 bytes are stored below "${prefix}".`);
    }
    const inAnyOrder = this.isSequential;
    if (onPart) for (const part of exactParts({ page, keyCount, sizeBytes, inAnyOrder })) onPart(part);
    this.#pages += 1;
    this.#objectCount += keyCount;
    this.#storedBytes = storedBytes;
    const isAny = this.isSequential || lookFor === 'everything';
    const seen = isAny
      ? seenInAnyOrder(lookFor, page, { prefix, keyCount })
      : seenOnPage(this.#lookFor, page, { prefix, keyCount });
    for (const [name, bytes] of seen) this.#seen.set(name, bytes);
    this.#recent?.add(page, keyCount);
  }

  /** The first failure ends the scan and aborts its running requests, unless it starts again. */
  #fail(error: unknown): void {
    if (this.#failure) return;
    this.#failure = { error };
    if (!isOfOrder(error) || this.isSequential) this.#abort.abort(error);
  }
}

/** What isn't encoded as it says has no order that can be relied on, either. */
const isOfOrder = (error: unknown) =>
  error instanceof UnorderedListingError || error instanceof MalformedPageError;

function strategyOf({ resume, strategy, hintObjects, isAwaited = false }: PathScanInput): ScanStrategy {
  if (resume?.isSequential) return { kind: 'sequential' };
  const objects = resume?.objectsExpected ?? hintObjects;
  return strategy ?? chooseStrategy({ isAwaited, ...(objects !== undefined && { hintObjects: objects }) });
}
