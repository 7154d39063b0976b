import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { StorageFullError } from '../../../../lambda/core/rules/errors.ts';
import type { Operations } from '../../../../lambda/core/table/table.ts';
import { openDatabase } from '../../../../local/data/database.ts';
import { StartupError } from '../../../../local/system/durable-file.ts';
import { LevelDisk, noSpace } from '../../../support/level-disk.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { fieldsOf } from '../../syntax.ts';

const tempFolder = useTempFolders();
const key = { pk: 'TENANT#acme', sk: 'TENANT' };

it('keeps its items', async () => {
  const path = join(tempFolder(), 'table');
  const first = await openDatabase(path);
  expect(first.origin).toBe('created');
  await first.client.send('PutItem', { TableName: first.tableName, Item: { ...key, limitBytes: 17 } });
  await first.close();
  const second = await openDatabase(path);
  expect(second.origin).toBe('found');
  const { Item } = await second.client.send('GetItem', { TableName: second.tableName, Key: key });
  expect(Item).toEqual({ ...key, limitBytes: 17 });
  await second.close();
});

it('is reached by nobody else: it has no port', async () => {
  const listening = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;
  const before = listening();
  const database = await openDatabase(join(tempFolder(), 'table'));
  expect(listening()).toBe(before);
  await database.close();
});

describe('with a full disk', () => {
  /** Each operation of the table. */
  const inputs: { readonly [O in keyof Operations]: { isRead: boolean; input: Operations[O][0] } } = {
    GetItem: { isRead: true, input: { TableName: 't', Key: key } },
    BatchGetItem: { isRead: true, input: { RequestItems: { t: { Keys: [key] } } } },
    Query: {
      isRead: true,
      input: {
        TableName: 't',
        KeyConditionExpression: '#pk = :pk',
        ExpressionAttributeNames: { '#pk': 'pk' },
        ExpressionAttributeValues: { ':pk': key.pk },
      },
    },
    PutItem: { isRead: false, input: { TableName: 't', Item: key } },
    UpdateItem: {
      isRead: false,
      input: {
        TableName: 't',
        Key: key,
        UpdateExpression: 'SET #n = :n',
        ExpressionAttributeNames: { '#n': 'n' },
        ExpressionAttributeValues: { ':n': 1 },
      },
    },
    DeleteItem: { isRead: false, input: { TableName: 't', Key: key } },
  };

  it('each operation is tried', () => {
    expect(Object.keys(inputs)).toEqual(fieldsOf('lambda/core/table/table.ts', 'Operations'));
  });

  it.each(Object.entries(inputs))('%s is answered if it reads, and rejected if not', async (name, row) => {
    const disk = new LevelDisk();
    const { client } = await openDatabase(join(tempFolder(), 'table'), disk.options);
    await client.send('PutItem', { TableName: 't', Item: { ...key, more: 1 } });
    disk.fails = noSpace;
    await expect(client.send('DeleteItem', inputs.DeleteItem.input)).rejects.toThrow(StorageFullError);
    const answer = client.send(name as keyof Operations, row.input);
    if (row.isRead) expect(JSON.stringify(await answer)).toContain('"more":1');
    else await expect(answer).rejects.toThrow(StorageFullError);
  });
});

it('refuses a database that is open already', async () => {
  const path = join(tempFolder(), 'table');
  const first = await openDatabase(path);
  await expect(openDatabase(path)).rejects.toThrow('is in use by another process');
  await first.close();
});

it.runIf(existsSync('/dev/full'))('says that the disk is full, and of no backup', async () => {
  const path = join(tempFolder(), 'table');
  mkdirSync(path);
  // The first file that a new database writes.
  symlinkSync('/dev/full', join(path, 'MANIFEST-000001'));
  const opening = openDatabase(path);
  await expect(opening).rejects.toThrow(StartupError);
  await expect(opening).rejects.toThrow(
    `The database ${path} is on a disk that is full, or beyond the quota of this user. ` +
      'Free some space, then start again. What is stored is safe.',
  );
});

it('refuses a database that cannot be opened, with the reason', async () => {
  const folder = tempFolder();
  const path = join(folder, 'table');
  writeFileSync(path, 'no folder');
  const opening = openDatabase(path);
  await expect(opening).rejects.toThrow(StartupError);
  await expect(opening).rejects.toThrow(/can't be opened [\s\S]* Restore the data folder from a backup/);
});
