import { causeOf } from '../../domain/invocation.ts';
import type { Settings } from '../../domain/settings.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Invocations } from '../../ports/invocations.ts';
import type { Log } from '../../ports/log.ts';
import { StoreUnavailableError } from '../../ports/object-store.ts';
import type { PathScan, PathScanInput, PathScanOutcome, ScanRest } from '../../ports/path-scan.ts';
import type { ShardAnswer } from '../../ports/shard-scan.ts';
import { AwsServiceError } from '../aws-sdk/service-error.ts';
import { answerIn } from './answer.ts';
import type { FunctionInvoker } from './invoker.ts';
import { requestOf, type Shard, shardOf } from './request.ts';
import { Slots } from './slots.ts';
import { whileRenewing } from './while-renewing.ts';

export interface LambdaScanDeps {
  /** Scans in this process. */
  readonly local: PathScan;
  readonly invoker: Pick<FunctionInvoker, 'invoke'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: Pick<Log, 'warn'>;
  readonly invocations: Pick<Invocations, 'current'>;
  readonly settings: Pick<Settings, 'scanConcurrency'>;
}

/** Shards that this process scans at a time. As long as there are no more, no function is invoked. */
const inProcessMax = 4;

/** How often a function is invoked for a shard, before this process scans it. */
const invocationsMax = 2;

/** A lease lasts 15 s, and is renewed when half of it is over. */
const renewMs = 2_000;

/** What a shard may take in a function: on top of this, as long as a store needs that answers 50 LISTs a second to all. */
const shardMs = 30_000;
const shardPageMs = 20;
const shardMsMax = 240_000;

/** From the end of a function's time limit to its answer, its start included. */
const answerMs = 5_000;

/** No function is invoked for so long after Lambda had no room for one, or refused. */
const restMs = 60_000;

/**
 * Scans large shards in other functions, many at a time, if several are wanted at once. What a function does not do,
 * this process does, so the outcome is the same. The functions only read: one that is given up may go on, and its
 * answer is not heard.
 *
 * A container runs one reconcile at a time, so all scans that are under way are of the same. If one fails, its caller
 * has given up the others too.
 *
 * @param options.workers functions at a time.
 */
export function createLambdaScan(deps: LambdaScanDeps, options: { workers: number }): PathScan {
  const scan = new LambdaScan(deps, options);
  // More than there are functions, or nobody would see that there are more than this process scans. Some wait.
  return { scan: (input) => scan.scan(input), parallelScans: inProcessMax + options.workers };
}

class LambdaScan {
  readonly #deps: LambdaScanDeps;
  readonly #functions: Slots;
  readonly #inProcess = new Slots(inProcessMax);
  readonly #pagesAtOnceMax: number;
  readonly #workers: number;
  readonly #running = new Set<AbortController>();
  #restsUntilMs = 0;

  constructor(deps: LambdaScanDeps, { workers }: { workers: number }) {
    this.#deps = deps;
    this.#workers = workers;
    this.#functions = new Slots(workers);
    // All functions together ask the store for as many pages at a time as one process with all its scans.
    const { scanConcurrency } = deps.settings;
    this.#pagesAtOnceMax = Math.max(1, Math.floor((scanConcurrency * inProcessMax) / workers));
  }

  async scan(input: PathScanInput): Promise<PathScanOutcome> {
    const shard = shardOf(input);
    if (!shard) return this.#deps.local.scan(input);
    const stop = new AbortController();
    this.#running.add(stop);
    try {
      return await whileRenewing({
        everyMs: renewMs,
        renew: () => input.onPage?.({ storedBytes: 0, objectCount: 0, requests: 0, share: undefined }),
        stop,
        work: () => this.#whereverIsRoom(input, shard, stop.signal),
      });
    } catch (error) {
      for (const other of this.#running) other.abort(error);
      throw error;
    } finally {
      this.#running.delete(stop);
    }
  }

  async #whereverIsRoom(input: PathScanInput, shard: Shard, stop: AbortSignal): Promise<PathScanOutcome> {
    // By then all scans that are wanted at the same time are known.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#running.size <= inProcessMax) return this.#here(input, { requests: 0, stop });
    const { outcome, requests } = await this.#functions.run(() => this.#elsewhere(input, shard, stop));
    return outcome ?? this.#here(input, { requests, stop });
  }

