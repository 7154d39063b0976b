import type { Metrics } from '../lambda/ports/metrics.ts';

/** Measures nothing: for the embedded stack, whose log says as much, and for tests. */
export const noMetrics: Metrics = {
  increment: () => undefined,
  measure: () => undefined,
  flush: () => undefined,
};
