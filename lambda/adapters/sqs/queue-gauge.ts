import type { GaugedQueue, QueueGauge } from '../../ports/queue-gauges.ts';
import type { AwsJsonClient } from '../aws-http/json-client.ts';

/** Somebody looks at a page. */
const limits = { attemptsMax: 2, connectMs: 1000, answerMs: 2000 };

const names = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesDelayed',
  'ApproximateNumberOfMessagesNotVisible',
] as const;

/** SQS writes numbers as text. @throws {Error} if one is missing. */
function countIn(attributes: unknown, name: (typeof names)[number]): number {
  const text = (attributes as Partial<Record<string, unknown>> | undefined)?.[name];
  if (typeof text !== 'string' || !/^\d+$/.test(text))
    throw new Error(`SQS answered GetQueueAttributes without ${name}.`);
  return Number(text);
}

/**
 * A queue of SQS and its dead letters. Messages that failed and wait for their next try are under way to SQS. It does not tell how
 * long the oldest has waited: only CloudWatch does.
 */
export function createSqsQueueGauge(input: {
  client: AwsJsonClient;
  queue: GaugedQueue;
  queueUrl: string;
  deadLetterUrl: string;
}): QueueGauge {
  const { client, queue, queueUrl, deadLetterUrl } = input;
  const read = async (QueueUrl: string) => {
    const answer = await client.call('GetQueueAttributes', { QueueUrl, AttributeNames: names }, limits);
    const [visible, delayed, running] = names.map((name) => countIn(answer['Attributes'], name));
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
