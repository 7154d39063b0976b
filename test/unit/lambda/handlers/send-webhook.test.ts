import type { SQSEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import type { WebhookSender } from '../../../../lambda/alerts/rules/webhook-delivery.ts';
import { decodeWebhookMessage, setWebhook } from '../../../../lambda/alerts/webhooks.ts';
import { createInvocations } from '../../../../lambda/aws/invocation-log.ts';
import { create } from '../../../../lambda/handlers/send-webhook.ts';
import { lambdaContext } from '../../../../local/lambda-context.ts';
import { memoryDeps } from '../../../support/memory/deps.ts';
import { MemoryWebhooks } from '../../../support/memory/stores.ts';
import { recordingLog } from '../../../support/recording-log.ts';

const message = {
  tenant: 'acme',
  event: {
    id: 'acme:7',
    type: 'storage.threshold',
    timestamp: '2026-11-21T05:00:00.000Z',
    data: { tenant: 'acme', threshold: 80, limitBytes: null },
  },
};

const eventOf = (body: unknown, receiveCount: string) =>
  ({
    Records: [
      {
        messageId: 'm1',
        receiptHandle: 'r1',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        attributes: { ApproximateReceiveCount: receiveCount },
      },
    ],
  }) as SQSEvent;

async function world(post: WebhookSender['post']) {
  const { log, entries } = recordingLog();
  const webhooks = new MemoryWebhooks();
  const delays: unknown[] = [];
  const deps = {
    ...memoryDeps({ webhooks, log, webhookSender: { post } }),
    invocations: createInvocations(),
  };
  const redelivery = { delay: async (input: unknown) => void delays.push(input) };
  await setWebhook(deps, { tenant: 'acme', url: 'https://a.example.com/', isNewSecret: false });
  const consume = create({ ...deps, redelivery });
  const run = async (body: unknown, receiveCount = '1') =>
    (
      await consume(
        eventOf(body, receiveCount),
        lambdaContext({ functionName: 'sendWebhook', timeLimitMs: 30_000 }),
      )
    ).batchItemFailures;
  return { run, delays, entries, webhooks };
}

describe('the sender', () => {
  it('is done with what is delivered', async () => {
    const { run, delays } = await world(async () => ({ kind: 'answered', status: 200 }));
    expect([await run(message), delays]).toEqual([[], []]);
  });

  it('has what is not delivered come again, later each time, and gives up after the eighth', async () => {
    const { run, delays } = await world(async () => ({ kind: 'failed', failure: 'timeout' }));
    const failed = [{ itemIdentifier: 'm1' }];
    expect(await run(message)).toEqual(failed);
    expect(await run(message, '3')).toEqual(failed);
    expect(await run(message, '8')).toEqual([]);
    expect(delays).toEqual([
      { receiptHandle: 'r1', delayMs: 5000 },
      { receiptHandle: 'r1', delayMs: 1_800_000 },
    ]);
  });

  it('has it come again in a minute if the table does not answer', async () => {
    const { run, delays, webhooks, entries } = await world(async () => ({ kind: 'answered', status: 200 }));
    webhooks.read = async () => Promise.reject(new Error('The table is down.'));
    expect(await run(message)).toHaveLength(1);
    expect(delays).toEqual([{ receiptHandle: 'r1', delayMs: 60_000 }]);
    expect(entries.at(-1)?.message).toBe('webhook not sent');
  });

  it.each([
    '',
    'no JSON',
    '{}',
    { ...message, tenant: 'A' },
    { ...message, event: { ...message.event, id: '' } },
  ])('leaves %j to the dead-letter queue', async (body) => {
    const { run, entries, delays } = await world(async () => ({ kind: 'answered', status: 200 }));
    expect(await run(body)).toHaveLength(1);
    expect(entries.at(-1)?.message).toBe('unreadable message');
    expect(delays).toEqual([]);
  });
});

it('a message is read as it was written', () => {
  expect(decodeWebhookMessage(JSON.stringify(message))).toEqual(message);
  expect(decodeWebhookMessage(JSON.stringify({ ...message, correlationId: 'bad id\n' }))).toMatchObject(
    message,
  );
});

it('a message of an older version gets the names of today', () => {
  const data = { tenant: 'acme', storedBytes: 1, limitBytes: 2 };
  const old = {
    ...message,
    event: { ...message.event, type: 'storage.level', data: { ...data, level: 80, previousLevel: 0 } },
  };
  const event = { type: 'storage.threshold', data: { ...data, threshold: 80, previousThreshold: 0 } };
  expect(decodeWebhookMessage(JSON.stringify(old))).toMatchObject({ event });
  expect(decodeWebhookMessage(JSON.stringify(old))?.event.data).not.toHaveProperty('level');
});
