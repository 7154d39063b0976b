import { describe, expect, it } from 'vitest';
import { newMessage, type QueueMessage } from '../../../../local/background/pump.ts';
import {
  openKeptMessages,
  openKeptReconciles,
  queuePartitions,
} from '../../../../local/background/queue-items.ts';
import { memoryTable } from '../../../support/memory/table.ts';

const reconcile = (tenant: string, more: Partial<QueueMessage> = {}): QueueMessage => ({
  ...newMessage(
    { tenant, reason: 'verify', full: false },
    { nowMs: 1000, messageId: `m-${tenant}`, correlationId: 'r1' },
  ),
  ...more,
});

describe('reconciles in the table', () => {
  it('are there for the next process, one of each tenant, until they are removed', async () => {
    const table = memoryTable();
    const kept = openKeptReconciles(table);
    await kept.save(reconcile('acme'));
    await kept.save(reconcile('acme', { full: true, failures: 2, prompt: true }));
    await kept.save(reconcile('lab'));
    await kept.save(reconcile('gone'));
    await kept.remove('gone');
    const { waiting, dead } = await openKeptReconciles(table).load(2000);
    expect(waiting).toEqual([reconcile('acme', { full: true, failures: 2, prompt: true }), reconcile('lab')]);
    expect(dead).toEqual([]);
  });

  it('that failed too often are one of each tenant, and beside those that wait', async () => {
    const table = memoryTable();
    const kept = openKeptReconciles(table);
    await kept.saveDead(reconcile('acme'));
    await kept.saveDead(reconcile('acme', { messageId: 'second' }));
    await kept.saveDead(reconcile('lab'));
    await kept.removeDead('lab');
    await kept.save(reconcile('new'));
    expect(await kept.load(2000)).toMatchObject({ waiting: [{ tenant: 'new' }], dead: ['acme'] });
    expect(table.store.itemsOf(queuePartitions.deadReconciles)).toMatchObject([
      { message: { messageId: 'second' } },
    ]);
  });

  it('have no times in the future after the clock was set back', async () => {
    const kept = openKeptReconciles(memoryTable());
    const future = 9_000_000_000_000;
    await kept.save(reconcile('acme', { firstAtMs: future, lastAtMs: future, notBeforeMs: future }));
    expect((await kept.load(5_000)).waiting).toMatchObject([
      { firstAtMs: 5_000, lastAtMs: 5_000, notBeforeMs: 0 },
    ]);
  });

  it.each([undefined, null, 5, {}, { reason: 'none', full: true }, { reason: 'verify', full: 'no' }])(
    'that cannot be read are full ones (%j)',
    async (message) => {
      const table = memoryTable();
      const Item = { pk: queuePartitions.reconciles, sk: 'acme', message };
      await table.client.send('PutItem', { TableName: table.tableName, Item });
      expect((await openKeptReconciles(table).load(5)).waiting).toMatchObject([
        { tenant: 'acme', reason: 'unfinished', full: true, messageId: 'restored-acme', firstAtMs: 5 },
      ]);
    },
  );

  it('are in no index', async () => {
    const table = memoryTable();
    const kept = openKeptReconciles(table);
    await kept.save(reconcile('acme'));
    await kept.saveDead(reconcile('acme'));
    for (const item of table.store.all()) expect(Object.keys(item).sort()).toEqual(['message', 'pk', 'sk']);
  });
});

describe('messages to webhooks in the table', () => {
  const event = {
    id: 'acme:1',
    type: 'storage.threshold',
    timestamp: '2026-11-21T05:00:00Z',
    data: {},
  } as const;
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
    const scanned = { client: { send: client }, tableName: table.tableName };
    const ids = async () =>
      (await openKeptMessages(scanned, 'webhooks').load()).map(({ messageId }) => messageId);
    return { table, disk, scanned, ids };
  }

  it('are those that were saved last, and only what changed is written', async () => {
    const { scanned, disk, ids } = setUp();
    const kept = openKeptMessages(scanned, 'webhooks');
    const [a, b, c] = [sent('a'), sent('b', 3), sent('c')];
    await kept.save([a, b, c]);
    expect(disk.writes).toBe(3);
    await kept.save([a, b, c]);
    await kept.save([a, { ...b, failures: 4 }]);
    expect(disk.writes).toBe(5);
    expect(await openKeptMessages(scanned, 'webhooks').load()).toEqual([a, sent('b', 4)]);
    await kept.save([]);
    expect(await ids()).toEqual([]);
  });

  it('of an earlier process are removed when they are done', async () => {
    const { scanned, ids } = setUp();
    await openKeptMessages(scanned, 'webhooks').save([sent('a'), sent('b')]);
    const next = openKeptMessages(scanned, 'webhooks');
    const [, b] = await next.load();
    await next.save(b ? [b, sent('c')] : []);
    expect(await ids()).toEqual(['b', 'c']);
  });

  it('that could not be written, or removed, are with the next save', async () => {
    const { scanned, disk, ids } = setUp();
    const kept = openKeptMessages(scanned, 'webhooks');
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
      const { scanned, ids } = setUp();
      const Item = { pk: queuePartitions.webhooks, sk: 'a', message };
      await scanned.client.send('PutItem', { TableName: scanned.tableName, Item });
      expect(await ids()).toEqual([]);
    },
  );
});
