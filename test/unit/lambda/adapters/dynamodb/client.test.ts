import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Exchange, SignedRequest } from '../../../../../lambda/adapters/aws-http/exchange.ts';
import { createDynamoDb, sendIf } from '../../../../../lambda/adapters/dynamodb/client.ts';
import { setting } from '../../../../../lambda/adapters/dynamodb/expressions.ts';
import { batchGet, getItem, putItem, updateItem } from '../../../../../lambda/adapters/dynamodb/requests.ts';
import { LedgerUnavailableError } from '../../../../../lambda/ports/ledger.ts';
import { answer, type Conduct, failure, reset, resetWithin, useDynamoDbServer } from './dynamodb-server.ts';

const server = useDynamoDbServer();
const region = 'eu-central-1';
const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: 'IQoJb3JpZ2lu' };
const key = { pk: 'TENANT#acme', sk: 'TENANT' };
const good = answer(200, '{"Item":{"pk":{"S":"p"},"n":{"N":"7"}}}');

function open() {
  const client = createDynamoDb({ endpoint: server.url(), region, credentials: () => credentials });
  return { client, tableName: 'ledger' };
}

/** The same read by the SDK's client, with as many attempts. */
async function readBySdk(): Promise<unknown> {
  const client = new DynamoDBClient({ endpoint: server.url(), region, credentials, maxAttempts: 5 });
  const command = new GetCommand({ TableName: 'ledger', Key: key, ConsistentRead: true });
  try {
    return (await DynamoDBDocumentClient.from(client).send(command)).Item;
  } finally {
    client.destroy();
  }
}

/** How often a table is asked that fails once and then answers, or that always fails. */
async function requestsOf(conducts: readonly Conduct[], read: () => Promise<unknown>): Promise<number> {
  server.behave(...conducts);
  await read().catch(() => undefined);
  return server.requests.length;
}

// No pauses, of either client.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0));
afterEach(() => void vi.restoreAllMocks());

const passing: readonly [what: string, failing: Conduct][] = [
  ['500 InternalServerError', failure(500, 'InternalServerError')],
  ['502 of a proxy', answer(502, '<html>Bad gateway</html>', { 'content-type': 'text/html' })],
  ['503 ServiceUnavailable', failure(503, 'ServiceUnavailable')],
  ['504', answer(504, '')],
  ['400 ProvisionedThroughputExceededException', failure(400, 'ProvisionedThroughputExceededException')],
  ['400 ThrottlingException', failure(400, 'ThrottlingException')],
  ['400 RequestLimitExceeded', failure(400, 'RequestLimitExceeded')],
  ['429', answer(429, '{}')],
  ['a connection that closes', reset],
  ['a connection that closes within the answer', resetWithin],
];

const lasting: readonly [what: string, code: string, status?: number][] = [
  ['a wrong name', 'ResourceNotFoundException'],
  ['a wrong expression', 'ValidationException'],
  ['missing rights', 'AccessDeniedException'],
  ['expired credentials', 'ExpiredTokenException'],
  ['unknown credentials', 'UnrecognizedClientException', 403],
  ['a wrong secret', 'InvalidSignatureException'],
  ['an item collection that is full', 'ItemCollectionSizeLimitExceededException'],
  ['a transaction of others', 'TransactionConflictException'],
  ['a cancelled transaction', 'TransactionCanceledException'],
];

