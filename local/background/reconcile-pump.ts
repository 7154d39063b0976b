import { randomUUID } from 'node:crypto';
import type { ReconcileQueue, ReconcileRequest } from '../../lambda/ledger/rules/reconcile-policy.ts';
import { type Clock, causeOf, type Invocations, type Log } from '../../lambda/rules/clock-and-log.ts';
import type { QueueGauge } from '../../lambda/status/rules/status.ts';
import { lambdaContext } from '../lambda-context.ts';
import {
  afterFailure,
  afterFullDisk,
  defaultQueueTiming,
  dueAtMs,
  mergeMessages,
  newMessage,
  type PumpConsumer,
  type QueueMessage,
  type QueueTiming,
  toSqsEvent,
} from './pump.ts';
import type { KeptReconciles } from './queue-items.ts';
import { settledWithin, type Timers } from './schedule.ts';

interface ReconcilePumpOptions {
  readonly kept: KeptReconciles;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly invocations: Invocations;
  readonly timing?: QueueTiming;
  /** While the table can't be written, a reconcile that fails is not given up. */
  readonly isWritable?: () => boolean;
  /** Most reconciles that run at a time, each of another tenant. */
  readonly concurrencyMax?: number;
}

/** Tenants that the status names. */
const namedMax = 10;

const namesOf = (tenants: ReadonlySet<string>) =>
  [...tenants].slice(0, namedMax).join(', ') + (tenants.size > namedMax ? ', …' : '');

/** One tenant's reconciles: at most one runs, and at most one more waits. */
interface Lane {
  readonly tenant: string;
  waiting: QueueMessage | undefined;
  running: QueueMessage | undefined;
  lastBegunAtMs: number;
  cancelTimer: () => void;
  /** The tenant's item. It may ask for more than is pending, never for less. */
  saved: QueueMessage | undefined;
  /** Write the item even if it asks for enough: it may be gone, and also holds the number of failures. */
  mustSave: boolean;
  /** The last write of the tenant's item; the next one waits for it. Never rejects. */
  disk: Promise<unknown>;
}

/**
 * The queue of reconciles, and what delivers them. A request is in the table before its promise resolves. It stays there
 * until a reconcile that began after it has succeeded, so a kill at any moment loses no request. One process has the table,
 * so what is due, and runs, is known here alone.
 */
export class ReconcilePump implements ReconcileQueue {
  readonly #options: ReconcilePumpOptions;
  readonly #timing: QueueTiming;
  readonly #lanes = new Map<string, Lane>();
  /** Tenants that have a dead letter. */
  readonly #dead = new Set<string>();
  /** Lanes that are due and wait for a free place among the running ones. */
  readonly #due = new Set<Lane>();
  readonly #running = new Set<Promise<void>>();
  #consumer: PumpConsumer | undefined;
  #closed = false;
  /** Closed and not waiting any more: another process may hold the data folder now. */
  #abandoned = false;

  constructor(options: ReconcilePumpOptions) {
    this.#options = options;
    this.#timing = options.timing ?? defaultQueueTiming;
  }

