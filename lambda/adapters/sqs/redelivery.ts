import type { Redelivery } from '../../ports/recount-queue.ts';
import type { AwsJsonClient } from '../aws-http/json-client.ts';

/** A run that failed at its deadline has little time left. */
const limits = { attemptsMax: 2, connectMs: 1000, answerMs: 2000 };

/**
 * Redelivery by SQS. A failed message stays hidden for the queue's visibility timeout, unless this changes the timeout
 * of that delivery.
 */
export function createSqsRedelivery(input: { client: AwsJsonClient; queueUrl: string }): Redelivery {
  const { client, queueUrl: QueueUrl } = input;
  return {
    async delay({ receiptHandle, delayMs }) {
      const VisibilityTimeout = Math.ceil(delayMs / 1000);
      const change = { QueueUrl, ReceiptHandle: receiptHandle, VisibilityTimeout };
      await client.call('ChangeMessageVisibility', change, limits);
    },
  };
}
