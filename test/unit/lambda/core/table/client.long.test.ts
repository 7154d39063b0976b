import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { createDynamoDb } from '../../../../../lambda/core/table/client.ts';
import { setting } from '../../../../../lambda/core/table/expressions.ts';
import { batchGet, getItem, putItem, updateItem } from '../../../../../lambda/core/table/requests.ts';
import { answer, type Conduct, failure, reset, resetWithin, useDynamoDbServer } from './dynamodb-server.ts';

const server = useDynamoDbServer();
const region = 'eu-central-1';
const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: 'IQoJb3JpZ2lu' };
const key = { pk: 'TENANT#acme', sk: 'TENANT' };
const good = answer(200, '{"Item":{"pk":{"S":"p"},"n":{"N":"7"}}}');

const open = () => ({
  client: createDynamoDb({ endpoint: server.url(), region, credentials }),
  tableName: 'ledger',
});

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => new Error('The call succeeded.'),
    (error: unknown) => error as Error,
  );

// No pauses.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0));
afterEach(() => void vi.restoreAllMocks());

const passing: readonly [what: string, failing: Conduct][] = [
  ['500 InternalServerError', failure(500, 'InternalServerError')],
  ['502 of a proxy', answer(502, '<html>Bad gateway</html>', { 'content-type': 'text/html' })],
  ['503 ServiceUnavailable', failure(503, 'ServiceUnavailable')],
  ['504', answer(504, '')],
  ['400 ProvisionedThroughputExceededException', failure(400, 'ProvisionedThroughputExceededException')],
  ['400 ThrottlingException', failure(400, 'ThrottlingException')],
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
];