  /** How full it is. A tenant's reconcile that waits while another one runs is one of each. */
  get gauge(): QueueGauge {
    return {
      queue: 'reconciles',
      read: async () => {
        const lanes = [...this.#lanes.values()];
        const waiting = lanes.flatMap((lane) => lane.waiting ?? []);
        return {
          waiting: waiting.length,
          running: lanes.filter((lane) => lane.running).length,
          oldestAtMs: waiting.length === 0 ? null : Math.min(...waiting.map(({ firstAtMs }) => firstAtMs)),
          deadLetters: this.#dead.size,
          deadLettersAt: this.#dead.size === 0 ? null : namesOf(this.#dead),
        };
      },
    };
  }

  async request(request: ReconcileRequest): Promise<void> {
    const lane = this.#lane(request.tenant);
    const message = newMessage(request, {
      nowMs: this.#options.clock.nowMs(),
      messageId: randomUUID(),
      correlationId: causeOf(this.#options.invocations.current()),
    });
    lane.waiting = lane.waiting === undefined ? message : mergeMessages(lane.waiting, message);
    this.#arm(lane);
    await this.#save(lane);
  }

  async requestAll(requests: readonly ReconcileRequest[]): Promise<void> {
    for (const request of requests) await this.request(request);
  }

  /** Loads the messages of an earlier process, and starts to deliver. */
  async deliverTo(consumer: PumpConsumer): Promise<void> {
    const { waiting, dead } = await this.#options.kept.load(this.#options.clock.nowMs());
    for (const tenant of dead) this.#dead.add(tenant);
    for (const message of waiting) {
      const lane = this.#lane(message.tenant);
      lane.saved = message;
      lane.waiting = lane.waiting === undefined ? message : mergeMessages(message, lane.waiting);
    }
    this.#consumer = consumer;
    for (const lane of this.#lanes.values()) this.#arm(lane);
  }

  /** Stops delivering, and waits up to `graceMs` for running reconciles. Unfinished messages stay on disk. */
  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    this.#due.clear();
    for (const lane of this.#lanes.values()) lane.cancelTimer();
    await settledWithin(this.#options.timers, { work: Promise.all(this.#running), graceMs });
    this.#abandoned = true;
    await Promise.all([...this.#lanes.values()].map((lane) => lane.disk));
  }

  #lane(tenant: string): Lane {
    const known = this.#lanes.get(tenant);
    if (known) return known;
    const lane: Lane = {
      tenant,
      waiting: undefined,
      running: undefined,
      saved: undefined,
      mustSave: false,
      lastBegunAtMs: Number.NEGATIVE_INFINITY,
      cancelTimer: () => {},
      disk: Promise.resolve(),
    };
    this.#lanes.set(tenant, lane);
    return lane;
  }

  #arm(lane: Lane): void {
    lane.cancelTimer();
    if (this.#closed || this.#consumer === undefined || lane.running || !lane.waiting) return;
    const dueMs = dueAtMs(lane.waiting, lane.lastBegunAtMs, this.#timing);
    const waitMs = Math.max(0, dueMs - this.#options.clock.nowMs());
    lane.cancelTimer = this.#options.timers.after(waitMs, () => {
      this.#due.add(lane);
      this.#startDue();
    });
  }

  #startDue(): void {
    for (const lane of this.#due) {
      if (this.#running.size >= (this.#options.concurrencyMax ?? 4)) return;
      this.#due.delete(lane);
      const run: Promise<void> = this.#run(lane).finally(() => {
        this.#running.delete(run);
        this.#startDue();
      });
      this.#running.add(run);
    }
  }

  async #run(lane: Lane): Promise<void> {
    const message = lane.waiting;
    if (message === undefined || lane.running || this.#closed) return;
    lane.running = message;
    lane.waiting = undefined;
    lane.lastBegunAtMs = this.#options.clock.nowMs();
    const { messageId, correlationId } = message;
    // The timer may have been set during another invocation, so this one gets its own.
    const { invocations } = this.#options;
    await invocations.during({ messageId, correlationId }, () => this.#attempt(lane, message));
  }

  async #attempt(lane: Lane, message: QueueMessage): Promise<void> {
    const succeeded = await this.#deliver(message);
    if (this.#abandoned) return;
    lane.running = undefined;
    try {
      if (!succeeded) await this.#putBack(lane, message);
      else if (this.#dead.has(lane.tenant)) {
        await this.#options.kept.removeDead(lane.tenant);
        this.#dead.delete(lane.tenant);
      }
      await this.#save(lane);
    } catch (error) {
      // The item still asks for at least what is pending.
      this.#options.log.error('queue not written', { tenant: lane.tenant, error });
    }
    this.#arm(lane);
  }

  async #deliver(message: QueueMessage): Promise<boolean> {
    const { timeLimitMs } = this.#timing;
    let cancelLimit = () => {};
    const limit = new Promise<never>((_, reject) => {
      cancelLimit = this.#options.timers.after(timeLimitMs, () =>
        reject(new Error('The reconcile took too long.')),
      );
    });
    const context = lambdaContext({ functionName: 'reconcile', timeLimitMs });
    try {
      const delivery = this.#consumer?.(toSqsEvent(message), context);
      const answer = await Promise.race([delivery, limit]);
      return answer?.batchItemFailures.length === 0;
    } catch (error) {
      this.#options.log.error('reconcile failed', {
        tenant: message.tenant,
        failures: message.failures + 1,
        error,
      });
      return false;
    } finally {
      cancelLimit();
    }
  }

  /** After a failure: retried later, or moved to the dead letters. Requests that came meanwhile stay pending. */
  async #putBack(lane: Lane, message: QueueMessage): Promise<void> {
    const nowMs = this.#options.clock.nowMs();
    const wait = (again: QueueMessage) => {
      lane.waiting = lane.waiting === undefined ? again : mergeMessages(again, lane.waiting);
    };
    if (this.#options.isWritable?.() === false) {
      wait(afterFullDisk(message, nowMs, this.#timing));
      return;
    }
    const failed = afterFailure(message, nowMs, this.#timing);
    if (failed.failures < this.#timing.failuresMax) {
      wait(failed);
      lane.mustSave = true;
      return;
    }
    await this.#options.kept.saveDead(failed).catch((error: unknown) => {
      wait(afterFullDisk(message, nowMs, this.#timing));
      throw error;
    });
    this.#dead.add(lane.tenant);
    this.#options.log.error('reconcile failed too often: moved to the dead letters', {
      tenant: lane.tenant,
      failures: failed.failures,
    });
  }

  /** Writes what is pending now to the tenant's item. Rejects when it can't be written. */
  #save(lane: Lane): Promise<void> {
    const saving = lane.disk.then(async () => {
      const { running, waiting, saved } = lane;
      const pending = running && waiting ? mergeMessages(running, waiting) : (running ?? waiting);
      if (pending === undefined) {
        // It may be gone even if that throws.
        lane.mustSave = true;
        if (saved !== undefined) await this.#options.kept.remove(lane.tenant);
        lane.saved = undefined;
      } else if (saved === undefined || lane.mustSave || (pending.full && !saved.full)) {
        await this.#options.kept.save(pending);
        lane.mustSave = false;
        lane.saved = pending;
      }
    });
    lane.disk = saving.catch(() => undefined);
    return saving;
  }
}
