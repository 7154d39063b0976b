import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ReconcileRequest } from '../../../../lambda/core/ledger/rules/reconcile-policy.ts';
import type { Delivery as Delivered } from '../../../../lambda/core/rules/jobs.ts';
import { createInvocationLog, createInvocations } from '../../../../lambda/frame/aws/invocation-log.ts';
import type { Job, Kept as KeptJobs } from '../../../../local/background/kept.ts';
import { Pump } from '../../../../local/background/pump.ts';
import {
  defaultQueueTiming,
  failuresMax,
  mergeReconciles,
  reconcilesBy,
} from '../../../../local/background/queues.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { FakeTime } from './fake-time.ts';

const jobOf = (
  message: ReconcileRequest,
  more: Partial<Job<ReconcileRequest>> = {},
): Job<ReconcileRequest> => ({
  message,
  messageId: 'm',
  firstAtMs: 1,
  lastAtMs: 1,
  failures: 0,
  notBeforeMs: 0,
  ...more,
});

// A reconcile of the schedule is dropped when it is deferred: a trigger must not become one of those.
it.each([
  ['verify', 'schedule', 'verify'],
  ['schedule', 'verify', 'verify'],
  ['refusal', 'schedule', 'refusal'],
  ['refusal', 'verify', 'refusal'],
  ['verify', 'refusal', 'refusal'],
  ['schedule', 'schedule', 'schedule'],
] as const)('%s and then %s are one job for %s', (older, newer, reason) => {
  const job = (of: typeof older) => jobOf({ tenant: 'acme', reason: of, full: false });
  expect(mergeReconciles(job(older), job(newer)).message.reason).toBe(reason);
});

/** What outlives a pump. */
class Jobs implements KeptJobs<ReconcileRequest> {
  readonly jobs = new Map<string, Job<ReconcileRequest>>();
  puts = 0;
  fails = false;
  failNextPut = false;
  /** It is removed, but nobody hears of that. */
  losesNextRemoval = false;
  async put(id: string, job: Job<ReconcileRequest>) {
    await nextTurn();
    if (this.fails || this.failNextPut) {
      this.failNextPut = false;
      throw new Error('the disk is full');
    }
    this.puts += 1;
    this.jobs.set(id, job);
  }
  async remove(id: string) {
    this.jobs.delete(id);
    if (!this.losesNextRemoval) return;
    this.losesNextRemoval = false;
    throw new Error('the disk failed');
  }
  async load() {
    return [...this.jobs].map(([id, job]) => ({ id, job }));
  }
}
class Kept {
  readonly waiting = new Jobs();
  readonly deadLetters = new Jobs();
  readonly messages = this.waiting.jobs;
  readonly dead = this.deadLetters.jobs;
}

/** The queue of reconciles on these. */
function pumpOn(kept: Kept, around: ConstructorParameters<typeof Pump<ReconcileRequest>>[1], atOnce = 4) {
  const spec = { ...reconcilesBy(defaultQueueTiming), atOnce, kept: kept.waiting, dead: kept.deadLetters };
  return new Pump(spec, around);
}

interface Delivery {
  readonly atMs: number;
  readonly tenant: string;
  readonly full: boolean;
}

/** A queue with a fake clock, and a consumer that records its messages and takes `runMs` for each. */
async function setUp(
  options: { runMs?: number; concurrencyMax?: number; kept?: Kept; isWritable?: () => boolean } = {},
) {
  const time = new FakeTime();
  const startMs = time.clock.nowMs();
  const kept = options.kept ?? new Kept();
  const { log, entries } = recordingLog();
  const { concurrencyMax = 4 } = options;
  const invocations = createInvocations();
  const { isWritable = () => true } = options;
  const shared = { clock: time.clock, timers: time, log, invocations };
  const queue = pumpOn(kept, { isWritable, ...shared }, concurrencyMax);
  const deliveries: Delivery[] = [];
  const running = { most: 0, tenants: [] as string[], doubled: false };
  const script: ('fail' | 'throw')[] = [];
  const failNext = (count: number) => {
    for (let run = 0; run < count; run += 1) script.push('fail');
  };
  const delivered: Delivered[] = [];
  await queue.deliverTo(async (delivery) => {
    delivered.push(delivery);
    const { tenant, full } = JSON.parse(delivery.body);
    running.doubled ||= running.tenants.includes(tenant);
    running.tenants.push(tenant);
    running.most = Math.max(running.most, running.tenants.length);
    deliveries.push({ atMs: time.clock.nowMs() - startMs, tenant, full });
    if (options.runMs !== undefined) await time.clock.sleep(options.runMs);
    running.tenants.splice(running.tenants.indexOf(tenant), 1);
    const fate = script.shift();
    if (fate === 'throw') throw new Error('the table did not answer');
    return fate !== 'fail';
  });
  const request = (tenant: string, full = false) => queue.send([{ tenant, reason: 'verify', full }]);
  return { time, queue, kept, deliveries, running, script, failNext, request, entries, delivered };
}

