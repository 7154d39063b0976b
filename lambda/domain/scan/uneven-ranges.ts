import { Alphabet, type ListedNames } from './alphabet.ts';
import { CutBudget } from './cut-budget.ts';
import type { OpenTasks } from './open-tasks.ts';
import { pageKeysMax } from './page-size.ts';
import type { OpenRange, PageResult, PageTask } from './page-task.ts';
import { noteCut, splitPoint } from './split-point.ts';

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
