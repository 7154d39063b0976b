import { Match, type Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { metricUnits } from '../../lambda/core/rules/metrics.ts';
import { functionNamesOf } from '../../lib/functions/functions.ts';
import { parseDeploymentSettings } from '../../lib/settings/stages.ts';
import { backgroundFunctions, givesUpTo, liveOf, templateOf } from './stack-template.ts';
import { fixtures } from './stage-fixtures.ts';

const names = functionNamesOf(parseDeploymentSettings('dev', {}));

let template: Template;

beforeAll(() => {
  template = templateOf();
});

describe('the reconcile queue', () => {
  it('delays messages, orders them by tenant, and has its own dead-letter queue', () => {
    template.hasResourceProperties('AWS::SQS::Queue', {
      FifoQueue: true,
      ContentBasedDeduplication: false,
      DelaySeconds: 35,
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
      RedrivePolicy: givesUpTo('ReconcileQueueDeadLetterQueue'),
    });
    template.allResourcesProperties('AWS::SQS::Queue', {
      SqsManagedSseEnabled: true,
      MessageRetentionPeriod: 14 * 24 * 3600,
    });
  });

  it.each([2, 5, 15])(
    'hides a message for six times the timeout of a consumer of %i minutes',
    (timeoutMinutes) => {
      const stage = templateOf({ reconcile: { timeoutMinutes } });
      const [consumer] = Object.values(
        stage.findResources('AWS::Lambda::Function', { Properties: { Timeout: timeoutMinutes * 60 } }),
      );
      expect(consumer).toBeDefined();
      stage.hasResourceProperties('AWS::SQS::Queue', {
        RedrivePolicy: Match.anyValue(),
        VisibilityTimeout: 6 * timeoutMinutes * 60,
      });
    },
  );

  it('delivers one reconcile at a time, and redelivers only what failed', () => {
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      BatchSize: 1,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ScalingConfig: { MaximumConcurrency: 5 },
      FunctionName: liveOf('reconcile'),
    });
  });
});

it('reserves no functions, of which a new account may run 10 at once', () => {
  // AWS refuses a reservation that leaves the account less than 100, so such an account could not deploy.
  template.allResourcesProperties('AWS::Lambda::Function', { ReservedConcurrentExecutions: Match.absent() });
});

describe('the schedule', () => {
  it('invokes refresh, and does not retry a failed run', () => {
    template.hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Target: {
        Arn: { Ref: Match.stringLikeRegexp('^FunctionsrefreshFunctionAliaslive') },
        RetryPolicy: { MaximumRetryAttempts: 0 },
      },
    });
    templateOf({ refreshEveryMinutes: 20 }).hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'rate(20 minutes)',
    });
  });
});

describe('what is invoked without waiting', () => {
  /** Aliases that a schedule, a rule, a topic or a bucket invokes: Lambda queues what they send, and retries it. */
  const invokedBy = [
    'AWS::Scheduler::Schedule',
    'AWS::Events::Rule',
    'AWS::SNS::Subscription',
    'AWS::S3::Bucket',
  ];

  it.each(fixtures.map(({ name, settings }) => [name, settings] as const))(
    'runs once, and not a minute later: %s',
    (_, settings) => {
      const { Resources } = templateOf(settings).toJSON() as {
        Resources: Record<string, { Type: string; Properties: object }>;
      };
      const aliases = Object.values(Resources)
        .filter(({ Type }) => invokedBy.includes(Type))
        .flatMap(({ Properties }) => JSON.stringify(Properties).match(/Functions\w+Alias\w+/g) ?? []);
      expect(aliases).toEqual([expect.stringMatching(/^FunctionsrefreshFunctionAliaslive/)]);
      for (const alias of aliases) {
        const [config, ...others] = Object.values(Resources).filter(
          ({ Type, Properties }) =>
            Type === 'AWS::Lambda::EventInvokeConfig' && JSON.stringify(Properties).includes(`"${alias}"`),
        );
        expect(config?.Properties).toMatchObject({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 });
        expect(others).toEqual([]);
      }
    },
  );
});

