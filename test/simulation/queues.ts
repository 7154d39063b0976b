import {
  type ReconcileRequest,
  type Urgency,
  urgencyOf,
} from '../../lambda/core/ledger/rules/reconcile-policy.ts';
import type { Random } from '../support/random.ts';
import type { Scheduler } from '../support/scheduler.ts';
import type { Weather } from './actor.ts';
import type { Coverage } from './coverage.ts';
import { Violation } from './invariants.ts';

/** The queue of reconciles, as the world runs it. */
export interface SimQueue {
  /**
   * A function asks for a reconcile. What is known now is fixed now: the message may arrive later, or twice.
   *
   * @param at.clockMs by the function's clock.
   * @param at.isConsumer the function handles a message of this queue.
   * @returns sends it.
   */
  prepare(request: ReconcileRequest, at: { clockMs: number; isConsumer: boolean }): () => void;
  /** Somebody sends all dead letters back to the queue. */
  redrive(): void;
}

export interface QueueWorld {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly weather: Weather;
  readonly coverage: Coverage;
  fail(error: unknown): void;
  /** @returns whether the message is done with, failed, or its function died. */
  deliver(
    request: ReconcileRequest,
    delivery: { receiveCount: number; limitMs: number },
  ): Promise<'done' | 'failed' | 'died'>;
}

/** The delay of the deployed queue: a message that requests another one is followed by it no sooner. */
const sqsDelayMs = 35_000;
const minute = 60_000;

/**
 * A queue that promises little: it delivers in any order, sometimes twice at once, usually so soon that reconciles run
 * beside the batches that requested them. Requests that were not delivered yet collapse into one.
 */
export class HastyQueue implements SimQueue {
  readonly #world: QueueWorld;
  /** By tenant and urgency. One that somebody waits for never joins one that nobody waits for. */
  readonly #queued = new Map<`${string} ${Urgency}`, { full: boolean }>();

  constructor(world: QueueWorld) {
    this.#world = world;
  }

  prepare(request: ReconcileRequest, { isConsumer }: { isConsumer: boolean }): () => void {
    return () => this.#send(request, isConsumer ? sqsDelayMs : 0);
  }

  redrive(): void {}

  #send(request: ReconcileRequest, leastDelayMs: number): void {
    const { random, scheduler } = this.#world;
    const urgency = urgencyOf(request.reason);
    const kind = `${request.tenant} ${urgency}` as const;
    const pending = this.#queued.get(kind);
    if (pending) {
      pending.full ||= request.full;
      return;
    }
    const queued = { full: request.full };
    this.#queued.set(kind, queued);
    const delayMs = random.chance(0.6) ? random.int(1, 300) : random.int(300, 40_000);
    scheduler.after(leastDelayMs + delayMs, () => {
      this.#queued.delete(kind);
      this.#deliver({ ...request, full: queued.full }, 1);
    });
  }

  #deliver(request: ReconcileRequest, receiveCount: number): void {
    const { random, scheduler, weather, fail } = this.#world;
    const copies = !weather.calm && random.chance(0.1) ? 2 : 1;
    const delivery = { receiveCount, limitMs: 15 * minute };
    const delivered = Array.from({ length: copies }, () => this.#world.deliver(request, delivery));
    Promise.all(delivered).then((outcomes) => {
      if (outcomes.includes('done')) return;
      const { store, table } = weather.outages;
      // In a long outage they join each other, or there would be more and more of them.
      if (store + table > 0) this.#send(request, 10 * minute);
      // A count by shards takes many operations, each of which fails by itself.
      else if (receiveCount === 1000) fail(new Violation('I6: a reconcile never succeeded'));
      else scheduler.after(random.int(1_000, minute), () => this.#deliver(request, receiveCount + 1));
    }, fail);
  }
}
