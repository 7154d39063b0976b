import { describe, expect, it } from 'vitest';
import { createSqsQueueGauge } from '../../../../../lambda/adapters/sqs/queue-gauge.ts';
import { fakeSqs, queueUrl } from './fake-sqs.ts';

const deadLetterUrl = `${queueUrl}-dead`;
const counts = (visible: unknown, delayed: unknown, hidden: unknown) => ({
  Attributes: {
    ApproximateNumberOfMessages: visible,
    ApproximateNumberOfMessagesDelayed: delayed,
    ApproximateNumberOfMessagesNotVisible: hidden,
  },
});

describe('the gauge of a queue of SQS', () => {
  const open = (answerOf: (url: unknown) => unknown) => {
    const { sqs, client } = fakeSqs();
    sqs.answer = ({ input }) => ({ body: answerOf(input['QueueUrl']) });
    return { sqs, gauge: createSqsQueueGauge({ client, queue: 'recounts', queueUrl, deadLetterUrl }) };
  };

  it('asks the queue and its dead letters, once each, for three numbers', async () => {
    const { sqs, gauge } = open((url) => (url === queueUrl ? counts('3', '2', '1') : counts('4', '0', '5')));
    expect(gauge.queue).toBe('recounts');
    expect(await gauge.read()).toEqual({
      waiting: 5,
      running: 1,
      oldestAtMs: null,
      deadLetters: 9,
      deadLettersAt: deadLetterUrl,
    });
    const AttributeNames = [
      'ApproximateNumberOfMessages',
      'ApproximateNumberOfMessagesDelayed',
      'ApproximateNumberOfMessagesNotVisible',
    ];
    expect(sqs.calls).toEqual([
      { operation: 'GetQueueAttributes', input: { QueueUrl: queueUrl, AttributeNames } },
      { operation: 'GetQueueAttributes', input: { QueueUrl: deadLetterUrl, AttributeNames } },
    ]);
  });

  it.each([counts('3', undefined, '1'), counts('3', 'x', '1'), counts('-1', '0', '0'), {}])(
    'does not take %j for an answer',
    async (answer) => {
      const { gauge } = open(() => answer);
      await expect(gauge.read()).rejects.toThrow('SQS answered GetQueueAttributes without Approximate');
    },
  );

  it('says what SQS refused', async () => {
    const { sqs, gauge } = open(() => ({}));
    sqs.answer = () => ({ status: 403, body: { name: 'AccessDenied' } });
    await expect(gauge.read()).rejects.toThrow('SQS answered GetQueueAttributes with 403 AccessDenied');
  });
});
