import { createHash, randomUUID } from 'node:crypto';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecordAttributes } from 'aws-lambda';
import { type ReconcileRequest, urgencyOf } from '../../lambda/ledger/rules/reconcile-policy.ts';
import type { FunctionName } from '../../lambda/routes.ts';
import type { GaugedQueue, QueueGauge } from '../../lambda/status/rules/status.ts';
import { lambdaContext } from '../lambda-context.ts';
import { settledWithin, type Timers } from './schedule.ts';

/** A tenant's pending reconcile: all requests since the last reconcile began, merged. */
export interface QueueMessage extends ReconcileRequest {
  readonly messageId: string;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** Id of the request that asked for it, for the log. The first one if several were merged. */
  readonly correlationId: string | undefined;
  /** Somebody waits for this reconcile, so it does not wait for more requests. */
  readonly prompt: boolean;
  /** Number of deliveries that failed. */
  readonly failures: number;
  /** After a failure: earliest time of the next delivery. */
  readonly notBeforeMs: number;
}

export interface QueueTiming {
  /** A reconcile waits until no request came for this long … */
  readonly quietMs: number;
  /** … but at most this long after the first request. */
  readonly quietMaxMs: number;
  /** Shortest time between the starts of two reconciles of one tenant. */
  readonly spacingMs: number;
  /** Delay after the first failure. It doubles with each further failure. */
  readonly retryMs: number;
  /** Delay of a reconcile that failed because the disk is full, which is no failure of its own. */
  readonly fullDiskRetryMs: number;
  /** After this many failures a message becomes a dead letter. */
  readonly failuresMax: number;
  /** A delivery that takes longer counts as failed. */
  readonly timeLimitMs: number;
}

export const defaultQueueTiming: QueueTiming = {
  quietMs: 10_000,
  quietMaxMs: 20_000,
  spacingMs: 10_000,
  retryMs: 5_000,
  fullDiskRetryMs: 15_000,
  failuresMax: 6,
  timeLimitMs: 15 * 60_000,
};

/** The message for a request of a tenant without a waiting message. */
export function newMessage(
  request: ReconcileRequest,
  at: { nowMs: number; messageId: string; correlationId?: string | undefined },
): QueueMessage {
  return {
    tenant: request.tenant,
    reason: request.reason,
    full: request.full,
    messageId: at.messageId,
    firstAtMs: at.nowMs,
    lastAtMs: at.nowMs,
    prompt: urgencyOf(request.reason) === 'decision',
    failures: 0,
    notBeforeMs: 0,
    correlationId: at.correlationId,
  };
}

/** Merges two pending reconciles: full if either is full, and as urgent as the more urgent one. */
export function mergeMessages(older: QueueMessage, newer: QueueMessage): QueueMessage {
  return {
    tenant: older.tenant,
    messageId: older.messageId,
    correlationId: older.correlationId ?? newer.correlationId,
    reason: weightOf(older) > weightOf(newer) ? older.reason : newer.reason,
    full: older.full || newer.full,
    firstAtMs: older.firstAtMs,
    lastAtMs: newer.lastAtMs,
    prompt: older.prompt || newer.prompt,
    failures: Math.max(older.failures, newer.failures),
    notBeforeMs: Math.max(older.notBeforeMs, newer.notBeforeMs),
  };
}

/** A reconcile of the schedule is dropped if it is deferred, so a trigger counts for more. */
function weightOf({ prompt, reason }: QueueMessage): number {
  if (prompt) return 2;
  return reason === 'schedule' ? 0 : 1;
}

/** When to deliver a message. `lastBegunAtMs` is the start of the tenant's last reconcile. */
export function dueAtMs(message: QueueMessage, lastBegunAtMs: number, timing: QueueTiming): number {
  const quietAtMs = Math.min(message.lastAtMs + timing.quietMs, message.firstAtMs + timing.quietMaxMs);
  return Math.max(
    message.prompt ? message.firstAtMs : quietAtMs,
    lastBegunAtMs + timing.spacingMs,
    message.notBeforeMs,
  );
}

/** The message after one more failure. */
export function afterFailure(message: QueueMessage, nowMs: number, timing: QueueTiming): QueueMessage {
  const waitMs = timing.retryMs * 2 ** message.failures;
  return { ...message, failures: message.failures + 1, notBeforeMs: nowMs + waitMs };
}

/** The message after a failure that is the full disk's: it comes again, however often. */
export function afterFullDisk(message: QueueMessage, nowMs: number, timing: QueueTiming): QueueMessage {
  return { ...message, notBeforeMs: nowMs + timing.fullDiskRetryMs };
}

/** The event that SQS sends for one message of a FIFO queue. The message group is the tenant. */
export function toSqsEvent(message: QueueMessage): SQSEvent {
  const { tenant, reason, full, correlationId, messageId, firstAtMs, lastAtMs } = message;
  return messageEvent({
    ...message,
    queue: 'reconcile.fifo',
    body: { tenant, reason, full, correlationId },
    attributes: {
      SentTimestamp: String(firstAtMs),
      ApproximateFirstReceiveTimestamp: String(lastAtMs),
      SequenceNumber: String(firstAtMs),
      MessageGroupId: tenant,
      MessageDeduplicationId: messageId,
    },
  });
}

/** The event that SQS sends for one message. */
export function messageEvent(message: {
  queue: 'reconcile.fifo' | 'export' | 'chunk' | 'webhook' | 'email' | 'copy';
  messageId: string;
  body: unknown;
  /** Deliveries before this one. */
  failures: number;
  /** What a FIFO queue says besides. */
  attributes?: Partial<SQSRecordAttributes>;
}): SQSEvent {
  const now = String(Date.now());
  const body = JSON.stringify(message.body);
  return {
    Records: [
      {
        messageId: message.messageId,
        receiptHandle: receiptHandleOf(message),
        body,
        attributes: {
          ApproximateReceiveCount: String(message.failures + 1),
          SentTimestamp: now,
          ApproximateFirstReceiveTimestamp: now,
          SenderId: 'embedded',
          ...message.attributes,
        },
        messageAttributes: {},
        md5OfBody: createHash('md5').update(body).digest('hex'),
        eventSource: 'aws:sqs',
        eventSourceARN: `arn:aws:sqs:local:000000000000:${message.queue}`,
        awsRegion: 'local',
      },
    ],
  };
}

/** Each delivery of a message has its own. */
export function receiptHandleOf({ messageId, failures }: { messageId: string; failures: number }): string {
  return `${messageId}#${failures + 1}`;
}

/** It reports its one message as failed, or not (ReportBatchItemFailures). */
export type PumpConsumer = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

/** A message, and how often it was delivered before. */
export interface Delivery<M> {
  readonly message: M;
  readonly messageId: string;
  readonly failures: number;
}

interface PumpOptions<M> {
  readonly timers: Timers;
  readonly queue: 'export' | 'chunk' | 'webhook' | 'email' | 'copy';
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

  async send(messages: readonly M[]): Promise<void> {
    for (const message of messages) this.add({ message, messageId: randomUUID(), failures: 0 });
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
