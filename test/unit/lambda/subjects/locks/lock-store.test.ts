import { beforeEach, describe, expect, it } from 'vitest';
import { AwsServiceError } from '../../../../../lambda/core/rules/errors.ts';
import type { TableClient } from '../../../../../lambda/core/table/table.ts';
import { createDynamoDbLocks } from '../../../../../lambda/subjects/locks/lock-store.ts';
import {
  type FileLock,
  lockHashOf,
  locksPerSliceMax,
} from '../../../../../lambda/subjects/locks/rules/locks.ts';
import { FakeTable } from '../../../../support/fake-table.ts';
import { memoryTable } from '../../../../support/memory/table.ts';

const client = new FakeTable();
const locks = createDynamoDbLocks({ client, tableName: 'table' });
beforeEach(() => client.reset());

const at = { tenant: 'acme', repo: 'game' };
const hash = lockHashOf('a.bin');
const lock: FileLock = {
  id: `${hash}000000000001`,
  path: 'a.bin',
  ownerId: 'user:ada',
  ownerName: 'ada',
  lockedAtMs: 1000,
};
const key = { pk: 'LOCKS#acme', sk: `game#${hash}` };
const failed = () =>
  new AwsServiceError({ status: 400, code: 'ConditionalCheckFailedException', message: 'No.' });

/** Answers the look at the slice, and refuses the write. */
async function refuseWrite(...found: (FileLock | undefined)[]) {
  client.on('Query').resolves({ Items: [] });
  for (const item of found) client.on('GetItem').resolvesOnce(item ? { Item: { ...key, ...item } } : {});
  const { send } = client;
  let refusals = found.length;
  const refusing = {
    send: async (operation: Parameters<typeof send>[0], input: object) => {
      const answer = await send.call(client, operation, input);
      if (operation === 'PutItem' && refusals-- > 0) throw failed();
      return answer;
    },
  };
  client.on('PutItem').resolves({});
  return await createDynamoDbLocks({ client: refusing, tableName: 'table' }).take({ ...at, lock });
}

