import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Delivery } from '../../../../lambda/core/rules/jobs.ts';
import { createInvocations } from '../../../../lambda/frame/aws/invocation-log.ts';
import { openKept, queuePartitions } from '../../../../local/background/kept.ts';
import { Pump, type TenantMessage } from '../../../../local/background/pump.ts';
import { createPumps, defaultQueueTiming, sentCodec } from '../../../../local/background/queues.ts';
import { inMemory, sentOn } from '../../../../local/background/subject-queue.ts';
import { memoryTable } from '../../../support/memory/table.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { FakeTime } from './fake-time.ts';

/** The queues of a process, on a table that can be full. */
function world({ table = memoryTable(), time = new FakeTime() } = {}) {
  const { log, entries } = recordingLog();
  const disk = { isFull: false, writes: 0 };
  const send: typeof table.client.send = async (operation, input) => {
    if (operation !== 'Query') {
      await nextTurn();
      if (disk.isFull) throw new Error('no space left');
      disk.writes += 1;
    }
    return table.client.send(operation, input);
  };
  const around = { clock: time.clock, timers: time, log, invocations: createInvocations() };
  const faulty = { ...table, client: { send } };
  const pumps = createPumps({ table: faulty, timing: defaultQueueTiming, ...around });
  const sent = openKept<TenantMessage>(faulty, queuePartitions.webhooks, sentCodec);
  const sending = new Pump({ ...sentOn, name: 'webhooks', kept: sent }, around);
  const steps = new Pump<TenantMessage>({ ...inMemory, name: 'exports', atOnce: 2 }, around);
  const kept = () => table.store.itemsOf('QUEUE#WEBHOOKS').map(({ message }) => Object(message));
  return { time, table, pumps, steps, sending, entries, disk, kept };
}

const step = (unit: number) => ({ tenant: 'acme', unit });

/** A consumer whose deliveries end when the test says so. */
function consumer() {
  const delivered: { delivery: Delivery; end: (failed?: 'failed' | 'thrown') => void }[] = [];
  const consume = (delivery: Delivery) =>
    new Promise<boolean>((resolve, reject) => {
      const end = (failed?: 'failed' | 'thrown') => {
        if (failed === 'thrown') reject(new Error('A bug.'));
        else resolve(failed === undefined);
      };
      delivered.push({ delivery, end });
    });
  const units = () => delivered.map(({ delivery }) => JSON.parse(delivery.body).unit);
  return { consume, delivered, units };
}

async function started() {
  const { steps: pump, ...own } = world();
  const { consume, delivered, units } = consumer();
  await pump.deliverTo(consume);
  return { ...own, pump, delivered, units };
}

