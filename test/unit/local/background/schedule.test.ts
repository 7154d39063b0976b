import { expect, it } from 'vitest';
import {
  type RemoveExpired,
  startExpirySweep,
  startSchedule,
} from '../../../../local/background/schedule.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { FakeTime } from './fake-time.ts';

const minuteMs = 60_000;

it('runs shortly after the start and then every minute, even after a failure', async () => {
  const time = new FakeTime();
  const { log, entries } = recordingLog();
  const startMs = time.clock.nowMs();
  const runsAtMs: number[] = [];
  const schedule = startSchedule(
    async () => {
      runsAtMs.push(time.clock.nowMs() - startMs);
      if (runsAtMs.length === 1) throw new Error('the table did not answer');
    },
    { clock: time.clock, timers: time, log },
  );
  await time.advance(2.5 * minuteMs);
  expect(runsAtMs).toEqual([5_000, 5_000 + minuteMs, 5_000 + 2 * minuteMs]);
  expect(entries).toMatchObject([{ level: 'error', message: 'refresh failed' }]);
  await schedule.close(0);
  await time.advance(60 * minuteMs);
  expect(runsAtMs).toHaveLength(3);
});

it('runs a minute later if the clock is set back by an hour during a run', async () => {
  const time = new FakeTime();
  let setBackMs = 0;
  const clock = { ...time.clock, nowMs: () => time.clock.nowMs() - setBackMs };
  let runs = 0;
  const schedule = startSchedule(
    async () => {
      runs += 1;
      setBackMs = 60 * minuteMs;
    },
    { clock, timers: time, log: recordingLog().log },
  );
  await time.advance(1.5 * minuteMs);
  expect(runs).toBe(2);
  await schedule.close(0);
});

it('runs one at a time, and close() waits for a run', async () => {
  const time = new FakeTime();
  let running = 0;
  let runs = 0;
  const schedule = startSchedule(
    async () => {
      running += 1;
      runs += 1;
      expect(running).toBe(1);
      await time.clock.sleep(40 * minuteMs);
      running -= 1;
    },
    { clock: time.clock, timers: time, log: recordingLog().log },
  );
  await time.advance(60 * minuteMs);
  expect(runs).toBe(2);
  let closed = false;
  const closing = schedule.close(60 * minuteMs).then(() => {
    closed = true;
  });
  await time.advance(minuteMs);
  expect(closed).toBe(false);
  await time.advance(40 * minuteMs);
  await closing;
  expect(running).toBe(0);
});

const hour = 60 * 60_000;

function setUp(remove: RemoveExpired) {
  const time = new FakeTime();
  const { log, entries } = recordingLog();
  const startMs = time.clock.nowMs();
  const asked: { atMs: number; keptMs: number }[] = [];
  const sweep = startExpirySweep(
    async (input) => {
      const nowMs = time.clock.nowMs();
      asked.push({ atMs: nowMs - startMs, keptMs: nowMs - input.beforeMs });
      return remove(input);
    },
    { clock: time.clock, timers: time, log },
  );
  return { time, entries, asked, sweep };
}

it('removes part by part, an hour after the start and an hour after each round', async () => {
  let expired = 0;
  const { time, entries, asked, sweep } = setUp(async ({ countMax }) => {
    if (expired === 0) expired = countMax + 5;
    const removed = Math.min(expired, countMax);
    expired -= removed;
    return removed;
  });
  await time.advance(hour - 1);
  expect(asked).toEqual([]);
  await time.advance(hour + 10_000);
  expect(asked).toEqual([
    { atMs: hour, keptMs: 24 * hour },
    { atMs: hour + 1_000, keptMs: 24 * hour },
    { atMs: 2 * hour + 1_000, keptMs: 24 * hour },
    { atMs: 2 * hour + 2_000, keptMs: 24 * hour },
  ]);
  expect(entries).toMatchObject([
    { level: 'info', message: 'expired items removed', fields: { items: 105 } },
    { level: 'info', message: 'expired items removed', fields: { items: 105 } },
  ]);
  await sweep.close(0);
  await time.advance(10 * hour);
  expect(asked).toHaveLength(4);
});

it('begins anew an hour after a failure, and says nothing where nothing has expired', async () => {
  let fails = true;
  const { time, entries, asked } = setUp(async () => {
    if (fails) throw new Error('no space left');
    return 0;
  });
  await time.advance(hour);
  expect(entries).toMatchObject([{ level: 'warn', message: 'expired items not removed' }]);
  fails = false;
  await time.advance(2 * hour);
  expect(asked.map(({ atMs }) => atMs)).toEqual([hour, 2 * hour, 3 * hour]);
  expect(entries).toHaveLength(1);
});

it('waits at its close for what is being removed, and does not go on', async () => {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const { time, asked, sweep } = setUp(async () => {
    await ended;
    return 100;
  });
  await time.advance(hour);
  let isClosed = false;
  const closing = sweep.close(5_000).then(() => {
    isClosed = true;
  });
  await time.advance(1_000);
  expect(isClosed).toBe(false);
  end();
  await closing;
  await time.advance(10 * hour);
  expect(asked).toHaveLength(1);
});
