import type { ReconcileRequest } from '../../lambda/core/ledger/rules/reconcile-policy.ts';
import { longPause, pauseMs } from '../../lambda/core/rules/jobs.ts';
import { deduplicationId } from '../../lambda/frame/aws/sqs.ts';
import { Violation } from './invariants.ts';
import type { QueueWorld, SimQueue } from './queues.ts';

const minute = 60_000;

/** Of the queue that is deployed, unless a test says otherwise. */
export interface SqsOptions {
  /** Deliveries of a message, at most. */
  readonly attemptsMax: number;
  readonly delayMs: number;
  /** How far the clocks of two functions may differ. If they differ more, a request may be lost. */
  readonly clockSkewMs: number;
  idOf(request: ReconcileRequest, nowMs: number): string;
}

interface Message {
  readonly request: ReconcileRequest;
  visibleAtMs: number;
  receiveCount: number;
  firstReceivedAtMs: number | undefined;
  /** By how much the clock of its sender is ahead. */
  readonly skewMs: number;
}

/** AWS: "Using the message deduplication ID in Amazon SQS". It is not extended by duplicates. */
const deduplicationMs = 5 * minute;
/** The time limit of the deployed function, and the visibility timeout of its queue. */
const limitMs = 5 * minute;
const visibilityMs = 6 * limitMs;

/**
 * SQS FIFO as it is deployed (`lib/background.ts`): every message is delayed. Ids are remembered for five minutes, also of
 * messages that are done with. A tenant's messages are delivered one at a time, in their order. One that failed is
 * hidden for a while, one whose function died for the visibility timeout; both keep back those behind them. After
 * `attemptsMax` deliveries it is a dead letter.
 */
export class SqsQueue implements SimQueue {
  readonly #world: QueueWorld;
  readonly #options: SqsOptions;
  readonly #groups = new Map<string, Message[]>();
  readonly #sent = new Map<string, { message: Message; sentAtMs: number }>();
  #deadLetters: Message[] = [];

  constructor(world: QueueWorld, options: Partial<SqsOptions> = {}) {
    this.#world = world;
    this.#options = { attemptsMax: 20, delayMs: 35_000, clockSkewMs: 0, idOf: deduplicationId, ...options };
  }

  prepare(request: ReconcileRequest, { clockMs }: { clockMs: number }): () => void {
    const requestedAtMs = this.#world.scheduler.nowMs;
    const id = this.#options.idOf(request, clockMs);
    return () => this.#send({ request, id, requestedAtMs, skewMs: clockMs - requestedAtMs });
  }

  /** A message that comes back is a new one, with the id of a new one. */
  redrive(): void {
    for (const { request, skewMs } of this.#deadLetters) this.#enqueue(request, skewMs);
    this.#deadLetters = [];
  }

  #send(sent: { request: ReconcileRequest; id: string; requestedAtMs: number; skewMs: number }): void {
    const { scheduler, fail } = this.#world;
    const known = this.#sent.get(sent.id);
    if (!known || scheduler.nowMs > known.sentAtMs + deduplicationMs) {
      const message = this.#enqueue(sent.request, sent.skewMs);
      this.#sent.set(sent.id, { message, sentAtMs: scheduler.nowMs });
      return;
    }
    const { firstReceivedAtMs = Number.POSITIVE_INFINITY, skewMs } = known.message;
    const areClocksFit = Math.abs(skewMs - sent.skewMs) <= this.#options.clockSkewMs;
    if (areClocksFit && firstReceivedAtMs < sent.requestedAtMs)
      fail(
        new Violation(`I6: a request for a reconcile joined one that was delivered before it (${sent.id})`),
      );
  }

  #enqueue(request: ReconcileRequest, skewMs: number): Message {
    const { delayMs } = this.#options;
    const visibleAtMs = this.#world.scheduler.nowMs + delayMs;
    const message = { request, visibleAtMs, receiveCount: 0, firstReceivedAtMs: undefined, skewMs };
    const group = this.#groups.get(request.tenant) ?? [];
    this.#groups.set(request.tenant, group);
    group.push(message);
    this.#poll(group, delayMs);
    return message;
  }

  #poll(group: Message[], afterMs: number): void {
    const { scheduler, random } = this.#world;
    scheduler.after(afterMs + random.int(1, 300), () => this.#receive(group));
  }

  #receive(group: Message[]): void {
    const { scheduler, coverage, fail } = this.#world;
    const [first] = group;
    if (!first || first.visibleAtMs > scheduler.nowMs) return;
    if (first.receiveCount === this.#options.attemptsMax) {
      coverage.deadLetters += 1;
      this.#deadLetters.push(first);
      group.shift();
      this.#poll(group, 0);
      return;
    }
    first.receiveCount += 1;
    first.firstReceivedAtMs ??= scheduler.nowMs;
    this.#hide(group, first, visibilityMs);
    this.#consume(group, first, first.receiveCount).catch(fail);
  }

  async #consume(group: Message[], message: Message, receiveCount: number): Promise<void> {
    const { random, weather, coverage } = this.#world;
    const outcome = await this.#world.deliver(message.request, { receiveCount, limitMs });
    // A delivery after this one has hidden the message anew, and its handle is the one that counts.
    if (message.receiveCount !== receiveCount || group[0] !== message) return;
    // The answer may be lost: then the message comes again after its visibility timeout.
    if (outcome === 'died') return;
    if (!weather.calm && random.chance(0.03)) {
      coverage.unacknowledged += 1;
      return;
    }
    if (outcome === 'failed') {
      this.#hide(group, message, pauseMs(longPause, receiveCount));
      return;
    }
    if (receiveCount > 1) coverage.redelivered += 1;
    group.shift();
    this.#poll(group, Math.max(0, (group[0]?.visibleAtMs ?? 0) - this.#world.scheduler.nowMs));
  }

  #hide(group: Message[], message: Message, forMs: number): void {
    message.visibleAtMs = this.#world.scheduler.nowMs + forMs;
    this.#poll(group, forMs);
  }
}