describe('jobs in memory alone', () => {
  it('are delivered two at a time, each of them once', async () => {
    const { time, pump, delivered, units } = await started();
    await pump.send([step(0), step(1), step(2), step(2)]);
    await time.advance(0);
    expect(units()).toEqual([0, 1]);
    delivered[0]?.end();
    await time.advance(0);
    expect(units()).toEqual([0, 1, 2]);
    delivered[1]?.end();
    delivered[2]?.end();
    await time.advance(60_000);
    expect(units()).toEqual([0, 1, 2]);
  });

  it('that failed are delivered again when their step says so, or after a minute, and count', async () => {
    const { time, pump, delivered, units, entries } = await started();
    await pump.send([step(0)]);
    await time.advance(0);
    await delivered[0]?.delivery.again(3_000);
    delivered[0]?.end('failed');
    await time.advance(2_999);
    expect(units()).toEqual([0]);
    await time.advance(1);
    delivered[1]?.end('thrown');
    await time.advance(59_999);
    expect(units()).toEqual([0, 0]);
    await time.advance(1);
    expect(delivered.map(({ delivery }) => delivery.receiveCount)).toEqual([1, 2, 3]);
    expect(entries).toMatchObject([{ message: 'job failed', fields: { queue: 'exports', tenant: 'acme' } }]);
  });

  it('are delivered at once if they are asked for again', async () => {
    const { time, pump, delivered, units } = await started();
    await pump.send([step(0)]);
    await time.advance(0);
    delivered[0]?.end('failed');
    await time.advance(1_000);
    await pump.send([step(0)]);
    await time.advance(0);
    expect(units()).toEqual([0, 0]);
  });

  it('are delivered no more after the end, which waits for what runs', async () => {
    const { time, pump, delivered, units } = await started();
    await pump.send([step(0), step(1), step(2)]);
    await time.advance(0);
    delivered[1]?.end('failed');
    let isClosed = false;
    const closing = pump.close(5_000).then(() => {
      isClosed = true;
    });
    await time.advance(4_000);
    expect(isClosed).toBe(false);
    delivered[0]?.end();
    await closing;
    await pump.send([step(3)]);
    await time.advance(60_000);
    expect(units()).toEqual([0, 1]);
  });

  it('are not waited for for ever', async () => {
    const { time, pump } = await started();
    await pump.send([step(0)]);
    await time.advance(0);
    let isClosed = false;
    void pump.close(5_000).then(() => {
      isClosed = true;
    });
    await time.advance(4_999);
    expect(isClosed).toBe(false);
    await time.advance(1);
    expect(isClosed).toBe(true);
  });

  it('are counted: how many wait, also for their next try, and how many run; none is a dead letter', async () => {
    const { time, pump, delivered } = await started();
    const { gauge } = pump;
    const none = { waiting: 0, running: 0, oldestAtMs: null, deadLetters: null, deadLettersAt: null };
    expect([gauge.queue, await gauge.read()]).toEqual(['exports', none]);
    await pump.send([step(0), step(1), step(2)]);
    await time.advance(0);
    expect(await gauge.read()).toEqual({ ...none, waiting: 1, running: 2 });
    delivered[0]?.end('failed');
    await time.advance(0);
    expect(await gauge.read()).toEqual({ ...none, waiting: 1, running: 2 });
    delivered[1]?.end();
    delivered[2]?.end();
    await time.advance(0);
    expect(await gauge.read()).toEqual({ ...none, waiting: 1, running: 0 });
  });
});

it('what was sent before is delivered', async () => {
  const { steps, time } = world();
  const { consume, delivered } = consumer();
  await steps.send([step(0)]);
  await steps.deliverTo(consume);
  await time.advance(0);
  expect(delivered).toHaveLength(1);
});

const event = {
  id: 'acme:1',
  type: 'storage.threshold',
  timestamp: '2026-11-21T05:00:00Z',
  data: {},
} as const;
const messageOf = (tenant: string) => ({ tenant, event });

/** What sends to webhooks. */
function sending(on: Parameters<typeof world>[0] = {}) {
  const { sending: pump, kept, ...own } = world(on);
  const delivered: { tenant: string; count: number }[] = [];
  const failing = new Set<string>();
  const delays = new Map<string, number>();
  const consume = async ({ body, receiveCount, again }: Delivery) => {
    const { tenant } = JSON.parse(body) as { tenant: string };
    delivered.push({ tenant, count: receiveCount });
    const delayMs = delays.get(tenant);
    if (delayMs !== undefined) await again(delayMs);
    if (tenant === 'crash') throw new Error('crashed');
    return !failing.has(tenant);
  };
  const tenants = () => kept().map(({ message }) => message.tenant);
  return { ...own, pump, kept, tenants, delivered, failing, delays, consume };
}

