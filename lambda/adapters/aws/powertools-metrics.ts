import { Metrics as Powertools } from '@aws-lambda-powertools/metrics';
import { type Metrics, metricUnits } from '../../ports/metrics.ts';

/**
 * Metrics as lines of the log in CloudWatch's embedded metric format: no request is made for them.
 *
 * @param input.namespace one a stage, so that stages of one account are told apart without a dimension.
 */
export function createPowertoolsMetrics(input: { namespace: string }): Metrics {
  const powertools = new Powertools({ namespace: input.namespace, serviceName: 'lfs-quota' });
  return {
    count: (name, times = 1) => void powertools.addMetric(name, metricUnits[name], times),
    measure: (name, value) => void powertools.addMetric(name, metricUnits[name], value),
    // It warns where there is nothing to send, which is no fault here.
    flush: () => void (powertools.hasStoredMetrics() && powertools.publishStoredMetrics()),
  };
}
