import { ChangeMessageVisibilityCommand, SQSClient } from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { expect, it } from 'vitest';
import { createSqsRedelivery } from '../../../../../lambda/adapters/sqs/redelivery.ts';

const sqs = mockClient(SQSClient);

it('this delivery stays hidden for whole seconds, at least as long as requested', async () => {
  sqs.on(ChangeMessageVisibilityCommand).resolves({});
  const queueUrl = 'https://sqs.eu-central-1.amazonaws.com/111122223333/recounts.fifo';
  await createSqsRedelivery({ queueUrl }).delay({ receiptHandle: 'handle', delayMs: 60_001 });
  expect(sqs.commandCalls(ChangeMessageVisibilityCommand).map(({ args }) => args[0].input)).toEqual([
    { QueueUrl: queueUrl, ReceiptHandle: 'handle', VisibilityTimeout: 61 },
  ]);
});
