import type { OpenRange, PageTask } from './page-task.ts';

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
