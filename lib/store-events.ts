import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, type IFunction } from 'aws-cdk-lib/aws-lambda';
import { type Bucket, CfnBucket } from 'aws-cdk-lib/aws-s3';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { functionSpecs } from './functions/function-specs.ts';
import { queueDefaults } from './queues.ts';

/** How long Lambda gathers events: a burst then makes one run, which looks each tenant up once. */
const gatherSeconds = 20;
/** Most events in one run. Each has about 1 kB, and Lambda passes at most 6 MB. */
const eventsPerRunMax = 500;
/** Most runs at a time: the minimum of Lambda. More would look up and record the same tenants in parallel. */
const runsAtOnce = 2;
/** How many characters of a stack's name are sure to begin the name of its bucket. */
const sureNameLength = 20;

/**
 * Notifications of the stack's own bucket, and the queue that brings them to the function storeEvents.
 *
 * They are set up by the bucket's own property. The CDK's `addEventNotification` would add a function that may
 * change the notifications of every bucket.
 */
export class StoreEvents extends Construct {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;

  constructor(scope: Construct, id: string, { bucket }: { bucket: Bucket }) {
    super(scope, id);
    this.deadLetterQueue = new Queue(this, 'DeadLetterQueue', queueDefaults);
    this.queue = new Queue(this, 'Queue', {
      ...queueDefaults,
      // Lambda's recommendation: six times the consumer's timeout, plus the time that it gathers.
      visibilityTimeout: Duration.seconds(
        6 * (functionSpecs.storeEvents.timeoutSeconds ?? 0) + gatherSeconds,
      ),
      // Twenty times six minutes: outlasts two hours without the table.
      deadLetterQueue: { queue: this.deadLetterQueue, maxReceiveCount: 20 },
    });
    new CfnOutput(this, 'StoreEventsDlqUrl', {
      value: this.deadLetterQueue.queueUrl,
    }).overrideLogicalId('StoreEventsDlqUrl');
    this.queue.addToResourcePolicy(this.#letBucketsSend());
    const resource = bucket.node.defaultChild;
    if (!(resource instanceof CfnBucket)) throw new Error('A bucket is no longer one resource.');
    resource.notificationConfiguration = {
      queueConfigurations: ['s3:ObjectCreated:*', 's3:ObjectRemoved:*'].map((event) => ({
        event,
        queue: this.queue.queueArn,
      })),
    };
    // S3 sends a test event when notifications are set up, so the queue's policy must exist before.
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
   * Lets S3 send, for buckets of this account whose name begins as this stage's do. The whole name is unknown:
   * CloudFormation chooses it when it creates the bucket, and the bucket needs this policy before.
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
