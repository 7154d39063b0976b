import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { causeOf } from '../../domain/invocation.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Invocations } from '../../ports/invocations.ts';
import type { RecountQueue, RecountRequest } from '../../ports/recount-queue.ts';
import { calling } from '../aws-sdk/service-error.ts';
import { deduplicationId } from './deduplication-id.ts';
import { isTaken, sendBatch, sendBatchMax } from './send-batch.ts';
import { SentIds } from './sent-ids.ts';

/** The recount queue on SQS FIFO. Each tenant is a message group, so its messages are handled one at a time. */
export function createSqsRecountQueue(input: {
  client: SQSClient;
  queueUrl: string;
  clock: Clock;
  invocations: Invocations;
}): RecountQueue {
  const { client, queueUrl: QueueUrl, clock, invocations } = input;
  const sentIds = new SentIds();

  const message = (request: RecountRequest) => {
    return {
      // The correlation id is no part of the deduplication id: of requests that collapse, the first one's is kept.
      MessageBody: JSON.stringify({ ...request, correlationId: causeOf(invocations.current()) }),
      MessageGroupId: request.tenant,
      MessageDeduplicationId: deduplicationId(request, clock.nowMs()),
    };
  };

  return {
    async request(request) {
      const sent = message(request);
      if (sentIds.has(sent.MessageDeduplicationId)) return;
      const command = new SendMessageCommand({ QueueUrl, ...sent });
      const answer = await calling({ title: 'SQS', operation: 'SendMessage' }, () => client.send(command));
      if (!isTaken(answer, sent.MessageBody)) throw new Error('The queue did not confirm the message.');
      sentIds.add(sent.MessageDeduplicationId);
    },
    async requestAll(requests) {
      for (let begin = 0; begin < requests.length; begin += sendBatchMax)
        await sendBatch(input, requests.slice(begin, begin + sendBatchMax).map(message));
    },
  };
}
