import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { docBlocks } from '../../../../support/doc-blocks.ts';

/** What the page's recipes export. */
interface Recipes {
  readonly send: (from: object, to: object) => Promise<void>;
  readonly [meter: string]: (...given: never[]) => unknown;
}

type Event = Readonly<Record<string, unknown>>;

/** 250 records of two pages: more than any meter takes at once. */
const records = Array.from({ length: 250 }, (_, index) => ({
  id: `t${index}:2026-11-28T07Z`,
  tenant: `t${index}`,
  hour: '2026-11-28T07:00:00Z',
  // Larger than a number is exact.
  byteSeconds: String(90_071_992_547_409_931n + BigInt(index)),
}));
const correction = {
  id: 't1:2026-11-28T07Z:c1',
  tenant: 't1',
  hour: '2026-11-28T07:00:00Z',
  byteSeconds: '-7200000',
  reason: 'Outage',
  at: '2026-12-01T09:12:33Z',
};
const all = [...records, correction];

const seconds = (time: unknown) => Date.parse(String(time)) / 1000;
const isTime = (time: unknown) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(String(time));

/**
 * What each meter documents: its path, its form, what it takes at once, and what makes a repeat harmless.
 *
 * - https://docs.stripe.com/api/billing/meter-event/create and …/billing/subscriptions/usage-based/recording-usage-api
 * - https://docs.metronome.com/api-reference/usage/ingest-events and …/guides/events/send-usage-events
 * - https://openmeter.io/docs/concepts/usage-events, and the JSON batch format of CloudEvents
 * - https://getlago.com/docs/api-reference/events/batch
 */
const meters: Record<
  string,
  {
    path: string;
    type: string;
    most: number;
    eventsOf: (body: string) => readonly Event[];
    isRight: (event: Event, headers: Readonly<Record<string, unknown>>) => boolean;
    read: (event: Event) => { id: unknown; customer: unknown; value: unknown; seconds: unknown };
  }
> = {
  stripe: {
    path: '/v1/billing/meter_events',
    type: 'application/x-www-form-urlencoded;charset=UTF-8',
    most: 1,
    eventsOf: (body) => [Object.fromEntries(new URLSearchParams(body))],
    isRight: ({ identifier, event_name: name, 'payload[value]': value }, headers) =>
      String(identifier).length <= 100 &&
      headers['idempotency-key'] === identifier &&
      String(name).length <= 100 &&
      /^-?\d+$/.test(String(value)),
    read: (event) => ({
      id: event['identifier'],
      customer: event['payload[stripe_customer_id]'],
      value: event['payload[value]'],
      seconds: Number(event['timestamp']),
    }),
  },
  metronome: {
    path: '/v1/ingest',
    type: 'application/json',
    most: 100,
    eventsOf: JSON.parse,
    isRight: ({ event_type: type, timestamp }) => typeof type === 'string' && isTime(timestamp),
    read: ({ transaction_id: id, customer_id: customer, timestamp, properties }) => ({
      id,
      customer,
      value: (properties as Event)['byteSeconds'],
      seconds: seconds(timestamp),
    }),
  },
  openmeter: {
    path: '/api/v1/events',
    type: 'application/cloudevents-batch+json',
    most: 100,
    eventsOf: JSON.parse,
    isRight: ({ specversion, type, source, time }) =>
      specversion === '1.0' && typeof type === 'string' && source === 'lfs-quota' && isTime(time),
    read: ({ id, subject: customer, time, data }) => ({
      id,
      customer,
      value: (data as Event)['byteSeconds'],
      seconds: seconds(time),
    }),
  },
  lago: {
    path: '/api/v1/events/batch',
    type: 'application/json',
    most: 100,
    eventsOf: (body) => JSON.parse(body).events,
    isRight: ({ code, timestamp }) => typeof code === 'string' && Number.isInteger(timestamp),
    read: ({ transaction_id: id, external_subscription_id: customer, timestamp, properties }) => ({
      id,
      customer,
      value: (properties as Event)['byteSeconds'],
      seconds: timestamp,
    }),
  },
};

describe.each(Object.entries(meters))("the page's recipe for %s", (name, meter) => {
  const taken = new Map<unknown, { customer: unknown; value: unknown; seconds: unknown }>();
  let [requests, failsAt] = [0, Number.POSITIVE_INFINITY];
  const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const url = new URL(request.url ?? '', 'http://api');
    if (url.pathname === '/v1/usage') {
      if (request.headers.authorization !== 'Bearer admin') return answer(401, {});
      const isFirst = !url.searchParams.has('cursor');
      return answer(200, {
        usage: isFirst ? all.slice(0, 200) : all.slice(200),
        nextCursor: isFirst ? 'c1' : null,
      });
    }
    requests += 1;
    const events = meter.eventsOf(await text(request));
    const isRight =
      url.pathname === meter.path &&
      request.headers.authorization === 'Bearer key' &&
      request.headers['content-type'] === meter.type &&
      events.length > 0 &&
      events.length <= meter.most &&
      events.every((event) => meter.isRight(event, request.headers));
    if (!isRight) return answer(400, { error: 'This is not as documented.' });
    if (requests === failsAt) return answer(503, {});
    for (const { id, ...event } of events.map(meter.read)) taken.set(id, taken.get(id) ?? event);
    answer(200, {});
  });
  let url: string;
  let recipes: Recipes;

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const block = docBlocks('docs/saas-builders.md').find(
      ({ heading, language }) => language === 'js' && heading === 'Send it to a meter',
    );
    recipes = await import(`data:text/javascript,${encodeURIComponent(block?.text ?? '')}`);
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  beforeEach(() => {
    taken.clear();
    [requests, failsAt] = [0, Number.POSITIVE_INFINITY];
  });

  const send = () => {
    const to = recipes[name] as unknown as (given: object) => object;
    const from = { url, token: 'admin', from: '2026-11-28T07:00:00Z', to: '2026-11-28T08:00:00Z' };
    return recipes.send(from, to({ key: 'key', url, customerOf: (tenant: string) => `customer ${tenant}` }));
  };
  const expected = new Map(
    all.map(({ id, tenant, byteSeconds, hour, ...more }) => [
      id,
      { customer: `customer ${tenant}`, value: byteSeconds, seconds: seconds('at' in more ? more.at : hour) },
    ]),
  );

  it('sends all of it as documented, and twice is as once', async () => {
    await send();
    expect(taken).toEqual(expected);
    await send();
    expect(taken).toEqual(expected);
  });

  it('says what failed, and goes on when it is repeated', async () => {
    failsAt = 2;
    await expect(send()).rejects.toThrow('503');
    expect(taken.size).toBeGreaterThan(0);
    expect(taken.size).toBeLessThan(all.length);
    await send();
    expect(taken).toEqual(expected);
  });
});
