import { beforeEach, describe, expect, it } from 'vitest';
import { AwsServiceError } from '../../../../../lambda/adapters/aws-sdk/service-error.ts';
import { adding, removingKeys, setting } from '../../../../../lambda/adapters/dynamodb/expressions.ts';
import {
  batchGet,
  deleteItem,
  getItem,
  putItem,
  updateItem,
} from '../../../../../lambda/adapters/dynamodb/requests.ts';
import { LedgerUnavailableError } from '../../../../../lambda/ports/ledger-errors.ts';
import { FakeTable } from './fake-table.ts';

const mock = new FakeTable();
const pauses: number[] = [];
const pauseUpTo = async (atMostMs: number) => void pauses.push(atMostMs);
const table = { client: mock, tableName: 'ledger', pauseUpTo };
const key = { pk: 'p', sk: 's' };
const asked = () => mock.asked();
/** DynamoDB refuses a map without entries, so what is not needed must be absent. */
const sent = () => {
  const [input] = asked();
  return Object.fromEntries(Object.entries(input ?? {}).filter(([, value]) => value !== undefined));
};

beforeEach(() => {
  mock.reset();
  pauses.length = 0;
});

describe('an item', () => {
  it('is read strongly consistent, and is undefined if it is absent', async () => {
    mock
      .on('GetItem')
      .resolvesOnce({ Item: { a: 1 } })
      .resolvesOnce({});
    expect(await getItem(table, key)).toEqual({ a: 1 });
    expect(await getItem(table, key)).toBeUndefined();
    expect(sent()).toEqual({ TableName: 'ledger', Key: key, ConsistentRead: true });
  });

  it('is put under a condition', async () => {
    mock.on('PutItem').resolves({});
    const item = { ...key, a: 1 };
    await putItem(table, { item, condition: '#a <= :now', values: { ':now': 5, ':none': undefined } });
    expect(sent()).toEqual({
      TableName: 'ledger',
      Item: item,
      ConditionExpression: '#a <= :now',
      ExpressionAttributeNames: { '#a': 'a' },
      ExpressionAttributeValues: { ':now': 5 },
    });
    mock.resetHistory();
    await putItem(table, { item, condition: 'attribute_not_exists(#pk)' });
    expect(sent()).not.toHaveProperty('ExpressionAttributeValues');
  });

  it('is updated by all clauses, with the names and values of all of them', async () => {
    mock.on('UpdateItem').resolves({ Attributes: { a: 1 } });
    const change = [setting({ a: 1 }), adding({ b: 2 }), removingKeys('m', ['x'])];
    const more = {
      condition: '#c = :c',
      values: { ':c': 3, ':none': undefined },
      returns: 'ALL_OLD',
    } as const;
    expect(await updateItem(table, { key, change, ...more })).toEqual({ ok: true, attributes: { a: 1 } });
    expect(sent()).toEqual({
      TableName: 'ledger',
      Key: key,
      UpdateExpression: 'SET #a = :a ADD #b :b REMOVE #m.#key0',
      ConditionExpression: '#c = :c',
      ExpressionAttributeNames: { '#a': 'a', '#b': 'b', '#c': 'c', '#m': 'm', '#key0': 'x' },
      ExpressionAttributeValues: { ':a': 1, ':b': 2, ':c': 3 },
      ReturnValues: 'ALL_OLD',
    });
  });

  it('is updated without a condition, and without values if there are none', async () => {
    mock.on('UpdateItem').resolves({});
    expect(await updateItem(table, { key, change: [removingKeys('m', ['x'])] })).toEqual({
      ok: true,
      attributes: undefined,
    });
    expect(sent()).toEqual({
      TableName: 'ledger',
      Key: key,
      UpdateExpression: 'REMOVE #m.#key0',
      ExpressionAttributeNames: { '#m': 'm', '#key0': 'x' },
    });
  });

  it('is deleted, with or without a condition', async () => {
    mock.on('DeleteItem').resolves({ Attributes: { a: 1 } });
    const deleted = { ok: true, attributes: { a: 1 } };
    expect(await deleteItem(table, { key })).toEqual(deleted);
    expect(sent()).toEqual({ TableName: 'ledger', Key: key });
    mock.resetHistory();
    const condition = { condition: '#a = :a', values: { ':a': 1 } };
    expect(await deleteItem(table, { key, ...condition, returns: 'ALL_OLD' })).toEqual(deleted);
    expect(sent()).toEqual({
      TableName: 'ledger',
      Key: key,
      ConditionExpression: '#a = :a',
      ExpressionAttributeNames: { '#a': 'a' },
      ExpressionAttributeValues: { ':a': 1 },
      ReturnValues: 'ALL_OLD',
    });
  });

  it('is not written if the condition does not hold; any other failure is thrown', async () => {
    const refused = new AwsServiceError({
      message: 'No.',
      code: 'ConditionalCheckFailedException',
      status: 400,
    });
    const writes = [
      () => putItem(table, { item: key, condition: '#a = #a' }),
      () => updateItem(table, { key, change: [adding({ a: 1 })] }),
      () => deleteItem(table, { key }),
    ];
    for (const write of writes) {
      mock.reset();
      mock.rejectsOnce(refused).rejectsOnce(new Error('No answer.'));
      expect(await write()).toEqual({ ok: false });
      await expect(write()).rejects.toThrow(LedgerUnavailableError);
    }
  });
});

describe('items by key', () => {
  const keys = (count: number) => Array.from({ length: count }, (_, index) => ({ pk: `p${index}`, sk: 's' }));
  const batches = () =>
    asked().map(({ RequestItems }) => (RequestItems as { ledger: { Keys: unknown[] } }).ledger.Keys.length);

  it('are read a hundred at a time', async () => {
    mock.on('BatchGetItem').resolves({ Responses: { ledger: [{ a: 1 }] } });
    expect(await batchGet(table, keys(201))).toEqual([{ a: 1 }, { a: 1 }, { a: 1 }]);
    expect(batches()).toEqual([100, 100, 1]);
    expect(await batchGet(table, [])).toEqual([]);
    expect(batches()).toHaveLength(3);
  });

  it('are asked for again while the table leaves some unprocessed, but not for ever', async () => {
    const [one, two] = keys(2);
    mock
      .on('BatchGetItem')
      .resolvesOnce({ Responses: { ledger: [{ a: 1 }] }, UnprocessedKeys: { ledger: { Keys: [two ?? {}] } } })
      .resolvesOnce({ Responses: { ledger: [{ a: 2 }] }, UnprocessedKeys: {} });
    expect(await batchGet(table, [one ?? key, two ?? key])).toEqual([{ a: 1 }, { a: 2 }]);
    expect(pauses).toEqual([10]);
    mock.reset();
    mock.on('BatchGetItem').resolves({ UnprocessedKeys: { ledger: { Keys: [key] } } });
    const failed = batchGet(table, [key]);
    await expect(failed).rejects.toThrow(LedgerUnavailableError);
    await expect(failed).rejects.toThrow('leaving keys of a BatchGetItem unprocessed');
    expect(batches()).toHaveLength(10);
    // Of a table that is throttled.
    expect(pauses.slice(1)).toEqual([20, 40, 80, 160, 320, 500, 500, 500, 500]);
  });
});
