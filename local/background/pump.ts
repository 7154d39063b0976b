import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { GaugedQueue, QueueGauge } from '../../lambda/ports/queue-gauges.ts';
import type { FunctionName } from '../../lambda/routes.ts';
import { lambdaContext } from '../lambda-context.ts';
import { messageEvent } from './sqs-event.ts';
import { settledWithin, type Timers } from './timers.ts';

export type PumpConsumer = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

/** A message, and how often it was delivered before. */
export interface Delivery<M> {
  readonly message: M;
  readonly messageId: string;
  readonly failures: number;
}

export interface PumpOptions<M> {
  readonly timers: Timers;
  readonly queue: 'export' | 'webhook';
  readonly functionName: FunctionName;
  readonly timeLimitMs: number;
  /** Runs at a time. */
  readonly atOnce: number;
  /** Messages that wait, at most. Beyond that the oldest is dropped. */
  readonly waitingMax: number;
  /** What waits already under the same id is not queued twice. */
  readonly idOf: (delivery: Delivery<M>) => string;
  /** When a delivery that failed is repeated. undefined: never. */
  readonly retryAfterMs: (failed: Delivery<M>) => number | undefined;
  /** A run threw. */
  readonly onError: (failed: Delivery<M>, error: unknown) => void;
  /** A delivery has ended, for good or until it is repeated. */
  readonly onEnded?: () => void;
}

/** Something that waits for its next delivery. */
interface Retry<M> {
  readonly delivery: Delivery<M>;
  readonly cancel: () => void;
}

/** A queue without order, in memory, and what delivers it: several messages at a time, each until its run succeeds. */
export class Pump<M> {
  readonly #options: PumpOptions<M>;
  readonly #waiting = new Map<string, Delivery<M>>();
  readonly #running = new Map<Promise<void>, Delivery<M>>();
  readonly #retries = new Set<Retry<M>>();
  #consumer: PumpConsumer | undefined;
  #isClosed = false;

  constructor(options: PumpOptions<M>) {
    this.#options = options;
  }

  /** All that is not done: also what runs. */
  get pending(): readonly Delivery<M>[] {
    const retried = [...this.#retries].map(({ delivery }) => delivery);
    return [...this.#running.values(), ...retried, ...this.#waiting.values()];
  }

  /** How full it is. What fails too often is logged and dropped. */
  gaugeAs(queue: GaugedQueue): QueueGauge {
    return {
      queue,
      read: async () => ({
        waiting: this.#waiting.size + this.#retries.size,
        running: this.#running.size,
        oldestAtMs: null,
        deadLetters: null,
        deadLettersAt: null,
      }),
    };
  }

  add(delivery: Delivery<M>): void {
    const { idOf, waitingMax } = this.#options;
    const id = idOf(delivery);
    if (this.#isClosed || this.#waiting.has(id)) return;
    this.#waiting.set(id, delivery);
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > waitingMax && oldest !== undefined) this.#waiting.delete(oldest);
    this.#start();
  }

  /** Adds a message that failed before, once its time has come. */
  addLater(delivery: Delivery<M>, delayMs: number): void {
    if (this.#isClosed) return;
    const cancel = this.#options.timers.after(delayMs, () => {
      this.#retries.delete(retry);
      this.add(delivery);
    });
    const retry: Retry<M> = { delivery, cancel };
    this.#retries.add(retry);
  }

  deliverTo(consumer: PumpConsumer): void {
    this.#consumer = consumer;
    this.#start();
  }

  /** Delivers no more. Waits for what runs, at most `graceMs`. What is not done then stays {@link pending}. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    for (const { cancel } of this.#retries) cancel();
    const work = Promise.all(this.#running.keys());
    await settledWithin(this.#options.timers, { work, graceMs });
  }

  #start(): void {
    if (!this.#consumer || this.#isClosed) return;
    for (const [id, delivery] of this.#waiting) {
      if (this.#running.size >= this.#options.atOnce) return;
      this.#waiting.delete(id);
      const run: Promise<void> = this.#deliver(this.#consumer, delivery).then((isDone) => {
        this.#running.delete(run);
        if (!isDone) this.#repeat(delivery);
        this.#options.onEnded?.();
        this.#start();
      });
      this.#running.set(run, delivery);
    }
  }

  /** Never rejects. @returns whether its run succeeded. */
  async #deliver(consumer: PumpConsumer, delivery: Delivery<M>): Promise<boolean> {
    const { queue, functionName, timeLimitMs, onError } = this.#options;
    try {
      const event = messageEvent({ ...delivery, queue, body: delivery.message });
      const { batchItemFailures } = await consumer(event, lambdaContext({ functionName, timeLimitMs }));
      return batchItemFailures.length === 0;
    } catch (error) {
      onError(delivery, error);
      return false;
    }
  }

  #repeat(failed: Delivery<M>): void {
    const delayMs = this.#options.retryAfterMs(failed);
    if (delayMs === undefined) return;
    const again = { ...failed, failures: failed.failures + 1 };
    if (this.#isClosed) this.#retries.add({ delivery: again, cancel: () => {} });
    else this.addLater(again, delayMs);
  }
}
