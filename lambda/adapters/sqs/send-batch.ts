import { hash } from 'node:crypto';
import {
  SendMessageBatchCommand,
  type SendMessageBatchCommandOutput,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { Clock } from '../../ports/clock.ts';
import { calling } from '../aws-sdk/service-error.ts';

/** Messages that SQS accepts in one request, at most. */
export const sendBatchMax = 10;
const sendAttemptsMax = 3;
const sendPauseMs = 200;

/** A queue, and what its client waits by. */
export interface Queue {
  readonly client: SQSClient;
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
    const command = new SendMessageBatchCommand({ QueueUrl, Entries: left });
    const answer = await calling({ title: 'SQS', operation: 'SendMessageBatch' }, () => client.send(command));
    const taken = new Map(answer.Successful?.map((each) => [each.Id, each]));
    // Whether the answer says so or not: an entry in neither list was not taken.
    left = left.filter(({ Id, MessageBody }) => !isTaken(taken.get(Id), MessageBody));
    if (left.length === 0) return;
    codes = failureCodes(answer);
  }
  throw new Error(`The queue rejected ${left.length} of ${messages.length} messages: ${codes}.`);
}

/**
 * What SQS says about a message that it has taken: the MD5 of the body, a proof that the answer is to this message. The
 * SDK compares it too, but only if the answer has it.
 */
export function isTaken(
  answer: { readonly MD5OfMessageBody?: string | undefined } | undefined,
  body: string,
) {
  return answer?.MD5OfMessageBody === hash('md5', body, 'hex');
}

/** Why SQS has not taken some messages: each code once. */
function failureCodes({ Failed = [] }: SendMessageBatchCommandOutput): string {
  return [...new Set(Failed.map(({ Code }) => String(Code)))].join(', ') || 'without a reason';
}
