import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AwsServiceError, StorageFullError } from '../../../../lambda/core/rules/errors.ts';
import { byDueIndex, byKindIndex } from '../../../../lambda/core/table/table.ts';
import { openDatabase } from '../../../../local/data/database.ts';
import type { LevelStoreOptions } from '../../../../local/table/level-store.ts';
import { LevelDisk, noSpace } from '../../../support/level-disk.ts';
import { Random } from '../../../support/random.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const advice = 'Ask its operator to free up space, then retry.';
const sk = 'TENANT';
const tempFolder = useTempFolders();

/** A table on a disk that fails on demand, under a clock that stands. */
async function setUp(disk = new LevelDisk(), more: Partial<LevelStoreOptions> = {}) {
  const database = await openDatabase(tempFolder(), { ...disk.options, ...more });
  const { client, tableName: TableName } = database;
  const put = (pk: string, dueat = 1) =>
    client.send('PutItem', { TableName, Item: { pk, sk, [byDueIndex.pk]: 'due', [byDueIndex.sk]: dueat } });
  const create = (pk: string) =>
    client.send('PutItem', {
      TableName,
      Item: { pk, sk },
      ConditionExpression: 'attribute_not_exists(#pk)',
      ExpressionAttributeNames: { '#pk': 'pk' },
    });
  const add = async (pk: string) => {
    const output = await client.send('UpdateItem', {
      TableName,
      Key: { pk, sk },
      UpdateExpression: 'ADD #n :one',
      ExpressionAttributeNames: { '#n': 'n' },
      ExpressionAttributeValues: { ':one': 1 },
      ReturnValues: 'ALL_NEW',
    });
    return output.Attributes?.['n'] as number;
  };
  const get = async (pk: string) =>
    (await client.send('GetItem', { TableName, Key: { pk, sk }, ConsistentRead: true })).Item;
  const has = async (pk: string) => (await get(pk)) !== undefined;
  const due = async () => {
    const { Items = [] } = await client.send('Query', {
      TableName,
      IndexName: byDueIndex.name,
      KeyConditionExpression: '#pk = :due',
      ExpressionAttributeNames: { '#pk': byDueIndex.pk },
      ExpressionAttributeValues: { ':due': 'due' },
    });
    return Items;
  };
  const dueTimes = async () => (await due()).map((item) => item[byDueIndex.sk]);
  return { database, disk, put, create, add, get, has, due, dueTimes };
}

