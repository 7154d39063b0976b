import { expect, it } from 'vitest';
import { createSqsRedelivery } from '../../../../../lambda/adapters/sqs/redelivery.ts';
import { fakeSqs, queueUrl } from './fake-sqs.ts';

it('this delivery stays hidden for whole seconds, at least as long as requested', async () => {
  const { sqs, client } = fakeSqs();
  await createSqsRedelivery({ client, queueUrl }).delay({ receiptHandle: 'handle', delayMs: 60_001 });
  expect(sqs.calls).toEqual([
    {
      operation: 'ChangeMessageVisibility',
      input: { QueueUrl: queueUrl, ReceiptHandle: 'handle', VisibilityTimeout: 61 },
    },
  ]);
});

it('a delivery whose time is over is an error', async () => {
  const { sqs, client } = fakeSqs();
  sqs.answer = () => ({ status: 400, body: { name: 'MessageNotInflight' } });
  const redelivery = createSqsRedelivery({ client, queueUrl });
  await expect(redelivery.delay({ receiptHandle: 'handle', delayMs: 1 })).rejects.toThrow(
    'SQS answered ChangeMessageVisibility with 400 MessageNotInflight',
  );
  expect(sqs.calls).toHaveLength(1);
});
