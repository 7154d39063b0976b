import { Duration, Stack } from 'aws-cdk-lib';
import { EventBus, Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnBucket, type IBucket } from 'aws-cdk-lib/aws-s3';
import { Schedule, ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import {
  ConfigurationSet,
  ConfigurationSetTlsPolicy,
  EmailSendingEvent,
  EventDestination,
} from 'aws-cdk-lib/aws-ses';
import { DeduplicationScope, FifoThroughputLimit, type IQueue, type Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { consumerOf, functionSpecs, type QueueName, queueNames, queueSpecs } from '../lambda/routes.ts';
import { type Functions, fixedRole } from './functions/functions.ts';
import type { Watched } from './monitoring/alarm-specs.ts';
import { workersOf } from './settings/concurrency.ts';
import type { DeploymentSettings } from './settings/deployment-settings.ts';
import { WorkQueue, type WorkQueueProps } from './work-queue.ts';

/**
 * Requests for reconciles. The queue is FIFO with the tenant as message group, so two reconciles of one tenant never
 * run at the same time.
 *
 * The delay belongs to the queue because FIFO queues accept none per message. The sender's deduplication id carries
 * a time bucket. Deduplication by content would lose, for five minutes, every trigger that comes after a reconcile.
 */
const reconcilesBy = ({ timeoutMinutes, delaySeconds, attemptsMax }: DeploymentSettings['reconcile']) => ({
  attemptsMax,
  fifo: true,
  contentBasedDeduplication: false,
  // The limit of 300 requests a second then holds for each tenant, not for all of them together.
  deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
  fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
  // 30 s of the bucket, and 5 s of clock difference. The difference counts once here, because two functions' clocks
  // make the bucket. In a reservation's death it counts twice, because the store's clock judges too.
  deliveryDelay: Duration.seconds(delaySeconds),
  // While a message is hidden, its tenant isn't reconciled. So a longer timeout costs waiting after a crash.
  visibilityTimeout: Duration.minutes(6 * timeoutMinutes),
});

/** A burst makes one run, which looks each tenant up once. Each event has about 1 kB, and Lambda passes at most 6 MB. */
const gathered = { batchSize: 500, maxBatchingWindow: Duration.seconds(20) };
const gatheredFor = Duration.seconds(6 * (functionSpecs.storeEvents.timeoutSeconds ?? 0) + 20);

/**
 * The queues that a stage has. Lambda recommends to hide a message for six times its consumer's timeout: its pollers may hold one
 * for longer than one run. Not where somebody waits for the step, and one that comes twice does no harm: then it comes back a
 * minute after the longest run. Dead letters of what is sent can't be read, or nobody could try: what a receiver does not take is
 * given up before.
 */
export function workQueues(scope: Construct, settings: DeploymentSettings) {
  const workers = workersOf(settings);
  const own: Partial<Record<QueueName, Partial<WorkQueueProps> & { readonly id: string }>> = {
    reconciles: { id: 'ReconcileQueue', ...reconcilesBy(settings.reconcile) },
    'store-events': { id: 'StoreEvents', visibilityTimeout: gatheredFor, delivery: gathered },
  };
  const made = queueNames.flatMap((name): [QueueName, WorkQueue][] => {
    const maxConcurrency = workers[name];
    if (!maxConcurrency) return [];
    const { kind, attemptsMax = 20, isSent } = queueSpecs[name];
    const consumer = consumerOf(name);
    const { timeoutSeconds = 0 } = functionSpecs[consumer];
    const visibilityTimeout = Duration.seconds(isSent ? 6 * timeoutSeconds : timeoutSeconds + 60);
    const { id, delivery, ...props } = { id: `${kind}Work`, ...own[name] };
    const all = { kind, consumer, attemptsMax, visibilityTimeout, ...props };
    return [[name, new WorkQueue(scope, id, { ...all, delivery: { maxConcurrency, ...delivery } })]];
  });
  return Object.fromEntries(made) as Watched['queues'];
}

/** How many characters of a stack's name are sure to begin the name of its bucket. */
const sureNameLength = 20;

/**
 * Notifications of the stage's own bucket. They are set up by the bucket's own property. The CDK's `addEventNotification` would
 * add a function that may change the notifications of every bucket.
 */
export function notify(queue: Queue, bucket: IBucket): void {
  const { account, partition, stackName } = Stack.of(queue);
  // The whole name is unknown: CloudFormation chooses it when it creates the bucket, and the bucket needs this policy before.
  const named = stackName.toLowerCase().slice(0, sureNameLength);
  queue.addToResourcePolicy(
    new PolicyStatement({
      principals: [new ServicePrincipal('s3.amazonaws.com')],
      actions: ['sqs:SendMessage'],
      resources: [queue.queueArn],
      conditions: {
        StringEquals: { 'aws:SourceAccount': account },
        ArnLike: { 'aws:SourceArn': `arn:${partition}:s3:::${named}*` },
      },
    }),
  );
  const resource = bucket.node.defaultChild;
  if (!(resource instanceof CfnBucket)) throw new Error('A bucket is no longer one resource.');
  resource.notificationConfiguration = {
    queueConfigurations: ['s3:ObjectCreated:*', 's3:ObjectRemoved:*'].map((event) => ({
      event,
      queue: queue.queueArn,
    })),
  };
  // S3 sends a test event when notifications are set up, so the queue's policy must exist before.
  resource.node.addDependency(queue);
}

/** Of a run of the schedule: the next one comes soon, and finds the same tenants. */
const onlyOnce = { retryAttempts: 0, maxEventAge: Duration.minutes(1) };

/** What runs without a request: reconciles from the queue, and the schedule that looks for tenants that are due. */
export class Background extends Construct {
  constructor(
    scope: Construct,
    id: string,
    props: { refreshEveryMinutes: number; reconciles: WorkQueue; functions: Functions },
  ) {
    super(scope, id);
    props.reconciles.deliverTo(props.functions, this, 'ReconcileSource');
    const refresh = props.functions.get('refresh').live;
    // The role that the CDK would create accepts later grants.
    const role = fixedRole(this, 'SchedulerRole', {
      service: 'scheduler',
      statements: [
        new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [refresh.functionArn] }),
      ],
    });
    new Schedule(this, 'RefreshSchedule', {
      description: 'Queues reconciles of the tenants that are due.',
      schedule: ScheduleExpression.rate(Duration.minutes(props.refreshEveryMinutes)),
      target: new LambdaInvoke(refresh, { role, ...onlyOnce }),
    });
    // The scheduler only hands it to Lambda, which by default runs what failed twice more, and retries what it throttled for
    // six hours. Then an hour without free functions would be followed by 60 runs.
    refresh.configureAsyncInvoke(onlyOnce);
  }
}

/**
 * How SES tells of e-mails that came back: by the account's event bus, into the queue of what is to be e-mailed. Its
 * function then ends the e-mails to that address.
 */
export class EmailFeedback extends Construct {
  readonly configurationSet: string;

  constructor(scope: Construct, id: string, { queue }: { queue: IQueue }) {
    super(scope, id);
    const set = new ConfigurationSet(this, 'ConfigurationSet', {
      configurationSetName: Stack.of(this).stackName,
      tlsPolicy: ConfigurationSetTlsPolicy.REQUIRE,
    });
    this.configurationSet = set.configurationSetName;
    set.addEventDestination('Returned', {
      destination: EventDestination.eventBus(EventBus.fromEventBusName(this, 'EventBus', 'default')),
      events: [EmailSendingEvent.BOUNCE, EmailSendingEvent.COMPLAINT],
    });
    new Rule(this, 'Returned', {
      description: 'E-mails of lfs-quota that bounced, or that somebody complained about.',
      eventPattern: {
        source: ['aws.ses'],
        detailType: ['Email Bounced', 'Email Complaint Received'],
        detail: { mail: { tags: { 'ses:configuration-set': [this.configurationSet] } } },
      },
      targets: [new SqsQueue(queue)],
    });
  }
}
