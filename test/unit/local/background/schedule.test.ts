import { expect, it } from 'vitest';
import { type ScheduledEvent, startSchedule } from '../../../../local/background/schedule.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { FakeTime } from './fake-time.ts';

const minuteMs = 60_000;

it('runs shortly after the start and then every minute, even after a failure', async () => {
  const time = new FakeTime();
  const { log, entries } = recordingLog();
  const startMs = time.clock.nowMs();
  const runsAtMs: number[] = [];
  const events: ScheduledEvent[] = [];
  const schedule = startSchedule(
    async (event, context) => {
      runsAtMs.push(time.clock.nowMs() - startMs);
      events.push(event);
      expect(context.functionName).toBe('refresh');
      if (runsAtMs.length === 1) throw new Error('the table did not answer');
    },
    { clock: time.clock, timers: time, log },
  );
  await time.advance(2.5 * minuteMs);
  expect(runsAtMs).toEqual([5_000, 5_000 + minuteMs, 5_000 + 2 * minuteMs]);
  expect(events[0]).toMatchObject({ 'detail-type': 'Scheduled Event', source: 'aws.scheduler' });
  expect(entries).toMatchObject([{ level: 'error', message: 'refresh failed' }]);
  await schedule.close(0);
  await time.advance(60 * minuteMs);
  expect(runsAtMs).toHaveLength(3);
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