describe('when a reconcile is due', () => {
  it('merges a burst of triggers into one, 10 s after the last', async () => {
    const { time, deliveries, request } = await setUp();
    for (let trigger = 0; trigger < 5; trigger += 1) {
      await request('acme');
      await time.advance(1_000);
    }
    await time.advance(60_000);
    expect(deliveries).toEqual([{ atMs: 14_000, tenant: 'acme', full: false }]);
  });

  it('is not delayed by steady triggers for more than 20 s', async () => {
    const { time, deliveries, request } = await setUp();
    for (let trigger = 0; trigger < 50; trigger += 1) {
      await request('acme');
      await time.advance(1_000);
    }
    await time.advance(60_000);
    const times = deliveries.map(({ atMs }) => atMs);
    expect(times[0]).toBe(20_000);
    // Each later one within 20 s of the first trigger after the one before, and one after the last trigger.
    expect(times).toEqual([20_000, 40_000, 59_000]);
  });

  it('delivers immediately if somebody waits, but not within 10 s of the last reconcile', async () => {
    const { time, queue, deliveries } = await setUp();
    await queue.send([{ tenant: 'acme', reason: 'manual', full: true }]);
    await time.advance(0);
    await queue.send([{ tenant: 'acme', reason: 'manual', full: true }]);
    await time.advance(60_000);
    expect(deliveries.map(({ atMs }) => atMs)).toEqual([0, 10_000]);
  });

  it('runs again after a trigger that came while it ran', async () => {
    const { time, deliveries, request, running } = await setUp({ runMs: 30_000 });
    await request('acme');
    await time.advance(12_000);
    await request('acme');
    await time.advance(120_000);
    expect(deliveries.map(({ atMs }) => atMs)).toEqual([10_000, 40_000]);
    expect(running.doubled).toBe(false);
  });

  it('is a full reconcile if one of the merged triggers asked for that', async () => {
    const { time, deliveries, request } = await setUp();
    await request('acme');
    await request('acme', true);
    await request('acme');
    await time.advance(60_000);
    expect(deliveries).toMatchObject([{ full: true }]);
  });

  it('runs different tenants at the same time, up to the limit', async () => {
    const { time, deliveries, request, running } = await setUp({ runMs: 5_000, concurrencyMax: 2 });
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((tenant) => request(tenant)));
    await time.advance(60_000);
    expect(running.most).toBe(2);
    expect(deliveries.map(({ atMs }) => atMs)).toEqual([10_000, 10_000, 15_000, 15_000, 20_000]);
  });
});

describe('a message on disk', () => {
  it('is written before the request resolves, kept during the run, and removed after its success', async () => {
    const { time, kept, request } = await setUp({ runMs: 1_000 });
    await request('acme');
    expect(kept.messages.get('acme')).toMatchObject({ message: { tenant: 'acme', full: false } });
    await time.advance(10_500);
    expect(kept.messages.has('acme')).toBe(true);
    await time.advance(1_000);
    expect(kept.messages.has('acme')).toBe(false);
  });

  it('is written once for a burst, and again only if more is asked for', async () => {
    const { kept, request } = await setUp();
    await Promise.all(Array.from({ length: 100 }, () => request('acme')));
    expect(kept.waiting.puts).toBe(1);
    await request('acme', true);
    expect(kept.waiting.puts).toBe(2);
    expect(kept.messages.get('acme')).toMatchObject({ message: { full: true } });
  });

  it('stays when a trigger came during the run', async () => {
    const { time, kept, request } = await setUp({ runMs: 1_000 });
    await request('acme');
    await time.advance(10_500);
    await request('acme', true);
    await time.advance(2_000);
    expect(kept.messages.get('acme')).toMatchObject({ message: { full: true } });
  });

  it('that could not be written fails the request, and the next request tries again', async () => {
    const { kept, request } = await setUp();
    kept.waiting.failNextPut = true;
    await expect(request('acme')).rejects.toThrow('the disk is full');
    await request('acme');
    expect(kept.messages.has('acme')).toBe(true);
  });

  it('is written again after a removal without an answer', async () => {
    const { time, kept, request } = await setUp();
    await request('acme');
    kept.waiting.losesNextRemoval = true;
    await time.advance(60_000);
    await request('acme');
    expect(kept.messages.has('acme')).toBe(true);
  });

  it('is loaded by the next process, running messages too', async () => {
    const first = await setUp({ runMs: 1_000_000 });
    await first.request('acme');
    await first.time.advance(11_000);
    await first.request('umbrella');
    const second = await setUp({ kept: first.kept });
    await second.time.advance(60_000);
    expect(second.deliveries.map(({ tenant }) => tenant).sort()).toEqual(['acme', 'umbrella']);
    expect(second.kept.messages.size).toBe(0);
  });
});

