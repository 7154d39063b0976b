import {
  type BatchResultErrorEntry,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { causeOf } from '../../domain/invocation.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Invocations } from '../../ports/invocations.ts';
import type { RecountQueue, RecountRequest } from '../../ports/recount-queue.ts';
import { requestHandler } from '../sdk/request-limits.ts';
import { deduplicationId } from './deduplication-id.ts';
import { SentIds } from './sent-ids.ts';

/** Messages that SQS accepts in one request, at most. */
const sendBatchMax = 10;
const sendAttemptsMax = 3;
const sendPauseMs = 200;

/** The recount queue on SQS FIFO. Each tenant is a message group, so its messages are handled one at a time. */
export function createSqsRecountQueue(input: {
  queueUrl: string;
  clock: Clock;
  invocations: Invocations;
}): RecountQueue {
  const { queueUrl: QueueUrl, clock, invocations } = input;
  const client = new SQSClient({
    maxAttempts: 5,
    requestHandler: requestHandler({ connectMs: 1000, answerMs: 3000 }),
  });

  const sentIds = new SentIds();

  const message = (request: RecountRequest) => {
    return {
      // The correlation id is no part of the deduplication id: of requests that collapse, the first one's is kept.
      MessageBody: JSON.stringify({ ...request, correlationId: causeOf(invocations.current()) }),
      MessageGroupId: request.tenant,
      MessageDeduplicationId: deduplicationId(request, clock.nowMs()),
    };
  };

  async function sendBatch(requests: readonly RecountRequest[]): Promise<void> {
    let left = requests.map((request, index) => ({ Id: String(index), ...message(request) }));
    let failed: readonly BatchResultErrorEntry[] = [];
    for (let attempt = 1; attempt <= sendAttemptsMax; attempt += 1) {
      if (attempt > 1) await clock.sleep(sendPauseMs * attempt);
      const answer = await client.send(new SendMessageBatchCommand({ QueueUrl, Entries: left }));
      failed = answer.Failed ?? [];
      if (failed.length === 0) return;
      const ids = new Set(failed.map(({ Id }) => Id));
      left = left.filter(({ Id }) => ids.has(Id));
    }
    const codes = [...new Set(failed.map(({ Code }) => Code))].join(', ');
    throw new Error(`The queue rejected ${left.length} of ${requests.length} messages: ${codes}.`);
  }

  return {
    async request(request) {
      const sent = message(request);
      if (sentIds.has(sent.MessageDeduplicationId)) return;
      await client.send(new SendMessageCommand({ QueueUrl, ...sent }));
      sentIds.add(sent.MessageDeduplicationId);
    },
    async requestAll(requests) {
      for (let begin = 0; begin < requests.length; begin += sendBatchMax)
        await sendBatch(requests.slice(begin, begin + sendBatchMax));
    },
  };
}