describe('a lock on the table', () => {
  it('is one item that is written if there is none, under the hash of its path', async () => {
    client.on('Query').resolves({ Items: [] });
    client.on('PutItem').resolves({});
    expect(await locks.take({ ...at, lock })).toEqual({ kind: 'taken' });
    const [put, slice] = client.asked();
    expect(slice).toMatchObject({
      ConsistentRead: true,
      ExpressionAttributeValues: {
        ':pk': 'LOCKS#acme',
        ':from': `game#${hash.slice(0, 2)}`,
        ':to': `game#${hash.slice(0, 2)}g`,
      },
    });
    expect(put).toMatchObject({
      Item: { ...key, ...lock },
      ConditionExpression: 'attribute_not_exists(#pk)',
    });
    expect(client.asked()).toHaveLength(2);
  });

  it('that an earlier attempt of ours took is taken, though the attempt was not answered', async () => {
    expect(await refuseWrite(lock)).toEqual({ kind: 'taken' });
  });

  it('that somebody else took meanwhile is held', async () => {
    const other = { ...lock, id: `${hash}000000000002`, ownerId: 'user:bob' };
    expect(await refuseWrite(other)).toEqual({ kind: 'held', lock: other });
  });

  it('that was released right after it was refused is tried again', async () => {
    expect(await refuseWrite(undefined, undefined)).toEqual({ kind: 'taken' });
    expect(client.asked().filter((input) => 'Item' in input)).toHaveLength(3);
  });

  it('is written and counted in one round, and taken back if there are too many', async () => {
    const others = Array.from({ length: locksPerSliceMax }, (_, index) => ({
      ...lock,
      id: `${String(index).padStart(40, '0')}000000000001`,
    }));
    client.on('PutItem').resolves({});
    client.on('DeleteItem').resolves({ Attributes: { ...key, ...lock } });
    client.on('Query').resolvesOnce({ Items: others.slice(1) });
    expect(await locks.take({ ...at, lock })).toEqual({ kind: 'taken' });
    // The query may find what is written at the same time.
    client.on('Query').resolvesOnce({ Items: [...others.slice(1), lock] });
    expect(await locks.take({ ...at, lock })).toEqual({ kind: 'taken' });
    expect(client.asked()).toHaveLength(4);
    for (const Items of [others, [...others, lock]]) {
      client.on('Query').resolvesOnce({ Items });
      expect(await locks.take({ ...at, lock })).toEqual({ kind: 'full' });
      expect(client.asked().at(-1)).toMatchObject({ Key: key, ConditionExpression: '#id = :id' });
    }
  });

  it('is released by one write, on the condition of its id and, without force, of its owner', async () => {
    client.on('DeleteItem').resolves({ Attributes: { ...key, ...lock } });
    await locks.release({ ...at, lockId: lock.id, ownerId: 'user:ada' });
    await locks.release({ ...at, lockId: lock.id });
    const [own, forced] = client.asked();
    expect(own).toMatchObject({ Key: key, ConditionExpression: '#id = :id AND #ownerId = :ownerId' });
    expect(forced).toMatchObject({ Key: key, ConditionExpression: '#id = :id' });
    expect(client.asked()).toHaveLength(2);
  });

  it('is listed consistently; a page of some owners is not cut by what the filter leaves out', async () => {
    client.on('Query').resolves({ Items: [] });
    await locks.listPage({ ...at, pageSize: 5 });
    await locks.listPage({ ...at, pageSize: 5, after: hash, ownerIds: ['user:ada', 'token:ada'] });
    const [all, some] = client.asked();
    expect(all).toMatchObject({ ConsistentRead: true, Limit: 6 });
    expect(all).not.toHaveProperty('FilterExpression');
    expect(some).toMatchObject({
      ConsistentRead: true,
      FilterExpression: '#ownerId IN (:owner0, :owner1)',
      ExpressionAttributeValues: {
        ':from': `game#${hash}\u0000`,
        ':owner0': 'user:ada',
        ':owner1': 'token:ada',
      },
    });
    expect(some).not.toHaveProperty('Limit');
  });
});

it('releases none that was taken after it was found, when many are released', async () => {
  const table = memoryTable();
  const plain = createDynamoDbLocks(table);
  const numbered = (path: string, number: number): FileLock => ({
    ...lock,
    id: lockHashOf(path) + String(number).padStart(12, '0'),
    path,
  });
  for (const path of ['a', 'b']) await plain.take({ ...at, lock: numbered(path, 1) });
  let isFound = false;
  const raced: TableClient = {
    async send(operation, input) {
      const output = await table.client.send(operation, input);
      if (operation !== 'Query' || isFound) return output;
      isFound = true;
      await plain.release({ ...at, lockId: numbered('a', 1).id });
      await plain.take({ ...at, lock: numbered('a', 2) });
      return output;
    },
  };
  const releasing = createDynamoDbLocks({ ...table, client: raced });
  expect(await releasing.releaseSome({ tenant: 'acme', locksMax: 10 })).toEqual({
    count: 1,
    paths: ['b'],
    hasMore: false,
  });
  expect((await plain.listPage({ ...at, pageSize: 10 })).locks).toEqual([numbered('a', 2)]);
});

it.each([
  ['a list', () => locks.listPage({ ...at, pageSize: 5 }), { locks: [], next: null }],
  ['those to be released', () => locks.releaseSome({ tenant: 'acme', locksMax: 5 }), { hasMore: false }],
])('is read consistently in %s, which reads no more than it needs', async (_, read, found) => {
  client.on('Query').resolves({});
  expect(await read()).toMatchObject(found);
  expect(client.asked()).toMatchObject([{ ConsistentRead: true, Limit: 6 }]);
});
