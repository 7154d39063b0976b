import { Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, type IFunction } from 'aws-cdk-lib/aws-lambda';
import { type Bucket, CfnBucket } from 'aws-cdk-lib/aws-s3';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { functionSpecs } from './functions/function-specs.ts';
import { queueDefaults } from './queue-defaults.ts';

/** Events are gathered for so long, so that a burst is one run and a tenant's changes are looked up once. */
const gatherSeconds = 20;
/** Events in one run; each is about 1 kB, and Lambda hands over 6 MB at the most. */
const eventsPerRunMax = 500;
/** Two, the least that Lambda takes: more at once would look up, and note, the same tenants side by side. */
const runsAtOnce = 2;
/** Longest part of a stack's name that the name of its bucket is sure to begin with. */
const sureNameLength = 20;

/**
 * What S3 tells of the stack's own bucket, on its way to the function that takes it up.
 *
 * The bucket's own property sets the notifications up. The CDK's `addEventNotification` would add a function
 * that may change those of every bucket.
 */
export class StoreEvents extends Construct {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;

  constructor(scope: Construct, id: string, { bucket }: { bucket: Bucket }) {
    super(scope, id);
    this.deadLetterQueue = new Queue(this, 'DeadLetterQueue', queueDefaults);
    this.queue = new Queue(this, 'Queue', {
      ...queueDefaults,
      // As Lambda asks for: six times the consumer's timeout, and the time that it gathers.
      visibilityTimeout: Duration.seconds(
        6 * (functionSpecs.storeEvents.timeoutSeconds ?? 0) + gatherSeconds,
      ),
      // Two hours without the table, at six minutes each.
      deadLetterQueue: { queue: this.deadLetterQueue, maxReceiveCount: 20 },
    });
    this.queue.addToResourcePolicy(this.#letBucketsSend());
    const resource = bucket.node.defaultChild;
    if (!(resource instanceof CfnBucket)) throw new Error('A bucket is no longer one resource.');
    resource.notificationConfiguration = {
      queueConfigurations: ['s3:ObjectCreated:*', 's3:ObjectRemoved:*'].map((event) => ({
        event,
        queue: this.queue.queueArn,
      })),
    };
    // S3 sends a trial when notifications are set up: what lets it has to be there before.
    resource.node.addDependency(this.queue);
  }

  deliverTo(consumer: IFunction): void {
    new EventSourceMapping(this, 'Source', {
      target: consumer,
      eventSourceArn: this.queue.queueArn,
      batchSize: eventsPerRunMax,
      maxBatchingWindow: Duration.seconds(gatherSeconds),
      reportBatchItemFailures: true,
      maxConcurrency: runsAtOnce,
    });
  }

  /**
   * S3, for buckets of this account that a stage of this name made. Not by the bucket's whole name: it is made
   * up with the bucket, and the bucket needs this policy first.
   */
  #letBucketsSend(): PolicyStatement {
    const { account, partition, stackName } = Stack.of(this);
    const named = stackName.toLowerCase().slice(0, sureNameLength);
    return new PolicyStatement({
      principals: [new ServicePrincipal('s3.amazonaws.com')],
      actions: ['sqs:SendMessage'],
      resources: [this.queue.queueArn],
      conditions: {
        StringEquals: { 'aws:SourceAccount': account },
        ArnLike: { 'aws:SourceArn': `arn:${partition}:s3:::${named}*` },
      },
    });
  }
}