describe('a reconcile that fails', () => {
  it.each(['fail', 'throw'] as const)('is retried with a growing delay (%s)', async (fate) => {
    const { time, deliveries, script, request, kept } = await setUp();
    script.push(fate, fate);
    await request('acme');
    await time.advance(12_000);
    expect(kept.messages.get('acme')).toMatchObject({ failures: 1 });
    await time.advance(60_000);
    // Failed at 10 s and 20 s (5 s of waiting, but 10 s between two), then 10 s of waiting.
    expect(deliveries.map(({ atMs }) => atMs)).toEqual([10_000, 20_000, 30_000]);
    expect(kept.messages.size).toBe(0);
  });

  it('becomes a dead letter and is logged after the last try; the next trigger starts again', async () => {
    const { time, deliveries, failNext, request, kept, entries } = await setUp();
    failNext(failuresMax);
    await request('acme');
    await time.advance(600_000);
    expect(deliveries).toHaveLength(failuresMax);
    expect([...kept.dead]).toMatchObject([['acme', { failures: failuresMax }]]);
    expect(kept.messages.size).toBe(0);
    expect(entries).toContainEqual(
      expect.objectContaining({
        level: 'error',
        message: 'job failed too often',
      }),
    );
    await request('acme');
    await time.advance(60_000);
    expect(deliveries).toHaveLength(failuresMax + 1);
  });

  it('loses no trigger that came while the last try ran', async () => {
    const { time, deliveries, failNext, request, entries } = await setUp({ runMs: 1_000 });
    failNext(failuresMax);
    await request('acme');
    while (deliveries.length < failuresMax) await time.advance(500);
    await request('acme');
    await time.advance(60_000);
    expect(entries.at(-1)).toMatchObject({
      message: 'job failed too often',
    });
    expect(deliveries).toHaveLength(failuresMax + 1);
  });

  it('because the disk is full comes again until there is space, however long that takes', async () => {
    const disk = { isFull: true };
    const { time, deliveries, script, failNext, request, kept } = await setUp({
      isWritable: () => !disk.isFull,
    });
    failNext(40);
    await request('acme', true);
    await time.advance(40 * 15_000);
    expect(deliveries.length).toBeGreaterThan(30);
    expect(kept.dead.size).toBe(0);
    expect(kept.messages.get('acme')).toMatchObject({ failures: 0, message: { full: true } });
    script.length = 0;
    disk.isFull = false;
    await time.advance(15_000);
    expect(kept.messages.size).toBe(0);
  });

  it('comes again if its dead letter cannot be written', async () => {
    const { time, deliveries, failNext, request, kept } = await setUp();
    failNext(failuresMax);
    kept.deadLetters.fails = true;
    await request('acme');
    await time.advance(600_000);
    expect(deliveries).toHaveLength(failuresMax + 1);
    expect(kept.messages.size).toBe(0);
  });

  it('counts as failed if it never ends', async () => {
    const { time, deliveries, request } = await setUp({ runMs: 100 * 60_000 });
    await request('acme');
    await time.advance(20 * 60_000);
    expect(deliveries.length).toBeGreaterThan(1);
  });
});

describe('closing', () => {
  it('waits for running reconciles, and delivers no more', async () => {
    const { time, queue, deliveries, kept, request } = await setUp({ runMs: 2_000 });
    await request('acme');
    await request('umbrella');
    await time.advance(10_500);
    await request('late');
    const closed = queue.close(5_000);
    await time.advance(3_000);
    await closed;
    await time.advance(60_000);
    expect(deliveries.map(({ tenant }) => tenant)).toEqual(['acme', 'umbrella']);
    expect([...kept.messages.keys()]).toEqual(['late']);
  });

  it('does not wait for ever; what did not end stays pending', async () => {
    const { time, queue, kept, request } = await setUp({ runMs: 60_000 });
    await request('acme');
    await time.advance(10_500);
    const closed = queue.close(5_000);
    await time.advance(5_000);
    await closed;
    await time.advance(120_000);
    expect([...kept.messages.keys()]).toEqual(['acme']);
  });
});

