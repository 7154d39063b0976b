import type { IncomingHttpHeaders } from 'node:http';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { fromAttributes, toAttributes } from '../../../../../lambda/adapters/dynamodb/attributes.ts';
import { createTableClient } from '../../../../../lambda/adapters/dynamodb/table-client.ts';
import { answer, useDynamoDbServer } from './dynamodb-server.ts';

const server = useDynamoDbServer();
const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };

/** The SDK's document client, configured as it was used. */
function sdk(): DynamoDBDocumentClient {
  const client = new DynamoDBClient({ endpoint: server.url(), region: 'us-east-1', credentials });
  return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
}

/** What our client makes of an operation's input, and of an output. */
async function ours(operation: 'GetItem', input: object, output: object = {}) {
  const sent: object[] = [];
  const client = createTableClient(async (_operation, wire) => {
    sent.push(wire);
    return output as Record<string, unknown>;
  });
  const read = await client.send(operation, input as never);
  return { sent: JSON.parse(JSON.stringify(sent[0])), read };
}

/** `{"__proto__": …}` in a literal sets the prototype, so the SDK loses such an attribute. */
const name = (constraints: fc.StringConstraints = {}) =>
  fc.string(constraints).filter((text) => text !== '__proto__');
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.string({ unit: 'binary' }),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -9e15, max: 9e15 }),
    fc.boolean(),
    fc.constant(null),
    fc.constant(undefined),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(name(), tie('any'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).any;
const item = fc.dictionary(name({ minLength: 1 }), value, { noNullPrototype: true, maxKeys: 5 });

describe('items', () => {
  let client: DynamoDBDocumentClient;
  beforeEach(() => {
    client = sdk();
    server.behave(answer(200, '{}'));
  });

  it('are sent as the SDK sends them', async () => {
    await fc.assert(
      fc.asyncProperty(item, async (Item) => {
        server.behave(answer(200, '{}'));
        await client.send(new PutCommand({ TableName: 't', Item }));
        const [{ body = '' } = {}] = server.requests;
        expect({ TableName: 't', Item: JSON.parse(JSON.stringify(toAttributes(Item))) }).toEqual(
          JSON.parse(body),
        );
      }),
      { numRuns: 200 },
    );
  });

  it('are read as the SDK reads them, and as they were sent', async () => {
    await fc.assert(
      fc.asyncProperty(item, async (sent) => {
        const Item = JSON.parse(JSON.stringify(toAttributes(sent)));
        server.behave(answer(200, JSON.stringify({ Item })));
        const read = await client.send(new GetCommand({ TableName: 't', Key: {} }));
        expect(fromAttributes(Item)).toEqual(read.Item);
        expect(toAttributes(fromAttributes(Item))).toEqual(Item);
      }),
      { numRuns: 200 },
    );
  });

  const key = { pk: 'p', sk: 's' };
  const values = { ':a': 1, ':list': [], ':map': { text: '', none: null }, ':not': undefined };
  const requests = [
    ['GetItem', GetCommand, { TableName: 't', Key: key, ConsistentRead: true }],
    ['BatchGetItem', BatchGetCommand, { RequestItems: { t: { Keys: [key, key], ConsistentRead: true } } }],
    [
      'Query',
      QueryCommand,
      {
        TableName: 't',
        KeyConditionExpression: '#a = :a',
        ExpressionAttributeValues: values,
        ExclusiveStartKey: key,
        Limit: 3,
      },
    ],
    ['PutItem', PutCommand, { TableName: 't', Item: { ...key, ...values }, ConditionExpression: 'x' }],
    [
      'UpdateItem',
      UpdateCommand,
      {
        TableName: 't',
        Key: key,
        UpdateExpression: 'SET #a = :a',
        ConditionExpression: undefined,
        ExpressionAttributeNames: { '#a': 'a' },
        ExpressionAttributeValues: values,
        ReturnValues: 'ALL_NEW',
      },
    ],
    ['DeleteItem', DeleteCommand, { TableName: 't', Key: key, ExpressionAttributeValues: undefined }],
  ] as const;

  it.each(requests)(
    'are in the members of %s where the SDK sends them',
    async (operation, Command, input) => {
      await client.send(new (Command as typeof GetCommand)(input as never));
      const [{ body = '', headers } = { headers: {} as IncomingHttpHeaders }] = server.requests;
      expect(headers['x-amz-target']).toBe(`DynamoDB_20120810.${operation}`);
      expect((await ours(operation as 'GetItem', input)).sent).toEqual(JSON.parse(body));
    },
  );

  const wire = { pk: { S: 'p' }, n: { N: '7' }, l: { L: [{ BOOL: false }, { NULL: true }] } };
  const answers = [
    ['GetItem', GetCommand, { Item: wire }],
    ['GetItem', GetCommand, {}],
    ['Query', QueryCommand, { Items: [wire, wire], LastEvaluatedKey: wire, Count: 2 }],
    ['UpdateItem', UpdateCommand, { Attributes: wire }],
    ['BatchGetItem', BatchGetCommand, { Responses: { t: [wire] }, UnprocessedKeys: { t: { Keys: [wire] } } }],
    ['BatchGetItem', BatchGetCommand, { Responses: {}, UnprocessedKeys: {} }],
  ] as const;

  it.each(answers)(
    'are in the members of an answer to %s where the SDK reads them',
    async (operation, Command, output) => {
      server.behave(answer(200, JSON.stringify(output)));
      const input = { TableName: 't', Key: {}, RequestItems: { t: { Keys: [{}] } } };
      const { $metadata: _, ...read } = await client.send(new (Command as typeof GetCommand)(input));
      expect((await ours(operation as 'GetItem', input, output)).read).toEqual(read);
    },
  );
});

describe('an item', () => {
  it.each([
    ['a Set', new Set(['a']), 'a Set'],
    ['a Map', new Map(), 'a Map'],
    ['bytes', new Uint8Array(1), 'a Uint8Array'],
    ['a function', () => 1, 'a function'],
    ['a bigint', 1n, 'a bigint'],
    ['a number that is not exact', 2 ** 53, 'the number 9007199254740992'],
    ['a number that is not exact', -(2 ** 53), 'the number -9007199254740992'],
    ['no number', Number.NaN, 'the number NaN'],
    ['no number', Number.POSITIVE_INFINITY, 'the number Infinity'],
  ])('does not hold %s', (_, refused, what) => {
    expect(() => toAttributes({ a: [{ b: refused }] })).toThrow(`No item holds ${what}`);
  });

  it('that was read has a number beyond 2^53 as bigint, not as another number', () => {
    const read = (N: string) => fromAttributes({ a: { N } })['a'];
    expect([read('9007199254740991'), read('9007199254740992'), read('-9007199254740993')]).toEqual([
      9_007_199_254_740_991,
      9_007_199_254_740_992n,
      -9_007_199_254_740_993n,
    ]);
    expect([read('0.5'), read('-0'), read('1E+2')]).toEqual([0.5, -0, 100]);
  });

  it('of a newer version may have what this one does not store', () => {
    const set = { SS: ['a'] };
    expect(fromAttributes({ a: { S: 'a' }, set, list: { L: [{ B: 'AA==' }] } })).toEqual({
      a: 'a',
      set,
      list: [{ B: 'AA==' }],
    });
  });

  it('of something else than DynamoDB sends is left as it is, and what parses it refuses it', () => {
    const strange = {
      none: null,
      text: 'a',
      number: 5,
      list: [{ S: 'a' }],
      map: { M: null },
      not: { NULL: false },
    };
    expect(fromAttributes(strange)).toEqual(strange);
  });

  it('may have any key, __proto__ too', () => {
    const map = Object.fromEntries([['__proto__', 1]]);
    const attributes = toAttributes({ map });
    expect(JSON.stringify(attributes)).toBe('{"map":{"M":{"__proto__":{"N":"1"}}}}');
    const read = fromAttributes(JSON.parse(JSON.stringify(attributes)));
    expect(Object.entries(read['map'] as object)).toEqual([['__proto__', 1]]);
  });
});
