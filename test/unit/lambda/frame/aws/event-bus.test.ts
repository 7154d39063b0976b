import { expect, it } from 'vitest';
import { createEventBridge } from '../../../../../lambda/frame/aws/event-bus.ts';
import { serve } from '../../../../support/serve.ts';

async function bus(answer: object) {
  const asked: { target: string | undefined; authorization: string | undefined; body: unknown }[] = [];
  const endpoint = await serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { authorization, 'x-amz-target': target } = request.headers;
    asked.push({ target: String(target), authorization, body: JSON.parse(Buffer.concat(chunks).toString()) });
    response.setHeader('content-type', 'application/x-amz-json-1.1');
    response.end(JSON.stringify(answer));
  });
  const credentials = { accessKeyId: 'AKIA', secretAccessKey: 'secret' };
  return { asked, eventBus: createEventBridge({ region: 'eu-central-1', endpoint, credentials }) };
}

const event = (seq: number) => ({
  id: `acme:${seq}`,
  type: 'storage.threshold',
  timestamp: '2026-11-21T05:00:00.000Z',
  data: { tenant: 'acme', threshold: 80 },
});

it('events are put on the default bus, ten at a time', async () => {
  const { asked, eventBus } = await bus({ FailedEntryCount: 0, Entries: [] });
  await eventBus.publish([]);
  expect(asked).toEqual([]);
  await eventBus.publish(Array.from({ length: 11 }, (_, index) => event(index + 1)));
  expect(asked.map(({ target }) => target)).toEqual(['AWSEvents.PutEvents', 'AWSEvents.PutEvents']);
  expect(asked[0]?.authorization).toContain('/eu-central-1/events/aws4_request');
  const [first, second] = asked.map(({ body }) => (body as { Entries: object[] }).Entries);
  expect([first?.length, second?.length]).toEqual([10, 1]);
  expect(second?.[0]).toEqual({
    Source: 'lfs-quota',
    DetailType: 'storage.threshold',
    Time: Date.UTC(2026, 10, 21, 5) / 1000,
    Detail: '{"id":"acme:11","timestamp":"2026-11-21T05:00:00.000Z","tenant":"acme","threshold":80}',
  });
});

it.each([{ FailedEntryCount: 1, Entries: [{ ErrorCode: 'ThrottlingException' }] }, {}])(
  'events that are not taken are an error: %j',
  async (answer) => {
    const { eventBus } = await bus(answer);
    await expect(eventBus.publish([event(1)])).rejects.toThrow('EventBridge did not take');
  },
);
