import type { Metrics } from '../ports/metrics.ts';

/**
 * The edge of a function that measures: what one run measured is sent before it answers, or fails. Later
 * would be too late, as a container is frozen then, maybe for ever.
 */
export function withMetrics<A extends unknown[], R>(
  metrics: Metrics,
  handler: (...given: A) => Promise<R>,
): (...given: A) => Promise<R> {
  return async (...given) => {
    try {
      return await handler(...given);
    } finally {
      metrics.flush();
    }
  };
}