describe('jobs that are kept', () => {
  it('are delivered once if they are done, also those that came before', async () => {
    const { time, pump, delivered, consume } = sending();
    await pump.send([messageOf('a'), messageOf('b')]);
    expect([pump.gauge.queue, (await pump.gauge.read()).waiting]).toEqual(['webhooks', 2]);
    await pump.deliverTo(consume);
    await pump.send([messageOf('c')]);
    await time.advance(3_600_000);
    const once = ['a', 'b', 'c'].map((tenant) => ({ tenant, count: 1 }));
    expect(delivered.sort((a, b) => a.tenant.localeCompare(b.tenant))).toEqual(once);
  });

  it('go on after a run that crashed, and are dropped after 20 deliveries', async () => {
    const { time, pump, delivered, consume, entries, tenants } = sending();
    await pump.deliverTo(consume);
    await pump.send([messageOf('crash'), messageOf('b')]);
    for (let minute = 0; minute < 60; minute += 1) await time.advance(60_000);
    expect(delivered.filter(({ tenant }) => tenant === 'crash')).toHaveLength(20);
    expect(delivered.filter(({ tenant }) => tenant === 'b')).toHaveLength(1);
    expect(entries).toHaveLength(21);
    expect(entries.at(-1)).toMatchObject({ message: 'job failed too often', fields: { queue: 'webhooks' } });
    expect(tenants()).toEqual([]);
  });

  it('are two thousand at most: beyond that the oldest is dropped', async () => {
    const { time, pump, delivered, consume, tenants } = sending();
    await pump.send(Array.from({ length: 2003 }, (_, index) => messageOf(`t${index}`)));
    await time.advance(0);
    expect(tenants()).toHaveLength(2000);
    await pump.deliverTo(consume);
    for (let turn = 0; turn < 200; turn += 1) await time.advance(1);
    expect(delivered).toHaveLength(2000);
    expect(delivered.map(({ tenant }) => tenant)).not.toContain('t2');
  });

  it('outlive a stop: they count on, and the next start delivers them at once', async () => {
    const first = sending();
    await first.pump.deliverTo(first.consume);
    for (const tenant of ['refused', 'crash']) first.failing.add(tenant);
    await first.pump.send([messageOf('done'), messageOf('refused'), messageOf('crash')]);
    await first.time.advance(0);
    await first.pump.close(1000);
    expect(first.tenants().sort()).toEqual(['crash', 'refused']);
    await first.pump.send([messageOf('late')]);
    await first.time.advance(3_600_000);
    expect(first.delivered).toHaveLength(3);

    const second = sending({ table: first.table });
    await second.pump.deliverTo(second.consume);
    await second.time.advance(0);
    expect(second.delivered.sort((a, b) => a.tenant.localeCompare(b.tenant))).toEqual([
      { tenant: 'crash', count: 2 },
      { tenant: 'late', count: 1 },
      { tenant: 'refused', count: 2 },
    ]);
    expect(second.tenants()).toEqual(['crash']);
  });

  it('outlive a kill: before they are accepted, while they are sent, and until they are done', async () => {
    const { time, pump, tenants } = sending();
    await pump.send([messageOf('a')]);
    expect(tenants()).toEqual(['a']);
    const { consume, delivered } = consumer();
    await pump.deliverTo(consume);
    await pump.send([messageOf('b')]);
    await time.advance(0);
    expect(tenants().sort()).toEqual(['a', 'b']);
    for (const { end } of delivered) end();
    await time.advance(0);
    expect(tenants()).toEqual([]);
  });

  it.each([
    ['still runs when nobody waits for it any more', 0, 0],
    ['fails while the stop waits for it', 5000, 1],
  ])('stay if one %s', async (_what, graceMs, failures) => {
    const { time, pump, kept, disk } = sending();
    const { consume, delivered } = consumer();
    await pump.deliverTo(consume);
    await pump.send([messageOf('a')]);
    const closing = pump.close(graceMs);
    if (graceMs > 0) delivered[0]?.end('failed');
    await time.advance(0);
    await closing;
    expect(kept()).toMatchObject([{ message: { tenant: 'a' }, failures }]);
    const { writes } = disk;
    delivered[0]?.end();
    await time.advance(10_000);
    // Another process may have the folder by now.
    expect(disk.writes).toBe(writes);
  });

  it('are not accepted while they cannot be written down, and go on once they can', async () => {
    const { time, pump, disk, entries, failing, consume, tenants } = sending();
    await pump.deliverTo(consume);
    failing.add('a');
    disk.isFull = true;
    await expect(pump.send([messageOf('a')])).rejects.toThrow('no space left');
    await time.advance(0);
    expect(entries[0]).toMatchObject({ level: 'error', message: 'queue not written' });
    disk.isFull = false;
    await pump.send([messageOf('b')]);
    await time.advance(60_000);
    expect(tenants()).toEqual(['a']);
  });

  it('are removed a minute later if that failed', async () => {
    const { time, pump, disk, tenants } = sending();
    const { consume, delivered } = consumer();
    await pump.deliverTo(consume);
    await pump.send([messageOf('a')]);
    disk.isFull = true;
    delivered[0]?.end();
    await time.advance(0);
    expect(tenants()).toEqual(['a']);
    disk.isFull = false;
    await time.advance(60_000);
    expect(tenants()).toEqual([]);
    expect(delivered).toHaveLength(1);
  });
});
