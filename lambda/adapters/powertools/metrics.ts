import { Metrics as Powertools } from '@aws-lambda-powertools/metrics';
import type { Invocations } from '../../ports/invocation.ts';
import { type Metrics, metricUnits, serviceName } from '../../ports/metrics.ts';

/**
 * Metrics as lines of the log in CloudWatch's embedded metric format: no request is made for them. Each line
 * names the run that it is of, which is no dimension and costs nothing.
 *
 * @param input.namespace one a stage, so that stages of one account are told apart without a dimension.
 */
export function createPowertoolsMetrics(input: { namespace: string; invocations: Invocations }): Metrics {
  const powertools = new Powertools({ namespace: input.namespace, serviceName });
  return {
    increment: (name, times = 1) => void powertools.addMetric(name, metricUnits[name], times),
    measure: (name, value) => void powertools.addMetric(name, metricUnits[name], value),
    flush() {
      // It warns where there is nothing to send, which is no fault here.
      if (!powertools.hasStoredMetrics()) return;
      for (const [name, id] of Object.entries(input.invocations.current())) {
        if (typeof id === 'string') powertools.addMetadata(name, id);
      }
      powertools.publishStoredMetrics();
    },
  };
}
