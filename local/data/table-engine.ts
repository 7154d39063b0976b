import { explainFullDisk } from '../explain-full-disk.ts';
import { isDiskFull } from '../system/disk-full.ts';
import type { Answer, OpenTables } from './open-tables.ts';

export interface TableEngineOptions {
  /** Opens the database. Called again after a write failed. */
  readonly open: () => Promise<OpenTables>;
  /** Rejects while there is too little space to open it. */
  readonly probe: () => Promise<void>;
  readonly nowMs?: () => number;
}

/** Least time between two attempts to open the database again. */
const reopenPauseMs = 1000;

const reads = new Set(['GetItem', 'BatchGetItem', 'Query', 'Scan', 'DescribeTable']);

/**
 * The tables, through failures of their disk. After a failed write the database must be opened again before the next
 * one. A request that writes does that, if there is space again; meanwhile requests that write are refused, and those
 * that read are answered. While the database is being opened, requests wait: some milliseconds, as a rule.
 */
export class TableEngine {
  readonly #options: TableEngineOptions;
  readonly #running = new Set<Promise<unknown>>();
  /** Undefined if it could not be opened again. */
  #tables: OpenTables | undefined;
  #openFailure: unknown;
  #reopening: Promise<void> | undefined;
  #nextAttemptMs = Number.NEGATIVE_INFINITY;
  #closed = false;

  private constructor(options: TableEngineOptions, tables: OpenTables) {
    this.#options = options;
    this.#tables = tables;
  }

  /** @throws what `open` throws. */
  static async start(options: TableEngineOptions): Promise<TableEngine> {
    return new TableEngine(options, await options.open());
  }

  /** Whether writes fail now because the disk is full. */
  get isDiskFull(): boolean {
    return isDiskFull(this.#failure);
  }

  get #failure(): unknown {
    return this.#tables === undefined ? this.#openFailure : this.#tables.failure;
  }

  /**
   * @throws {StorageFullError} when the disk is full.
   * @throws when the database failed for another reason. A write may or may not have happened.
   */
  async run(operation: string, input: unknown): Promise<Answer> {
    for (;;) {
      const tables = this.#usable(operation);
      if (tables !== undefined) return await this.#perform(tables, operation, input);
      await this.#reopening;
    }
  }

  /** Waits for running requests. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#reopening;
    await Promise.all(this.#running);
    await this.#tables?.close();
  }

  /** @returns undefined while the database is being opened. */
  #usable(operation: string): OpenTables | undefined {
    if (this.#closed) throw new Error('The database is closed.');
    if (this.#reopening !== undefined) return undefined;
    const tables = this.#tables;
    if (tables !== undefined && (tables.failure === undefined || reads.has(operation))) return tables;
    if (this.#nowMs() < this.#nextAttemptMs) throw described(this.#failure);
    this.#reopening = this.#reopen().finally(() => {
      this.#reopening = undefined;
      this.#nextAttemptMs = this.#nowMs() + reopenPauseMs;
    });
    return undefined;
  }

  async #perform(tables: OpenTables, operation: string, input: unknown): Promise<Answer> {
    const answer = tables.perform(operation, input);
    const ended: Promise<unknown> = answer
      .catch(() => undefined)
      .finally(() => {
        this.#running.delete(ended);
      });
    this.#running.add(ended);
    try {
      return await answer;
    } catch (error) {
      throw described(error);
    }
  }

  /** Never rejects. */
  async #reopen(): Promise<void> {
    try {
      await this.#options.probe();
      await Promise.all(this.#running);
      const tables = this.#tables;
      this.#tables = undefined;
      await tables?.close();
      this.#tables = await this.#options.open();
    } catch (error) {
      this.#openFailure = error;
    }
  }

  #nowMs(): number {
    return this.#options.nowMs?.() ?? performance.now();
  }
}

function described(error: unknown): unknown {
  return explainFullDisk(new Error('The database failed.', { cause: error }));
}
