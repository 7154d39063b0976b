import { randomUUID } from 'node:crypto';
import type { Context, SQSEvent } from 'aws-lambda';
import { causeOf } from '../../lambda/domain/invocation.ts';
import type { Clock } from '../../lambda/ports/clock.ts';
import type { Invocations } from '../../lambda/ports/invocation.ts';
import type { Log } from '../../lambda/ports/log.ts';
import type { RecountQueue, RecountRequest } from '../../lambda/ports/recount-queue.ts';
import { lambdaContext } from '../lambda-context.ts';
import type { QueueFolder } from './queue-folder.ts';
import {
  afterFailure,
  defaultQueueTiming,
  dueAtMs,
  mergeMessages,
  newMessage,
  type QueueMessage,
  type QueueTiming,
} from './queue-message.ts';
import { reportsFailure, toSqsEvent } from './sqs-event.ts';
import type { Timers } from './timers.ts';

export type QueueConsumer = (event: SQSEvent, context: Context) => Promise<unknown>;

export interface FileQueueOptions {
  readonly folder: QueueFolder;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly invocations: Invocations;
  readonly timing?: QueueTiming;
  /** Recounts of different tenants at once. */
  readonly concurrencyMax?: number;
}

/** One tenant's recounts: at most one runs, at most one more is owed. */
interface Lane {
  readonly tenant: string;
  waiting: QueueMessage | undefined;
  running: QueueMessage | undefined;
  lastBegunAtMs: number;
  cancelTimer: () => void;
  /** What the tenant's file holds; it may ask for more than is owed, never for less. */
  saved: QueueMessage | undefined;
  /** The file is to be written even where it asks for enough: the failures are counted in it. */
  mustSave: boolean;
  /** Writes of one tenant's file follow each other. Never rejects. */
  disk: Promise<unknown>;
}

/**
 * The queue of recounts, kept below the data folder. A request is on disk before its promise resolves, and
 * stays there until a recount that began after it has succeeded: a kill at any moment loses none.
 */
export class FileQueue implements RecountQueue {
  readonly #options: FileQueueOptions;
  readonly #timing: QueueTiming;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes that are due while as many as may are running. */
  readonly #due = new Set<Lane>();
  readonly #running = new Set<Promise<void>>();
  #consumer: QueueConsumer | undefined;
  #closed = false;
  /** Closed, and no longer waiting: the data folder may be another process's by now. */
  #abandoned = false;

  constructor(options: FileQueueOptions) {
    this.#options = options;
    this.#timing = options.timing ?? defaultQueueTiming;
  }

  async request(request: RecountRequest): Promise<void> {
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

  async requestAll(requests: readonly RecountRequest[]): Promise<void> {
    for (const request of requests) await this.request(request);
  }

  /** Takes up what an earlier process left, and begins to deliver. */
  async deliverTo(consumer: QueueConsumer): Promise<void> {
    for (const message of await this.#options.folder.load(this.#options.clock.nowMs())) {
      const lane = this.#lane(message.tenant);
      lane.saved = message;
      lane.waiting = lane.waiting === undefined ? message : mergeMessages(message, lane.waiting);
    }
    this.#consumer = consumer;
    for (const lane of this.#lanes.values()) this.#arm(lane);
  }

  /** Delivers no more, and waits for what runs; what does not end in time stays on disk. */
  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    this.#due.clear();
    for (const lane of this.#lanes.values()) lane.cancelTimer();
    let cancelGrace = () => {};
    const grace = new Promise<void>((resolve) => {
      cancelGrace = this.#options.timers.after(graceMs, resolve);
    });
    await Promise.race([Promise.all(this.#running), grace]);
    cancelGrace();
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
    // It may have been a request that set the timer, whose context this is not.
    const { invocations } = this.#options;
    await invocations.during({ messageId, correlationId }, () => this.#attempt(lane, message));
  }

  async #attempt(lane: Lane, message: QueueMessage): Promise<void> {
    const succeeded = await this.#deliver(message);
    if (this.#abandoned) return;
    lane.running = undefined;
    try {
      if (!succeeded) await this.#putBack(lane, message);
      await this.#save(lane);
    } catch (error) {
      // The file still asks for at least what is owed.
      this.#options.log.error('queue file not written', { tenant: lane.tenant, error });
    }
    this.#arm(lane);
  }

  async #deliver(message: QueueMessage): Promise<boolean> {
    const { timeLimitMs } = this.#timing;
    let cancelLimit = () => {};
    const limit = new Promise<never>((_, reject) => {
      cancelLimit = this.#options.timers.after(timeLimitMs, () =>
        reject(new Error('The recount took too long.')),
      );
    });
    const context = lambdaContext({ functionName: 'reconcile', timeLimitMs });
    try {
      const delivery = this.#consumer?.(toSqsEvent(message), context);
      return !reportsFailure(await Promise.race([delivery, limit]));
    } catch (error) {
      this.#options.log.error('recount failed', {
        tenant: message.tenant,
        failures: message.failures + 1,
        error,
      });
      return false;
    } finally {
      cancelLimit();
    }
  }

  /** After a failure: owed again, later, or laid aside. What was asked for meanwhile is owed in any case. */
  async #putBack(lane: Lane, message: QueueMessage): Promise<void> {
    const failed = afterFailure(message, this.#options.clock.nowMs(), this.#timing);
    if (failed.failures < this.#timing.failuresMax) {
      lane.waiting = lane.waiting === undefined ? failed : mergeMessages(failed, lane.waiting);
      lane.mustSave = true;
      return;
    }
    const file = await this.#options.folder.saveDead(failed);
    this.#options.log.error('recount given up', { tenant: lane.tenant, failures: failed.failures, file });
  }

  /** Brings the tenant's file in line with what is owed now. Rejects where it can't be written. */
  #save(lane: Lane): Promise<void> {
    const saving = lane.disk.then(async () => {
      const { running, waiting, saved } = lane;
      const owed = running && waiting ? mergeMessages(running, waiting) : (running ?? waiting);
      if (owed === undefined) {
        if (saved !== undefined) await this.#options.folder.remove(lane.tenant);
        lane.saved = undefined;
      } else if (saved === undefined || lane.mustSave || (owed.full && !saved.full)) {
        await this.#options.folder.save(owed);
        lane.mustSave = false;
        lane.saved = owed;
      }
    });
    lane.disk = saving.catch(() => undefined);
    return saving;
  }
}
