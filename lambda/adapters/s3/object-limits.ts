import type { ExchangeLimits } from './exchange.ts';
import type { RetrySettings } from './retry.ts';

/**
 * The limits of requests that are answered from memory or an index, and that somebody waits for.
 *
 * @param timeoutFactor 1 for S3 itself.
 */
export function objectLimits(timeoutFactor: number): ExchangeLimits & RetrySettings {
  return {
    connectMs: 2_000 * timeoutFactor,
    answerMs: 10_000 * timeoutFactor,
    attemptsMax: 4,
    baseDelayMs: 100,
    throttledDelayMs: 500,
    delayMaxMs: 5_000,
    retryAfterMaxMs: 5_000,
  };
}
