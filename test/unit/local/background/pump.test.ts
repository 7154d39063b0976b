import type { SQSEvent } from 'aws-lambda';
import { expect, it } from 'vitest';
import type { ExportMessage } from '../../../../lambda/exports/messages.ts';
import { newExportJob } from '../../../../lambda/exports/rules/job.ts';
import { mergeMessages, newMessage, type PumpConsumer } from '../../../../local/background/pump.ts';
import { exportPump, resumeExports } from '../../../../local/background/work-pumps.ts';
import { wholeTenant as request } from '../../../support/export-request.ts';
import { MemoryExportJobs } from '../../../support/memory/stores.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { FakeTime } from './fake-time.ts';

const message = (reason: 'verify' | 'schedule' | 'refusal') =>
  newMessage({ tenant: 'acme', reason, full: false }, { nowMs: 1, messageId: reason });

// A reconcile of the schedule is dropped when it is deferred: a trigger must not become one of those.
it.each([
  ['verify', 'schedule', 'verify'],
  ['schedule', 'verify', 'verify'],
  ['refusal', 'schedule', 'refusal'],
  ['refusal', 'verify', 'refusal'],
  ['verify', 'refusal', 'refusal'],
  ['schedule', 'schedule', 'schedule'],
] as const)('%s and then %s are one message for %s', (older, newer, reason) => {
  expect(mergeMessages(message(older), message(newer)).reason).toBe(reason);
});

const step = (unit: number): ExportMessage => ({
  tenant: 'acme',
  exportId: 'first',
  step: { kind: 'unit', round: 1, state: 'copying', unit, format: 'tar' },
});
const done = { batchItemFailures: [] };

/** A consumer whose deliveries end when the test says so. */
function consumer() {
  const delivered: { event: SQSEvent; end: (failed?: 'failed' | 'thrown') => void }[] = [];
  const consume: PumpConsumer = (event) =>
    new Promise((resolve, reject) => {
      const end = (failed?: 'failed' | 'thrown') => {
        if (failed === 'thrown') reject(new Error('A bug.'));
        else resolve(failed ? { batchItemFailures: [{ itemIdentifier: 'm' }] } : done);
      };
      delivered.push({ event, end });
    });
  const units = () =>
    delivered.map(({ event }) => JSON.parse(event.Records[0]?.body ?? '').step?.unit ?? 'advance');
  return { consume, delivered, units };
}

async function started(jobs = new MemoryExportJobs()) {
  const time = new FakeTime();
  const { log, entries } = recordingLog();
  const pump = exportPump({ timers: time, log });
  const { consume, delivered, units } = consumer();
  await resumeExports(pump, jobs);
  pump.deliverTo(consume);
  return { time, pump, delivered, units, entries };
}

it('delivers two steps at a time, each of them once', async () => {
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

it('delivers a step that failed again, and says how often', async () => {
  const { time, pump, delivered, units, entries } = await started();
  await pump.send([step(0)]);
  await time.advance(0);
  delivered[0]?.end('failed');
  await time.advance(2_999);
  expect(units()).toEqual([0]);
  await time.advance(1);
  delivered[1]?.end('thrown');
  await time.advance(3_000);
  expect(units()).toEqual([0, 0, 0]);
  const counts = delivered.map(({ event }) => event.Records[0]?.attributes.ApproximateReceiveCount);
  expect(counts).toEqual(['1', '2', '3']);
  expect(entries.map(({ message }) => message)).toEqual(['export step failed']);
});

it('asks for a step of every export that an earlier process has not finished, whoever held a lease', async () => {
  const jobs = new MemoryExportJobs();
  const path = { tenant: 'acme', exportId: 'first' };
  const job = newExportJob({ ...path, request, nowMs: 1, limitMs: 10 });
  await jobs.create({ ...job, leaseUntilMs: 99 }, { placesMax: 1, nowMs: 1 });
  const { time, units } = await started(jobs);
  await time.advance(0);
  expect(units()).toEqual(['advance']);
  expect((await jobs.read(path))?.leaseUntilMs).toBe(0);
});

it('delivers nothing after its end, and waits for what runs', async () => {
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

it('does not wait for ever for what runs', async () => {
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

it('tells how many steps wait, also for their next try, and how many run; it keeps no dead letters', async () => {
  const { time, pump, delivered } = await started();
  const gauge = pump.gaugeAs('exports');
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
