import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AwsServiceError, LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { adding, removingKeys, setting } from '../../../../../lambda/core/table/expressions.ts';
import {
  batchGet,
  changeItem,
  deleteItem,
  firstItems,
  getItem,
  itemsBelow,
  keysAfter,
  newWriteId,
  onePage,
  pagesOf,
  putItem,
  untilWritten,
  updateItem,
} from '../../../../../lambda/core/table/requests.ts';
import { FakeTable } from '../../../../support/fake-table.ts';
import { memoryTable } from '../../../../support/memory/table.ts';

describe('pages', () => {
  const client = new FakeTable();
  const table = { client, tableName: 'ledger' };
  const query = { KeyConditionExpression: '#pk = :pk' };
  const limits = () => client.asked().map(({ Limit }) => Limit);
  beforeEach(() => client.reset());

  /** Pages of so many items, with more behind the last one or not. */
  function pages(counts: readonly number[], hasMore = false): void {
    let id = 0;
    for (const [index, count] of counts.entries()) {
      const Items = Array.from({ length: count }, () => ({ id: id++ }));
      const isEnd = index === counts.length - 1 && !hasMore;
      client.on('Query').resolvesOnce({ Items, ...(!isEnd && { LastEvaluatedKey: { pk: `${index}` } }) });
    }
  }

  describe('the first items of a query', () => {
    const first = (more: object = {}) => firstItems(table, { ...query, Limit: 3, ...more });

    it('come in one page, or in as many as that takes', async () => {
      pages([3], true);
      expect(await first()).toEqual([{ id: 0 }, { id: 1 }, { id: 2 }]);
      pages([1, 0, 1, 1], true);
      expect(await first()).toHaveLength(3);
      expect(limits()).toEqual([3, 3, 3, 3, 3]);
    });

    it('are no more than were asked for, and fewer if there are fewer', async () => {
      pages([2, 5], true);
      expect((await first()).map((item) => item['id'])).toEqual([0, 1, 2]);
      pages([1, 1]);
      expect(await first()).toHaveLength(2);
    });

    it('with a filter are looked for without a limit, because what it leaves out counts to that', async () => {
      pages([2, 2], true);
      const items = await first({ FilterExpression: '#a = :a' });
      expect(items).toHaveLength(3);
      expect(limits()).toEqual([undefined, undefined]);
      expect(client.asked()[0]).toMatchObject({ ...query, FilterExpression: '#a = :a', TableName: 'ledger' });
    });
  });

  describe('one page of a query', () => {
    it('says whether more may follow', async () => {
      pages([2, 0]);
      expect(await onePage(table, { ...query, Limit: 2 })).toEqual({
        items: [{ id: 0 }, { id: 1 }],
        hasMore: true,
      });
      expect(await onePage(table, { ...query, Limit: 2 })).toEqual({ items: [], hasMore: false });
      expect(client.asked()).toEqual([
        { ...query, Limit: 2, TableName: 'ledger' },
        { ...query, Limit: 2, TableName: 'ledger' },
      ]);
    });

    it('of an answer without items has none', async () => {
      client.on('Query').resolves({});
      expect(await onePage(table, { ...query, Limit: 2 })).toEqual({ items: [], hasMore: false });
    });
  });

  it('the items of a tenant are those of its partition whose keys begin so', async () => {
    pages([1, 2]);
    const found: number[] = [];
    for await (const items of itemsBelow(table, { tenant: 'acme', prefix: 'REPO#' }))
      found.push(items.length);
    expect(found).toEqual([1, 2]);
    expect(client.asked()[0]).toEqual({
      TableName: 'ledger',
      KeyConditionExpression: '#pk = :pk AND begins_with(#sk, :prefix)',
      ExpressionAttributeNames: { '#pk': 'pk', '#sk': 'sk' },
      ExpressionAttributeValues: { ':pk': 'TENANT#acme', ':prefix': 'REPO#' },
      ConsistentRead: true,
      ExclusiveStartKey: undefined,
    });
  });

  it('a query of pages is asked for the next one only once somebody wants it', async () => {
    pages([1, 1], true);
    for await (const page of pagesOf(table, query)) {
      expect(page).toHaveLength(1);
      break;
    }
    expect(client.asked()).toHaveLength(1);
  });

  it('a query that fails says that the ledger is unavailable', async () => {
    client.rejectsOnce(new Error('No answer.')).rejectsOnce(new Error('No answer.'));
    await expect(onePage(table, { ...query, Limit: 2 })).rejects.toThrow(LedgerUnavailableError);
    await expect(firstItems(table, { ...query, Limit: 2 })).rejects.toThrow(LedgerUnavailableError);
  });

  describe('the keys of a tenant after one of them', () => {
    const valuesOf = (after?: string) =>
      keysAfter({ tenant: 'acme', prefix: 'REPO#', after }).ExpressionAttributeValues;

    it('begin with the first, or right after it, and end before the next kind', () => {
      expect(keysAfter({ tenant: 'acme', prefix: 'REPO#' })).toEqual({
        KeyConditionExpression: '#pk = :pk AND #sk BETWEEN :from AND :to',
        ExpressionAttributeNames: { '#pk': 'pk', '#sk': 'sk' },
        ExpressionAttributeValues: { ':pk': 'TENANT#acme', ':from': 'REPO#', ':to': 'REPO$' },
        ConsistentRead: true,
      });
      expect(valuesOf('REPO#app')).toEqual({
        ':pk': 'TENANT#acme',
        ':from': 'REPO#app\u0000',
        ':to': 'REPO$',
      });
      // What begins with the key itself comes after it.
      expect('REPO#app-2' > String(valuesOf('REPO#app')[':from'])).toBe(true);
      expect('REPO#zzz' < String(valuesOf()[':to'])).toBe(true);
    });
  });
});

