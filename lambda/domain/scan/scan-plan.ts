import { DensityEstimator, deviation, type Estimate, type Sample } from './estimate.ts';
import { cutRange, type KeyRange, keySpaceSize, splitAtFolder, widthOf } from './key-space.ts';
import { type Gap, type Lane, planLanes, surveyLanes } from './lanes.ts';
import { pageKeysMax } from './page-size.ts';
import type { ScanStrategy } from './strategy.ts';

/** Ranges that an estimate from a page or two may open at once: it may be far off where keys are skewed. */
const boldLanesMax = 20;
const boldPagesMax = 36;
/** What it opens instead where it asks for more: enough to know the density to one percent. */
const surveyLanesWanted = 4;
/** Pages after which the density is believed. */
const pagesToBelieve = 4;
/** Requests above ⌈keys / 1000⌉ that the rounds up to and with the first cut may take together. */
const extraRequestsMax = { withHaste: 19, otherwise: 2 };
/** A lane that has so many times its pages still before it is cut up, if there are sockets for it. */
const recutFactor = 1.5;
/** Fewest keys to ask for: what is expected of a short rest may be wrong. */
const keysAskedMin = 200;

/** A range of which nothing is counted yet. */
export interface OpenRange extends KeyRange {
  /** The store's own mark of where its listing ended, where no key tells it. Stands for `after`. */
  readonly continuationToken?: string;
}

/** One page to ask for. */
export interface PageTask {
  readonly range: OpenRange;
  /** Pages that the range is expected to take, this one included. */
  readonly pages: number;
  readonly keysMax: number;
}

/** What came of a page. */
export interface PageResult {
  /** Keys of the page that lie in the range. */
  readonly keyCount: number;
  /** What of the range is still to be listed. */
  readonly rest: OpenRange | undefined;
  /** The folder, with its slash, that all keys of the page lie in; empty where they lie in several or none. */
  readonly folder?: string;
}

export interface ScanPlanInput {
  readonly strategy: ScanStrategy;
  readonly ranges: readonly OpenRange[];
  /** Most pages that are asked for at the same time. */
  readonly concurrency: number;
}

/**
 * Decides which pages to ask for: pure bookkeeping, no I/O and no clock.
 *
 * Take tasks until there are none, run them in any order, and report each; a report may bring new tasks. The
 * scan is complete when nothing is to be taken and nothing is under way. At every moment, what was counted and
 * {@link ScanPlan.rest} together are the whole key space, each part once.
 */
export class ScanPlan {
  readonly #strategy: ScanStrategy;
  readonly #concurrency: number;
  /** The share of the key space that was counted before this plan began. */
  readonly #shareBefore: number;
  /** Of each folder that has positions of its own; the path itself has the empty name. */
  readonly #densities = new Map([['', new DensityEstimator()]]);
  readonly #queue: PageTask[] = [];
  readonly #underWay = new Set<PageTask>();
  /** Parts that wait for the others of their round, to be cut by what all of them tell. */
  readonly #held: { readonly range: OpenRange; readonly sample: Sample }[] = [];
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

