import { GetQueueAttributesCommand, type QueueAttributeName, type SQSClient } from '@aws-sdk/client-sqs';
import { calling } from '../../core/table/sdk.ts';
import type { GaugedQueue, QueueGauge } from '../gauges/rules/gauges.ts';

/** SQS writes numbers as text. @throws {Error} if one is missing. */
async function readLevel(client: SQSClient, QueueUrl: string) {
  const names = ['', 'Delayed', 'NotVisible'].map((which) => `ApproximateNumberOfMessages${which}`);
  const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: names as QueueAttributeName[] });
  const asked = { title: 'SQS', operation: 'GetQueueAttributes' };
  const { Attributes } = await calling(asked, () => client.send(command));
  const [visible = 0, delayed = 0, running = 0] = names.map((name) => {
    const text = (Attributes as Partial<Record<string, string>> | undefined)?.[name];
    if (text === undefined || !/^\d+$/.test(text))
      throw new Error(`SQS answered GetQueueAttributes without ${name}.`);
    return Number(text);
  });
  return { waiting: visible + delayed, running };
}

/**
 * A queue of SQS and its dead letters. Messages that failed and wait for their next try are under way to SQS. It does not tell how
 * long the oldest has waited: only CloudWatch does.
 */
export function createSqsQueueGauge(input: {
  client: SQSClient;
  queue: GaugedQueue;
  queueUrl: string;
  deadLetterUrl: string;
}): QueueGauge {
  const { client, queue, queueUrl, deadLetterUrl } = input;
  return {
    queue,
    async read() {
      const [level, dead] = await Promise.all([
        readLevel(client, queueUrl),
        readLevel(client, deadLetterUrl),
      ]);
      const deadLetters = dead.waiting + dead.running;
      return { ...level, oldestAtMs: null, deadLetters, deadLettersAt: deadLetterUrl };
    },
  };
}
