import { randomUUID } from 'node:crypto';
import { forEachLimited } from '../../lambda/core/rules/async.ts';
import { type Clock, causeOf, type Invocations, type Log } from '../../lambda/core/rules/clock-and-log.ts';
import type { Consumer } from '../../lambda/core/rules/jobs.ts';
import type { GaugedQueue, QueueGauge } from '../../lambda/frame/gauges/rules/gauges.ts';
import type { Job, Kept } from './kept.ts';
import { settledWithin, type Timers } from './schedule.ts';

export interface TenantMessage {
  readonly tenant: string;
}

/** How a queue differs from others. */
export interface QueueSpec<M> {
  readonly name: GaugedQueue;
  /** Runs at a time. */
  readonly atOnce: number;
  /** Jobs that wait, at most. Beyond that the oldest is dropped. */
  readonly waitingMax: number;
  /** Deliveries of a job, at most. */
  readonly attemptsMax: number;
  /** Jobs of one id wait as one, and run one after the other. Default: none is alike. */
  readonly idOf?: (message: M) => string;
  /** Default: the older one, which need not wait any more. */
  readonly merge?: (older: Job<M>, newer: Job<M>) => Job<M>;
  /** When to deliver a job. `lastBegunAtMs` is the start of the last one with its id. */
  readonly dueAtMs?: (job: Job<M>, lastBegunAtMs: number) => number;
  /** From a failure to the next delivery. Default: what the step asks for. */
  readonly retryMs?: (failures: number) => number;
  /** The same, while nothing can be written: then a failure isn't the job's. */
  readonly fullDiskRetryMs?: number;
  /** Whether what was written down has to be written again, as one that is to be done now is more than that. */
  readonly isMore?: (now: M, written: M) => boolean;
  /** Where a job is until it's done, so that a stop or a kill loses none. Default: in memory alone. */
  readonly kept?: Kept<M>;
  /** Where one goes that failed too often, the last of its id. Default: it's dropped. */
  readonly dead?: Kept<M>;
}

/** What the pumps of a process have in common. */
export interface Around {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly invocations: Invocations;
  readonly isWritable?: (() => boolean) | undefined;
}

/** The jobs of one id: at most one runs, and at most one more waits. */
interface Lane<M> {
  readonly id: string;
  waiting: Job<M> | undefined;
  running: Job<M> | undefined;
  lastBegunAtMs: number;
  cancelTimer: () => void;
  /** What was written down. It may ask for more than is pending, never for less. undefined: it is to be written again. */
  saved: Job<M> | undefined;
  /** The last write; the next one waits for it. Never rejects. */
  disk: Promise<unknown>;
}

/** A delivery that takes longer counts as failed. */
const timeLimitMs = 15 * 60_000;
/** From a failure to the next delivery, or write, if nothing else is asked for. */
const usualRetryMs = 60_000;
const writesAtOnce = 16;
/** Dead letters that the status names. */
const namedMax = 10;

const namesOf = (ids: ReadonlySet<string>) =>
  [...ids].slice(0, namedMax).join(', ') + (ids.size > namedMax ? ', …' : '');

/**
 * A queue, and what delivers its jobs. One that is kept is in the table before its promise resolves. It stays there until a
 * delivery that began after it has succeeded. One process delivers, so what is due, and runs, is known here alone.
 */
export class Pump<M extends TenantMessage> {
  readonly #spec: QueueSpec<M>;
  readonly #around: Around;
  readonly #lanes = new Map<string, Lane<M>>();
  /** Those with a job that waits, the oldest first. */
  readonly #waiting = new Set<Lane<M>>();
  /** Those that are due, and wait for a free place among the running ones. */
  readonly #due = new Set<Lane<M>>();
  readonly #running = new Set<Promise<void>>();
  /** Ids of dead letters. */
  readonly #dead = new Set<string>();
  #consumer: Consumer | undefined;
  #isClosed = false;
  /** Closed and not waiting any more: another process may deliver now. */
  #isAbandoned = false;

  constructor(spec: QueueSpec<M>, around: Around) {
    this.#spec = spec;
    this.#around = around;
  }