describe('a table that fails', () => {
  it.each(passing)('by %s is asked again, as often as by the SDK', async (_, failing) => {
    const read = () => getItem(open(), key);
    server.behave(failing, good);
    expect(await read()).toEqual({ pk: 'p', n: 7 });
    expect(new Set(server.requests.map(({ body }) => body)).size).toBe(1);
    expect(await requestsOf([failing], read)).toBe(5);
    expect(await requestsOf([failing], readBySdk)).toBe(5);
  });

  it.each(lasting)('for %s is asked once, as by the SDK', async (_, code, status = 400) => {
    const refused = failure(status, code);
    expect(await requestsOf([refused], readBySdk)).toBe(1);
    const error = await failureOf(getItem(open(), key));
    expect(server.requests).toHaveLength(2);
    expect(error).toBeInstanceOf(LedgerUnavailableError);
    expect(error.cause).toMatchObject({
      code,
      status,
      message: `DynamoDB answered GetItem with ${status} ${code}: Said.`,
    });
  });

  it.each([
    ['is no JSON', answer(200, '<html>It works!</html>')],
    ['is cut', answer(200, '{"Item":{"pk":{"S":')],
    ['is a list', answer(200, '[]')],
  ])('by an answer that %s is asked again, which the SDK does not do', async (_, failing) => {
    server.behave(failing, good);
    expect(await getItem(open(), key)).toEqual({ pk: 'p', n: 7 });
    server.behave(failing);
    expect((await failureOf(getItem(open(), key))).cause).toMatchObject({ name: 'MalformedAnswerError' });
    expect(server.requests).toHaveLength(5);
  });

  it('leaves the outcome of a write unknown: it is no refused condition', async () => {
    for (const conduct of [
      reset,
      resetWithin,
      failure(500, 'InternalServerError'),
      failure(400, 'ThrottlingException'),
    ]) {
      server.behave(conduct);
      const write = updateItem(open(), { key, change: [setting({ a: 1 })], condition: '#a = #a' });
      await expect(write).rejects.toThrow(LedgerUnavailableError);
      expect(server.requests).toHaveLength(5);
    }
  });

  it('is given the pauses of the SDK', async () => {
    vi.restoreAllMocks();
    const pausesMs: number[] = [];
    const { setTimeout: real } = globalThis;
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms?: number) => {
      if (ms !== 3000 && ms !== 1000) pausesMs.push(ms ?? 0);
      return real(run, ms === 3000 ? ms : 0);
    }) as typeof setTimeout);
    const client = createDynamoDb({
      endpoint: server.url(),
      region,
      credentials: () => credentials,
      random: () => 1,
    });
    server.behave(failure(500, 'InternalServerError'));
    await failureOf(getItem({ client, tableName: 'ledger' }, key));
    expect(pausesMs).toEqual([25, 50, 100, 200]);
  });
});

describe('a condition that does not hold', () => {
  it('is an answer, not a failure, and is asked once', async () => {
    server.behave(failure(400, 'ConditionalCheckFailedException', 'The conditional request failed'));
    expect(await putItem(open(), { item: key, condition: '#a = #a' })).toEqual({ ok: false });
    expect(await sendIf(() => open().client.send('DeleteItem', { TableName: 'ledger', Key: key }))).toEqual({
      ok: false,
    });
    expect(server.requests).toHaveLength(2);
  });

  it('may be what a second attempt finds, after the answer of the first was lost', async () => {
    server.behave(reset, failure(400, 'ConditionalCheckFailedException'));
    expect(await putItem(open(), { item: key, condition: '#a = #a' })).toEqual({ ok: false });
  });
});

