import { CfnOutput, Duration } from 'aws-cdk-lib';
import { EventSourceMapping, type EventSourceMappingOptions } from 'aws-cdk-lib/aws-lambda';
import { Queue, QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { FunctionName } from '../lambda/routes.ts';
import type { Functions } from './functions/functions.ts';

/** Every queue is encrypted, requires TLS, and keeps messages as long as SQS allows, so that dead letters can be read. */
const queueDefaults = {
  encryption: QueueEncryption.SQS_MANAGED,
  enforceSSL: true,
  retentionPeriod: Duration.days(14),
};

export interface WorkQueueProps extends Partial<QueueProps> {
  /** Begins the names of its alarms, and of the output with the URL of its dead letters. */
  readonly kind: string;
  readonly consumer: FunctionName;
  readonly delivery: EventSourceMappingOptions;
  readonly attemptsMax: number;
}

/** A queue with its dead letters, and what brings its messages to a function. */
export class WorkQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
  readonly kind: string;
  readonly #delivery: Pick<WorkQueueProps, 'consumer' | 'delivery'>;

  constructor(scope: Construct, id: string, props: WorkQueueProps) {
    super(scope, id);
    const { kind, consumer, delivery, attemptsMax: maxReceiveCount, ...own } = props;
    this.kind = kind;
    this.#delivery = { consumer, delivery };
    const fifo = own.fifo && { fifo: true };
    this.deadLetterQueue = new Queue(this, 'DeadLetterQueue', { ...queueDefaults, ...fifo });
    const deadLetterQueue = { queue: this.deadLetterQueue, maxReceiveCount };
    this.queue = new Queue(this, 'Queue', { ...queueDefaults, ...own, deadLetterQueue });
    const output = `${kind}DlqUrl`;
    new CfnOutput(this, output, { value: this.deadLetterQueue.queueUrl }).overrideLogicalId(output);
  }

  /** By default one message at a time: each gets a whole run, and one that is slow or fails affects no other. */
  deliverTo(functions: Functions, scope: Construct = this, id = 'Source'): void {
    const { consumer, delivery } = this.#delivery;
    new EventSourceMapping(scope, id, {
      target: functions.get(consumer).live,
      eventSourceArn: this.queue.queueArn,
      batchSize: 1,
      reportBatchItemFailures: true,
      ...delivery,
    });
  }
}
