import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type CreateAlarmOptions,
  type IMetric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { defaultRouteFunction, type FunctionName, routes } from '../../lambda/routes.ts';
import type { Api } from '../api.ts';
import type { WorkQueue } from '../background.ts';
import type { Functions, HandlerFunction } from '../functions/functions.ts';
import type { DeploymentSettings } from '../settings/deployment-settings.ts';
import { customMetric } from './custom-metrics.ts';

interface AlarmsProps {
  readonly settings: DeploymentSettings;
  readonly api: Api;
  readonly functions: Functions;
  readonly reconciles: WorkQueue;
  readonly webhookWork: WorkQueue;
  /** Undefined if the stage sends no e-mail. */
  readonly emailWork: WorkQueue | undefined;
  /** Undefined if the stage makes no exports. */
  readonly exportWork: WorkQueue | undefined;
  /** Undefined if the stage receives no events of its store. */
  readonly storeEvents: WorkQueue | undefined;
}

/** For a value that only one reconcile reports: the alarm then lasts an hour, long enough to be noticed. */
const worstOfHour = { period: Duration.hours(1), statistic: 'Maximum' };
const fiveMinutes = { period: Duration.minutes(5), statistic: 'Sum' };

/** Lambda retries a throttled run of the schedule eight times in five minutes. One or two retries do no harm. */
const backgroundThrottles = 3;

