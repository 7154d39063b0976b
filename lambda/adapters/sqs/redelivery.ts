import { ChangeMessageVisibilityCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Redelivery } from '../../ports/recount-queue.ts';
import { requestHandler } from '../sdk/request-limits.ts';

/**
 * Redelivery by SQS. A failed message stays hidden for the queue's visibility timeout, unless this changes the timeout
 * of that delivery.
 */
export function createSqsRedelivery(input: { queueUrl: string }): Redelivery {
  // A run that failed at its deadline has little time left.
  const client = new SQSClient({
    maxAttempts: 2,
    requestHandler: requestHandler({ connectMs: 1000, answerMs: 2000 }),
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