describe('the cause of a reconcile', () => {
  /** Sends requests with their causes. @returns the causes of the deliveries, of which the first fails. */
  async function causesOf(requests: readonly string[], kept = new Kept()) {
    const time = new FakeTime();
    const { log, entries } = recordingLog();
    const invocations = createInvocations();
    const timed = { clock: time.clock, timers: time };
    const queue = pumpOn(kept, { ...timed, invocations, log: createInvocationLog(log, invocations) });
    for (const requestId of requests) {
      const request = { tenant: 'acme', reason: 'upload', full: false } as const;
      await invocations.during({ requestId }, () => queue.send([request]));
    }
    const causes: unknown[] = [];
    await queue.deliverTo(async ({ body }) => {
      causes.push(JSON.parse(body).correlationId);
      if (causes.length === 1) throw new Error('the table did not answer');
      return true;
    });
    await time.advance(120_000);
    return { causes, entries };
  }

  it('is delivered with it, the first of several, also after a failure, and is in the log line of the failure', async () => {
    const { causes, entries } = await causesOf(['first', 'second']);
    expect(causes).toEqual(['first', 'first']);
    expect(entries).toMatchObject([
      { message: 'job failed', fields: { queue: 'reconciles', tenant: 'acme', correlationId: 'first' } },
    ]);
    expect(entries[0]?.fields['messageId']).toEqual(expect.any(String));
  });

  it('survives a restart', async () => {
    const kept = new Kept();
    const job = jobOf({ tenant: 'acme', reason: 'upload', full: false }, { correlationId: 'before' });
    await kept.waiting.put('acme', job);
    expect((await causesOf([], kept)).causes).toEqual(['before', 'before']);
  });
});

it('delivers a job as it was asked for', async () => {
  const { time, request, delivered } = await setUp();
  await request('acme');
  await time.advance(10_000);
  expect(delivered).toMatchObject([
    { body: '{"tenant":"acme","reason":"verify","full":false}', receiveCount: 1 },
  ]);
  expect(delivered[0]?.leftMs).toBeGreaterThan(60_000);
});

describe('a dead letter', () => {
  it('is in the gauge with its tenant, over a restart, until a reconcile of that tenant succeeds', async () => {
    const { time, queue, failNext, request, kept } = await setUp();
    failNext(failuresMax);
    await request('acme');
    await time.advance(600_000);
    const dead = { deadLetters: 1, deadLettersAt: 'acme' };
    expect(await queue.gauge.read()).toMatchObject(dead);
    const next = await setUp({ kept });
    expect(await next.queue.gauge.read()).toMatchObject(dead);
    await next.request('lab');
    await next.time.advance(60_000);
    expect(await next.queue.gauge.read()).toMatchObject(dead);
    await next.request('acme');
    await next.time.advance(60_000);
    expect(await next.queue.gauge.read()).toMatchObject({ deadLetters: 0, deadLettersAt: null });
    expect(kept.dead.size).toBe(0);
  });

  it('is one of many: the gauge names ten', async () => {
    const kept = new Kept();
    for (let number = 10; number < 22; number += 1)
      await kept.deadLetters.put(
        `t${number}`,
        jobOf({ tenant: `t${number}`, reason: 'verify', full: false }),
      );
    const { queue } = await setUp({ kept });
    expect(await queue.gauge.read()).toMatchObject({
      deadLetters: 12,
      deadLettersAt: 't10, t11, t12, t13, t14, t15, t16, t17, t18, t19, …',
    });
  });
});

describe('the gauge of the queue', () => {
  it('tells what waits and since when, what runs, and the dead letters', async () => {
    const { time, queue, request } = await setUp({ runMs: 60_000, concurrencyMax: 1 });
    const { gauge } = queue;
    const empty = { waiting: 0, running: 0, oldestAtMs: null, deadLetters: 0, deadLettersAt: null };
    expect([gauge.queue, await gauge.read()]).toEqual(['reconciles', empty]);
    const beganMs = time.clock.nowMs();
    await request('a');
    await time.advance(1000);
    await request('b');
    expect(await gauge.read()).toEqual({ ...empty, waiting: 2, oldestAtMs: beganMs });
    await time.advance(15_000);
    expect(await gauge.read()).toEqual({ ...empty, waiting: 1, running: 1, oldestAtMs: beganMs + 1000 });
  });
});
