import type { Metrics } from '../lambda/ports/metrics.ts';

/** Metrics that go nowhere: for the embedded stack, whose log has the same facts, and for tests. */
export const noMetrics: Metrics = {
  increment: () => undefined,
  measure: () => undefined,
  flush: () => undefined,
};
