import { type Duration, Stack } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { type MetricName, serviceName } from '../../lambda/ports/metrics.ts';

/** The namespace of what a stage's functions measure: told to them, and read from by alarms and dashboard. */
export const metricsNamespace = (scope: Construct): string => Stack.of(scope).stackName;

/** Something that the functions measure themselves: lambda/ports/metrics.ts says what each is. */
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