describe('requests', () => {
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
    const keys = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ pk: `p${index}`, sk: 's' }));
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
        .resolvesOnce({
          Responses: { ledger: [{ a: 1 }] },
          UnprocessedKeys: { ledger: { Keys: [two ?? {}] } },
        })
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
});

/** The longest pauses, one after the other. */
let pausesMs: number[] = [];
beforeEach(() => {
  pausesMs = [];
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const { setTimeout: real } = globalThis;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms = 0) => {
    pausesMs.push(ms);
    return real(run, 0);
  }) as typeof setTimeout);
});
afterEach(() => void vi.restoreAllMocks());

/** Somebody else comes first so many times. */
const attempts = (failing: number) => {
  let made = 0;
  return {
    made: () => made,
    attempt: async () => {
      made += 1;
      return made > failing ? { result: made } : undefined;
    },
  };
};

describe('a write over what was read', () => {
  it('is made at once if nobody else writes', async () => {
    expect(await untilWritten({}, attempts(0).attempt)).toBe(1);
    expect(pausesMs).toEqual([]);
  });

  it('may have no result', async () => {
    expect(await untilWritten({}, async () => ({ result: undefined }))).toBeUndefined();
  });

  it('is made again after others, with pauses that double up to half a second', async () => {
    expect(await untilWritten({}, attempts(8).attempt)).toBe(9);
    expect(pausesMs).toEqual([10, 20, 40, 80, 160, 320, 500, 500]);
  });

  it('pauses as chance has it, so that those who wait do not come together again', async () => {
    vi.mocked(Math.random).mockReturnValueOnce(0.5).mockReturnValueOnce(0.25);
    await untilWritten({}, attempts(2).attempt);
    expect(pausesMs).toEqual([5, 5]);
  });

  it('pauses as its table does, if that has a clock of its own', async () => {
    const pauseUpTo = vi.fn(async () => undefined);
    await untilWritten({ pauseUpTo }, attempts(2).attempt);
    expect(pauseUpTo.mock.calls).toEqual([[10], [20]]);
    expect(pausesMs).toEqual([]);
  });

  it('is tried thirty times', async () => {
    expect(await untilWritten({}, attempts(29).attempt)).toBe(30);
    const { attempt, made } = attempts(30);
    const failure = untilWritten({}, attempt);
    await expect(failure).rejects.toThrow(LedgerUnavailableError);
    await expect(failure).rejects.toThrow('An item was changed by others in each of 30 attempts.');
    expect(made()).toBe(30);
  });

  it('fails with the attempt', async () => {
    const attempt = async () => {
      throw new LedgerUnavailableError('The table is down.');
    };
    await expect(untilWritten({}, attempt)).rejects.toThrow('The table is down.');
    expect(pausesMs).toEqual([]);
  });

  it('has a name of its own', () => {
    expect(newWriteId()).toMatch(/^[0-9a-f-]{36}$/);
    expect(newWriteId()).not.toBe(newWriteId());
  });
});

describe('a change of an item', () => {
  const key = { pk: 'SCHEDULE', sk: 'SCHEDULE' };
  const read = async (table: Parameters<typeof getItem>[0]) => (await getItem(table, key)) ?? {};

  it('sets fields, removes those that are undefined, keeps others, and counts', async () => {
    const table = memoryTable();
    const first = await changeItem(table, key, () => ({ a: 1, b: 1, c: 1 }));
    expect(first).toMatchObject({ item: { a: 1, version: 1 }, isChanged: true });
    const second = await changeItem(table, key, () => ({ a: 2, b: undefined }));
    expect(await read(table)).toEqual({ ...key, a: 2, c: 1, version: 2, writeId: expect.any(String) });
    expect(second).toEqual({ item: { ...(await read(table)), b: undefined }, isChanged: true });
  });

  it('that leaves it as it is writes nothing', async () => {
    const table = memoryTable();
    expect(await changeItem(table, key, () => undefined)).toEqual({ item: undefined, isChanged: false });
    expect([...table.store.all()]).toEqual([]);
  });

  it('is of what an older version wrote without a count', async () => {
    const table = memoryTable();
    await putItem(table, { item: { ...key, a: 1 }, condition: 'attribute_not_exists(#pk)' });
    await changeItem(table, key, (item) => ({ a: Number(item?.['a']) + 1 }));
    expect(await read(table)).toMatchObject({ a: 2, version: 1 });
  });

  it('is not made again after a lost answer', async () => {
    const table = memoryTable();
    const refused = new AwsServiceError({
      code: 'ConditionalCheckFailedException',
      message: 'No.',
      status: 400,
    });
    // The write lands, the client sends it again, and its own version is in the way.
    const client: typeof table.client = {
      send: async (operation, input) => {
        const output = await table.client.send(operation, input);
        if (operation === 'UpdateItem') throw refused;
        return output;
      },
    };
    const change = vi.fn(() => ({ a: 1 }));
    const changed = await changeItem({ ...table, client }, key, change);
    expect(changed).toMatchObject({ item: { a: 1, version: 1 }, isChanged: true });
    expect(change).toHaveBeenCalledTimes(1);
  });
});
