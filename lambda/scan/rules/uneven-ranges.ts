import { Alphabet, type ListedNames, noteCut, type SplitPoint, splitPoint } from './alphabet.ts';
import { type KeyRange, pageKeysMax } from './key-space.ts';

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

/** The pages of a scan that wait to be requested, in this order, and those that were requested and are awaited. */
export class OpenTasks {
  readonly #concurrency: number;
  readonly #waiting: PageTask[] = [];
  readonly #running = new Set<PageTask>();

  /** @param concurrency requests at a time, at most. */
  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** The next page to request. undefined: none can be requested now. */
  take(): PageTask | undefined {
    if (this.#running.size >= this.#concurrency) return undefined;
    const task = this.#waiting.shift();
    if (task !== undefined) this.#running.add(task);
    return task;
  }

  add(task: PageTask): void {
    this.#waiting.push(task);
  }

  /** The page was received. */
  end(task: PageTask): void {
    this.#running.delete(task);
  }

  /** The page was not received: it is the next to request. */
  putBack(task: PageTask): void {
    this.#running.delete(task);
    this.#waiting.unshift(task);
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  get isEmpty(): boolean {
    return this.#waiting.length + this.#running.size === 0;
  }

  /** Requests that may be added to those that run or wait. */
  get idle(): number {
    return this.#concurrency - this.#running.size - this.#waiting.length;
  }

  /** The ranges that are not listed yet. */
  ranges(): OpenRange[] {
    return [...this.#running, ...this.#waiting].map((task) => task.range);
  }

  /** Ranges of uneven names that cover more of the names that are possible. */
  widerThan(span: number): number {
    let wider = 0;
    for (const tasks of [this.#running, this.#waiting])
      for (const task of tasks) if ((task.span ?? 0) > span) wider += 1;
    return wider;
  }
}

/** Cuts that are allowed for each full page, of the first pages and of those after them. */
const cutsPerPage = 0.25;
const firstPages = 100;
const cutsPerLaterPage = 0.1;
/** Cuts that are allowed in addition. The first cut comes after two full pages. */
const cutsAtFirst = 0.5;

/**
 * How many cuts a scan may make where nothing tells how many names there are. Each costs at most one request: the last
 * page of the part before it is not full, or the part after it is empty. So requests stay in proportion to pages,
 * whatever the names are.
 */
export class CutBudget {
  #pages = 0;
  #cuts = 0;

  /** Notes a page after which the range goes on. */
  addFullPage(): void {
    this.#pages += 1;
  }

  /** Notes cuts, or requests that cost as much. */
  spend(cuts: number): void {
    this.#cuts += cuts;
  }

  /** How many cuts may be made now. Not above 0: none. */
  get room(): number {
    const early = Math.min(this.#pages, firstPages);
    const allowed = cutsAtFirst + cutsPerPage * early + cutsPerLaterPage * (this.#pages - early);
    return Math.floor(allowed - this.#cuts);
  }
}

/**
 * The ranges of a scan whose names are not spread evenly, so that positions do not tell how many keys they hold. They
 * are cut where the names of the pages so far make names on both sides likely: the widest range first, and only as
 * often as the budget allows.
 */
export class UnevenRanges {
  readonly #tasks: OpenTasks;
  readonly #alphabet = new Alphabet();
  readonly #budget = new CutBudget();
  #found = false;

  /** @param tasks of the scan. New ones are added to them. */
  constructor(tasks: OpenTasks) {
    this.#tasks = tasks;
  }

  /** True once the scan met uneven names. */
  get found(): boolean {
    return this.#found;
  }

  /** Notes that a scan before this one met them. */
  noteFound(): void {
    this.#found = true;
  }

  /** Notes a page, of even or uneven names. */
  notePage({ range, cut }: PageTask, { keyCount, rest, names }: PageResult): void {
    if (rest !== undefined && keyCount > 0) this.#budget.addFullPage();
    if (range.isUneven && cut) noteCut(this.#alphabet, cut, names?.count ? names.at(0) : undefined);
  }

  /** Notes requests that a cut elsewhere may cost. */
  spend(requests: number): void {
    this.#budget.spend(requests);
  }

  /** Continues a range after one of its pages, or cuts it. */
  follow(task: PageTask, rest: OpenRange, names: ListedNames): void {
    this.#alphabet.note(names);
    const { folder: _, ...range } = rest;
    const [first, after] = [names.at(0), names.at(names.count - 1)];
    this.#addCut({ range, ...(task.level !== undefined && { level: task.level }) }, { first, after });
  }

  /** What comes after a folder of hashes. Nothing is known of it but the folder's own name. */
  followBeyond(range: OpenRange, names: ListedNames): void {
    this.#alphabet.note(names);
    const folder = (range.after ?? '').slice(0, -1);
    this.#addCut({ range, level: [...folder].length }, { first: `${folder}/`, after: range.after ?? '' });
  }

  #addCut(open: Pick<PageTask, 'range' | 'level'>, page: { first: string; after: string }): void {
    const { range, ...level } = open;
    const span = this.#alphabet.span(page.after, range.last);
    const mayCut = this.#tasks.idle > 1 && this.#budget.room > this.#tasks.widerThan(span);
    const cut = mayCut ? splitPoint(this.#alphabet, { ...page, last: range.last, ...level }) : undefined;
    if (cut === undefined) {
      // If the widest range cannot be cut, the others may.
      this.#add({ ...open, span: mayCut ? 0 : span });
      return;
    }
    this.#budget.spend(1);
    this.#add({
      range: { ...range, last: cut.name },
      ...level,
      span: this.#alphabet.span(page.after, cut.name),
    });
    this.#add({
      range: { ...range, after: cut.name },
      level: cut.level,
      cut,
      span: this.#alphabet.span(cut.name, range.last),
    });
  }

  #add({ range, ...cut }: Pick<PageTask, 'range' | 'level' | 'cut' | 'span'>): void {
    this.#found = true;
    this.#tasks.add({ range: { ...range, isUneven: true }, pages: 1, keysMax: pageKeysMax, ...cut });
  }
}
