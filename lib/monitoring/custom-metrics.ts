import { type Duration, Stack } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { type MetricName, serviceName } from '../../lambda/core/rules/metrics.ts';

/** The namespace that a stage's functions write their metrics to. Alarms and dashboard read from it. */
export const metricsNamespace = (scope: Construct): string => Stack.of(scope).stackName;

/** A metric that the functions measure themselves. lambda/core/rules/metrics.ts explains each. */
export function customMetric(
  scope: Construct,
  metricName: MetricName,
  options: { period: Duration; statistic: string; label?: string },
): Metric {
  return new Metric({
    ...options,
    metricName,
    namespace: metricsNamespace(scope),
    dimensionsMap: { service: serviceName },
  });
}
