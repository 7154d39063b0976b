import { expect, it } from 'vitest';
import { createInvocations } from '../../../../lambda/aws/invocation-log.ts';
import type { Operations, TableClient } from '../../../../lambda/table/table.ts';
import { createInbox, pollInbox } from '../../../../local/background/inbox.ts';
import { newMessage } from '../../../../local/background/pump.ts';
import { openKeptReconciles, queuePartitions } from '../../../../local/background/queue-items.ts';
import { LocalTable } from '../../../../local/table/table.ts';
import { MemoryStore } from '../../../support/memory/memory-store.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { FakeTime } from './fake-time.ts';
import { SharedWorld } from './shared-world.ts';

const runs = process.env['NIGHTLY'] ? 20_000 : 250;
const firstSeed = Number(process.env['FC_SEED'] ?? 1);
/** From the end of the faults: what lands late, the lease that it may renew, and the pauses of queues and retries. */
const boundMs = 90_000;

async function run(seed: number) {
  const world = new SharedWorld(seed, 2 + (seed % 2));
  await world.live(12);
  world.isFaulty = false;
  world.wake();
  await world.advance(boundMs, () => world.owed.length === 0);
  const { violations, owed, seen } = world;
  return { seed, violations, owed, seen };
}

it('delivers what any process accepted, whichever of them is killed or frozen, and whichever request fails', async () => {
  const failed = [];
  const total: Record<string, number> = {};
  for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
    const { seen, ...outcome } = await run(seed);
    if (outcome.violations.length + outcome.owed.length > 0) failed.push(outcome);
    for (const [name, count] of Object.entries(seen)) total[name] = (total[name] ?? 0) + count;
  }
  expect(failed.slice(0, 3)).toEqual([]);
  // It happened.
  for (const count of Object.values(total)) expect(count).toBeGreaterThan(runs / 20);
});

it('keeps from an earlier leader what a newer one has read', async () => {
  const table = { client: new LocalTable(new MemoryStore()), tableName: 'shared' };
  const ended: number[] = [];
  const keptBy = (number: number) =>
    openKeptReconciles(table, { number, end: () => void ended.push(number) });
  const [earlier, newer] = [keptBy(1), keptBy(2)];
  const message = newMessage({ tenant: 'acme', reason: 'manual', full: true }, { nowMs: 1, messageId: 'm' });
  await earlier.save(message);
  expect((await newer.load(1)).waiting).toMatchObject([{ tenant: 'acme', full: true }]);
  await expect(earlier.remove('acme')).rejects.toThrow('condition');
  await expect(earlier.save(message)).rejects.toThrow('condition');
  expect(ended).toEqual([1, 1]);
  expect((await keptBy(3).load(1)).waiting).toHaveLength(1);
});

it('removes nothing by a removal that lands once more, after the next request of that tenant was kept', async () => {
  const local = new LocalTable(new MemoryStore());
  const removals: Operations['DeleteItem'][0][] = [];
  const client: TableClient = {
    send: (operation, input) => {
      if (operation === 'DeleteItem') removals.push(input as Operations['DeleteItem'][0]);
      return local.send(operation, input);
    },
  };
  const keptBy = (number: number) =>
    openKeptReconciles({ client, tableName: 'shared' }, { number, end: () => undefined });
  const request = { tenant: 'acme', reason: 'manual', full: true } as const;
  const leader = keptBy(1);
  await leader.save(newMessage(request, { nowMs: 1, messageId: 'first' }));
  await leader.remove('acme');
  await leader.save(newMessage(request, { nowMs: 2, messageId: 'second' }));
  const again = () => local.send('DeleteItem', removals[0] as Operations['DeleteItem'][0]);
  await expect(again()).rejects.toThrow('condition');
  const next = keptBy(2);
  expect((await next.load(3)).waiting).toMatchObject([{ messageId: 'second' }]);
  // A claim whose answer was lost is sent again.
  expect((await next.load(3)).waiting).toHaveLength(1);
  await next.save(newMessage(request, { nowMs: 4, messageId: 'third' }));
  await expect(again()).rejects.toThrow('condition');
});

it('leaves a request in the inbox that came while an older one was taken, even if the older is written again', async () => {
  const [store, time, invocations] = [new MemoryStore(), new FakeTime(), createInvocations()];
  const local = new LocalTable(store);
  const updates: Operations['UpdateItem'][0][] = [];
  const client: TableClient = {
    send: (operation, input) => {
      if (operation === 'UpdateItem') updates.push(input as Operations['UpdateItem'][0]);
      return local.send(operation, input);
    },
  };
  const table = { client, tableName: 'shared' };
  const { queue } = createInbox(table, invocations);
  const asked = { tenant: 'acme', reason: 'manual', full: false } as const;
  let taken = 0;
  const request = async () => {
    taken += 1;
    if (taken > 1) return;
    await queue.request(asked);
    await local.send('UpdateItem', updates[0] as Operations['UpdateItem'][0]);
  };
  await queue.request(asked);
  const none = { accept: async () => undefined, send: async () => undefined };
  pollInbox({
    table,
    term: { confirm: async () => true },
    takers: { reconciles: { request }, exports: none, chunks: none, webhooks: none, emails: none },
    invocations,
    timers: time,
    log: recordingLog().log,
  });
  await time.advance(0);
  expect([taken, store.itemsOf(queuePartitions.inbox).length]).toEqual([1, 1]);
  await time.advance(1_000);
  expect([taken, store.itemsOf(queuePartitions.inbox).length]).toEqual([2, 0]);
});
