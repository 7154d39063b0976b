import type { Level, Write } from 'dynalite/db/index.js';

interface Waiting {
  readonly writes: readonly Write[];
  readonly settle: (error: Error | null) => void;
}

/**
 * Writes to LevelDB in the order of arrival: one batch at a time, which holds all that came during the one before.
 *
 * A write that failed may have left half a record in LevelDB's log. A record after it could be unreadable at the next
 * start, so after a failure nothing is written any more, until the database is opened again.
 */
export class WriteQueue {
  readonly #writeBatch: Level['batch'];
  #waiting: Waiting[] = [];
  #isWriting = false;
  #failure: Error | undefined;

  constructor(writeBatch: Level['batch']) {
    this.#writeBatch = writeBatch;
  }

  /** The error of the first write that failed. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Writes all of it or nothing, and calls back when LevelDB has it. */
  add(writes: readonly Write[], settle: (error: Error | null) => void): void {
    this.#waiting.push({ writes, settle });
    this.#next();
  }

  #next(): void {
    if (this.#isWriting || this.#waiting.length === 0) return;
    const group = this.#waiting;
    this.#waiting = [];
    this.#isWriting = true;
    const done = (error: Error | null) => {
      this.#isWriting = false;
      if (error) this.#failure ??= error;
      for (const { settle } of group) settle(error);
      this.#next();
    };
    if (this.#failure) {
      setImmediate(done, this.#failure);
      return;
    }
    const all = group.flatMap(({ writes }) => writes);
    if (all.length === 0) setImmediate(done, null);
    else this.#writeBatch(all, done);
  }
}