describe('a table that fails', () => {
  it.each(passing)('by %s is asked again', async (_, failing) => {
    server.behave(failing, good);
    expect(await getItem(open(), key)).toEqual({ pk: 'p', n: 7 });
    expect(new Set(server.requests.map(({ body }) => body)).size).toBe(1);
    server.behave(failing);
    await expect(getItem(open(), key)).rejects.toThrow(LedgerUnavailableError);
    expect(server.requests).toHaveLength(5);
  });

  it.each(lasting)('for %s is asked once', async (_, code, status = 400) => {
    server.behave(failure(status, code));
    const error = await failureOf(getItem(open(), key));
    expect(server.requests).toHaveLength(1);
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
  ])('by an answer that %s leaves the outcome unknown', async (_, failing) => {
    server.behave(failing);
    await expect(putItem(open(), { item: key, condition: '#a = #a' })).rejects.toThrow(
      LedgerUnavailableError,
    );
  });

  it.each(['', '{}'])("by an answer of %j that isn't its own says nothing of what it holds", async (body) => {
    server.behave((response) => void response.writeHead(200).end(body));
    const says = /isn't DynamoDB: its Content-Type isn't application\/x-amz-json-1\.0/;
    expect((await failureOf(getItem(open(), key))).cause).toMatchObject({
      message: expect.stringMatching(says),
    });
    for (const call of [
      getItem(open(), key),
      batchGet(open(), [key]),
      putItem(open(), { item: key, condition: '#a = #a' }),
    ])
      await expect(call).rejects.toThrow(LedgerUnavailableError);
  });

  it('may leave out the request id, as ScyllaDB does', async () => {
    server.behave((response) => {
      response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' });
      response.end('{"Item":{"pk":{"S":"p"}}}');
    });
    expect(await getItem(open(), key)).toEqual({ pk: 'p' });
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

  it('for a while, under many calls at a time, makes none of them fail', async () => {
    const calls = 200;
    // The first two attempts of each fail: more than the SDK's own quota of retries lets pass.
    server.behave((response) => {
      const attempt = String(server.requests.at(-1)?.headers['amz-sdk-request']);
      (/attempt=[12];/.test(attempt) ? failure(500, 'InternalServerError') : good)(response);
    });
    const place = { endpoint: server.url(), region, credentials, requestHandler: { requestTimeout: 60_000 } };
    const table = { client: createDynamoDb(place), tableName: 'ledger' };
    const found = await Promise.all(Array.from({ length: calls }, () => getItem(table, key)));
    expect(found).toEqual(Array.from({ length: calls }, () => ({ pk: 'p', n: 7 })));
    expect(server.requests).toHaveLength(3 * calls);
  });

  it('says what AWS expected to be signed, but the error does not', async () => {
    const message =
      'The signature does not match: https://dynamodb.eu-central-1.amazonaws.com/\n\n' +
      "The Canonical String should have been\n'POST\nx-amz-security-token:IQoJb3JpZ2lu\n'";
    server.behave(failure(403, 'SignatureDoesNotMatch', message));
    const { cause } = await failureOf(getItem(open(), key));
    expect(cause).toMatchObject({
      message:
        'DynamoDB answered GetItem with 403 SignatureDoesNotMatch: The signature does not match: (URL)',
    });
    expect(JSON.stringify([cause, (cause as Error).cause, (cause as Error).stack])).not.toContain('IQoJ');
  });

  it('says what it could not read of our credentials, but the error does not', async () => {
    const quoted = 'Authorization=AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/1/aws4_request, Signature=0af1';
    server.behave(failure(400, 'IncompleteSignatureException', `It needs a date. ${quoted}`));
    const { cause } = await failureOf(getItem(open(), key));
    expect((cause as Error).message).toMatch(/It needs a date\. .*Credential=…, Signature=…$/);
  });

  it('answers what no parser reads, of which the error quotes nothing', async () => {
    server.behave(answer(200, '{"SecretString":TOP-SECRET}'));
    const { cause } = await failureOf(getItem(open(), key));
    expect(cause).toMatchObject({ message: 'DynamoDB sent no readable answer to GetItem.' });
    expect(cause).not.toHaveProperty('cause');
    expect(JSON.stringify([(cause as Error).stack, cause])).not.toContain('TOP-');
  });
});

describe('a condition that does not hold', () => {
  it('is an answer, not a failure, and is asked once', async () => {
    server.behave(failure(400, 'ConditionalCheckFailedException', 'The conditional request failed'));
    expect(await putItem(open(), { item: key, condition: '#a = #a' })).toEqual({ ok: false });
    expect(server.requests).toHaveLength(1);
  });

  it('may be what a second attempt finds, after the answer of the first was lost', async () => {
    server.behave(reset, failure(400, 'ConditionalCheckFailedException'));
    expect(await putItem(open(), { item: key, condition: '#a = #a' })).toEqual({ ok: false });
  });
});

it.each([-3_600_000, 3_600_000])(
  'the clock of the table counts if ours is off by %i ms, from then on',
  async (skewMs) => {
    const table = open();
    const date = new Date(Date.now() + skewMs).toUTCString();
    const refused = { __type: 'InvalidSignatureException', message: 'Signature not yet current: …' };
    const later = answer(200, '{"Item":{"pk":{"S":"p"},"n":{"N":"7"}}}', { date });
    server.behave(answer(400, JSON.stringify(refused), { date }), later);
    expect(await getItem(table, key)).toEqual({ pk: 'p', n: 7 });
    await getItem(table, key);
    const times = server.requests.map(({ headers }) => {
      const time = String(headers['x-amz-date']);
      return Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
    });
    expect(times).toHaveLength(3);
    for (const [index, atMs] of times.entries())
      expect(Math.abs(atMs - Date.now() - (index === 0 ? 0 : skewMs))).toBeLessThan(60_000);
  },
);

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

describe('what is written', () => {
  const written = async (item: object) => {
    server.behave(answer(200, '{}'));
    await putItem(open(), { item: { ...key, ...item }, condition: '#a = #a' });
    const { Item } = JSON.parse(server.requests[0]?.body ?? '') as { Item: Record<string, unknown> };
    return Item;
  };

  it('has each type that is stored, and leaves out what is undefined', async () => {
    const fields = {
      a: 1.5,
      b: '',
      c: false,
      d: null,
      e: [1, undefined, 'x'],
      f: { g: undefined, h: 2 ** 53 - 1 },
    };
    expect(await written({ ...fields, i: undefined })).toEqual({
      pk: { S: 'TENANT#acme' },
      sk: { S: 'TENANT' },
      a: { N: '1.5' },
      b: { S: '' },
      c: { BOOL: false },
      d: { NULL: true },
      e: { L: [{ N: '1' }, { S: 'x' }] },
      f: { M: { h: { N: '9007199254740991' } } },
    });
  });

  it.each([[Number.NaN], [Number.POSITIVE_INFINITY], [2 ** 53], [new Date(0)]])(
    'is never %s, which no item holds',
    async (value) => {
      await expect(written({ a: value })).rejects.toThrow();
      expect(server.requests).toEqual([]);
    },
  );
});

it('a number that JavaScript cannot hold is read as a bigint, which what parses the item refuses', async () => {
  server.behave(answer(200, '{"Item":{"n":{"N":"9007199254740993"},"m":{"N":"-1.5"}}}'));
  expect(await getItem(open(), key)).toEqual({ n: 9007199254740993n, m: -1.5 });
});