/** Whether it is settled after some turns. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  promise.then(settle, settle);
  for (let turn = 0; turn < 30; turn += 1) await nextTurn();
  return settled;
}

describe('a full disk', () => {
  it('refuses what writes, with what to do, answers what reads, and needs no restart', async () => {
    const { database, disk, put, has } = await setUp();
    await put('before');
    disk.fails = noSpace;
    await expect(put('refused')).rejects.toThrow(StorageFullError);
    await expect(put('refused')).rejects.toThrow(advice);
    expect(database.isWritable()).toBe(false);
    expect([await has('before'), await has('refused')]).toEqual([true, false]);

    disk.fails = undefined;
    disk.nowMs += 1000;
    await put('after');
    expect(database.isWritable()).toBe(true);
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

  it('that fills up again while the table opens refuses everything, until it can be opened', async () => {
    const { disk, put, has } = await setUp();
    await put('before');
    disk.fails = noSpace;
    await expect(put('refused')).rejects.toThrow(advice);
    Object.assign(disk, { fails: undefined, opensAgain: false, nowMs: 1000 });
    await expect(put('refused')).rejects.toThrow(advice);
    await expect(has('before')).rejects.toThrow(StorageFullError);
    Object.assign(disk, { opensAgain: true, nowMs: 2000 });
    expect(await has('before')).toBe(true);
    await put('after');
  });

  it('loses nothing that was answered, with many at once and failures in between', async () => {
    const { disk, put, has } = await setUp();
    const answered: string[] = [];
    const refused: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      Object.assign(disk, { fails: undefined, batchesLeft: 4 });
      disk.nowMs += 1000;
      const writer = async (id: number) => {
        for (let index = 0; index < 5; index += 1) {
          const name = `${round}-${id}-${index}`;
          await put(name).then(
            () => answered.push(name),
            () => refused.push(name),
          );
        }
      };
      await Promise.all([0, 1, 2, 3, 4].map(writer));
    }
    Object.assign(disk, { fails: undefined, batchesLeft: Number.POSITIVE_INFINITY });
    disk.nowMs += 1000;
    await put('last');
    expect(answered.length).toBeGreaterThan(20);
    expect(refused.length).toBeGreaterThan(20);
    expect(await Promise.all(answered.map(has))).not.toContain(false);
    expect(await Promise.all(refused.map(has))).not.toContain(true);
  });

  it('holds those who come while the table is opened again, and answers them then', async () => {
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

  it('does not end what reads, when the table is opened again', async () => {
    const { disk, put, dueTimes } = await setUp(new LevelDisk(() => 5));
    await put('before', 3);
    disk.fails = noSpace;
    await expect(put('refused')).rejects.toThrow(advice);
    Object.assign(disk, { fails: undefined, nowMs: 1000 });
    const reading = dueTimes();
    await put('after');
    expect(await reading).toEqual([3]);
  });
});

it('is opened again after any other failure of a write, too', async () => {
  const { disk, put } = await setUp();
  disk.fails = () => new Error('IO error: Input/output error');
  const failed = put('refused').catch((error: unknown) => error);
  expect(await failed).not.toBeInstanceOf(StorageFullError);
  Object.assign(disk, { fails: undefined, nowMs: 1000 });
  await put('after');
  expect(disk.opened).toBe(2);
});

it.each([
  ['a full disk', noSpace],
  ['another failure', () => new Error('IO error: Input/output error')],
])(
  'is not writable after %s, until a write has succeeded, which whoever asks brings about',
  async (_, error) => {
    const { database, disk, put } = await setUp();
    const asked = async () => {
      const isWritable = database.isWritable();
      await setTimeout();
      disk.nowMs += 1000;
      return isWritable;
    };
    expect(await asked()).toBe(true);
    disk.fails = error;
    await put('refused').catch(() => undefined);
    for (let attempt = 0; attempt < 5; attempt += 1) expect(await asked()).toBe(false);
    disk.fails = undefined;
    await expect.poll(asked, { timeout: 20_000 }).toBe(true);
  },
);

describe('a group that is not written', () => {
  it('is forgotten with the one after it, and whoever saw either gets the error', async () => {
    const { disk, put, add, get, create, due } = await setUp(new LevelDisk(() => 5));
    await add('acme');
    disk.fails = noSpace;
    const first = [add('acme'), put('first')];
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    // On top of what is being written.
    const second = [add('acme'), put('second'), create('first'), get('acme'), due()];
    const answers = await Promise.allSettled([...first, ...second]);
    expect(answers.map(({ status }) => status)).toEqual(Array(7).fill('rejected'));
    for (const answer of answers) expect(answer).toMatchObject({ reason: expect.any(StorageFullError) });
    expect(await get('acme')).toMatchObject({ n: 1 });
    Object.assign(disk, { fails: undefined, nowMs: 1000 });
    expect(await add('acme')).toBe(2);
  });

  it('may be in the log all the same: after the table was opened again, the disk tells', async () => {
    const { disk, add, get } = await setUp();
    await add('acme');
    disk.fails = noSpace;
    await expect(add('acme')).rejects.toThrow(advice);
    expect(await get('acme')).toMatchObject({ n: 1 });
    disk.synced.set(`iacme\0${sk}`, JSON.stringify({ pk: 'acme', sk, n: 2 }));
    Object.assign(disk, { fails: undefined, nowMs: 1000 });
    expect(await add('acme')).toBe(3);
  });
});

describe('an answer', () => {
  it('waits for what it tells of: a write, a read, a query and a condition that failed', async () => {
    const disk = new LevelDisk();
    const { create, get, due, put } = await setUp(disk);
    await put('other');
    disk.cutPower();
    const answers = [create('acme'), get('acme'), create('acme'), put('due'), due()];
    expect(await Promise.all(answers.map(isSettled))).toEqual(answers.map(() => false));
  });

  it('waits for nothing else', async () => {
    const disk = new LevelDisk();
    const { create, get, put } = await setUp(disk);
    await create('known');
    disk.cutPower();
    void put('acme');
    await nextTurn();
    void put('acme');
    expect(await isSettled(get('known'))).toBe(true);
    expect(await isSettled(get('none'))).toBe(true);
    expect(await create('known').catch((error: AwsServiceError) => error.code)).toBe(
      'ConditionalCheckFailedException',
    );
  });
});

it('a power cut at any moment takes nothing that was answered', async () => {
  let answers = 0;
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = new Random(seed);
    const disk = new LevelDisk(() => random.int(1, 4));
    const { create, add, get, due, put } = await setUp(disk);
    /** What must be on the disk: counts by name, and names. */
    const counts = new Map<string, number>();
    const there = new Set<string>();
    const see = (name: string, n: unknown) =>
      counts.set(name, Math.max(counts.get(name) ?? 0, Number(n ?? 0)));
    let hasPower = true;
    const client = async () => {
      while (hasPower) {
        const name = random.pick(['a', 'b', 'c']);
        const kind = random.int(0, 4);
        if (kind === 0) see(name, await add(name));
        else if (kind === 1) see(name, (await get(name))?.['n']);
        else if (kind === 2) {
          const created = `new-${random.int(0, 20)}`;
          // Both answers tell that it is there.
          await create(created).catch((error) => expect(error).toBeInstanceOf(AwsServiceError));
          there.add(created);
        } else if (kind === 3) {
          const fresh = `due-${random.int(0, 20)}`;
          await put(fresh);
          there.add(fresh);
        } else for (const item of await due()) there.add(String(item['pk']));
        answers += 1;
      }
    };
    for (let number = 0; number < 6; number += 1) void client();
    for (let turn = random.int(20, 150); turn > 0; turn -= 1) await nextTurn();
    disk.cutPower();
    hasPower = false;
    const left = await setUp(Object.assign(new LevelDisk(), { synced: new Map(disk.synced) }));
    for (const [name, n] of counts)
      expect(
        ((await left.get(name))?.['n'] as number | undefined) ?? 0,
        `seed ${seed}`,
      ).toBeGreaterThanOrEqual(n);
    for (const name of there) expect([seed, name, await left.has(name)]).toEqual([seed, name, true]);
  }
  expect(answers).toBeGreaterThan(1000);
});

