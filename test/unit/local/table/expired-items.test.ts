import { describe, expect, it } from 'vitest';
import type { Fields } from '../../../../lambda/core/table/expressions.ts';
import { openDatabase } from '../../../../local/data/database.ts';
import type { ItemStore } from '../../../../local/table/items.ts';
import { LevelStore } from '../../../../local/table/level-store.ts';
import { LocalTable } from '../../../../local/table/table.ts';
import { LevelDisk } from '../../../support/level-disk.ts';
import { MemoryStore } from '../../../support/memory/memory-store.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const nowMs = 1_795_237_200_500;
const nowSeconds = Math.floor(nowMs / 1000);
const TableName = 'lfs-quota';
const tempFolder = useTempFolders();

const stores: readonly [string, () => Promise<ItemStore>][] = [
  ['in memory', async () => new MemoryStore()],
  ['in LevelDB', () => LevelStore.open(new LevelDisk().options)],
];

describe.each(stores)('what expired %s', (_, open) => {
  async function setUp() {
    const store = await open();
    const table = new LocalTable(store);
    const put = (pk: string, more: Fields = {}) =>
      table.send('PutItem', { TableName, Item: { pk, sk: 'X', ...more } });
    const has = async (pk: string) =>
      (await table.send('GetItem', { TableName, Key: { pk, sk: 'X' } })).Item !== undefined;
    const remove = (countMax = 100) => table.removeExpired({ beforeMs: nowMs, countMax });
    return { store, table, put, has, remove };
  }

  it('before a moment is removed, and nothing else', async () => {
    const { put, has, remove } = await setUp();
    await put('EXPIRED', { expiresAt: nowSeconds - 1 });
    await put('NOW', { expiresAt: nowSeconds });
    await put('LATER', { expiresAt: nowSeconds + 1 });
    await put('TEXT', { expiresAt: '5' });
    await put('NEVER');
    expect(await remove()).toBe(1);
    const left = await Promise.all(['EXPIRED', 'NOW', 'LATER', 'TEXT', 'NEVER'].map(has));
    expect(left).toEqual([false, true, true, true, true]);
    expect(await remove()).toBe(0);
  });

  it('goes a part at a time, and leaves no entry of an index', async () => {
    const { table, put, remove } = await setUp();
    const due = { duepk: 'DELETION#0', dueat: 5 };
    for (let index = 0; index < 250; index += 1)
      await put(`ITEM#${index}`, { expiresAt: index % 2 === 0 ? 7 : nowSeconds + 7, ...due });
    expect([await remove(), await remove(), await remove()]).toEqual([100, 25, 0]);
    const { Items = [] } = await table.send('Query', {
      TableName,
      IndexName: 'by-due',
      KeyConditionExpression: '#duepk = :due',
      ExpressionAttributeNames: { '#duepk': 'duepk' },
      ExpressionAttributeValues: { ':due': due.duepk },
    });
    expect(Items).toHaveLength(125);
  });

  it('stays if it was renewed, also since it was read', async () => {
    const { store, put, has, remove } = await setUp();
    await put('RENEWED', { expiresAt: 5 });
    await put('RENEWED', { expiresAt: nowSeconds + 5 });
    await put('MEANWHILE', { expiresAt: 5 });
    await put('GONE', { expiresAt: 5 });
    const expired = store.expired.bind(store);
    store.expired = async (beforeS, countMax) => {
      const keys = await expired(beforeS, countMax);
      await put('MEANWHILE', { expiresAt: nowSeconds + 5 });
      return keys;
    };
    expect(await remove()).toBe(2);
    expect([await has('RENEWED'), await has('MEANWHILE'), await has('GONE')]).toEqual([true, true, false]);
  });
});

it('is not removed from a disk that is full', async () => {
  const disk = new LevelDisk();
  const { client, removeExpired } = await openDatabase(tempFolder(), disk.options);
  const Item = { pk: 'EXPIRED', sk: 'X', expiresAt: 5 };
  await client.send('PutItem', { TableName, Item });
  disk.fails = () => new Error('no space left');
  await expect(removeExpired({ beforeMs: nowMs, countMax: 9 })).rejects.toThrow('no space left');
  expect((await client.send('GetItem', { TableName, Key: { pk: Item.pk, sk: Item.sk } })).Item).toEqual(Item);
});
