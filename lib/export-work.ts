import { CfnOutput, Duration } from 'aws-cdk-lib';
import { EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { functionSpecs } from './functions/function-specs.ts';
import type { Functions } from './functions/functions.ts';
import { queueDefaults } from './queues.ts';

/** A step that was killed comes back so long after the longest run. */
const spareSeconds = 60;

/** The queue of the steps of exports, in any order, and what brings them to the function exportArchive. */
export class ExportWork extends Construct {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.deadLetterQueue = new Queue(this, 'DeadLetterQueue', queueDefaults);
    this.queue = new Queue(this, 'Queue', {
      ...queueDefaults,
      // Not the six times that Lambda recommends: somebody waits for the step, and one that comes twice does no harm.
      visibilityTimeout: Duration.seconds((functionSpecs.exportArchive.timeoutSeconds ?? 0) + spareSeconds),
      // Twenty times six minutes: outlasts two hours without store or table.
      deadLetterQueue: { queue: this.deadLetterQueue, maxReceiveCount: 20 },
    });
    new CfnOutput(this, 'ExportDlqUrl', { value: this.deadLetterQueue.queueUrl }).overrideLogicalId(
      'ExportDlqUrl',
    );
  }

  /** @param options.workers steps at a time. */
  deliverTo(functions: Functions, { workers }: { workers: number }): void {
    new EventSourceMapping(this, 'Source', {
      target: functions.get('exportArchive').function,
      eventSourceArn: this.queue.queueArn,
      // A step takes as much memory, and as much of the time, as a run has.
      batchSize: 1,
      reportBatchItemFailures: true,
      maxConcurrency: workers,
    });
  }
}
