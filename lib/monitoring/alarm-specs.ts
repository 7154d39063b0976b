import { Duration } from 'aws-cdk-lib';
import {
  ComparisonOperator,
  type CreateAlarmOptions,
  type IMetric,
  MathExpression,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { byDueIndex, byKindIndex } from '../../lambda/core/table/table.ts';
import {
  defaultRouteFunction,
  type FunctionName,
  functionSpecs,
  type QueueName,
  queueNames,
  queueSpecs,
  routes,
} from '../../lambda/routes.ts';
import type { Api } from '../api.ts';
import type { Data } from '../data.ts';
import type { Functions, HandlerFunction } from '../functions/functions.ts';
import type { DeploymentSettings } from '../settings/deployment-settings.ts';
import type { WorkQueue } from '../work-queue.ts';
import { customMetric } from './custom-metrics.ts';

export interface Watched {
  readonly settings: DeploymentSettings;
  readonly api: Api;
  readonly table: Data['table'];
  readonly functions: Functions;
  readonly queues: Partial<Readonly<Record<QueueName, WorkQueue>>> & { readonly reconciles: WorkQueue };
}

/** One alarm. docs/runbook.md says what to do about it. */
export interface AlarmSpec extends Partial<CreateAlarmOptions> {
  readonly id: string;
  /** `page`: users can't push or pull, nothing runs in the background, or money is lost by the hour. */
  readonly severity: 'page' | 'ticket';
  readonly says: string;
  readonly metric: IMetric;
  readonly threshold: number;
  /** It rings when the metric, once seen, is missing. CloudWatch then says INSUFFICIENT_DATA. */
  readonly ringsWithoutData?: true;
}

const fiveMinutes = { period: Duration.minutes(5), statistic: 'Sum' };
const largest = { ...fiveMinutes, statistic: 'Maximum' };
/** For a value that only one reconcile reports: the alarm then lasts an hour, long enough to be noticed. */
const worstOfHour = { period: Duration.hours(1), statistic: 'Maximum' };

/** With `monitoring: basic`: what concerns everybody, for a dollar a month. */
export function basicAlarms(scope: Construct, watched: Watched): AlarmSpec[] {
  const { settings, api } = watched;
  const { reconciles } = watched.queues;
  const { alarms } = settings;
  return [
    {
      id: 'DeadLetters',
      severity: 'ticket',
      says: 'A reconcile failed too often, or its message was unreadable. The usage of its tenant is getting old.',
      metric: reconciles.deadLetterQueue.metricApproximateNumberOfMessagesVisible(largest),
      threshold: 1,
    },
    {
      id: 'ReconcilesLate',
      severity: 'ticket',
      says: 'A reconcile has waited too long. Usage is getting old, and pushes near a limit get 429.',
      metric: reconciles.queue.metricApproximateAgeOfOldestMessage(largest),
      threshold: alarms.queueAgeMinutes * 60,
    },
    {
      // One tenant is enough. Its failures are few, at most one in ten minutes, and the queue's age does not show them:
      // SQS leaves out messages that were received often. An outage of some minutes fails many, but in few periods.
      id: 'ReconcilesFailed',
      severity: 'ticket',
      says: 'Reconciles kept failing for an hour, perhaps for one tenant only. Its usage is getting old. Run: npx lfs-quota check --health',
      metric: customMetric(scope, 'ReconcilesFailed', fiveMinutes),
      threshold: 1,
      evaluationPeriods: 12,
      datapointsToAlarm: alarms.reconcileFailures,
    },
    {
      // Only upward corrections: deletes and uploads that never arrived lower the counter without a fault.
      id: 'Drift',
      severity: 'ticket',
      says: 'A reconcile found far more stored or reserved than the counter had.',
      metric: customMetric(scope, 'CounterShortfallBytes', worstOfHour),
      threshold: alarms.driftGiB * 1024 ** 3,
    },
    {
      id: 'ReconcileAgeHigh',
      severity: 'ticket',
      says: "Usage was too old when it was updated: the schedule can't keep up.",
      metric: customMetric(scope, 'ReconcileAge', worstOfHour),
      threshold: alarms.reconcileAgeHours * 3_600_000,
    },
    refreshStopped(scope, settings),
    ...requestAlarms(api, settings),
  ];
}

function refreshStopped(scope: Construct, { refreshEveryMinutes }: DeploymentSettings): AlarmSpec {
  return {
    id: 'RefreshStopped',
    severity: 'page',
    says: 'No run of the schedule succeeded: no tenant that is due gets reconciled.',
    // Only a run that succeeds reports it. Invocations also count the runs that fail.
    metric: customMetric(scope, 'TenantsQueued', { period: Duration.hours(1), statistic: 'SampleCount' }),
    threshold: 1,
    comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
    // Whole hours in which four runs are due, so that one late run raises no alarm.
    evaluationPeriods: Math.max(1, Math.ceil((4 * refreshEveryMinutes) / 60)),
    // Taken for a fault, the hour before a first deployment would ring.
    treatMissingData: TreatMissingData.MISSING,
    ringsWithoutData: true,
  };
}

function requestAlarms({ failed, throttled, stage }: Api, { alarms }: DeploymentSettings): AlarmSpec[] {
  return [
    {
      id: 'ApiErrors',
      severity: 'page',
      says: 'The API returned 5xx.',
      metric: failed.metric(fiveMinutes),
      threshold: alarms.apiErrors,
    },
    {
      id: 'RequestsThrottled',
      severity: 'page',
      says: "API Gateway itself returned 429. Without Retry-After, git-lfs doesn't retry.",
      metric: throttled.metric(fiveMinutes),
      threshold: alarms.requestsThrottled,
    },
    {
      id: 'ClientErrors',
      severity: 'page',
      says: 'The API returned far more 4xx than usual, such as 401: a flood, or a client in a loop. Each costs money.',
      metric: stage.metricClientError(fiveMinutes),
      threshold: alarms.clientErrors,
    },
  ];
}

/** Of the account: it stands for those of each function, of which two may have a bad minute. */
export const functionsThrottled = ({ alarms }: DeploymentSettings): AlarmSpec => ({
  id: 'FunctionsThrottled',
  severity: 'page',
  says: "Functions were throttled: the account's Lambda concurrency is used up.",
  metric: new Metric({ namespace: 'AWS/Lambda', metricName: 'Throttles', ...fiveMinutes }),
  threshold: 2 * alarms.functionThrottles,
});

/** What `monitoring: full` adds. */
export function fullAlarms(watched: Watched): AlarmSpec[] {
  const { settings, api, functions, table } = watched;
  const { alarms } = settings;
  return [
    ...queueAlarms(watched),
    ...[...functions.entries()].flatMap(([name, handler]) => functionAlarms(name, handler, settings)),
    {
      id: 'RequestFlood',
      severity: 'page',
      says: 'The API got far more requests than usual. Each costs money.',
      metric: api.stage.metricCount(fiveMinutes),
      threshold: alarms.requests,
    },
    ...[...functions.entries()].flatMap(([name, handler]): AlarmSpec[] => {
      const { slow } = functionSpecs[name];
      const metric = handler.function.metricDuration({ ...fiveMinutes, statistic: 'p99' });
      const threshold = alarms.batchSeconds * 1000;
      // Three periods: a few pushes near a limit wait for a reconcile, and are all that a quiet hour has.
      return slow ? [{ ...slow, severity: 'ticket', metric, threshold, evaluationPeriods: 3 }] : [];
    }),
    ...throttlesOf(table).map(
      ({ id, metric, what }): AlarmSpec => ({
        id: `${id}Throttles`,
        severity: 'ticket',
        says: `The table throttled ${what}. If retries don't help, requests get 503.`,
        // CloudWatch takes a gap in a metric of DynamoDB for no change, so the alarm would never end.
        metric: new MathExpression({
          expression: 'FILL(sent, 0)',
          usingMetrics: { sent: metric },
          period: fiveMinutes.period,
        }),
        threshold: alarms.tableThrottles,
        evaluationPeriods: 3,
        datapointsToAlarm: 2,
      }),
    ),
  ];
}

/** What DynamoDB refused of the table and of each index. */
export function throttlesOf(table: Data['table']): { id: string; what: string; metric: IMetric }[] {
  const places = [
    ['Table', 'the table', {}],
    ['ByKind', byKindIndex.name, { GlobalSecondaryIndexName: byKindIndex.name }],
    ['ByDue', byDueIndex.name, { GlobalSecondaryIndexName: byDueIndex.name }],
  ] as const;
  return places.flatMap(([id, where, dimensions]) =>
    (['Read', 'Write'] as const).map((kind) => ({
      id: `${id}${kind}`,
      what: `${kind.toLowerCase()}s of ${where}`,
      metric: table.metric(`${kind}ThrottleEvents`, {
        ...fiveMinutes,
        label: `${where}: ${kind.toLowerCase()}s`,
        dimensionsMap: { TableName: table.tableName, ...dimensions },
      }),
    })),
  );
}

function queueAlarms({ settings, queues }: Watched): AlarmSpec[] {
  return queueNames.flatMap((name): AlarmSpec[] => {
    const work = queues[name];
    const { lost, isLaterBy = 1 } = queueSpecs[name];
    if (!work || !lost) return [];
    return [
      {
        id: `${work.kind}DeadLetters`,
        severity: 'ticket',
        says: lost,
        metric: work.deadLetterQueue.metricApproximateNumberOfMessagesVisible(largest),
        threshold: 1,
      },
      {
        id: `${work.kind}QueueLate`,
        severity: 'ticket',
        says: 'A message of this queue has waited too long: its function fails, is throttled, or has too few runs.',
        metric: work.queue.metricApproximateAgeOfOldestMessage(largest),
        threshold: isLaterBy * settings.alarms.queueAgeMinutes * 60,
      },
    ];
  });
}

/** Lambda retries a throttled run of the schedule six times in its minute. One or two retries do no harm. */
const backgroundThrottles = 3;

/**
 * A run in the background that fails is retried minutes later, one that crashed after up to half an hour. One that fails
 * once needs nobody.
 */
const oftenInTwoHours = { threshold: 1, evaluationPeriods: 12, datapointsToAlarm: 4 };

/**
 * They count the runs of all versions, not those of the alias: a deployment moves it, and a version that was live a minute
 * ago may still be running.
 */
function functionAlarms(
  name: FunctionName,
  handler: HandlerFunction,
  { alarms }: DeploymentSettings,
): AlarmSpec[] {
  const severity = name.startsWith('lfs') ? 'page' : 'ticket';
  const { functionErrors, functionThrottles } = alarms;
  return [
    {
      id: `${name}Errors`,
      severity,
      says: `${name} failed. Read its log.`,
      metric: handler.function.metricErrors(
        isInBackground(name) ? { ...fiveMinutes, period: Duration.minutes(10) } : fiveMinutes,
      ),
      ...(isInBackground(name) ? oftenInTwoHours : { threshold: functionErrors }),
    },
    {
      id: `${name}Throttles`,
      severity,
      says: `${name} was throttled: the account's Lambda concurrency is used up.`,
      metric: handler.function.metricThrottles(fiveMinutes),
      threshold: isInBackground(name) ? Math.min(backgroundThrottles, functionThrottles) : functionThrottles,
    },
  ];
}

const isInBackground = (name: FunctionName) =>
  name !== defaultRouteFunction && !routes.some((route) => route.function === name);
