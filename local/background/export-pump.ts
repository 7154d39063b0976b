import { randomUUID } from 'node:crypto';
import type { ExportJobs } from '../../lambda/adapters/dynamodb/export-jobs.ts';
import type { ExportMessage, ExportQueue } from '../../lambda/ports/export-queue.ts';
import type { Log } from '../../lambda/ports/log.ts';
import type { QueueGauge } from '../../lambda/ports/queue-gauges.ts';
import { Pump, type PumpConsumer } from './pump.ts';
import type { Timers } from './timers.ts';

/** Steps that run at a time. */
export const exportWorkers = 2;
/** From a step that failed to its next delivery. */
const retryMs = 3_000;
const timeLimitMs = 15 * 60_000;

/**
 * The queue of the steps of exports, in memory, and what delivers them. It needs no file: an export goes on from its
 * record and from what the store has, so after a start every export that is not done is asked for its next step.
 */
export class ExportPump implements ExportQueue {
  readonly #pump: Pump<ExportMessage>;

  constructor({ timers, log }: { timers: Timers; log: Log }) {
    this.#pump = new Pump({
      timers,
      queue: 'export',
      functionName: 'exportArchive',
      timeLimitMs,
      atOnce: exportWorkers,
      // As many as the exports under way have steps.
      waitingMax: Number.MAX_SAFE_INTEGER,
      idOf: ({ message }) => JSON.stringify(message),
      retryAfterMs: () => retryMs,
      onError: ({ message, messageId }, error) =>
        log.error('export step failed', { ...message, messageId, error }),
    });
  }

  get gauge(): QueueGauge {
    return this.#pump.gaugeAs('exports');
  }

  async send(messages: readonly ExportMessage[]): Promise<void> {
    for (const message of messages) this.#pump.add({ message, messageId: randomUUID(), failures: 0 });
  }

  /**
   * Begins to deliver, and asks for a step of each export that an earlier process has not finished. No other process has
   * this data folder, so whoever held a lease has died, and nobody need wait for its end.
   */
  async deliverTo(consumer: PumpConsumer, jobs: Pick<ExportJobs, 'listDue' | 'change'>): Promise<void> {
    for await (const page of jobs.listDue({ nowMs: Number.MAX_SAFE_INTEGER / 2 })) {
      for (const path of page)
        await jobs.change(path, (job) => (job.leaseUntilMs > 0 ? { ...job, leaseUntilMs: 0 } : undefined));
      await this.send(page.map((path) => ({ ...path, step: { kind: 'advance' } })));
    }
    // Not before: a step that ran already would lose its lease.
    this.#pump.deliverTo(consumer);
  }

  /** Delivers no more. Waits for running steps, at most `graceMs`. */
  close(graceMs: number): Promise<void> {
    return this.#pump.close(graceMs);
  }
}
