import { describe, expect, it } from 'vitest';
import type { ReconcileRequest } from '../../../../lambda/core/ledger/rules/reconcile-policy.ts';
import { type Job, openKept, queuePartitions } from '../../../../local/background/kept.ts';
import { reconcileCodec, sentCodec } from '../../../../local/background/queues.ts';
import { memoryTable } from '../../../support/memory/table.ts';

const job = (tenant: string, more: Partial<Job<ReconcileRequest>> = {}): Job<ReconcileRequest> => ({
  message: { tenant, reason: 'verify', full: false },
  messageId: `m-${tenant}`,
  correlationId: 'r1',
  firstAtMs: 1000,
  lastAtMs: 1000,
  failures: 0,
  notBeforeMs: 0,
  ...more,
});
const keptIn = (table = memoryTable()) => ({
  table,
  kept: openKept(table, queuePartitions.reconciles, reconcileCodec),
});

describe('reconciles in the table', () => {
  it('are there for the next process, one of each tenant, until they are removed', async () => {
    const { table, kept } = keptIn();
    const last = job('acme', { failures: 2, message: { tenant: 'acme', reason: 'manual', full: true } });
    await kept.put('acme', job('acme'));
    await kept.put('acme', last);
    await kept.put('lab', job('lab'));
    await kept.put('gone', job('gone'));
    await kept.remove('gone');
    const loaded = await keptIn(table).kept.load(2000);
    expect(loaded).toEqual([
      { id: 'acme', job: last },
      { id: 'lab', job: job('lab') },
    ]);
    // In no index.
    for (const item of table.store.all()) expect(Object.keys(item).sort()).toEqual(['message', 'pk', 'sk']);
  });

  it('have no times in the future after the clock was set back', async () => {
    const { kept } = keptIn();
    const future = 9_000_000_000_000;
    await kept.put('acme', job('acme', { firstAtMs: future, lastAtMs: future, notBeforeMs: future }));
    const times = { firstAtMs: 5_000, lastAtMs: 5_000, notBeforeMs: 0 };
    expect(await kept.load(5_000)).toMatchObject([{ job: times }]);
  });

  it.each([undefined, null, 5, {}, { reason: 'none', full: true }, { reason: 'verify', full: 'no' }])(
    'that cannot be read are full ones (%j)',
    async (message) => {
      const { table, kept } = keptIn();
      const Item = { pk: queuePartitions.reconciles, sk: 'acme', message };
      await table.client.send('PutItem', { TableName: table.tableName, Item });
      const full = { tenant: 'acme', reason: 'unfinished', full: true };
      expect(await kept.load(5)).toMatchObject([
        { id: 'acme', job: { message: full, messageId: 'restored-acme', firstAtMs: 5 } },
      ]);
    },
  );
});

describe('what is sent, in the table', () => {
  it.each([null, 5, { message: null, messageId: 'a', failures: 0 }, { message: {}, failures: 0 }])(
    'is left out if it cannot be read (%j)',
    async (message) => {
      const table = memoryTable();
      const Item = { pk: queuePartitions.webhooks, sk: 'a', message };
      await table.client.send('PutItem', { TableName: table.tableName, Item });
      expect(await openKept(table, queuePartitions.webhooks, sentCodec).load(1)).toEqual([]);
    },
  );
});