  /** @param made.requests LIST requests that were made for the shard before, to no end. */
  #here(input: PathScanInput, made: { requests: number; stop: AbortSignal }): Promise<PathScanOutcome> {
    return this.#inProcess.run(async () => {
      const { requests, stop } = made;
      stop.throwIfAborted();
      if (this.#leftMs(input) <= 0) return unfinished(input, requests);
      const outcome = await this.#deps.local.scan({ ...input, stop });
      return { ...outcome, requests: outcome.requests + requests };
    });
  }

  /** @returns without an outcome: this process has to scan the shard. */
  async #elsewhere(
    input: PathScanInput,
    shard: Shard,
    stop: AbortSignal,
  ): Promise<{ outcome?: PathScanOutcome; requests: number }> {
    let requests = 0;
    for (let invocation = 1; invocation <= invocationsMax; invocation += 1) {
      stop.throwIfAborted();
      const limitMs = this.#timeLimitMs(input, shard);
      if (limitMs <= 0) return { outcome: unfinished(input, requests), requests };
      if (this.#deps.clock.nowMs() < this.#restsUntilMs) break;
      const { scanConcurrency } = this.#deps.settings;
      const concurrency = Math.min(input.concurrency ?? scanConcurrency, this.#pagesAtOnceMax);
      const answer = await this.#invoke(shard, { concurrency, timeLimitMs: limitMs }, stop);
      switch (answer.kind) {
        case 'done':
          return { outcome: foundBy(answer, requests), requests };
        case 'store unavailable':
          throw new StoreUnavailableError(answer.message);
        case 'unfinished':
          return { requests: requests + answer.requests };
        case 'not invoked':
          return { requests };
        case 'failed':
          // Nobody says how many it made.
          requests += shard.pages;
      }
    }
    return { requests };
  }

  async #invoke(
    shard: Shard,
    how: { concurrency: number; timeLimitMs: number },
    stop: AbortSignal,
  ): Promise<ShardAnswer | { kind: 'failed' | 'not invoked' }> {
    const { invoker, invocations, clock } = this.#deps;
    const correlationId = causeOf(invocations.current());
    const request = requestOf(shard, {
      ...how,
      ...(correlationId !== undefined && { correlationId }),
    });
    const outcome = await invoker.invoke({ event: request, withinMs: how.timeLimitMs + answerMs, stop });
    if (outcome.kind === 'answered') {
      const answer = answerIn(outcome.payload, request);
      if (!answer) this.#warn(shard, { reason: 'The answer of the function cannot be read.' });
      return answer ?? { kind: 'failed' };
    }
    const isThrottled = outcome.kind === 'throttled';
    this.#warn(
      shard,
      isThrottled ? { reason: 'Lambda had no room for the function.' } : { error: outcome.error },
    );
    if (!isThrottled && !isRefused(outcome.error)) return { kind: 'failed' };
    this.#restsUntilMs = clock.nowMs() + restMs;
    return { kind: 'not invoked' };
  }

  #warn({ prefix, range }: Shard, why: { reason: string } | { error: Error }): void {
    this.#deps.log.warn('shard not scanned by a function', { prefix, after: range.after, ...why });
  }

  /** What a function may take, as a whole number. */
  #timeLimitMs(input: PathScanInput, { pages }: Shard): number {
    const wantedMs = Math.min(shardMs + pages * shardPageMs * this.#workers, shardMsMax);
    return Math.floor(Math.min(wantedMs, this.#leftMs(input) - answerMs));
  }

  #leftMs({ deadlineMs = Number.POSITIVE_INFINITY }: PathScanInput): number {
    return deadlineMs - this.#deps.clock.nowMs();
  }
}

function foundBy(answer: Extract<ShardAnswer, { kind: 'done' }>, requests: number): PathScanOutcome {
  const { kind, storedBytes, objectCount, seen, recent } = answer;
  return {
    kind,
    storedBytes,
    objectCount,
    seen: new Map(seen),
    recent: recent === 'too many' ? recent : new Set(recent),
    requests: answer.requests + requests,
  };
}

/** Nothing was counted: another scan has to begin anew. */
function unfinished(input: PathScanInput, requests: number): PathScanOutcome {
  return { kind: 'unfinished', requests, rest: { ...(input.resume as ScanRest), requests } };
}

/** Lambda answered, and will not answer otherwise next time: the function is missing, or the grant. */
const isRefused = (error: Error) =>
  error instanceof AwsServiceError && error.status !== undefined && error.status < 500;
