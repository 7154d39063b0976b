import { createHash } from 'node:crypto';
import type { SQSEvent } from 'aws-lambda';
import type { QueueMessage } from './queue-message.ts';

/** The event that SQS sends for one message of a FIFO queue. The message group is the tenant. */
export function toSqsEvent(message: QueueMessage): SQSEvent {
  const { tenant, reason, full, correlationId } = message;
  const body = JSON.stringify({ tenant, reason, full, correlationId });
  return {
    Records: [
      {
        messageId: message.messageId,
        receiptHandle: `${message.messageId}#${message.failures + 1}`,
        body,
        attributes: {
          ApproximateReceiveCount: String(message.failures + 1),
          SentTimestamp: String(message.firstAtMs),
          ApproximateFirstReceiveTimestamp: String(message.lastAtMs),
          SenderId: 'embedded',
          SequenceNumber: String(message.firstAtMs),
          MessageGroupId: tenant,
          MessageDeduplicationId: message.messageId,
        },
        messageAttributes: {},
        md5OfBody: createHash('md5').update(body).digest('hex'),
        eventSource: 'aws:sqs',
        eventSourceARN: 'arn:aws:sqs:local:000000000000:reconcile.fifo',
        awsRegion: 'local',
      },
    ],
  };
}

/**
 * Whether a consumer's answer reports its one message as failed (ReportBatchItemFailures). The identifiers need no
 * check: with one record, SQS would take an unknown identifier as a failure of the whole batch.
 */
export function reportsFailure(result: unknown): boolean {
  if (typeof result !== 'object' || result === null || !('batchItemFailures' in result)) return false;
  return Array.isArray(result.batchItemFailures) && result.batchItemFailures.length > 0;
}
