import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { systemIds } from '../../../../../lambda/frame/aws/clock-and-ids.ts';
import { createInvocations } from '../../../../../lambda/frame/aws/invocation-log.ts';
import {
  sharedHook,
  usageHook,
  type WebhookSender,
} from '../../../../../lambda/subjects/alerts/rules/webhook-delivery.ts';
import { create } from '../../../../../lambda/subjects/alerts/webhook-handler.ts';
import { alertMessage, setWebhook } from '../../../../../lambda/subjects/alerts/webhooks.ts';
import { deliver } from '../../../../support/delivery.ts';
import { memoryDeps } from '../../../../support/memory/deps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { MemoryWebhooks } from '../../../../support/subjects/alerts/in-memory.ts';

const message = {
  tenant: 'acme',
  event: {
    id: 'acme:7',
    type: 'storage.threshold',
    timestamp: '2026-11-21T05:00:00.000Z',
    data: { tenant: 'acme', threshold: 80, limitBytes: null },
  },
};

async function world(post: WebhookSender['post']) {
  const { log, entries } = recordingLog();
  const webhooks = new MemoryWebhooks();
  const deps = {
    ...memoryDeps({ webhooks, log }),
    webhookSender: { post },
    invocations: createInvocations(),
  };
  await setWebhook(deps, { tenant: 'acme', url: 'https://a.example.com/', isNewSecret: false });
  const consume = create(deps);
  const run = (body: unknown, receiveCount = 1) => deliver(consume, body, { receiveCount });
  return { run, entries, webhooks };
}

const done = { isDone: true, delays: [] };

describe('the sender', () => {
  it('is done with what is delivered', async () => {
    const { run } = await world(async () => ({ kind: 'answered', status: 200 }));
    expect(await run(message)).toEqual(done);
  });

  it('has what is not delivered come again, later each time, and gives up after the eighth', async () => {
    const { run } = await world(async () => ({ kind: 'failed', failure: 'timeout' }));
    expect(await run(message)).toEqual({ isDone: false, delays: [5000] });
    expect(await run(message, 3)).toEqual({ isDone: false, delays: [1_800_000] });
    expect(await run(message, 8)).toEqual(done);
  });

  it('has it come again in a minute if the table does not answer', async () => {
    const { run, webhooks, entries } = await world(async () => ({ kind: 'answered', status: 200 }));
    webhooks.read = async () => Promise.reject(new Error('The table is down.'));
    expect(await run(message)).toEqual({ isDone: false, delays: [60_000] });
    expect(entries.at(-1)?.message).toBe('webhook not sent');
  });

  it.each([
    '',
    'no JSON',
    '{}',
    { ...message, tenant: 'A' },
    { ...message, event: { ...message.event, id: '' } },
  ])('leaves %j to the dead-letter queue', async (body) => {
    const { run, entries } = await world(async () => ({ kind: 'answered', status: 200 }));
    expect(await run(body)).toEqual({ isDone: false, delays: [] });
    expect(entries.at(-1)?.message).toBe('unreadable message');
  });
});

it('a message is read as it was written', () => {
  expect(alertMessage.parse(message)).toEqual(message);
});

it('a message of an older version gets the names of today', () => {
  const data = { tenant: 'acme', storedBytes: 1, limitBytes: 2 };
  const old = {
    ...message,
    event: { ...message.event, type: 'storage.level', data: { ...data, level: 80, previousLevel: 0 } },
  };
  const event = { type: 'storage.threshold', data: { ...data, threshold: 80, previousThreshold: 0 } };
  expect(alertMessage.parse(old)).toMatchObject({ event });
  expect(alertMessage.parse(old).event.data).not.toHaveProperty('level');
});

it('an alert of a tenant without a webhook goes to that of all tenants, signed by its secret', async () => {
  const posted: Parameters<WebhookSender['post']>[0][] = [];
  const { run, webhooks } = await world(async (input) => {
    posted.push(input);
    return { kind: 'answered', status: 200 };
  });
  const deps = { ...memoryDeps(), webhooks, ids: systemIds };
  const other = { ...message, tenant: 'other' };
  const test = { ...other, event: { ...message.event, type: 'webhook.test' } };
  expect(await run(other)).toEqual(done);
  await setWebhook(deps, { tenant: sharedHook, url: 'https://all.example/', isNewSecret: false });
  expect(await run(other)).toEqual(done);
  // Its own alone, of which a test is a test.
  for (const each of [message, test]) expect(await run(each)).toEqual(done);
  expect(await run({ ...test, tenant: sharedHook })).toEqual(done);
  const own = (await webhooks.read('acme'))?.url;
  expect(posted.map(({ url }) => url)).toEqual(['https://all.example/', own, 'https://all.example/']);
  expect((await webhooks.read(sharedHook))?.last).toMatchObject({ type: 'webhook.test', status: 200 });
  const secrets = [(await webhooks.read(sharedHook))?.secret, (await webhooks.read('acme'))?.secret];
  const signed = posted.map(({ headers, body }) => {
    const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    return secrets.findIndex((secret = '') => {
      const sum = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
        .update(text)
        .digest('base64');
      return headers['webhook-signature'] === `v1,${sum}`;
    });
  });
  expect(signed).toEqual([0, 1, 0]);
});

it("the usage of an hour goes to the operator's webhook as it is, and to that of nobody else", async () => {
  const data = {
    hour: '2026-11-28T07:00:00Z',
    part: 1,
    usage: [{ id: 'acme:2026-11-28T07Z', tenant: 'acme', byteSeconds: '90071992547409931', peakBytes: 7 }],
  };
  const event = {
    id: 'usage:2026-11-28T07Z:1',
    type: 'usage.hour',
    timestamp: '2026-11-28T08:00:00.000Z',
    data,
  };
  const posted: Parameters<WebhookSender['post']>[0][] = [];
  const { run, webhooks } = await world(async (input) => {
    posted.push(input);
    return { kind: 'answered', status: 200 };
  });
  // There is none.
  expect(await run({ tenant: usageHook, event })).toEqual(done);
  await setWebhook(
    { ...memoryDeps(), webhooks },
    { tenant: usageHook, url: 'https://b.example/', isNewSecret: false },
  );
  expect(await run({ tenant: usageHook, event })).toEqual(done);
  expect(posted.map(({ url }) => url)).toEqual(['https://b.example/']);
  const { type, timestamp } = event;
  expect(JSON.parse(posted[0]?.body ?? '')).toEqual({ type, timestamp, data });
  for (const wrong of [
    { tenant: 'acme', event },
    { ...message, tenant: usageHook },
  ])
    expect(await run(wrong)).toEqual({ isDone: false, delays: [] });
});
