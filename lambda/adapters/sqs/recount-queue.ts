import { causeOf } from '../../domain/invocation.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Invocations } from '../../ports/invocations.ts';
import type { RecountQueue, RecountRequest } from '../../ports/recount-queue.ts';
import type { AwsJsonClient } from '../aws-http/json-client.ts';
import { deduplicationId } from './deduplication-id.ts';
import { failureCodes, isTaken, notTaken } from './send-answers.ts';
import { SentIds } from './sent-ids.ts';

/** Messages that SQS accepts in one request, at most. */
const sendBatchMax = 10;
const sendAttemptsMax = 3;
const sendPauseMs = 200;

/** Of one request. What comes twice has the same deduplication id, so SQS drops it. */
const limits = { attemptsMax: 5, connectMs: 1000, answerMs: 3000 };

/** The recount queue on SQS FIFO. Each tenant is a message group, so its messages are handled one at a time. */
export function createSqsRecountQueue(input: {
  client: AwsJsonClient;
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

  async function sendBatch(requests: readonly RecountRequest[]): Promise<void> {
    let left = requests.map((request, index) => ({ Id: String(index), ...message(request) }));
    let codes = '';
    for (let attempt = 1; attempt <= sendAttemptsMax; attempt += 1) {
      if (attempt > 1) await clock.sleep(sendPauseMs * attempt);
      const answer = await client.call('SendMessageBatch', { QueueUrl, Entries: left }, limits);
      left = notTaken(answer, left);
      if (left.length === 0) return;
      codes = failureCodes(answer);
    }
    throw new Error(`The queue rejected ${left.length} of ${requests.length} messages: ${codes}.`);
  }

  return {
    async request(request) {
      const sent = message(request);
      if (sentIds.has(sent.MessageDeduplicationId)) return;
      const answer = await client.call('SendMessage', { QueueUrl, ...sent }, limits);
      if (!isTaken(answer, sent.MessageBody)) throw new Error('The queue did not confirm the message.');
      sentIds.add(sent.MessageDeduplicationId);
    },
    async requestAll(requests) {
      for (let begin = 0; begin < requests.length; begin += sendBatchMax)
        await sendBatch(requests.slice(begin, begin + sendBatchMax));
    },
  };
}
