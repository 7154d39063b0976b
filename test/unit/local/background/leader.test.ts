import { expect, it } from 'vitest';
import { Leader } from '../../../../local/background/leader.ts';
import { memoryTable } from '../../../support/memory/table.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { FakeTime } from './fake-time.ts';

/** Processes on one table. Each adds its name to `led` when it begins to lead. */
function setUp() {
  const time = new FakeTime();
  const table = memoryTable();
  const led: string[] = [];
  const start = async (owner: string, aheadMs = 0) => {
    const leader = new Leader({
      table,
      owner,
      clock: { ...time.clock, nowMs: () => time.clock.nowMs() + aheadMs },
      timers: time,
      log: recordingLog().log,
      elapsedMs: () => time.clock.nowMs(),
      begin: async () => {
        led.push(owner);
        return { close: async () => {} };
      },
    });
    await time.advance(1_000);
    return leader;
  };
  return { time, led, start };
}

it('lets the next one lead within seconds when it stops, and the one after that', async () => {
  const { time, led, start } = setUp();
  const first = await start('first');
  const second = await start('second');
  await first.close(0);
  await time.advance(4_000);
  expect(led).toEqual(['first', 'second']);
  const third = await start('third');
  await second.close(0);
  await time.advance(4_000);
  expect(led).toEqual(['first', 'second', 'third']);
  await third.close(0);
});

it('leaves the lease to who took it, with a clock that is ahead, before it stopped', async () => {
  const { time, led, start } = setUp();
  const first = await start('first');
  const second = await start('second', 60_000);
  await first.close(0);
  await start('third');
  await time.advance(60_000);
  expect(led).toEqual(['first', 'second']);
  await second.close(0);
});
