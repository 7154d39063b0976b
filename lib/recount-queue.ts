import { CfnOutput, Duration } from 'aws-cdk-lib';
import { DeduplicationScope, FifoThroughputLimit, Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { queueDefaults } from './queue-defaults.ts';
import type { StageSettings } from './settings/stage-settings.ts';

/**
 * Requests for a recount. FIFO, with the tenant as message group: two recounts of one tenant never run at once.
 *
 * The delay is the queue's, not the message's: FIFO queues take no other. Deduplication is by the sender's id,
 * which carries a time bucket; by content, a trigger after a recount would be lost for five minutes.
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
      // Limits of 300 requests a second hold per tenant then, not for all together.
      deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      deliveryDelay: Duration.seconds(delaySeconds),
      // Six times the consumer's timeout, as Lambda asks for: its pollers may hold a message for longer than one run.
      visibilityTimeout: Duration.minutes(6 * timeoutMinutes),
      deadLetterQueue: { queue: this.deadLetterQueue, maxReceiveCount: attemptsMax },
    });
    new CfnOutput(this, 'QueueUrl', { value: this.queue.queueUrl }).overrideLogicalId('QueueUrl');
    new CfnOutput(this, 'DlqUrl', { value: this.deadLetterQueue.queueUrl }).overrideLogicalId('DlqUrl');
  }
}