describe('an item and its index entries', () => {
  it('are one write, and an entry that stays is none', async () => {
    const { disk, put, dueTimes } = await setUp();
    await put('acme', 5);
    await put('acme', 7);
    await put('acme', 7);
    expect(disk.written.map((writes) => writes.length)).toEqual([2, 3, 1]);
    expect(await dueTimes()).toEqual([7]);
  });

  it('stay the same if the write fails', async () => {
    const { disk, put, dueTimes } = await setUp();
    await put('acme', 5);
    disk.fails = noSpace;
    await expect(put('acme', 7)).rejects.toThrow(advice);
    expect(await dueTimes()).toEqual([5]);
    Object.assign(disk, { fails: undefined, nowMs: 1000 });
    await put('acme', 9);
    expect(await dueTimes()).toEqual([9]);
  });

  it('come in the order of their numbers, and of what is not written yet, too', async () => {
    const disk = new LevelDisk();
    const { put, dueTimes } = await setUp(disk);
    const times = [3, -1, 1e13, 0, 0.5, -2.5, -1e13, 10, 9];
    await Promise.all(times.slice(0, 5).map((time) => put(`p${time}`, time)));
    const rest = times.slice(5).map((time) => put(`p${time}`, time));
    expect(await dueTimes()).toEqual([...times].sort((a, b) => a - b));
    await Promise.all(rest);
  });
});