/** Alarms on what needs a person. All notify one topic. docs/runbook.md says what to do about each. */
export class Alarms extends Construct {
  readonly topic: Topic;
  readonly all: readonly Alarm[];

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    const { settings, api, reconciles } = props;
    this.topic = this.#topic(settings.alarms.email);
    this.all = [
      ...this.#queueAlarms(props),
      this.#alarm(
        'ReconcilesLate',
        'A reconcile has waited too long. Usage is getting old, and pushes near a limit get 429.',
        {
          metric: reconciles.queue.metricApproximateAgeOfOldestMessage({
            ...fiveMinutes,
            statistic: 'Maximum',
          }),
          threshold: settings.alarms.queueAgeMinutes * 60,
        },
      ),
      this.#reconcilesFailed(settings),
      this.#alarm('ApiErrors', 'The API returned 5xx.', {
        metric: api.failed.metric(fiveMinutes),
        threshold: settings.alarms.apiErrors,
      }),
      this.#alarm(
        'RequestsThrottled',
        "API Gateway itself returned 429. Without Retry-After, git-lfs doesn't retry.",
        { metric: api.throttled.metric(fiveMinutes), threshold: settings.alarms.requestsThrottled },
      ),
      ...[...props.functions.entries()].flatMap(([name, handler]) =>
        this.#functionAlarms(name, handler, settings),
      ),
      this.#refreshStopped(props),
      ...this.#usageAlarms(settings),
    ];
  }

  /** Messages that failed too often, of the queues that the stage has. */
  #queueAlarms({ reconciles, webhookWork, emailWork, exportWork, storeEvents }: AlarmsProps): Alarm[] {
    const queues = [
      [
        'DeadLetters',
        'A reconcile failed too often, or its message was unreadable. The usage of its tenant is getting old.',
        reconciles,
      ],
      [
        'WebhookDeadLetters',
        "An alert couldn't be sent to a webhook: the function sendWebhook failed too often.",
        webhookWork,
      ],
      [
        'EmailDeadLetters',
        "An alert couldn't be e-mailed: the function sendEmail failed too often.",
        emailWork,
      ],
      [
        'ExportDeadLetters',
        'A step of an export failed too often. The schedule continues the export, or it fails within a day.',
        exportWork,
      ],
      [
        'StoreEventsDeadLetters',
        "Events of the store couldn't be recorded. The next full scan finds the changes.",
        storeEvents,
      ],
    ] as const;
    return queues.flatMap(([id, description, work]) => {
      if (!work) return [];
      const options = { ...fiveMinutes, statistic: 'Maximum' };
      const metric = work.deadLetterQueue.metricApproximateNumberOfMessagesVisible(options);
      return [this.#alarm(id, description, { metric, threshold: 1 })];
    });
  }

  /**
   * One tenant is enough. Its failures are few, at most one in ten minutes, and the queue's age does not show them: SQS
   * leaves out messages that were received often. An outage of some minutes fails many reconciles, but in few periods.
   */
  #reconcilesFailed({ alarms }: DeploymentSettings): Alarm {
    return this.#alarm(
      'ReconcilesFailed',
      'Reconciles kept failing for an hour, perhaps for one tenant only. Its usage is getting old. Run: npx lfs-quota status',
      {
        metric: customMetric(this, 'ReconcilesFailed', fiveMinutes),
        threshold: 1,
        evaluationPeriods: 12,
        datapointsToAlarm: alarms.reconcileFailures,
      },
    );
  }

  #functionAlarms(name: FunctionName, handler: HandlerFunction, settings: DeploymentSettings): Alarm[] {
    return [
      this.#alarm(`${name}Errors`, `${name} failed. Read its log.`, {
        metric: handler.function.metricErrors(fiveMinutes),
        // A background run that fails is retried minutes later, so its errors seldom fall into one period.
        threshold: isInBackground(name) ? 1 : settings.alarms.functionErrors,
      }),
      this.#alarm(`${name}Throttles`, `${name} was throttled: the account's Lambda concurrency is used up.`, {
        metric: handler.function.metricThrottles(fiveMinutes),
        threshold: isInBackground(name)
          ? Math.min(backgroundThrottles, settings.alarms.functionThrottles)
          : settings.alarms.functionThrottles,
      }),
    ];
  }

  /** Whether the usage that is shown and enforced is true. */
  #usageAlarms({ alarms }: DeploymentSettings): Alarm[] {
    return [
      // Only upward corrections: deletes and uploads that never arrived lower the counter without a fault.
      this.#alarm('Drift', 'A reconcile found far more stored or reserved than the counter had.', {
        metric: customMetric(this, 'CounterShortfallBytes', worstOfHour),
        threshold: alarms.driftGiB * 1024 ** 3,
      }),
      this.#alarm('ReconcileAgeHigh', "Usage was too old when it was updated: the schedule can't keep up.", {
        metric: customMetric(this, 'ReconcileAge', worstOfHour),
        threshold: alarms.reconcileAgeHours * 3_600_000,
      }),
    ];
  }

  #refreshStopped({ settings }: AlarmsProps): Alarm {
    // Whole hours in which four runs are due, so that one late run raises no alarm.
    const hours = Math.max(1, Math.ceil((4 * settings.refreshEveryMinutes) / 60));
    return this.#alarm(
      'RefreshStopped',
      'No run of the schedule succeeded: no tenant that is due gets reconciled.',
      {
        // Only a run that succeeds reports it. Invocations also count the runs that fail.
        metric: customMetric(this, 'TenantsQueued', { period: Duration.hours(1), statistic: 'SampleCount' }),
        threshold: 1,
        evaluationPeriods: hours,
        comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
        treatMissingData: TreatMissingData.BREACHING,
      },
    );
  }

  #alarm(
    id: string,
    alarmDescription: string,
    options: Partial<CreateAlarmOptions> & { metric: IMetric; threshold: number },
  ): Alarm {
    const alarm = new Alarm(this, id, {
      alarmDescription,
      evaluationPeriods: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      // Without messages, requests or errors nothing is reported, and all is well.
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...options,
    });
    alarm.addAlarmAction(new SnsAction(this.topic));
    alarm.addOkAction(new SnsAction(this.topic));
    return alarm;
  }

  #topic(email: string | undefined): Topic {
    const topic = new Topic(this, 'Topic', { displayName: 'lfs-quota alarms', enforceSSL: true });
    // A policy that names one publisher replaces the account's default policy, so CloudWatch must be named too.
    topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    if (email !== undefined) topic.addSubscription(new EmailSubscription(email));
    new CfnOutput(this, 'AlarmTopicArn', { value: topic.topicArn }).overrideLogicalId('AlarmTopicArn');
    return topic;
  }
}

const isInBackground = (name: FunctionName) =>
  name !== defaultRouteFunction && !routes.some((route) => route.function === name);