describe('the alarms', () => {
  const metrics = [
    ['DeadLetters', 1],
    ['WebhookDeadLetters', 1],
    ['ExportDeadLetters', 1],
    ['ChunkDeadLetters', 1],
    ['ReconcilesLate', 3600],
    ['WebhookQueueLate', 3600],
    ['ExportQueueLate', 6 * 3600],
    ['ChunkQueueLate', 3600],
    ['ReconcilesFailed', 1],
    ['ApiErrors', 5],
    ['RequestsThrottled', 10],
    ['ClientErrors', 5_000],
    ['RequestFlood', 60_000],
    ['BatchSlow', 10_000],
    ...['Table', 'ByKind', 'ByDue'].flatMap((place) =>
      ['Read', 'Write'].map((kind) => [`${place}${kind}Throttles`, 100] as const),
    ),
    ['RefreshStopped', 1],
    ['Drift', 100 * 1024 ** 3],
    ['ReconcileAgeHigh', 36 * 3_600_000],
    ...names.flatMap((name) => [
      [`${name}Errors`, backgroundFunctions.includes(name) ? 1 : 3] as const,
      [`${name}Throttles`, backgroundFunctions.includes(name) ? 3 : 10] as const,
    ]),
  ] as const;

  it.each(metrics)('%s has the threshold %i, and notifies the topic', (name, threshold) => {
    const alarms = Object.entries(template.findResources('AWS::CloudWatch::Alarm'));
    const [, alarm] = alarms.find(([id]) => id.startsWith(`Alarms${name}`)) ?? [];
    const toTopic = expect.arrayContaining([{ Ref: expect.stringMatching(/^AlarmsTopic/) }]);
    expect(JSON.stringify(alarm?.['Properties'].OKActions ?? [])).not.toContain('AlarmsTopic');
    expect(alarm?.['Properties']).toMatchObject({
      Threshold: threshold,
      AlarmActions: toTopic,
    });
    expect(alarms).toHaveLength(metrics.length);
  });

  it('watch for bytes missing from the counter and for old counts, with the thresholds of the stage', () => {
    const stage = templateOf({ alarms: { driftGiB: 7, reconcileAgeHours: 48 } });
    const expected = [
      ['CounterShortfallBytes', 7 * 1024 ** 3],
      ['ReconcileAge', 48 * 3_600_000],
    ] as const;
    for (const [MetricName, Threshold] of expected) {
      stage.hasResourceProperties('AWS::CloudWatch::Alarm', {
        Namespace: 'lfs-quota-test',
        MetricName,
        Threshold,
        Dimensions: [{ Name: 'service', Value: 'lfs-quota' }],
        Statistic: 'Maximum',
        Period: 3600,
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        TreatMissingData: 'notBreaching',
      });
    }
    expect(() => templateOf({ alarms: { reconcileAgeHours: 24 } })).toThrow(/reconcileAgeHours: must be 25/);
  });

  it('ring for reconciles that fail in as many periods of an hour as the stage says', () => {
    for (const reconcileFailures of [2, 12])
      templateOf({ alarms: { reconcileFailures } }).hasResourceProperties('AWS::CloudWatch::Alarm', {
        MetricName: 'ReconcilesFailed',
        Period: 300,
        EvaluationPeriods: 12,
        DatapointsToAlarm: reconcileFailures,
      });
  });

  it('notify the address that a setting names', () => {
    template.resourceCountIs('AWS::SNS::Subscription', 0);
    templateOf({ alarms: { email: 'ops@example.com' } }).hasResourceProperties('AWS::SNS::Subscription', {
      Protocol: 'email',
      Endpoint: 'ops@example.com',
    });
  });

  it('accept notifications only from CloudWatch of this account', () => {
    template.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Effect: 'Allow',
            Principal: { Service: 'cloudwatch.amazonaws.com' },
            Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
          }),
        ]),
      },
    });
  });
});

describe('what the functions measure', () => {
  it('goes to the namespace of the stage', () => {
    template.allResourcesProperties('AWS::Lambda::Function', {
      Environment: { Variables: { POWERTOOLS_METRICS_NAMESPACE: 'lfs-quota-test' } },
    });
  });

  it.each(Object.keys(metricUnits))('is on the dashboard: %s', (name) => {
    const [dashboard] = Object.values(template.findResources('AWS::CloudWatch::Dashboard'));
    const body = JSON.stringify(dashboard?.['Properties']['DashboardBody']).replaceAll('\\', '');
    expect(body).toContain(`"lfs-quota-test","${name}","service","lfs-quota"`);
  });
});
