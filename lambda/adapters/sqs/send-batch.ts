import type { Clock } from '../../ports/clock.ts';
import type { AwsJsonClient } from '../aws-http/json-client.ts';
import { failureCodes, notTaken } from './send-answers.ts';

/** Messages that SQS accepts in one request, at most. */
export const sendBatchMax = 10;
const sendAttemptsMax = 3;
const sendPauseMs = 200;

/** Of one request. What comes twice is a message more, unless the queue is FIFO: it drops what has the same id. */
export const sendLimits = { attemptsMax: 5, connectMs: 1000, answerMs: 3000 };

/** A queue, and what its client waits by. */
export interface Queue {
  readonly client: AwsJsonClient;
  readonly queueUrl: string;
  readonly clock: Pick<Clock, 'sleep'>;
}

/**
 * Sends messages in one request, and those that were not taken again.
 *
 * @param messages at most {@link sendBatchMax}.
 * @throws when the queue did not take some.
 */
export async function sendBatch(
  { client, queueUrl: QueueUrl, clock }: Queue,
  messages: readonly { readonly MessageBody: string }[],
): Promise<void> {
  let left = messages.map((message, index) => ({ Id: String(index), ...message }));
  let codes = '';
  for (let attempt = 1; attempt <= sendAttemptsMax; attempt += 1) {
    if (attempt > 1) await clock.sleep(sendPauseMs * attempt);
    const answer = await client.call('SendMessageBatch', { QueueUrl, Entries: left }, sendLimits);
    left = notTaken(answer, left);
    if (left.length === 0) return;
    codes = failureCodes(answer);
  }
  throw new Error(`The queue rejected ${left.length} of ${messages.length} messages: ${codes}.`);
}
