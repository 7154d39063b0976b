import { StandardRetryStrategy } from '@smithy/core/retry';
import type { RetryErrorInfo, RetryStrategyV2, RetryToken, StandardRetryToken } from '@smithy/types';

/** Parallel connections of a client. */
const socketsMax = 50;

/**
 * Longest time that a connection waits for its next request. The other side may close it without being heard while a
 * function is frozen.
 */
const idleMsMax = 4_000;

/** How long a call of one of AWS's services may take: all attempts × `answerMs`, and the pauses between them. */
export interface CallLimits {
  readonly attemptsMax: number;
  /** Time to open a connection. */
  readonly connectMs: number;
  /** Time from an attempt's start to the head of its answer, and the longest pause within the answer. */
  readonly answerMs: number;
}

/** Options of every client of the SDK. Region, endpoint and credentials come from the environment, as AWS documents it. */
export function clientOptions(limits: CallLimits) {
  return {
    maxAttempts: limits.attemptsMax,
    retryStrategy: new RetriesOfEachCall(limits.attemptsMax),
    requestHandler: requestHandler(limits),
  };
}

/** Options of the SDK's `requestHandler`, so that each attempt ends, and its connection with it. */
export function requestHandler({ connectMs, answerMs }: Pick<CallLimits, 'connectMs' | 'answerMs'>) {
  const agent = { keepAlive: true, maxSockets: socketsMax, timeout: idleMsMax };
  return {
    httpAgent: agent,
    httpsAgent: agent,
    connectionTimeout: connectMs,
    requestTimeout: answerMs,
    // Without it, the SDK logs a warning when the time is over, and waits on.
    throwOnRequestTimeout: true,
    // The request's own timeout ends with the head of the answer.
    socketTimeout: answerMs,
  };
}

/**
 * The SDK's standard retries, with a quota for each call. By default all calls of a client share one: a short
 * disturbance of a hundred calls at a time uses it up, and then a single bad answer fails a whole batch.
 */
class RetriesOfEachCall implements RetryStrategyV2 {
  readonly #maxAttempts: number;
  /** By the latest token of a call: what it retries by. */
  readonly #calls = new WeakMap<RetryToken, StandardRetryStrategy>();

  constructor(maxAttempts: number) {
    this.#maxAttempts = maxAttempts;
  }

  async acquireInitialRetryToken(scope: string): Promise<RetryToken> {
    const call = new StandardRetryStrategy(this.#maxAttempts);
    const token = await call.acquireInitialRetryToken(scope);
    this.#calls.set(token, call);
    return token;
  }

  async refreshRetryTokenForRetry(token: RetryToken, error: RetryErrorInfo): Promise<RetryToken> {
    const call = this.#calls.get(token) ?? new StandardRetryStrategy(this.#maxAttempts);
    const next = await call.refreshRetryTokenForRetry(token as StandardRetryToken, error);
    this.#calls.set(next, call);
    return next;
  }

  recordSuccess(): void {}
}
