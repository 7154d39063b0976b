import type { Metrics } from '../ports/metrics.ts';

/**
 * The edge of a function with metrics. It sends what an invocation measured before the invocation ends, whether it
 * succeeds or fails. After that the container is frozen, possibly for ever.
 */
export function withMetrics<A extends unknown[], R>(
  metrics: Metrics,
  handler: (...args: A) => Promise<R>,
): (...args: A) => Promise<R> {
  return async (...args) => {
    try {
      return await handler(...args);
    } finally {
      metrics.flush();
    }
  };
}
