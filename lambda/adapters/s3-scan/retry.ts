/** What the SDK tells of a failed attempt, as far as it matters here. */
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
  /** Longest pause before the first retry; it doubles with each. */
  readonly baseDelayMs: number;
  /** The same where the store says that it is asked too much. */
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

/** Nobody listens there, or there is no such host: where it never was otherwise, that is an address set wrong. */
const wrongAddressCodes: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);
const wrongAddressAttemptsMax = 3;

/** A store that says when to come back is believed up to so far. */
const retryAfterMaxMs = 20_000;

/**
 * When the SDK tries a page again. The SDK's own strategy lets all requests of a client share a quota of
 * retries: with a hundred pages under way a short disturbance uses it up, and then a scan of a thousand good
 * pages fails for one. Here each page has its own attempts; what bounds them together is the scan's concurrency
 * and its deadline.
 */
export class ScanRetryStrategy {
  readonly #settings: ScanRetrySettings;
  #hasSucceeded = false;
  /** The latest failure, to say why a deadline passed. */
  lastFailure: Error | undefined;

  constructor(settings: Partial<ScanRetrySettings> = {}) {
    this.#settings = { ...scanRetryDefaults, ...settings };
  }

  async acquireInitialRetryToken(_scope: string): Promise<AttemptToken> {
    return tokenOf({ count: 0, delayMs: 0 });
  }

  /** @throws where the error is none that passes, or the attempts are used up. */
  async refreshRetryTokenForRetry(token: AttemptToken, failed: FailedAttempt): Promise<AttemptToken> {
    this.lastFailure = failed.error;
    const count = token.getRetryCount() + 1;
    const isPassing = failed.errorType !== 'CLIENT_ERROR';
    if (!isPassing || count >= this.#attemptsMax(failed)) throw new Error('No attempt is left.');
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
