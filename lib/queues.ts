import { CfnOutput, Duration } from 'aws-cdk-lib';
import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { StageSettings } from './settings/stage-settings.ts';

/** Every queue is encrypted, requires TLS, and keeps messages as long as SQS allows, so that dead letters can be read. */
export const queueDefaults = {
  encryption: QueueEncryption.SQS_MANAGED,
  enforceSSL: true,
  retentionPeriod: Duration.days(14),
};

/**
 * Requests for recounts. The queue is FIFO with the tenant as message group, so two recounts of one tenant never
 * run at the same time.
 *
 * The delay belongs to the queue because FIFO queues accept none per message. The sender's deduplication id carries
 * a time bucket. Deduplication by content would lose, for five minutes, every trigger that comes after a recount.
 */
export class RecountQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;

  constructor(scope: Construct, id: string, props: { reconcile: StageSettings['reconcile'] }) {
    super(scope, id);
    const { timeoutMinutes, delaySeconds, attemptsMax } = props.reconcile;
    const common = { ...queueDefaults, fifo: true };
    this.deadLetterQueue = new Queue(this, 'DeadLetterQueue', common);
    this.queue = new Queue(this, 'Queue', {
      ...common,
      contentBasedDeduplication: false,
      // The limit of 300 requests a second then holds for each tenant, not for all of them together.
      deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      deliveryDelay: Duration.seconds(delaySeconds),
      // Lambda's recommendation, six times the consumer's timeout: its pollers may hold a message for longer than one run.
      visibilityTimeout: Duration.minutes(6 * timeoutMinutes),
      deadLetterQueue: { queue: this.deadLetterQueue, maxReceiveCount: attemptsMax },
    });
    new CfnOutput(this, 'QueueUrl', { value: this.queue.queueUrl }).overrideLogicalId('QueueUrl');
    new CfnOutput(this, 'DlqUrl', { value: this.deadLetterQueue.queueUrl }).overrideLogicalId('DlqUrl');
  }
}
