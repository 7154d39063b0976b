import { randomUUID } from 'node:crypto';
import type { CopyMessage, CopyQueue } from '../../lambda/downloads/rules/copies.ts';
import type { Log } from '../../lambda/rules/clock-and-log.ts';
import { Pump, type PumpConsumer } from './pump.ts';
import type { Timers } from './schedule.ts';

/** Objects that are copied at a time. */
const copiesAtOnce = 4;
/** Messages that wait, at most. Beyond that the oldest is dropped: whoever pulls its object again asks for it again. */
const waitingMax = 10_000;
/** From an attempt that failed to the next. */
const retryMs = 30_000;
const attemptsMax = 3;
const timeLimitMs = 15 * 60_000;

/** The queue of copies from git hosts, in memory, and what delivers them. A stop loses what waits. */
export class CopyPump implements CopyQueue {
  readonly isOn = true;
  readonly #pump: Pump<CopyMessage>;

  constructor({ timers, log }: { timers: Timers; log: Log }) {
    this.#pump = new Pump({
      timers,
      queue: 'copy',
      functionName: 'copyObject',
      timeLimitMs,
      atOnce: copiesAtOnce,
      waitingMax,
      idOf: ({ messageId }) => messageId,
      retryAfterMs: ({ failures }) => (failures + 1 < attemptsMax ? retryMs : undefined),
      // The message has secrets.
      onError: ({ message: { tenant, repo, oid } }, error) =>
        log.error('object not copied', { tenant, repo, oid, error }),
    });
  }

  async send(messages: readonly CopyMessage[]): Promise<void> {
    for (const message of messages) this.#pump.add({ message, messageId: randomUUID(), failures: 0 });
  }

  deliverTo(consumer: PumpConsumer): void {
    this.#pump.deliverTo(consumer);
  }

  /** Delivers no more. Waits for what runs, at most `graceMs`. */
  close(graceMs: number): Promise<void> {
    return this.#pump.close(graceMs);
  }
}
