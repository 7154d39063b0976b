import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Fields } from '../../../../lambda/adapters/dynamodb/expressions.ts';
import { type Database, openDatabase } from '../../../../local/data/database.ts';
import { removeExpired } from '../../../../local/data/expired-items.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const nowMs = 1_795_237_200_000;
const nowSeconds = nowMs / 1000;
let database: Database;

beforeEach(async () => {
  database = await openDatabase(join(tempFolder(), 'database'));
});
afterEach(() => database.close());

const put = (pk: string, more: Fields = {}) =>
  database.client.send('PutItem', { TableName: database.tableName, Item: { pk, sk: 'X', ...more } });

async function has(pk: string): Promise<boolean> {
  const Key = { pk, sk: 'X' };
  const { Item } = await database.client.send('GetItem', { TableName: database.tableName, Key });
  return Item !== undefined;
}

async function sweep(beforeMs = nowMs) {
  const removed: number[] = [];
  let after: Fields | undefined;
  do {
    const page = await removeExpired(database, { beforeMs, after });
    removed.push(page.removed);
    after = page.next;
  } while (after);
  return removed;
}

it('removes what expired before a moment, and nothing else', async () => {
  await put('EXPIRED', { expiresAt: nowSeconds - 1 });
  await put('NOW', { expiresAt: nowSeconds });
  await put('LATER', { expiresAt: nowSeconds + 1 });
  await put('TEXT', { expiresAt: '5' });
  await put('NEVER');
  expect(await sweep()).toEqual([1]);
  const left = await Promise.all(['EXPIRED', 'NOW', 'LATER', 'TEXT', 'NEVER'].map(has));
  expect(left).toEqual([false, true, true, true, true]);
  expect(await sweep()).toEqual([0]);
});

it('goes through a large table a part at a time, and leaves no entry of an index', async () => {
  const due = { duepk: 'DELETION#0', dueat: 5 };
  const names = Array.from({ length: 250 }, (_, index) => `ITEM#${index}`);
  for (const [index, name] of names.entries())
    await put(name, index % 2 === 0 ? { expiresAt: 7, ...due } : { expiresAt: nowSeconds + 7, ...due });
  const removed = await sweep();
  expect(removed.length).toBeGreaterThanOrEqual(3);
  expect(removed.reduce((sum, each) => sum + each, 0)).toBe(125);
  const { Items = [] } = await database.client.send('Query', {
    TableName: database.tableName,
    IndexName: 'by-due',
    KeyConditionExpression: 'duepk = :due',
    ExpressionAttributeValues: { ':due': due.duepk },
  });
  expect(Items).toHaveLength(125);
});

it('leaves what was renewed since it was read', async () => {
  await put('RENEWED', { expiresAt: 5 });
  await put('GONE', { expiresAt: 5 });
  const { client, tableName } = database;
  const renewing: typeof client = {
    async send(operation, input) {
      if (operation === 'DeleteItem' && 'Key' in input && (input.Key as Fields)['pk'] === 'RENEWED')
        await put('RENEWED', { expiresAt: nowSeconds + 5 });
      return client.send(operation, input);
    },
  };
  const page = await removeExpired({ client: renewing, tableName }, { beforeMs: nowMs, after: undefined });
  expect(page).toEqual({ removed: 1, next: undefined });
  expect([await has('RENEWED'), await has('GONE')]).toEqual([true, false]);
});

it('fails where the table fails', async () => {
  await put('EXPIRED', { expiresAt: 5 });
  const { client, tableName } = database;
  const failing: typeof client = {
    async send(operation, input) {
      if (operation === 'DeleteItem') throw new Error('no space left');
      return client.send(operation, input);
    },
  };
  const removing = removeExpired({ client: failing, tableName }, { beforeMs: nowMs, after: undefined });
  await expect(removing).rejects.toThrow('no space left');
  expect(await has('EXPIRED')).toBe(true);
});