describe('the clock', () => {
  const expired = (date: string, message = 'Signature expired: 20261122T100000Z is now earlier than …') =>
    answer(400, JSON.stringify({ __type: 'com.amazon.coral.service#InvalidSignatureException', message }), {
      date,
    });
  const signedAtMs = () =>
    server.requests.map(({ headers }) => {
      const time = String(headers['x-amz-date']);
      return Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
    });

  it.each([-3_600_000, 3_600_000])(
    'of the table counts if ours is off by %i ms, from then on',
    async (skewMs) => {
      const table = open();
      const theirs = Date.now() + skewMs;
      server.behave(expired(new Date(theirs).toUTCString(), 'Signature not yet current: …'), good);
      expect(await getItem(table, key)).toEqual({ pk: 'p', n: 7 });
      await getItem(table, key);
      const [first = 0, ...later] = signedAtMs();
      expect(Math.abs(first - Date.now())).toBeLessThan(60_000);
      expect(later).toHaveLength(2);
      for (const atMs of later) expect(Math.abs(atMs - theirs)).toBeLessThan(60_000);
    },
  );

  it('that is right signs again what waited too long to be sent', async () => {
    server.behave(expired(new Date().toUTCString()), good);
    expect(await getItem(open(), key)).toEqual({ pk: 'p', n: 7 });
  });

  it('is not asked for ever', async () => {
    server.behave((response) =>
      expired(new Date(Date.now() + server.requests.length * 3_600_000).toUTCString())(response),
    );
    await failureOf(getItem(open(), key));
    expect(server.requests).toHaveLength(5);
  });

  it('is not at fault if the answer has no time, or the condition failed', async () => {
    const refused = { __type: 'InvalidSignatureException', message: 'The signature does not match.' };
    expect(await requestsOf([expired('yesterday', refused.message)], () => getItem(open(), key))).toBe(1);
    const date = new Date(Date.now() + 3_600_000).toUTCString();
    const failed = answer(400, '{"__type":"ConditionalCheckFailedException"}', { date });
    expect(await requestsOf([failed], () => putItem(open(), { item: key, condition: '#a = #a' }))).toBe(1);
  });
});

describe('credentials', () => {
  it('are asked for at each attempt, so that new ones are used', async () => {
    let turn = 0;
    const client = createDynamoDb({
      endpoint: server.url(),
      region,
      credentials: () => {
        turn += 1;
        return { ...credentials, accessKeyId: `KEY${turn}` };
      },
    });
    server.behave(reset, good);
    await getItem({ client, tableName: 'ledger' }, key);
    expect(server.requests.map(({ headers }) => /KEY\d/.exec(headers.authorization ?? '')?.[0])).toEqual([
      'KEY1',
      'KEY2',
    ]);
    expect(server.requests[1]?.headers['x-amz-security-token']).toBe(credentials.sessionToken);
  });
});

it('an answer may have as much as DynamoDB sends, and is read whole', async () => {
  const items = Array.from({ length: 40 }, (_, index) => ({
    pk: { S: `p${index}` },
    text: { S: '\u0001'.repeat(100_000) },
  }));
  server.behave(answer(200, JSON.stringify({ Responses: { ledger: items }, UnprocessedKeys: {} })));
  const found = await batchGet(open(), [key]);
  expect(found).toHaveLength(40);
  expect(found[39]).toEqual({ pk: 'p39', text: '\u0001'.repeat(100_000) });
});

it.each([
  ['eu-central-1', undefined, 'https://dynamodb.eu-central-1.amazonaws.com'],
  ['cn-north-1', undefined, 'https://dynamodb.cn-north-1.amazonaws.com.cn'],
  ['eu-central-1', 'http://127.0.0.1:4566', 'http://127.0.0.1:4566'],
])('a table of %s is reached at its region, or at the given endpoint %s', async (place, endpoint, origin) => {
  const sent: SignedRequest[] = [];
  const exchange: Exchange = {
    async send({ request, readerOf }) {
      sent.push(request);
      const reader = readerOf({ status: 200, headers: {} });
      reader.write(Buffer.from('{}'));
      return reader.end();
    },
    destroy() {},
  };
  const client = createDynamoDb({ region: place, endpoint, credentials: () => credentials }, exchange);
  expect(await getItem({ client, tableName: 'ledger' }, key)).toBeUndefined();
  expect(sent).toMatchObject([
    {
      origin,
      path: '/',
      body: '{"TableName":"ledger","Key":{"pk":{"S":"TENANT#acme"},"sk":{"S":"TENANT"}},"ConsistentRead":true}',
      headers: {
        host: new URL(origin).host,
        'x-amz-target': 'DynamoDB_20120810.GetItem',
        'content-type': 'application/x-amz-json-1.0',
        authorization: expect.stringContaining(`/${place}/dynamodb/aws4_request`),
      },
    },
  ]);
});

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => new Error('The call succeeded.'),
    (error: unknown) => error as Error,
  );
