import { CfnOutput, Duration } from 'aws-cdk-lib';
import { EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { functionSpecs } from './functions/function-specs.ts';
import type { Functions } from './functions/functions.ts';
import { queueDefaults } from './queues.ts';

/** Receivers that are waited for at a time, each for five seconds at most. Lambda runs a queue by two or more. */
const sendersAtOnce = 2;

/** The queue of what is to be sent to webhooks, in any order, and what brings it to the function sendWebhook. */
export class WebhookWork extends Construct {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    // What cannot be read, and what nobody could try. What a receiver does not take is given up before.
    this.deadLetterQueue = new Queue(this, 'DeadLetterQueue', queueDefaults);
    this.queue = new Queue(this, 'Queue', {
      ...queueDefaults,
      visibilityTimeout: Duration.seconds(6 * (functionSpecs.sendWebhook.timeoutSeconds ?? 0)),
      deadLetterQueue: { queue: this.deadLetterQueue, maxReceiveCount: 20 },
    });
    new CfnOutput(this, 'WebhookDlqUrl', { value: this.deadLetterQueue.queueUrl }).overrideLogicalId(
      'WebhookDlqUrl',
    );
  }

  deliverTo(functions: Functions): void {
    new EventSourceMapping(this, 'Source', {
      target: functions.get('sendWebhook').function,
      eventSourceArn: this.queue.queueArn,
      // One that is slow keeps no other.
      batchSize: 1,
      reportBatchItemFailures: true,
      maxConcurrency: sendersAtOnce,
    });
  }
}
