import { once } from 'node:events';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { create } from 'dynalite/db/index.js';
import { describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../../../local/data/database.ts';
import { StartupError } from '../../../../local/system/startup-error.ts';
import { sendRaw } from '../../../support/raw-request.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const key = { pk: 'TENANT#acme', sk: 'TENANT' };

function credential(accessKey: string): string {
  const scope = `${accessKey}/20261121/local/dynamodb/aws4_request`;
  return `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=00`;
}

/** The header of a request with the database's own key. */
async function authorization(database: Database): Promise<string> {
  return credential((await database.client.config.credentials()).accessKeyId);
}

it('keeps its items', async () => {
  const path = join(tempFolder(), 'database');
  const first = await openDatabase(path);
  expect(first.origin).toBe('created');
  await first.client.send(new PutCommand({ TableName: first.tableName, Item: { ...key, limitBytes: 17 } }));
  await first.close();
  const second = await openDatabase(path);
  expect(second.origin).toBe('found');
  const { Item } = await second.client.send(new GetCommand({ TableName: second.tableName, Key: key }));
  expect(Item).toEqual({ ...key, limitBytes: 17 });
  await second.close();
});

it('repairs a table whose creation was interrupted by a kill, and keeps its items', async () => {
  const path = join(tempFolder(), 'database');
  const first = await openDatabase(path);
  const { tableName } = first;
  await first.client.send(new PutCommand({ TableName: tableName, Item: { ...key, limitBytes: 17 } }));
  await first.close();

  const store = create({ path });
  await store.db.open();
  const table = await promisify(store.tableDb.get)(tableName);
  if (table === undefined) throw new Error('The table was not found.');
  table.TableStatus = 'CREATING';
  for (const index of table.GlobalSecondaryIndexes ?? []) index.IndexStatus = 'CREATING';
  await promisify(store.tableDb.put)(tableName, table);
  await store.db.close();

  const second = await openDatabase(path);
  expect(second.origin).toBe('repaired');
  const { Item } = await second.client.send(new GetCommand({ TableName: tableName, Key: key }));
  expect(Item).toEqual({ ...key, limitBytes: 17 });
  await second.close();
});

it('survives a request that is aborted', async () => {
  const database = await openDatabase(join(tempFolder(), 'database'));
  const endpoint = await database.client.config.endpoint?.();
  const socket = connect(endpoint?.port ?? 0, '127.0.0.1');
  await once(socket, 'connect');
  const head = `POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${await authorization(database)}`;
  socket.write(`${head}\r\nContent-Length: 100\r\n\r\n{`);
  await new Promise((resolve) => setTimeout(resolve, 50));
  socket.resetAndDestroy();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const read = new GetCommand({ TableName: database.tableName, Key: key });
  expect((await database.client.send(read)).Item).toBeUndefined();
  await database.close();
});

describe('a request of somebody else', () => {
  const page = { origin: 'https://evil.example' };

  it.each([
    { title: 'with another key', method: 'POST', key: 'embedded', headers: {} },
    { title: 'without a key', method: 'POST', key: undefined, headers: {} },
    { title: 'with an empty key', method: 'POST', key: '', headers: {} },
    { title: 'of a web page', method: 'POST', key: undefined, headers: page },
    { title: 'of a web page, even with the key', method: 'POST', key: 'own', headers: page },
    {
      title: 'that is a preflight',
      method: 'OPTIONS',
      key: undefined,
      headers: { ...page, 'access-control-request-method': 'POST' },
    },
    { title: 'that is OPTIONS, even with the key', method: 'OPTIONS', key: 'own', headers: {} },
    { title: 'that is a GET', method: 'GET', key: undefined, headers: {} },
  ])('$title is refused, and changes nothing', async ({ method, key: accessKey, headers }) => {
    const database = await openDatabase(join(tempFolder(), 'database'));
    const endpoint = await database.client.config.endpoint?.();
    const given = accessKey === 'own' ? await authorization(database) : accessKey && credential(accessKey);
    const answer = await sendRaw({
      href: `http://127.0.0.1:${endpoint?.port}/`,
      method,
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': 'DynamoDB_20120810.DeleteTable',
        'x-amz-date': '20261121T000000Z',
        ...(given !== undefined && { authorization: given }),
        ...headers,
      },
      ...(method === 'POST' && { body: Buffer.from(JSON.stringify({ TableName: database.tableName })) }),
    });
    expect(answer.status).toBe(403);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    const read = new GetCommand({ TableName: database.tableName, Key: key });
    expect((await database.client.send(read)).Item).toBeUndefined();
    await database.close();
  });

  it('cannot use the key of an earlier start', async () => {
    const path = join(tempFolder(), 'database');
    const first = await openDatabase(path);
    const before = await authorization(first);
    await first.close();
    const second = await openDatabase(path);
    expect(await authorization(second)).not.toBe(before);
    await second.close();
  });
});

it('refuses a database that is open already', async () => {
  const path = join(tempFolder(), 'database');
  const first = await openDatabase(path);
  await expect(openDatabase(path)).rejects.toThrow('is in use by another process');
  await first.close();
});

it.runIf(existsSync('/dev/full'))('says that the disk is full, and of no backup', async () => {
  const path = join(tempFolder(), 'database');
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
  const path = join(folder, 'database');
  writeFileSync(path, 'no folder');
  const opening = openDatabase(path);
  await expect(opening).rejects.toThrow(StartupError);
  await expect(opening).rejects.toThrow(/cannot be opened .* Restore the data folder from a backup/);
});