  /** The next page to ask for, or undefined where none can be asked for now. */
  take(): PageTask | undefined {
    if (this.#underWay.size >= this.#concurrency) return undefined;
    const task = this.#queue.shift();
    if (task === undefined) return undefined;
    this.#underWay.add(task);
    this.#requests += 1;
    return task;
  }

  /** Notes what came of a page. */
  report(task: PageTask, result: PageResult): void {
    this.#underWay.delete(task);
    this.#pages += 1;
    this.#keys += result.keyCount;
    const { rest } = result;
    const width = widthOf(task.range) - (rest === undefined ? 0 : widthOf(rest));
    const sample = { keys: result.keyCount, width };
    this.#densityOf(task.range).add(sample);
    if (rest !== undefined) this.#goOn(task, rest, { sample, folder: result.folder ?? '' });
    if (this.#held.length > 0 && this.#queue.length + this.#underWay.size === 0) this.#cutHeld();
  }

  /** Puts back a page that was not got. */
  putBack(task: PageTask): void {
    this.#underWay.delete(task);
    this.#queue.unshift(task);
  }

  /** The parts of the key space that are not counted yet. */
  rest(): OpenRange[] {
    const tasks = [...this.#underWay, ...this.#queue].map((task) => task.range);
    return [...tasks, ...this.#held.map((held) => held.range)];
  }

  /** The share of the key space that was counted, from 0 to 1. */
  get share(): number {
    const open = this.rest().reduce((sum, { after, last }) => sum + widthOf({ after, last }), 0);
    return Math.max(0, 1 - open / keySpaceSize);
  }

  /** Keys expected in the whole key space, as far as is known. */
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
      return planLanes({ gaps, lanesMax: this.#concurrency, hasHaste: false });
    }
    const isSixteen = strategy.kind === 'sixteen' || strategy.kind === 'fixed-sixteen';
    if (isSixteen && ranges.length === 1 && first !== undefined) {
      return cutRange(first, new Array<number>(16).fill(1)).map(({ range }) => ({ range, pages: 1 }));
    }
    return ranges.map((range) => ({ range, pages: 1 }));
  }

  /**
   * A page that lies in one folder as a whole tells nothing of names outside, but of those in it: from there on
   * positions are those of the folder's names, and what comes after the folder is a range of its own.
   */
  #goOn(task: PageTask, rest: OpenRange, page: { sample: Sample; folder: string }): void {
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
    const own = { keys: sample.keys, width: widthOf(listed) };
    this.#densityOf(below).add(own);
    this.#follow(task, below, own);
  }

  #densityOf({ folder = '' }: KeyRange): DensityEstimator {
    const known = this.#densities.get(folder);
    if (known) return known;
    const density = new DensityEstimator();
    this.#densities.set(folder, density);
    return density;
  }

  /** What to do about the rest of a range after one of its pages. */
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
    const idle = this.#concurrency - this.#underWay.size - this.#queue.length;
    if (idle > 1 && estimate.keys > recutFactor * pages * pageKeysMax) {
      const lanesMax = this.#pages < pagesToBelieve ? Math.min(idle, boldLanesMax) : idle;
      this.#push(planLanes({ gaps: [{ range, estimate }], lanesMax, hasHaste: false }));
      return;
    }
    const keysMax = pages === 1 ? keysToAsk(range, estimate) : pageKeysMax;
    this.#queue.push({ range, pages, keysMax });
  }

  /** The round is over: cuts what it left by the density that it found. */
  #cutHeld(): void {
    const gaps = this.#held.splice(0).map(({ range, sample }): Gap => {
      return { range, estimate: this.#densityOf(range).estimate(range, sample) };
    });
    const restKeys = gaps.reduce((sum, gap) => sum + gap.estimate.keys, 0);
    const pagesWanted = restKeys / pageKeysMax;
    if (this.#pages < pagesToBelieve && pagesWanted > boldPagesMax) {
      this.#push(surveyLanes(gaps, Math.min(surveyLanesWanted, this.#concurrency)));
      return;
    }
    this.#isRound = false;
    const hasHaste = this.#strategy.kind === 'sixteen';
    const pagesExpected = Math.ceil((this.#keys + restKeys) / pageKeysMax);
    const requestsMax =
      pagesExpected + extraRequestsMax[hasHaste ? 'withHaste' : 'otherwise'] - this.#requests;
    this.#push(planLanes({ gaps, lanesMax: this.#concurrency, hasHaste, requestsMax }));
  }

  #push(lanes: readonly Lane[]): void {
    for (const { range, pages } of lanes) this.#queue.push({ range, pages, keysMax: pageKeysMax });
  }
}

/** Asks for no more than the rest of a range most likely holds: what lies behind its end is not wanted. */
function keysToAsk(range: KeyRange, estimate: Estimate): number {
  if (range.last === null || widthOf(range) === 0) return pageKeysMax;
  const keys = Math.ceil(estimate.keys + 3.5 * deviation(estimate));
  return Math.min(pageKeysMax, Math.max(keysAskedMin, keys));
}
