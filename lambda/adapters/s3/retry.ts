import { isRefusal, throttlingName } from '../aws-sdk/service-error.ts';
import { MalformedAnswerError, StoreAnswerError } from './answers.ts';

export interface RetrySettings {
  readonly attemptsMax: number;
  /** Longest pause before the first retry. It doubles with each further retry. */
  readonly baseDelayMs: number;
  /** The same, after an answer that throttles. */
  readonly throttledDelayMs: number;
  readonly delayMaxMs: number;
  /** A longer Retry-After is cut to this. */
  readonly retryAfterMaxMs: number;
}

/** Statuses of answers that say: you ask too much. */
const throttlingStatuses: ReadonlySet<number> = new Set([429, 503]);

/** What the other side will not do next time either. */
const permanentStatuses: ReadonlySet<number> = new Set([501, 505]);

/** Nothing listens at the address, or there is no such host. */
const wrongAddressCodes: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/** A failed connection has a system code (`ECONNREFUSED`) or one of TLS. Node's errors of usage begin with ERR_, too. */
export function isNetworkError(error: Error): boolean {
  const { code } = error as { code?: unknown };
  return (
    error.name === 'TimeoutError' ||
    (typeof code === 'string' && (!code.startsWith('ERR_') || /^ERR_(TLS|SSL)_/.test(code)))
  );
}

/**
 * When a request is sent again. Each request has its own attempts. In the SDK all requests of a client share a quota
 * of retries: with a hundred requests at a time, a short disturbance uses it up, and then a single one makes a batch or
 * a scan of a thousand good answers fail. The concurrency of the callers limits them together.
 */
export class Retries {
  readonly #random: () => number;
  readonly #wrongAddressAttemptsMax: number;
  #hasSucceeded = false;
  /** The latest failure since the last success, to explain why a deadline passed. */
  lastFailure: Error | undefined;

  /**
   * @param input.random from 0 to 1: spreads the retries of requests that failed together.
   * @param input.wrongAddressAttemptsMax attempts while nobody listens at the address and no request has succeeded
   *   yet: an address that people configure is then probably wrong.
   */
  constructor({
    random = Math.random,
    wrongAddressAttemptsMax = Number.POSITIVE_INFINITY,
  }: {
    random?: (() => number) | undefined;
    wrongAddressAttemptsMax?: number;
  } = {}) {
    this.#random = random;
    this.#wrongAddressAttemptsMax = wrongAddressAttemptsMax;
  }

  noteSuccess(): void {
    this.#hasSucceeded = true;
    this.lastFailure = undefined;
  }

  /**
   * The pause before the next attempt. Undefined: no attempt may help, or none is left.
   *
   * @param failed.attempt the number of the attempt that failed, from 1.
   */
  pauseMs(failed: { error: Error; attempt: number; settings: RetrySettings }): number | undefined {
    const { error, attempt, settings } = failed;
    this.lastFailure = error;
    if (!mayHelp(error) || attempt >= this.#attemptsMax(error, settings)) return undefined;
    const { baseDelayMs, throttledDelayMs, delayMaxMs, retryAfterMaxMs } = settings;
    const longestMs = (isThrottling(error) ? throttledDelayMs : baseDelayMs) * 2 ** (attempt - 1);
    const pauseMs = Math.round(this.#random() * Math.min(delayMaxMs, longestMs));
    const wantedMs = error instanceof StoreAnswerError ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(pauseMs, Math.min(retryAfterMaxMs, wantedMs));
  }

  #attemptsMax(error: Error, { attemptsMax }: RetrySettings): number {
    const { code } = error as { code?: unknown };
    const isWrongAddress = !this.#hasSucceeded && wrongAddressCodes.has(code);
    return isWrongAddress ? Math.min(this.#wrongAddressAttemptsMax, attemptsMax) : attemptsMax;
  }
}

function mayHelp(error: Error): boolean {
  if (error instanceof StoreAnswerError) return !isRefusal(error) && !permanentStatuses.has(error.status);
  return error instanceof MalformedAnswerError || isNetworkError(error);
}

/** The other side said that it was asked too much. */
export function isThrottling(error: Error): boolean {
  if (!(error instanceof StoreAnswerError)) return false;
  return throttlingStatuses.has(error.status) || throttlingName.test(error.name);
}
