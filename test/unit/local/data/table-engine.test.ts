import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { create, type Write } from 'dynalite/db/index.js';
import { afterEach, describe, expect, it } from 'vitest';
import { byDueIndex, tableDefinition } from '../../../../lambda/adapters/dynamodb/table.ts';
import { StorageFullError } from '../../../../lambda/ports/storage-full.ts';
import { type CreateStore, openTables } from '../../../../local/data/open-tables.ts';
import { TableEngine } from '../../../../local/data/table-engine.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const TableName = 'table';
const advice = 'Free some space on it, then try again.';

const engines: TableEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});

/** What LevelDB says of a full disk. */
const noSpace = () =>
  Object.assign(new Error('IO error: database/000003.log: No space left on device'), {
    code: 'LEVEL_IO_ERROR',
  });

/** An engine on a disk that fails on demand, under a clock that stands. */
async function setUp() {
  const path = join(tempFolder(), 'database');
  const disk = {
    fails: undefined as (() => Error) | undefined,
    /** After so many writes the disk is full. */
    writesLeft: Number.POSITIVE_INFINITY,
    opensAgain: true,
    opened: 0,
    probed: 0,
    written: [] as (readonly Write[])[],
    nowMs: 0,
  };
  const createStore: CreateStore = (options) => {
    disk.opened += 1;
    if (disk.opened > 1 && !disk.opensAgain) throw noSpace();
    const store = create(options);
    const batch = store.db.batch.bind(store.db);
    store.db.batch = (writes, callback) => {
      disk.writesLeft -= 1;
      if (disk.writesLeft < 0) disk.fails ??= noSpace;
      if (disk.fails !== undefined) {
        setImmediate(callback, disk.fails());
        return;
      }
      disk.written.push(writes);
      batch(writes, callback);
    };
    return store;
  };
  const engine = await TableEngine.start({
    open: () => openTables(path, async () => {}, createStore),
    probe: async () => {
      disk.probed += 1;
      if (disk.fails?.().message === noSpace().message) throw noSpace();
    },
    nowMs: () => disk.nowMs,
  });
  engines.push(engine);
  await engine.run('CreateTable', tableDefinition(TableName));
  const isActive = async () =>
    JSON.stringify((await engine.run('DescribeTable', { TableName })).body).includes('"ACTIVE"');
  while (!(await isActive())) await nextTurn();
  disk.written.length = 0;
  const keyOf = (name: string) => ({ pk: { S: name }, sk: { S: 'TENANT' } });
  const put = (name: string, dueAt = 1) => {
    const due = { [byDueIndex.pk]: { S: 'due' }, [byDueIndex.sk]: { N: String(dueAt) } };
    return engine.run('PutItem', { TableName, Item: { ...keyOf(name), ...due } });
  };
  const has = async (name: string) => {
    const { body } = await engine.run('GetItem', { TableName, Key: keyOf(name), ConsistentRead: true });
    return 'Item' in body;
  };
  const dueTimes = async () => {
    const query = {
      TableName,
      IndexName: byDueIndex.name,
      KeyConditionExpression: `${byDueIndex.pk} = :due`,
      ExpressionAttributeValues: { ':due': { S: 'due' } },
    };
    const { body } = await engine.run('Query', query);
    return (body as { Items: Record<string, { N?: string }>[] }).Items.map(({ dueat }) => dueat?.N);
  };
  return { engine, disk, put, has, dueTimes };
}

