import { ChangeMessageVisibilityCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { Redelivery } from '../../ports/recount-queue.ts';
import { calling } from '../aws-sdk/service-error.ts';

/**
 * Redelivery by SQS. A failed message stays hidden for the queue's visibility timeout, unless this changes the timeout
 * of that delivery.
 */
export function createSqsRedelivery(input: { client: SQSClient; queueUrl: string }): Redelivery {
  const { client, queueUrl: QueueUrl } = input;
  return {
    async delay({ receiptHandle: ReceiptHandle, delayMs }) {
      const VisibilityTimeout = Math.ceil(delayMs / 1000);
      const command = new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout });
      await calling({ title: 'SQS', operation: 'ChangeMessageVisibility' }, () => client.send(command));
    },
  };
}
