import { randomUUID } from 'node:crypto';
import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { Log } from '../../lambda/ports/log.ts';
import type { Redelivery } from '../../lambda/ports/recount-queue.ts';
import type { WebhookMessage, WebhookQueue } from '../../lambda/ports/webhooks.ts';
import { lambdaContext } from '../lambda-context.ts';
import { messageEvent, receiptHandleOf } from './sqs-event.ts';
import { settledWithin, type Timers } from './timers.ts';

export type WebhookConsumer = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

/** Receivers that are waited for at a time. */
const sendersAtOnce = 4;
/** Messages that wait, at most. Beyond that the oldest is dropped. */
const waitingMax = 1000;
/** From a run that failed to its next delivery, unless the run says otherwise. */
const retryMs = 60_000;
/** Deliveries of a message, at most. */
const deliveriesMax = 20;
const timeLimitMs = 30_000;

interface Waiting {
  readonly message: WebhookMessage;
  readonly messageId: string;
  readonly failures: number;
}

/** The queue of what is to be sent to webhooks, in memory, and what delivers it. What waits is lost with the process. */
export class WebhookPump implements WebhookQueue, Redelivery {
  readonly #timers: Timers;
  readonly #log: Log;
  readonly #waiting: Waiting[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #cancels = new Set<() => void>();
  /** Message id → when it is to be delivered again. */
  readonly #delays = new Map<string, number>();
  #consumer: WebhookConsumer | undefined;
  #isClosed = false;

  constructor({ timers, log }: { timers: Timers; log: Log }) {
    this.#timers = timers;
    this.#log = log;
  }

  async send(messages: readonly WebhookMessage[]): Promise<void> {
    for (const message of messages) this.#add({ message, messageId: randomUUID(), failures: 0 });
  }

  async delay({ receiptHandle, delayMs }: { receiptHandle: string; delayMs: number }): Promise<void> {
    this.#delays.set(receiptHandle, delayMs);
  }

  deliverTo(consumer: WebhookConsumer): void {
    this.#consumer = consumer;
    this.#start();
  }

  /** Delivers no more. Waits for what is being sent, at most `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    for (const cancel of this.#cancels) cancel();
    await settledWithin(this.#timers, { work: Promise.all(this.#running), graceMs });
  }

  #add(waiting: Waiting): void {
    if (this.#isClosed) return;
    this.#waiting.push(waiting);
    if (this.#waiting.length > waitingMax) this.#waiting.shift();
    this.#start();
  }

  #start(): void {
    if (!this.#consumer || this.#isClosed) return;
    while (this.#running.size < sendersAtOnce) {
      const next = this.#waiting.shift();
      if (!next) return;
      const run: Promise<void> = this.#deliver(this.#consumer, next).finally(() => {
        this.#running.delete(run);
        this.#start();
      });
      this.#running.add(run);
    }
  }

  async #deliver(consumer: WebhookConsumer, waiting: Waiting): Promise<void> {
    const { messageId, message, failures } = waiting;
    const context = lambdaContext({ functionName: 'sendWebhook', timeLimitMs });
    try {
      const { batchItemFailures } = await consumer(
        messageEvent({ ...waiting, queue: 'webhook', body: message }),
        context,
      );
      if (batchItemFailures.length === 0) return;
    } catch (error) {
      this.#log.error('webhook not sent', { tenant: message.tenant, messageId, error });
    }
    const delayMs = this.#delays.get(receiptHandleOf(waiting)) ?? retryMs;
    this.#delays.delete(receiptHandleOf(waiting));
    if (failures + 1 >= deliveriesMax || this.#isClosed || this.#cancels.size >= waitingMax) return;
    const cancel = this.#timers.after(delayMs, () => {
      this.#cancels.delete(cancel);
      this.#add({ ...waiting, failures: failures + 1 });
    });
    this.#cancels.add(cancel);
  }
}
