import { StandardRetryStrategy } from '@smithy/core/retry';
import type {
  HttpHandlerOptions,
  RetryErrorInfo,
  RetryStrategyV2,
  RetryToken,
  StandardRetryToken,
} from '@smithy/types';

/** Parallel connections of a client. */
const socketsMax = 50;

/**
 * Longest time that a connection waits for its next request. The other side may close it without being heard while a
 * function is frozen.
 */
const idleMsMax = 4_000;

/**
 * How long a call of one of AWS's services may take: all attempts × `answerMs` for the head of the answer, as long again
 * for the rest, and the pauses between them.
 */
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
    extensions: [endingAnswers(limits)],
  };
}

/** What of the SDK's own handler, and of the body as Node reads it, is used here. */
interface Handler {
  handle(request: never, options?: HttpHandlerOptions): Promise<{ readonly response: { body?: Body } }>;
}

interface Body {
  once(event: 'close', heard: () => void): unknown;
  destroy(error: Error): unknown;
}

/** An answer that goes on and on, a byte now and then, ends too. The SDK limits only the pauses within it. */
function endingAnswers({ answerMs }: Pick<CallLimits, 'answerMs'>) {
  const configure = ({ httpHandler }: { httpHandler(): Handler }) => {
    const handler = httpHandler();
    const handle = handler.handle.bind(handler);
    handler.handle = async (request, options) => {
      const answered = await handle(request, options);
      const { body } = answered.response;
      const end = () =>
        body?.destroy(new AnswerTimeoutError(`The answer did not end within ${answerMs} ms.`));
      const timer = setTimeout(end, answerMs);
      body?.once('close', () => clearTimeout(timer));
      return answered;
    };
  };
  return { configure };
}

/** By this name the SDK tries again. */
class AnswerTimeoutError extends Error {
  override readonly name = 'TimeoutError';
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
