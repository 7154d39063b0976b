import { expect, it } from 'vitest';
import type { Operations, TableClient } from '../../../../lambda/core/table/table.ts';
import { createInvocations } from '../../../../lambda/frame/aws/invocation-log.ts';
import { createInbox, pollInbox } from '../../../../local/background/inbox.ts';
import { type Fence, openKept, queuePartitions } from '../../../../local/background/kept.ts';
import { reconcileCodec } from '../../../../local/background/queues.ts';
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

const keptOn = (client: TableClient, leader: Fence) =>
  openKept({ client, tableName: 'shared' }, queuePartitions.reconciles, reconcileCodec, leader);
const message = { tenant: 'acme', reason: 'manual', full: true } as const;
const jobAt = (nowMs: number, messageId: string) => {
  return { message, messageId, firstAtMs: nowMs, lastAtMs: nowMs, failures: 0, notBeforeMs: 0 };
};

it('keeps from an earlier leader what a newer one has read', async () => {
  const client = new LocalTable(new MemoryStore());
  const ended: number[] = [];
  const keptBy = (number: number) => keptOn(client, { number, end: () => void ended.push(number) });
  const [earlier, newer] = [keptBy(1), keptBy(2)];
  await earlier.put('acme', jobAt(1, 'm'));
  expect(await newer.load(1)).toMatchObject([{ id: 'acme', job: { message } }]);
  await expect(earlier.remove('acme')).rejects.toThrow('condition');
  await expect(earlier.put('acme', jobAt(1, 'm'))).rejects.toThrow('condition');
  expect(ended).toEqual([1, 1]);
  expect(await keptBy(3).load(1)).toHaveLength(1);
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
  const keptBy = (number: number) => keptOn(client, { number, end: () => undefined });
  const leader = keptBy(1);
  await leader.put('acme', jobAt(1, 'first'));
  await leader.remove('acme');
  await leader.put('acme', jobAt(2, 'second'));
  const again = () => local.send('DeleteItem', removals[0] as Operations['DeleteItem'][0]);
  await expect(again()).rejects.toThrow('condition');
  const next = keptBy(2);
  expect(await next.load(3)).toMatchObject([{ job: { messageId: 'second' } }]);
  // A claim whose answer was lost is sent again.
  expect(await next.load(3)).toHaveLength(1);
  await next.put('acme', jobAt(4, 'third'));
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
  const take = async () => {
    taken += 1;
    if (taken > 1) return;
    await queue.request(asked);
    await local.send('UpdateItem', updates[0] as Operations['UpdateItem'][0]);
  };
  await queue.request(asked);
  pollInbox({
    table,
    term: { confirm: async () => true },
    pumps: { reconciles: { take } },
    timers: time,
    log: recordingLog().log,
  });
  await time.advance(0);
  expect([taken, store.itemsOf(queuePartitions.inbox).length]).toEqual([1, 1]);
  await time.advance(1_000);
  expect([taken, store.itemsOf(queuePartitions.inbox).length]).toEqual([2, 0]);
});
