import { randomUUID } from 'node:crypto';
import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { ExportJobs } from '../../lambda/ports/export-jobs.ts';
import type { ExportMessage, ExportQueue } from '../../lambda/ports/export-queue.ts';
import type { Log } from '../../lambda/ports/log.ts';
import { lambdaContext } from '../lambda-context.ts';
import { messageEvent } from './sqs-event.ts';
import { settledWithin, type Timers } from './timers.ts';

export type ExportConsumer = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

/** Steps that run at a time. */
export const exportWorkers = 2;
/** From a step that failed to its next delivery. */
const retryMs = 3_000;
const timeLimitMs = 15 * 60_000;

interface Pending {
  readonly message: ExportMessage;
  readonly messageId: string;
  failures: number;
}

/**
 * The queue of the steps of exports, in memory, and what delivers them. It needs no file: an export goes on from its
 * record and from what the store has, so after a start every export that is not done is asked for its next step.
 */
export class ExportPump implements ExportQueue {
  readonly #timers: Timers;
  readonly #log: Log;
  /** By content, so that what is pending already is not queued twice. */
  readonly #pending = new Map<string, Pending>();
  readonly #running = new Set<Promise<void>>();
  readonly #cancels = new Set<() => void>();
  #consumer: ExportConsumer | undefined;
  #isClosed = false;

  constructor({ timers, log }: { timers: Timers; log: Log }) {
    this.#timers = timers;
    this.#log = log;
  }

  async send(messages: readonly ExportMessage[]): Promise<void> {
    for (const message of messages) this.#add({ message, messageId: randomUUID(), failures: 0 });
  }

  /**
   * Begins to deliver, and asks for a step of each export that an earlier process has not finished. No other process has
   * this data folder, so whoever held a lease has died, and nobody need wait for its end.
   */
  async deliverTo(consumer: ExportConsumer, jobs: Pick<ExportJobs, 'listDue' | 'change'>): Promise<void> {
    for await (const page of jobs.listDue({ nowMs: Number.MAX_SAFE_INTEGER / 2 })) {
      for (const path of page)
        await jobs.change(path, (job) => (job.leaseUntilMs > 0 ? { ...job, leaseUntilMs: 0 } : undefined));
      await this.send(page.map((path) => ({ ...path, step: { kind: 'advance' } })));
    }
    // Not before: a step that ran already would lose its lease.
    this.#consumer = consumer;
    this.#start();
  }

  /** Delivers no more. Waits for running steps, at most `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    for (const cancel of this.#cancels) cancel();
    await settledWithin(this.#timers, { work: Promise.all(this.#running), graceMs });
  }

  #add(pending: Pending): void {
    const id = JSON.stringify(pending.message);
    if (this.#isClosed || this.#pending.has(id)) return;
    this.#pending.set(id, pending);
    this.#start();
  }

  #start(): void {
    if (!this.#consumer || this.#isClosed) return;
    for (const [id, pending] of this.#pending) {
      if (this.#running.size >= exportWorkers) return;
      this.#pending.delete(id);
      const run: Promise<void> = this.#deliver(this.#consumer, pending).finally(() => {
        this.#running.delete(run);
        this.#start();
      });
      this.#running.add(run);
    }
  }

  async #deliver(consumer: ExportConsumer, pending: Pending): Promise<void> {
    const { messageId, message } = pending;
    try {
      const context = lambdaContext({ functionName: 'exportArchive', timeLimitMs });
      const { batchItemFailures } = await consumer(
        messageEvent({ ...pending, queue: 'export', body: message }),
        context,
      );
      if (batchItemFailures.length === 0) return;
    } catch (error) {
      this.#log.error('export step failed', { ...message, messageId, error });
    }
    const again = { ...pending, failures: pending.failures + 1 };
    const cancel = this.#timers.after(retryMs, () => {
      this.#cancels.delete(cancel);
      this.#add(again);
    });
    this.#cancels.add(cancel);
  }
}
