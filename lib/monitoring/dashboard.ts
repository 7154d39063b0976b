import { CfnMapping, CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import {
  AlarmStatusWidget,
  Dashboard as CloudWatchDashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  MathExpression,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { MetricName } from '../../lambda/core/rules/metrics.ts';
import type { QueueSpec } from '../../lambda/frame/spec.ts';
import { queueNames, queueSpecs } from '../../lambda/routes.ts';
import type { Api } from '../api.ts';
import type { Functions, HandlerFunction } from '../functions/functions.ts';
import type { WorkQueue } from '../work-queue.ts';
import { throttlesOf, type Watched } from './alarm-specs.ts';
import type { Alarms } from './alarms.ts';
import { customMetric } from './custom-metrics.ts';

/** A graph, one third of the dashboard wide. */
const graph = (title: string, left: readonly IMetric[]): IWidget =>
  new GraphWidget({ title, left: [...left], width: 8 });

/** Rows of what the functions measure: uploads and reads, how true the usage is, and what scans cost. */
function usageWidgets(scope: Construct, period: Duration): IWidget[][] {
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
      graph('Usage read from the table (%)', [hitRate]),
    ],
    [
      graph('Largest correction of a counter (bytes)', [
        maximum('DriftBytes', 'up or down'),
        maximum('CounterShortfallBytes', 'up'),
      ]),
      graph('Age of the oldest usage that was updated (ms)', [maximum('ReconcileAge', 'age')]),
      graph('Tenants due, reconciles deferred and failed', [
        sum('TenantsQueued', 'tenants due'),
        sum('ReconcilesDeferred', 'reconciles deferred'),
        sum('ReconcilesFailed', 'reconciles failed'),
        sum('HistoryNotNoted', 'not in the history'),
      ]),
    ],
    [
      graph('LIST requests of reconciles', [sum('ScanRequests', 'requests')]),
      graph('Scan duration (ms)', [
        metric('p50')('ScanDuration', 'p50'),
        metric('p99')('ScanDuration', 'p99'),
      ]),
    ],
  ];
}

interface DashboardProps extends Watched {
  readonly alarms: Alarms;
}

const period = Duration.minutes(5);
const sum = { period, statistic: 'Sum' };
const maximum = { period, statistic: 'Maximum' };

/** Where each partition of AWS has its console. */
const consoleDomains = {
  aws: { domain: 'console.aws.amazon.com' },
  'aws-cn': { domain: 'console.amazonaws.cn' },
  'aws-us-gov': { domain: 'console.amazonaws-us-gov.com' },
  'aws-eusc': { domain: 'console.amazonaws-eusc.eu' },
};

/** One page for the operator who was alarmed: alarms, requests, usage, functions, queues and table. */
export class Dashboard extends Construct {
  constructor(scope: Construct, id: string, props: DashboardProps) {
    super(scope, id);
    const dashboard = new CloudWatchDashboard(this, 'Dashboard', {
      defaultInterval: Duration.hours(12),
      widgets: [
        [new AlarmStatusWidget({ title: 'Alarms', width: 24, alarms: [...props.alarms.all] })],
        requestWidgets(props.api),
        ...usageWidgets(this, period),
        functionWidgets(props.functions),
        backgroundWidgets(props),
        ...queueNames.flatMap((name) => {
          const { [name]: work } = props.queues;
          const { graphs } = queueSpecs[name];
          return work && graphs ? [workWidgets(work, graphs)] : [];
        }),
      ],
    });
    const { region, partition } = Stack.of(this);
    const domain = new CfnMapping(this, 'Console', { mapping: consoleDomains }).findInMap(
      partition,
      'domain',
    );
    const place = `https://${region}.${domain}/cloudwatch/home?region=${region}`;
    new CfnOutput(this, 'DashboardUrl', {
      value: `${place}#dashboards/dashboard/${dashboard.dashboardName}`,
    }).overrideLogicalId('DashboardUrl');
  }
}

function requestWidgets({ stage, throttled }: Api): IWidget[] {
  return [
    graph('Requests', [stage.metricCount(sum)]),
    graph('Responses with 4xx and 5xx', [
      stage.metricClientError(sum),
      stage.metricServerError(sum),
      throttled.metric({ ...sum, label: '429 by API Gateway' }),
    ]),
    graph('Latency (ms)', [
      stage.metricLatency({ period, statistic: 'p50' }),
      stage.metricLatency({ period, statistic: 'p99' }),
    ]),
  ];
}

function functionWidgets(functions: Functions): IWidget[] {
  const each = (metricOf: (handler: HandlerFunction, label: string) => IMetric) =>
    [...functions.entries()].map(([name, handler]) => metricOf(handler, name));
  return [
    graph(
      'Duration, p99 (ms)',
      each((handler, label) => handler.function.metricDuration({ period, statistic: 'p99', label })),
    ),
    graph(
      'Errors',
      each((handler, label) => handler.function.metricErrors({ ...sum, label })),
    ),
    graph(
      'Throttles',
      each((handler, label) => handler.function.metricThrottles({ ...sum, label })),
    ),
  ];
}

function backgroundWidgets({ queues, table }: DashboardProps): IWidget[] {
  return [
    ...waitingWidgets(queues.reconciles, { title: 'Reconciles', one: 'reconcile' }),
    graph('Table: read and write units', [
      table.metricConsumedReadCapacityUnits(sum),
      table.metricConsumedWriteCapacityUnits(sum),
    ]),
    graph(
      'Table: throttles',
      throttlesOf(table).map(({ metric }) => metric),
    ),
  ];
}

/** Of a queue: what was done, what waits, and for how long. */
function workWidgets(
  { queue, deadLetterQueue }: WorkQueue,
  { title, done, label, one }: NonNullable<QueueSpec['graphs']>,
): IWidget[] {
  return [
    graph(`${title}: ${done}`, [queue.metricNumberOfMessagesDeleted({ ...sum, label })]),
    ...waitingWidgets({ queue, deadLetterQueue }, { title, one }),
  ];
}

function waitingWidgets(
  { queue, deadLetterQueue }: Pick<WorkQueue, 'queue' | 'deadLetterQueue'>,
  { title, one }: { title: string; one: string },
): IWidget[] {
  return [
    graph(`${title}: queued and dead letters`, [
      queue.metricApproximateNumberOfMessagesVisible({ ...maximum, label: 'queued' }),
      deadLetterQueue.metricApproximateNumberOfMessagesVisible({ ...maximum, label: 'dead letters' }),
    ]),
    graph(`Oldest queued ${one} (s)`, [queue.metricApproximateAgeOfOldestMessage(maximum)]),
  ];
}
