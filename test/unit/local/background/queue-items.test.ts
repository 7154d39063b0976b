import { describe, expect, it } from 'vitest';
import { newMessage, type QueueMessage } from '../../../../local/background/pump.ts';
import {
  openKeptMessages,
  openKeptRecounts,
  queuePartitions,
} from '../../../../local/background/queue-items.ts';
import { memoryTable } from '../../../support/memory/table.ts';

const recount = (tenant: string, more: Partial<QueueMessage> = {}): QueueMessage => ({
  ...newMessage(
    { tenant, reason: 'verify', full: false },
    { nowMs: 1000, messageId: `m-${tenant}`, correlationId: 'r1' },
  ),
  ...more,
});

describe('recounts in the table', () => {
  it('are there for the next process, one of each tenant, until they are removed', async () => {
    const table = memoryTable();
    const kept = openKeptRecounts(table);
    await kept.save(recount('acme'));
    await kept.save(recount('acme', { full: true, failures: 2, prompt: true }));
    await kept.save(recount('lab'));
    await kept.save(recount('gone'));
    await kept.remove('gone');
    const { waiting, dead } = await openKeptRecounts(table).load(2000);
    expect(waiting).toEqual([recount('acme', { full: true, failures: 2, prompt: true }), recount('lab')]);
    expect(dead).toEqual([]);
  });

  it('that failed too often are one of each tenant, and beside those that wait', async () => {
    const table = memoryTable();
    const kept = openKeptRecounts(table);
    await kept.saveDead(recount('acme'));
    await kept.saveDead(recount('acme', { messageId: 'second' }));
    await kept.saveDead(recount('lab'));
    await kept.removeDead('lab');
    await kept.save(recount('new'));
    expect(await kept.load(2000)).toMatchObject({ waiting: [{ tenant: 'new' }], dead: ['acme'] });
    expect(table.store.itemsOf(queuePartitions.deadRecounts)).toMatchObject([
      { message: { messageId: 'second' } },
    ]);
  });

  it('have no times in the future after the clock was set back', async () => {
    const kept = openKeptRecounts(memoryTable());
    const future = 9_000_000_000_000;
    await kept.save(recount('acme', { firstAtMs: future, lastAtMs: future, notBeforeMs: future }));
    expect((await kept.load(5_000)).waiting).toMatchObject([
      { firstAtMs: 5_000, lastAtMs: 5_000, notBeforeMs: 0 },
    ]);
  });

  it.each([undefined, null, 5, {}, { reason: 'none', full: true }, { reason: 'verify', full: 'no' }])(
    'that cannot be read are full ones (%j)',
    async (message) => {
      const table = memoryTable();
      const Item = { pk: queuePartitions.recounts, sk: 'acme', message };
      await table.client.send('PutItem', { TableName: table.tableName, Item });
      expect((await openKeptRecounts(table).load(5)).waiting).toMatchObject([
        { tenant: 'acme', reason: 'unfinished', full: true, messageId: 'restored-acme', firstAtMs: 5 },
      ]);
    },
  );

  it('are in no index', async () => {
    const table = memoryTable();
    const kept = openKeptRecounts(table);
    await kept.save(recount('acme'));
    await kept.saveDead(recount('acme'));
    for (const item of table.store.all()) expect(Object.keys(item).sort()).toEqual(['message', 'pk', 'sk']);
  });
});

describe('messages to webhooks in the table', () => {
  const event = { id: 'acme:1', type: 'storage.level', timestamp: '2026-11-21T05:00:00Z', data: {} } as const;
  const sent = (messageId: string, failures = 0) => ({
    message: { tenant: 'acme', event },
    messageId,
    failures,
  });

  /** A table that counts its writes, and fails when told. */
  function setUp() {
    const table = memoryTable();
    const disk = { writes: 0, isFull: false };
    const client: typeof table.client.send = async (operation, input) => {
      if (operation !== 'Query') {
        if (disk.isFull) throw new Error('no space left');
        disk.writes += 1;
      }
      return table.client.send(operation, input);
    };
    const counted = { client: { send: client }, tableName: table.tableName };
    const ids = async () => (await openKeptMessages(counted).load()).map(({ messageId }) => messageId);
    return { table, disk, counted, ids };
  }

  it('are those that were saved last, and only what changed is written', async () => {
    const { counted, disk, ids } = setUp();
    const kept = openKeptMessages(counted);
    const [a, b, c] = [sent('a'), sent('b', 3), sent('c')];
    await kept.save([a, b, c]);
    expect(disk.writes).toBe(3);
    await kept.save([a, b, c]);
    await kept.save([a, { ...b, failures: 4 }]);
    expect(disk.writes).toBe(5);
    expect(await openKeptMessages(counted).load()).toEqual([a, sent('b', 4)]);
    await kept.save([]);
    expect(await ids()).toEqual([]);
  });

  it('of an earlier process are removed when they are done', async () => {
    const { counted, ids } = setUp();
    await openKeptMessages(counted).save([sent('a'), sent('b')]);
    const next = openKeptMessages(counted);
    const [, b] = await next.load();
    await next.save(b ? [b, sent('c')] : []);
    expect(await ids()).toEqual(['b', 'c']);
  });

  it('that could not be written, or removed, are with the next save', async () => {
    const { counted, disk, ids } = setUp();
    const kept = openKeptMessages(counted);
    const [a, b] = [sent('a'), sent('b')];
    await kept.save([a]);
    disk.isFull = true;
    await expect(kept.save([{ ...a, failures: 1 }, b])).rejects.toThrow('no space left');
    await expect(kept.save([b])).rejects.toThrow('no space left');
    disk.isFull = false;
    await kept.save([b]);
    expect(await ids()).toEqual(['b']);
  });

  it.each([null, 5, { message: null, messageId: 'a', failures: 0 }, { message: {}, failures: 0 }])(
    'that cannot be read are left out (%j)',
    async (message) => {
      const { counted, ids } = setUp();
      const Item = { pk: queuePartitions.webhooks, sk: 'a', message };
      await counted.client.send('PutItem', { TableName: counted.tableName, Item });
      expect(await ids()).toEqual([]);
    },
  );
});
