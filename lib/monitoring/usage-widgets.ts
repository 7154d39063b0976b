import type { Duration } from 'aws-cdk-lib';
import { type IWidget, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { MetricName } from '../../lambda/ports/metrics.ts';
import { customMetric } from './custom-metrics.ts';
import { graph } from './graph.ts';

/** Rows of what the functions measure: uploads and reads, how true the usage is, and what that costs. */
export function usageWidgets(scope: Construct, period: Duration): IWidget[][] {
  const metric = (statistic: string) => (name: MetricName, label: string) =>
    customMetric(scope, name, { period, statistic, label });
  const [sum, maximum] = [metric('Sum'), metric('Maximum')];
  const hitShare = new MathExpression({
    label: 'of what was asked for',
    expression: '100 * FILL(hits, 0) / (FILL(hits, 0) + FILL(misses, 0))',
    usingMetrics: { hits: sum('CacheHits', 'hits'), misses: sum('CacheMisses', 'misses') },
    period,
  });
  return [
    [
      graph('Uploads', [
        sum('UploadsAdmitted', 'admitted'),
        sum('UploadsRefused', 'refused (507)'),
        sum('BatchesDeferred', 'batches deferred (429)'),
      ]),
      graph('Bytes admitted', [sum('BytesAdmitted', 'bytes')]),
      graph('Usage answered from the table, in %', [hitShare]),
    ],
    [
      graph('Drift of one tenant, in bytes', [
        maximum('DriftBytes', 'up or down'),
        maximum('CounterShortfallBytes', 'uncounted'),
      ]),
      graph('Age of the oldest count that was renewed, in ms', [maximum('ReconcileAge', 'age')]),
      graph('Tenants found due, and recounts deferred', [
        sum('TenantsQueued', 'tenants'),
        sum('RecountsDeferred', 'deferred'),
      ]),
    ],
    [
      graph('LIST requests of recounts', [sum('ScanRequests', 'requests')]),
      graph('Scan duration in ms', [
        metric('p50')('ScanDuration', 'p50'),
        metric('p99')('ScanDuration', 'p99'),
      ]),
    ],
  ];
}
