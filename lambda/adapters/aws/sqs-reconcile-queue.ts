import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Clock } from '../../ports/clock.ts';
import type { ReconcileQueue } from '../../ports/reconcile-queue.ts';

/**
 * The queue's delay, in which triggers of a tenant collapse. A FIFO queue remembers a deduplication id for
 * five minutes, even after its message is gone, so the id carries a bucket of time: within one bucket
 * triggers collapse into the first, which is delivered a whole delay later and so after all of them.
 */
const collapseMs = 30_000;

/** Requests on an SQS FIFO queue: one group a tenant, so a tenant is never reconciled by two at once. */
export function createSqsReconcileQueue(input: { queueUrl: string; clock: Clock }): ReconcileQueue {
  const client = new SQSClient({
    maxAttempts: 5,
    requestHandler: { connectionTimeout: 1000, requestTimeout: 3000 },
  });
  return {
    async request(request) {
      const bucket = Math.floor(input.clock.nowMs() / collapseMs);
      await client.send(
        new SendMessageCommand({
          QueueUrl: input.queueUrl,
          MessageBody: JSON.stringify(request),
          MessageGroupId: request.tenant,
          MessageDeduplicationId: `${request.tenant}.${request.full ? 'full' : 'due'}.${bucket}`,
        }),
      );
    },
  };
}
