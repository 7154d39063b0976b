import { ChangeMessageVisibilityCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Redelivery } from '../../ports/recount-queue.ts';

/**
 * Redelivery by an SQS queue: a message taken back stays hidden for the queue's visibility time, unless that
 * of this one delivery is changed.
 */
export function createSqsRedelivery(input: { queueUrl: string }): Redelivery {
  // Little time is left to a run that failed at its deadline.
  const client = new SQSClient({
    maxAttempts: 2,
    requestHandler: { connectionTimeout: 1000, requestTimeout: 2000 },
  });
  return {
    async delay({ receiptHandle, delayMs }) {
      await client.send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: input.queueUrl,
          ReceiptHandle: receiptHandle,
          VisibilityTimeout: Math.ceil(delayMs / 1000),
        }),
      );
    },
  };
}
