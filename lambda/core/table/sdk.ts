import { StandardRetryStrategy } from '@smithy/core/retry';
import type {
  HttpHandlerOptions,
  RetryErrorInfo,
  RetryStrategyV2,
  RetryToken,
  StandardRetryToken,
} from '@smithy/types';
import { AwsServiceError } from '../rules/errors.ts';
import { redactText } from '../rules/text.ts';

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

/**
 * Options of the SDK's `requestHandler`, so that each attempt ends, and its connection with it.
 *
 * @param options.socketsMax parallel connections. A request that waits for one fails after `connectMs`, like one that the
 *   other side doesn't take.
 */
export function requestHandler(
  options: Pick<CallLimits, 'connectMs' | 'answerMs'> & { readonly socketsMax?: number },
) {
  const { connectMs, answerMs, socketsMax = 50 } = options;
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

/** More of what a service says about an error is not kept. */
const messageCharactersMax = 300;

/** What the SDK adds to the errors of a call that it sent. */
interface SentError extends Error {
  readonly $metadata: { readonly httpStatusCode?: number };
  readonly code?: unknown;
}

/**
 * Makes a call of the SDK, whose errors may quote all that was signed, the session token too.
 *
 * @param call.title of the service: `SQS`.
 * @throws {AwsServiceError} if the service refused it or didn't answer. What was never sent is a bug: its error is thrown
 *   as it is.
 */
export async function calling<T>(
  call: { readonly title: string; readonly operation: string },
  send: () => Promise<T>,
): Promise<T> {
  try {
    return await send();
  } catch (error) {
    throw isOfSent(error) ? serviceError(error, call) : error;
  }
}

function isOfSent(error: unknown): error is SentError {
  return error instanceof Error && (error as Partial<SentError>).$metadata !== undefined;
}

function serviceError(error: SentError, { title, operation }: { title: string; operation: string }) {
  const status = error.$metadata.httpStatusCode;
  if (status !== undefined && status >= 300) {
    const code = error.name;
    const message = `${title} answered ${operation} with ${status} ${code}: ${shown(error.message)}`;
    return new AwsServiceError({ title, message, code, status });
  }
  const code = typeof error.code === 'string' ? error.code : error.name;
  // A parser's error quotes what it could not read, which may be a secret.
  if (error instanceof SyntaxError)
    return new AwsServiceError({ title, message: `${title} sent no readable answer to ${operation}.`, code });
  const message = `${title} did not answer ${operation}: ${shown(error.message)}`;
  return new AwsServiceError({ title, message, code, cause: error });
}

/** The first line, without URLs and credentials. To a wrong signature AWS answers with what it expected in further lines. */
function shown(text: string): string {
  const [line = ''] = text.split('\n', 1);
  const said = redactText(line.replaceAll(/https?:\/\/\S+/g, '(URL)'));
  return said.slice(0, messageCharactersMax) || 'it gave no reason.';
}

/** Statuses and error codes of 4xx answers for which a retry may help. */
const transientStatuses: ReadonlySet<number> = new Set([408, 425, 429]);
const transientNames: ReadonlySet<string> = new Set([
  'ConditionalRequestConflict',
  'InternalServiceError',
  'OperationAborted',
  'RequestTimeout',
  'RequestTimeoutException',
]);

/** Codes of answers that say: you ask too much. */
export const throttlingName =
  /Throttl|^SlowDown$|^TooManyRequestsException$|^RequestLimitExceeded$|^ProvisionedThroughputExceededException$/;

/** The request was refused for good: a retry does not help, somebody has to change something. */
export function isRefusal({ status, name }: { status: number; name: string }): boolean {
  const mayPass = transientStatuses.has(status) || transientNames.has(name) || throttlingName.test(name);
  return status < 500 && !mayPass;
}
