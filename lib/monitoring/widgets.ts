import type { Duration } from 'aws-cdk-lib';
import { GraphWidget, type IMetric, type IWidget, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { MetricName } from '../../lambda/ports/metrics.ts';
import { customMetric } from './custom-metrics.ts';

/** A graph, one third of the dashboard wide. */
export const graph = (title: string, left: readonly IMetric[]): IWidget =>
  new GraphWidget({ title, left: [...left], width: 8 });

/** Rows of what the functions measure: uploads and reads, how true the usage is, and what scans cost. */
export function usageWidgets(scope: Construct, period: Duration): IWidget[][] {
  const metric = (statistic: string) => (name: MetricName, label: string) =>
    customMetric(scope, name, { period, statistic, label });
  const [sum, maximum] = [metric('Sum'), metric('Maximum')];
  const hitRate = new MathExpression({
    label: 'hit rate',
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
      graph('Usage answered from the table (%)', [hitRate]),
    ],
    [
      graph('Largest correction of a counter (bytes)', [
        maximum('DriftBytes', 'up or down'),
        maximum('CounterShortfallBytes', 'up'),
      ]),
      graph('Age of the oldest count that was replaced (ms)', [maximum('ReconcileAge', 'age')]),
      graph('Tenants due, recounts deferred and failed', [
        sum('TenantsQueued', 'tenants due'),
        sum('RecountsDeferred', 'recounts deferred'),
        sum('RecountsFailed', 'recounts failed'),
        sum('HistoryNotNoted', 'not in the history'),
      ]),
    ],
    [
      graph('LIST requests of recounts', [sum('ScanRequests', 'requests')]),
      graph('Scan duration (ms)', [
        metric('p50')('ScanDuration', 'p50'),
        metric('p99')('ScanDuration', 'p99'),
      ]),
    ],
  ];
}
