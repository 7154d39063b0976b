import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDatabase } from '../../../../local/data/database.ts';
import { StartupError } from '../../../../local/system/durable-file.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

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
