import { beforeEach, describe, expect, it } from 'vitest';
import {
  firstItems,
  itemsBelow,
  keysAfter,
  onePage,
  pagesOf,
} from '../../../../../lambda/adapters/dynamodb/pages.ts';
import { LedgerUnavailableError } from '../../../../../lambda/ports/ledger-errors.ts';
import { FakeTable } from './fake-table.ts';

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
  for await (const items of itemsBelow(table, { tenant: 'acme', prefix: 'REPO#' })) found.push(items.length);
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
    expect(valuesOf('REPO#app')).toEqual({ ':pk': 'TENANT#acme', ':from': 'REPO#app\u0000', ':to': 'REPO$' });
    // What begins with the key itself comes after it.
    expect('REPO#app-2' > String(valuesOf('REPO#app')[':from'])).toBe(true);
    expect('REPO#zzz' < String(valuesOf()[':to'])).toBe(true);
  });
});
