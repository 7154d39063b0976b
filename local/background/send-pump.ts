import { randomUUID } from 'node:crypto';
import type { Redelivery } from '../../lambda/ledger/rules/reconcile-policy.ts';
import type { Log } from '../../lambda/rules/clock-and-log.ts';
import type { GaugedQueue, QueueGauge } from '../../lambda/status/rules/status.ts';
import { type Delivery, Pump, type PumpConsumer, receiptHandleOf } from './pump.ts';
import type { KeptMessages } from './queue-items.ts';
import type { Timers } from './schedule.ts';

/** Receivers that are waited for at a time. */
const sendersAtOnce = 4;
/** Messages that wait, at most. Beyond that the oldest is dropped. */
const waitingMax = 1000;
/** From a run that failed to its next delivery, unless the run says otherwise. */
const retryMs = 60_000;
/** Deliveries of a message, at most. */
const deliveriesMax = 20;
const timeLimitMs = 30_000;

/** What is to be sent to a tenant's receivers. */
export interface TenantMessage {
  readonly tenant: string;
}

/**
 * The queue of what is to be sent to webhooks, or by e-mail, and what delivers it. What is not done is kept in the table,
 * so a stop or a kill loses none of it: the next start delivers it, at once.
 */
export class SendPump<M extends TenantMessage> implements Redelivery {
  readonly #pump: Pump<M>;
  readonly #kept: KeptMessages<M>;
  readonly #gauged: GaugedQueue;
  readonly #log: Log;
  /** Receipt handle → when it is to be delivered again. */
  readonly #delays = new Map<string, number>();
  /** The last write of it; the next one waits for it. Never rejects. */
  #disk: Promise<unknown> = Promise.resolve();
  #isClosing = false;
  #isClosed = false;

  constructor(input: {
    timers: Timers;
    log: Log;
    kept: KeptMessages<M>;
    sender: 'sendWebhook' | 'sendEmail';
  }) {
    const { timers, log, kept, sender } = input;
    this.#kept = kept;
    this.#log = log;
    this.#gauged = sender === 'sendWebhook' ? 'webhooks' : 'emails';
    this.#pump = new Pump({
      timers,
      queue: sender === 'sendWebhook' ? 'webhook' : 'email',
      functionName: sender,
      timeLimitMs,
      atOnce: sendersAtOnce,
      waitingMax,
      idOf: ({ messageId }) => messageId,
      retryAfterMs: (failed) => this.#retryAfterMs(failed),
      onError: ({ message: { tenant }, messageId }, error) =>
        log.error('message not sent', { queue: this.#gauged, tenant, messageId, error }),
      onEnded: () => void this.#save().catch(() => undefined),
    });
  }

  get gauge(): QueueGauge {
    return this.#pump.gaugeAs(this.#gauged);
  }

  /** Once it resolves, a kill loses nothing of it. @throws {StorageFullError} @throws while it is being closed. */
  send(messages: readonly M[]): Promise<void> {
    return this.accept(messages.map((message) => ({ message, messageId: randomUUID() })));
  }

  /** The same, of messages with ids: one that waits already is not queued twice. */
  async accept(messages: readonly Omit<Delivery<M>, 'failures'>[]): Promise<void> {
    // Who sends keeps it, and tries again after the next start.
    if (this.#isClosing) throw new Error('The stack is being stopped.');
    for (const message of messages) this.#pump.add({ ...message, failures: 0 });
    if (messages.length > 0) await this.#save();
  }

  async delay({ receiptHandle, delayMs }: { receiptHandle: string; delayMs: number }): Promise<void> {
    this.#delays.set(receiptHandle, delayMs);
  }

  /** Begins to deliver, also what an earlier process has left. */
  async deliverTo(consumer: PumpConsumer): Promise<void> {
    for (const delivery of await this.#kept.load()) this.#pump.add(delivery);
    this.#pump.deliverTo(consumer);
  }

  /** Delivers no more. Waits for what is being sent, at most `graceMs`. What is not done is delivered by the next start. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    await this.#pump.close(graceMs);
    const saved = this.#save().catch(() => undefined);
    // Another process may hold the data folder soon.
    this.#isClosed = true;
    await saved;
  }

  #retryAfterMs(failed: Delivery<M>): number | undefined {
    const handle = receiptHandleOf(failed);
    const delayMs = this.#delays.get(handle) ?? retryMs;
    this.#delays.delete(handle);
    const isGivenUp = failed.failures + 1 >= deliveriesMax || this.#pump.pending.length >= 2 * waitingMax;
    return isGivenUp ? undefined : delayMs;
  }

  /** Writes down what is not done now. */
  #save(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const saving = this.#disk.then(() => this.#kept.save(this.#pump.pending));
    this.#disk = saving.catch((error) =>
      this.#log.error('messages not written down', { queue: this.#gauged, error }),
    );
    return saving;
  }
}
