/** What the SDK passes on about a failed attempt: the fields used here. */
interface FailedAttempt {
  readonly error?: Error;
  readonly errorType: 'TRANSIENT' | 'THROTTLING' | 'SERVER_ERROR' | 'CLIENT_ERROR';
  readonly retryAfterHint?: Date;
}

interface AttemptToken {
  getRetryCount(): number;
  getRetryDelay(): number;
}

export interface ScanRetrySettings {
  readonly attemptsMax: number;
  /** Longest pause before the first retry. It doubles with each further retry. */
  readonly baseDelayMs: number;
  /** The same, when the store throttles. */
  readonly throttledDelayMs: number;
  readonly delayMaxMs: number;
  /** From 0 to 1: spreads the retries of requests that failed together. */
  readonly random: () => number;
}

const scanRetryDefaults: ScanRetrySettings = {
  attemptsMax: 10,
  baseDelayMs: 50,
  throttledDelayMs: 500,
  delayMaxMs: 5_000,
  random: Math.random,
};

/**
 * Nothing listens at the address, or there is no such host. If no request has succeeded yet, the configured address is
 * probably wrong.
 */
const wrongAddressCodes: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);
const wrongAddressAttemptsMax = 3;

/** A longer Retry-After is cut to this. */
const retryAfterMaxMs = 20_000;

/**
 * When the SDK retries a page. In the SDK's own strategy, all requests of a client share a quota of retries. With a
 * hundred pages at a time, a short disturbance uses it up, and then one page makes a scan of a thousand good pages
 * fail. Here each page has its own attempts. The scan's concurrency and deadline limit them together.
 */
export class ScanRetryStrategy {
  readonly #settings: ScanRetrySettings;
  #hasSucceeded = false;
  /** The latest failure since the last success, to explain why a deadline passed. */
  lastFailure: Error | undefined;

  constructor(settings: Partial<ScanRetrySettings> = {}) {
    this.#settings = { ...scanRetryDefaults, ...settings };
  }

  async acquireInitialRetryToken(_scope: string): Promise<AttemptToken> {
    return tokenOf({ count: 0, delayMs: 0 });
  }

  /** @throws when the error is permanent, or no attempt is left. */
  async refreshRetryTokenForRetry(token: AttemptToken, failed: FailedAttempt): Promise<AttemptToken> {
    this.lastFailure = failed.error;
    const count = token.getRetryCount() + 1;
    const isTransient = failed.errorType !== 'CLIENT_ERROR';
    if (!isTransient || count >= this.#attemptsMax(failed)) throw new Error('No attempt is left.');
    return tokenOf({ count, delayMs: this.#delayMs(count, failed) });
  }

  recordSuccess(_token: AttemptToken): void {
    this.#hasSucceeded = true;
    this.lastFailure = undefined;
  }

  #attemptsMax({ error }: FailedAttempt): number {
    const { attemptsMax } = this.#settings;
    const { code } = (error ?? {}) as { code?: unknown };
    const isWrongAddress = !this.#hasSucceeded && wrongAddressCodes.has(code);
    return isWrongAddress ? Math.min(wrongAddressAttemptsMax, attemptsMax) : attemptsMax;
  }

  #delayMs(count: number, failed: FailedAttempt): number {
    const { baseDelayMs, throttledDelayMs, delayMaxMs, random } = this.#settings;
    const longestMs = (failed.errorType === 'THROTTLING' ? throttledDelayMs : baseDelayMs) * 2 ** (count - 1);
    const delayMs = Math.round(random() * Math.min(delayMaxMs, longestMs));
    const wantedMs = (failed.retryAfterHint?.getTime() ?? 0) - Date.now();
    return Math.max(delayMs, Math.min(retryAfterMaxMs, wantedMs));
  }
}

function tokenOf({ count, delayMs }: { count: number; delayMs: number }): AttemptToken {
  return { getRetryCount: () => count, getRetryDelay: () => delayMs };
}