  /** How full it is. A job that waits while another one of its id runs is one of each. */
  get gauge(): QueueGauge {
    const { name: queue, dead } = this.#spec;
    return {
      queue,
      read: async () => {
        const times = [...this.#waiting].flatMap(({ waiting }) => waiting?.firstAtMs ?? []);
        return {
          waiting: this.#waiting.size,
          running: this.#running.size,
          oldestAtMs: dead && times.length > 0 ? Math.min(...times) : null,
          deadLetters: dead ? this.#dead.size : null,
          deadLettersAt: this.#dead.size === 0 ? null : namesOf(this.#dead),
        };
      },
    };
  }

  /** @throws {StorageFullError} */
  async send(messages: readonly M[]): Promise<void> {
    const correlationId = causeOf(this.#around.invocations.current());
    await forEachLimited(messages, writesAtOnce, (message) => this.take({ message, correlationId }));
  }

  /** The same, of a job that was sent elsewhere. */
  async take(
    sent: Pick<Job<M>, 'message'> & Partial<Pick<Job<M>, 'messageId' | 'correlationId'>>,
  ): Promise<void> {
    const nowMs = this.#around.clock.nowMs();
    const messageId = sent.messageId ?? randomUUID();
    const job = { ...sent, messageId, firstAtMs: nowMs, lastAtMs: nowMs, failures: 0, notBeforeMs: 0 };
    const lane = this.#lane(this.#spec.idOf?.(job.message) ?? messageId);
    this.#wait(lane, lane.waiting, job);
    const [oldest] = this.#waiting;
    if (oldest && this.#waiting.size > this.#spec.waitingMax) this.#drop(oldest);
    this.#arm(lane);
    await this.#save(lane);
  }

  /** Begins to deliver, also what an earlier process has left. */
  async deliverTo(consumer: Consumer): Promise<void> {
    const { kept, dead } = this.#spec;
    const nowMs = this.#around.clock.nowMs();
    for (const { id } of (await dead?.load(nowMs)) ?? []) this.#dead.add(id);
    for (const { id, job } of (await kept?.load(nowMs)) ?? []) {
      const lane = this.#lane(id);
      lane.saved = job;
      this.#wait(lane, job, lane.waiting);
    }
    this.#consumer = consumer;
    for (const lane of this.#waiting) this.#arm(lane);
  }

  /** Delivers no more. Waits for what runs, at most `graceMs`. What is kept and not done is delivered by the next start. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    this.#due.clear();
    for (const lane of this.#lanes.values()) lane.cancelTimer();
    await settledWithin(this.#around.timers, { work: Promise.all(this.#running), graceMs });
    this.#isAbandoned = true;
    await Promise.all([...this.#lanes.values()].map((lane) => lane.disk));
  }

  #lane(id: string): Lane<M> {
    const lane: Lane<M> = this.#lanes.get(id) ?? {
      id,
      waiting: undefined,
      running: undefined,
      saved: undefined,
      lastBegunAtMs: Number.NEGATIVE_INFINITY,
      cancelTimer: () => {},
      disk: Promise.resolve(),
    };
    this.#lanes.set(id, lane);
    return lane;
  }

  #wait(lane: Lane<M>, older: Job<M> | undefined, newer: Job<M> | undefined): void {
    lane.waiting = older && newer ? this.#merged(older, newer) : (older ?? newer);
    this.#waiting.add(lane);
  }

  #merged(older: Job<M>, newer: Job<M>): Job<M> {
    return this.#spec.merge?.(older, newer) ?? { ...older, notBeforeMs: newer.notBeforeMs };
  }

  #drop(lane: Lane<M>): void {
    lane.cancelTimer();
    lane.waiting = undefined;
    this.#waiting.delete(lane);
    this.#due.delete(lane);
    void this.#settle(lane);
  }

  #arm(lane: Lane<M>): void {
    const { clock, timers } = this.#around;
    if (this.#isClosed || this.#consumer === undefined || lane.running || !lane.waiting) return;
    lane.cancelTimer();
    const { dueAtMs } = this.#spec;
    const dueMs = dueAtMs?.(lane.waiting, lane.lastBegunAtMs) ?? lane.waiting.notBeforeMs;
    const waitMs = dueMs - clock.nowMs();
    const begin = () => {
      this.#due.add(lane);
      this.#startDue();
    };
    if (waitMs <= 0) begin();
    else lane.cancelTimer = timers.after(waitMs, begin);
  }

  #startDue(): void {
    for (const lane of this.#due) {
      if (this.#running.size >= this.#spec.atOnce) return;
      this.#due.delete(lane);
      const job = lane.waiting;
      if (job === undefined || lane.running || this.#isClosed) continue;
      lane.running = job;
      lane.waiting = undefined;
      lane.lastBegunAtMs = this.#around.clock.nowMs();
      this.#waiting.delete(lane);
      const { messageId, correlationId } = job;
      // The timer may have been set during another invocation, so this one gets its own.
      const { invocations } = this.#around;
      const attempt = invocations.during({ messageId, correlationId }, () => this.#attempt(lane, job));
      const run: Promise<void> = attempt.finally(() => {
        this.#running.delete(run);
        this.#startDue();
      });
      this.#running.add(run);
    }
  }

  /** Never rejects. */
  async #attempt(lane: Lane<M>, job: Job<M>): Promise<void> {
    const { isDone, againMs } = await this.#deliver(job);
    if (this.#isAbandoned) return;
    lane.running = undefined;
    if (!isDone) await this.#putBack(lane, job, againMs);
    await this.#settle(lane, isDone);
    this.#arm(lane);
  }

  async #deliver(job: Job<M>): Promise<{ isDone: boolean; againMs?: number | undefined }> {
    const { message, messageId, correlationId, failures } = job;
    let againMs: number | undefined;
    let cancelLimit = () => {};
    const limit = new Promise<never>((_, reject) => {
      const tooLong = () => reject(new Error('It took too long.'));
      cancelLimit = this.#around.timers.after(timeLimitMs, tooLong);
    });
    try {
      const run = this.#consumer?.({
        body: JSON.stringify({ ...message, correlationId }),
        messageId,
        receiveCount: failures + 1,
        leftMs: timeLimitMs,
        again: async (delayMs) => {
          againMs = delayMs;
        },
      });
      return { isDone: (await Promise.race([run, limit])) === true, againMs };
    } catch (error) {
      const { tenant } = message;
      const { name: queue } = this.#spec;
      this.#around.log.error('job failed', { queue, tenant, messageId, failures: failures + 1, error });
      return { isDone: false };
    } finally {
      cancelLimit();
    }
  }

  /** After a failure: retried later, or moved to the dead letters. What came meanwhile stays pending. */
  async #putBack(lane: Lane<M>, job: Job<M>, againMs = usualRetryMs): Promise<void> {
    const { name: queue, dead, attemptsMax, retryMs, fullDiskRetryMs = againMs } = this.#spec;
    const { clock, log, isWritable } = this.#around;
    const nowMs = clock.nowMs();
    const waitFor = (delayMs: number, failures: number) =>
      this.#wait(lane, { ...job, failures, notBeforeMs: nowMs + delayMs }, lane.waiting);
    if (this.#spec.fullDiskRetryMs !== undefined && isWritable?.() === false)
      return waitFor(fullDiskRetryMs, job.failures);
    const failures = job.failures + 1;
    if (failures < attemptsMax) {
      // With the number of failures.
      lane.saved = undefined;
      return waitFor(retryMs?.(job.failures) ?? againMs, failures);
    }
    try {
      await dead?.put(lane.id, { ...job, failures });
    } catch (error) {
      log.error('dead letter not written', { queue, tenant: job.message.tenant, error });
      return waitFor(fullDiskRetryMs, job.failures);
    }
    if (dead) this.#dead.add(lane.id);
    log.error('job failed too often', { queue, tenant: job.message.tenant, failures });
  }

  /** Writes down what is pending, or tries again later. Never rejects. */
  async #settle(lane: Lane<M>, isDone = false): Promise<void> {
    try {
      if (isDone && this.#dead.has(lane.id)) {
        await this.#spec.dead?.remove(lane.id);
        this.#dead.delete(lane.id);
      }
      await this.#save(lane);
      if (!lane.waiting && !lane.running && !this.#spec.dueAtMs) this.#lanes.delete(lane.id);
    } catch (error) {
      // What is written still asks for at least what is pending.
      this.#around.log.error('queue not written', { queue: this.#spec.name, error });
      if (!lane.waiting && !this.#isClosed)
        lane.cancelTimer = this.#around.timers.after(usualRetryMs, () => void this.#settle(lane, isDone));
    }
  }

  /** Writes what is pending now. Rejects when it can't be written. */
  #save(lane: Lane<M>): Promise<void> {
    const { kept, isMore } = this.#spec;
    if (!kept) return Promise.resolve();
    const saving = lane.disk.then(async () => {
      const { running, waiting, saved } = lane;
      const pending = running && waiting ? this.#merged(running, waiting) : (running ?? waiting);
      if (pending && saved && !isMore?.(pending.message, saved.message)) return;
      lane.saved = pending;
      // If that throws, it may have been done all the same.
      await (pending ? kept.put(lane.id, pending) : kept.remove(lane.id)).catch((error) => {
        lane.saved = undefined;
        throw error;
      });
    });
    lane.disk = saving.catch(() => undefined);
    return saving;
  }
}
