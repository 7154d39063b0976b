import { DensityEstimator, deviation, type Estimate, type Sample } from './estimate.ts';
import { cutRange, type KeyRange, keySpaceSize, splitAtFolder, widthOf } from './key-space.ts';
import { type Gap, type Lane, planLanes, surveyLanes } from './lanes.ts';
import { pageKeysMax } from './page-size.ts';
import type { ScanStrategy } from './strategy.ts';

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

/** A range in which nothing is counted yet. */
export interface OpenRange extends KeyRange {
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
}

/** What a page contained. */
export interface PageResult {
  /** Keys of the page that are in the range. */
  readonly keyCount: number;
  /** The part of the range that is still to be listed. undefined: none. */
  readonly rest: OpenRange | undefined;
  /** The folder, with its slash, that contains all keys of the page. Empty: there is no such folder. */
  readonly folder?: string;
}

export interface ScanPlanInput {
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
  /** Folder → its estimator, for each folder with positions of its own. The path itself has the empty name. */
  readonly #densities = new Map([['', new DensityEstimator()]]);
  readonly #queue: PageTask[] = [];
  readonly #running = new Set<PageTask>();
  /** Rests that wait until their round is over, and are then cut by the density that the whole round gave. */
  readonly #held: { readonly range: OpenRange; readonly sample: Sample }[] = [];
  /** A round is running: its rests are held until it is over. */
  #isRound: boolean;
  #pages = 0;
  #requests = 0;
  #keys = 0;

  constructor(input: ScanPlanInput) {
    this.#strategy = input.strategy;
    this.#concurrency = Math.max(1, input.concurrency);
    this.#push(this.#begin(input.ranges));
    this.#isRound = input.strategy.kind === 'sixteen' || this.#queue.length === 1;
    this.#shareBefore = this.share;
  }

  /** The next page to request. undefined: none can be requested now. */
  take(): PageTask | undefined {
    if (this.#running.size >= this.#concurrency) return undefined;
    const task = this.#queue.shift();
    if (task === undefined) return undefined;
    this.#running.add(task);
    this.#requests += 1;
    return task;
  }

  /** Records what a page contained. */
  report(task: PageTask, result: PageResult): void {
    this.#running.delete(task);
    this.#pages += 1;
    this.#keys += result.keyCount;
    const { rest } = result;
    const width = widthOf(task.range) - (rest === undefined ? 0 : widthOf(rest));
    const sample = { keys: result.keyCount, width };
    this.#densityOf(task.range).add(sample);
    if (rest !== undefined) this.#continue(task, rest, { sample, folder: result.folder ?? '' });
    if (this.#held.length > 0 && this.#queue.length + this.#running.size === 0) this.#cutHeld();
  }

  /** Puts back a task whose page was not received. */
  putBack(task: PageTask): void {
    this.#running.delete(task);
    this.#queue.unshift(task);
  }

  /** The parts of the key space that are not counted yet. */
  rest(): OpenRange[] {
    const tasks = [...this.#running, ...this.#queue].map((task) => task.range);
    return [...tasks, ...this.#held.map((held) => held.range)];
  }

  /** The share of the key space that was counted, from 0 to 1. */
  get share(): number {
    const open = this.rest().reduce((sum, { after, last }) => sum + widthOf({ after, last }), 0);
    return Math.max(0, 1 - open / keySpaceSize);
  }

  /** Keys expected in the whole key space, by what was counted so far. */
  get keysExpected(): number {
    const share = this.share - this.#shareBefore;
    return share > 0 ? Math.round(this.#keys / share) : this.#keys;
  }

  #begin(ranges: readonly OpenRange[]): readonly Lane[] {
    const strategy = this.#strategy;
    const [first] = ranges;
    if (strategy.kind === 'hint') {
      const gaps = ranges.map((range) => {
        const keys = strategy.objects * (widthOf(range) / keySpaceSize);
        return { range, estimate: { keys, relativeError: 0 } };
      });
      return planLanes({ gaps, lanesMax: this.#concurrency, isUrgent: false });
    }
    const isSixteen = strategy.kind === 'sixteen' || strategy.kind === 'fixed-sixteen';
    if (isSixteen && ranges.length === 1 && first !== undefined) {
      return cutRange(first, new Array<number>(16).fill(1)).map(({ range }) => ({ range, pages: 1 }));
    }
    return ranges.map((range) => ({ range, pages: 1 }));
  }

  /**
   * Continues with the rest of a range. A page whose keys are all in one folder tells only about the names in it. From
   * there on, positions are relative to that folder, and what comes after the folder is a range of its own.
   */
  #continue(task: PageTask, rest: OpenRange, page: { sample: Sample; folder: string }): void {
    const { folder, sample } = page;
    const { kind } = this.#strategy;
    const isDeeper = folder.length > (rest.folder ?? '').length && rest.continuationToken === undefined;
    if (!isDeeper || kind === 'sequential' || kind === 'fixed-sixteen') {
      this.#follow(task, rest, sample);
      return;
    }
    const { below, beyond } = splitAtFolder(rest, folder);
    if (beyond !== undefined) this.#queue.push({ range: beyond, pages: 1, keysMax: pageKeysMax });
    const listed = { after: task.range.after, last: rest.after, folder };
    const sampleBelow = { keys: sample.keys, width: widthOf(listed) };
    this.#densityOf(below).add(sampleBelow);
    this.#follow(task, below, sampleBelow);
  }

  #densityOf({ folder = '' }: KeyRange): DensityEstimator {
    const known = this.#densities.get(folder);
    if (known) return known;
    const density = new DensityEstimator();
    this.#densities.set(folder, density);
    return density;
  }

  /** Queues the rest of a range after one of its pages, or cuts it, or holds it until the round is over. */
  #follow(task: PageTask, range: OpenRange, sample: Sample): void {
    const pages = Math.max(1, task.pages - 1);
    const { kind } = this.#strategy;
    if (range.continuationToken !== undefined || kind === 'sequential' || kind === 'fixed-sixteen') {
      this.#queue.push({ range, pages, keysMax: pageKeysMax });
      return;
    }
    if (this.#isRound) {
      this.#held.push({ range, sample });
      return;
    }
    const estimate = this.#densityOf(range).estimate(range, sample);
    const idle = this.#concurrency - this.#running.size - this.#queue.length;
    if (idle > 1 && estimate.keys > recutFactor * pages * pageKeysMax) {
      const lanesMax = this.#pages < pagesToTrust ? Math.min(idle, boldLanesMax) : idle;
      this.#push(planLanes({ gaps: [{ range, estimate }], lanesMax, isUrgent: false }));
      return;
    }
    const keysMax = pages === 1 ? keysToRequest(range, estimate) : pageKeysMax;
    this.#queue.push({ range, pages, keysMax });
  }

  /** The round is over: cuts the rests by the density that it gave. */
  #cutHeld(): void {
    const gaps = this.#held.splice(0).map(({ range, sample }): Gap => {
      return { range, estimate: this.#densityOf(range).estimate(range, sample) };
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
    for (const { range, pages } of lanes) this.#queue.push({ range, pages, keysMax: pageKeysMax });
  }
}

/** Requests no more keys than the rest of a range most likely holds. Keys behind its end would be dropped. */
function keysToRequest(range: KeyRange, estimate: Estimate): number {
  if (range.last === null || widthOf(range) === 0) return pageKeysMax;
  const keys = Math.ceil(estimate.keys + 3.5 * deviation(estimate));
  return Math.min(pageKeysMax, Math.max(keysRequestedMin, keys));
}