describe('a full disk', () => {
  it('refuses what writes, with what to do, answers what reads, and needs no restart', async () => {
    const { engine, disk, put, has } = await setUp();
    await put('before');
    disk.fails = noSpace;
    await expect(put('refused')).rejects.toThrow(StorageFullError);
    await expect(put('refused')).rejects.toThrow(advice);
    expect(engine.isDiskFull).toBe(true);
    expect(await has('before')).toBe(true);
    expect(await has('refused')).toBe(false);

    disk.fails = undefined;
    disk.nowMs += 1000;
    expect(await put('after')).toMatchObject({ statusCode: 200 });
    expect(engine.isDiskFull).toBe(false);
    expect(await Promise.all(['before', 'after', 'refused'].map(has))).toEqual([true, true, false]);
  });

  it('is not written to again before there is space, and is looked at once a second', async () => {
    const { disk, put } = await setUp();
    disk.fails = noSpace;
    await expect(put('first')).rejects.toThrow(advice);
    for (let attempt = 0; attempt < 10; attempt += 1) await expect(put('more')).rejects.toThrow(advice);
    expect({ probed: disk.probed, opened: disk.opened }).toEqual({ probed: 1, opened: 1 });
    disk.nowMs += 1000;
    await expect(put('later')).rejects.toThrow(advice);
    expect({ probed: disk.probed, opened: disk.opened }).toEqual({ probed: 2, opened: 1 });
  });

  it('that fills up again while the database opens refuses everything, until it can be opened', async () => {
    const { disk, put, has } = await setUp();
    await put('before');
    disk.fails = noSpace;
    await expect(put('refused')).rejects.toThrow(advice);
    Object.assign(disk, { fails: undefined, opensAgain: false, nowMs: 1000 });
    await expect(put('refused')).rejects.toThrow(advice);
    await expect(has('before')).rejects.toThrow(StorageFullError);
    Object.assign(disk, { opensAgain: true, nowMs: 2000 });
    expect(await has('before')).toBe(true);
    expect(await put('after')).toMatchObject({ statusCode: 200 });
  });

  it('loses nothing that was acknowledged, with many at once and failures in between', async () => {
    const { disk, put, has } = await setUp();
    const acknowledged: string[] = [];
    const refused: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      Object.assign(disk, { fails: undefined, writesLeft: 4 });
      disk.nowMs += 1000;
      const writer = async (id: number) => {
        for (let index = 0; index < 5; index += 1) {
          const name = `${round}-${id}-${index}`;
          await put(name).then(
            () => acknowledged.push(name),
            () => refused.push(name),
          );
        }
      };
      await Promise.all([0, 1, 2, 3, 4].map(writer));
    }
    Object.assign(disk, { fails: undefined, writesLeft: Number.POSITIVE_INFINITY });
    disk.nowMs += 1000;
    await put('last');
    expect(acknowledged.length).toBeGreaterThan(20);
    expect(refused.length).toBeGreaterThan(20);
    expect(await Promise.all(acknowledged.map(has))).not.toContain(false);
    expect(await Promise.all(refused.map(has))).not.toContain(true);
  });

  it('holds those who come while the database is opened again, and answers them then', async () => {
    const { disk, put, has } = await setUp();
    disk.fails = noSpace;
    await expect(put('refused')).rejects.toThrow(advice);
    Object.assign(disk, { fails: undefined, nowMs: 1000 });
    const answers = [put('a'), has('a'), put('b')];
    expect((await Promise.allSettled(answers)).map(({ status }) => status)).toEqual(
      Array(3).fill('fulfilled'),
    );
    expect(disk.opened).toBe(2);
  });
});

it('is opened again after any other failure of a write, too', async () => {
  const { engine, disk, put } = await setUp();
  disk.fails = () => new Error('IO error: Input/output error');
  const failed = put('refused').catch((error: unknown) => error);
  expect(await failed).not.toBeInstanceOf(StorageFullError);
  expect(await failed).toMatchObject({ message: 'The database failed.' });
  expect(engine.isDiskFull).toBe(false);
  disk.fails = undefined;
  expect(await put('after')).toMatchObject({ statusCode: 200 });
});

describe('an item and its index entries', () => {
  it('are one write', async () => {
    const { disk, put, dueTimes } = await setUp();
    await put('acme', 5);
    await put('acme', 7);
    expect(disk.written.map((writes) => writes.length)).toEqual([2, 3]);
    expect(await dueTimes()).toEqual(['7']);
  });

  it('stay the same if the write fails', async () => {
    const { disk, put, dueTimes } = await setUp();
    await put('acme', 5);
    disk.fails = noSpace;
    await expect(put('acme', 7)).rejects.toThrow(advice);
    Object.assign(disk, { fails: undefined, nowMs: 1000 });
    expect(await dueTimes()).toEqual(['5']);
    await put('acme', 9);
    expect(await dueTimes()).toEqual(['9']);
  });
});

it('answers what DynamoDB answers to a wrong request', async () => {
  const { engine } = await setUp();
  expect(await engine.run('GetItem', { TableName: 'none', Key: { pk: { S: 'a' }, sk: { S: 'b' } } })).toEqual(
    {
      statusCode: 400,
      body: expect.objectContaining({ __type: expect.stringContaining('#ResourceNotFoundException') }),
    },
  );
  await expect(engine.run('DeleteTable', { TableName })).rejects.toThrow('The database failed.');
});

it('answers nothing after it was closed', async () => {
  const { engine, has } = await setUp();
  await engine.close();
  await expect(has('acme')).rejects.toThrow('The database is closed.');
});

it('can be opened after an attempt that failed', async () => {
  const path = join(tempFolder(), 'database');
  await expect(openTables(path, () => Promise.reject(noSpace()))).rejects.toThrow('No space left');
  const tables = await openTables(path, async () => {});
  expect(tables.failure).toBeUndefined();
  await tables.close();
});
