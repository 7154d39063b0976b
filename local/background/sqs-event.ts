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
        receiptHandle: receiptHandleOf(message),
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

/** The event that SQS sends for one message of a queue without order. */
export function messageEvent(message: {
  queue: 'export' | 'webhook';
  messageId: string;
  body: unknown;
  /** Deliveries before this one. */
  failures: number;
}): SQSEvent {
  const now = String(Date.now());
  return {
    Records: [
      {
        messageId: message.messageId,
        receiptHandle: receiptHandleOf(message),
        body: JSON.stringify(message.body),
        attributes: {
          ApproximateReceiveCount: String(message.failures + 1),
          SentTimestamp: now,
          ApproximateFirstReceiveTimestamp: now,
          SenderId: 'embedded',
        },
        messageAttributes: {},
        md5OfBody: '',
        eventSource: 'aws:sqs',
        eventSourceARN: `arn:aws:sqs:local:000000000000:${message.queue}`,
        awsRegion: 'local',
      },
    ],
  };
}

/** Each delivery of a message has its own. */
export function receiptHandleOf({ messageId, failures }: { messageId: string; failures: number }): string {
  return `${messageId}#${failures + 1}`;
}

/**
 * Whether a consumer's answer reports its one message as failed (ReportBatchItemFailures). The identifiers need no
 * check: with one record, SQS would take an unknown identifier as a failure of the whole batch.
 */
export function reportsFailure(result: unknown): boolean {
  if (typeof result !== 'object' || result === null || !('batchItemFailures' in result)) return false;
  return Array.isArray(result.batchItemFailures) && result.batchItemFailures.length > 0;
}
