import { GetQueueAttributesCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { GaugedQueue, QueueGauge } from '../../ports/queue-gauges.ts';
import { calling } from '../aws-sdk/service-error.ts';

const names = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesDelayed',
  'ApproximateNumberOfMessagesNotVisible',
] as const;

/** SQS writes numbers as text. @throws {Error} if one is missing. */
function countIn(attributes: Partial<Record<string, string>> | undefined, name: (typeof names)[number]) {
  const text = attributes?.[name];
  if (typeof text !== 'string' || !/^\d+$/.test(text))
    throw new Error(`SQS answered GetQueueAttributes without ${name}.`);
  return Number(text);
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
  const read = async (QueueUrl: string) => {
    const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...names] });
    const asked = { title: 'SQS', operation: 'GetQueueAttributes' };
    const { Attributes } = await calling(asked, () => client.send(command));
    const [visible, delayed, running] = names.map((name) => countIn(Attributes, name));
    return { waiting: (visible ?? 0) + (delayed ?? 0), running: running ?? 0 };
  };
  return {
    queue,
    async read() {
      const [level, dead] = await Promise.all([read(queueUrl), read(deadLetterUrl)]);
      const deadLetters = dead.waiting + dead.running;
      return { ...level, oldestAtMs: null, deadLetters, deadLettersAt: deadLetterUrl };
    },
  };
}