it('writes those together that come while the disk is busy', async () => {
  const { disk, put } = await setUp();
  const names = Array.from({ length: 50 }, (_, index) => `name-${index}`);
  await Promise.all(names.map((name) => put(name)));
  const before = disk.written.length;
  await Promise.all([...names, ...names].map((name, index) => put(name, index)));
  expect(before).toBe(1);
  expect(disk.written.length).toBe(2);
});

it('has no key with a zero byte, which would be that of another item', async () => {
  const { database, has, put } = await setUp();
  await put('a');
  const { client, tableName: TableName } = database;
  const wrong = [
    { pk: 'a\0b', sk },
    { pk: 'a', sk: 'b\0c' },
    { pk: 'b', sk, [byKindIndex.pk]: 'a\0', [byKindIndex.sk]: 'b' },
  ];
  for (const Item of wrong)
    await expect(client.send('PutItem', { TableName, Item })).rejects.toThrow('zero byte');
  const { Item } = await client.send('GetItem', { TableName, Key: { pk: `a\0${sk}`, sk: 'x' } });
  expect([Item, await has('b')]).toEqual([undefined, false]);
});

describe('the cache of items', () => {
  const names = Array.from({ length: 50 }, (_, index) => `name-${index}`);
  /** Reads each item once more. @returns how many the disk was asked for. */
  const readAgain = async (cacheBytesMax: number) => {
    const { disk, put, has } = await setUp(new LevelDisk(), { cacheBytesMax });
    await Promise.all(names.map((name) => put(name)));
    for (const name of names) await has(name);
    disk.gets = 0;
    for (const name of names) await has(name);
    return disk.gets;
  };

  it('asks the disk for none of those that fit', async () => {
    expect(await readAgain(50 * 1_000)).toBe(0);
  });

  it('keeps no more than fit, the ones that were used last', async () => {
    expect(await readAgain(25 * 200)).toBe(names.length);
    const { disk, put, has } = await setUp(new LevelDisk(), { cacheBytesMax: 10 * 200 });
    await Promise.all(names.map((name) => put(name)));
    disk.gets = 0;
    for (const name of names) {
      await has('name-0');
      await has(name);
    }
    // Its first read; those of the others that were written last are known.
    expect(disk.gets).toBeGreaterThan(30);
    expect(disk.gets).toBeLessThanOrEqual(names.length);
  });
});

it.each([[['being written']], [['being written', 'waiting']]])(
  'writes what is left when it is closed, and says so: %j',
  async (names) => {
    const { database, disk, put } = await setUp(new LevelDisk(() => 5));
    const answers = [];
    for (const name of names) {
      answers.push(put(name));
      for (let turn = 0; turn < 2; turn += 1) await nextTurn();
    }
    await database.close();
    expect((await Promise.allSettled(answers)).map(({ status }) => status)).toEqual(
      names.map(() => 'fulfilled'),
    );
    for (const name of names) expect(disk.synced.has(`i${name}\0${sk}`)).toBe(true);
  },
);

it('lists the rows behind those that are being deleted', async () => {
  const { database, put } = await setUp(new LevelDisk(() => 3));
  for (const name of ['a', 'b', 'c', 'd']) await put(name);
  const { client, tableName: TableName } = database;
  const deleting = ['a', 'b'].map((pk) => client.send('DeleteItem', { TableName, Key: { pk, sk } }));
  const { Items } = await client.send('Query', {
    TableName,
    IndexName: byDueIndex.name,
    KeyConditionExpression: '#pk = :due',
    ExpressionAttributeNames: { '#pk': byDueIndex.pk },
    ExpressionAttributeValues: { ':due': 'due' },
    Limit: 2,
  });
  expect(Items?.map(({ pk }) => pk)).toEqual(['c', 'd']);
  await Promise.all(deleting);
});

it('answers nothing after it was closed', async () => {
  const { database, has } = await setUp();
  await database.close();
  await expect(has('acme')).rejects.toThrow('The table is closed.');
});
