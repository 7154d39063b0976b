import { expect, it } from 'vitest';
import { startExpirySweep } from '../../../../local/background/expiry-sweep.ts';
import type { ExpiredPage } from '../../../../local/data/expired-items.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { FakeTime } from './fake-time.ts';

const hour = 60 * 60_000;

function setUp(pages: (page: ExpiredPage) => Promise<{ removed: number; next: { pk: string } | undefined }>) {
  const time = new FakeTime();
  const { log, entries } = recordingLog();
  const startMs = time.clock.nowMs();
  const asked: { atMs: number; keptMs: number; after: unknown }[] = [];
  const sweep = startExpirySweep(
    async (page) => {
      const nowMs = time.clock.nowMs();
      asked.push({ atMs: nowMs - startMs, keptMs: nowMs - page.beforeMs, after: page.after });
      return pages(page);
    },
    { clock: time.clock, timers: time, log },
  );
  return { time, entries, asked, sweep };
}

it('goes through the table part by part, an hour after the start and an hour after each round', async () => {
  const next = { pk: 'a' };
  const { time, entries, asked, sweep } = setUp(async ({ after }) =>
    after ? { removed: 2, next: undefined } : { removed: 3, next },
  );
  await time.advance(hour - 1);
  expect(asked).toEqual([]);
  await time.advance(hour + 10_000);
  expect(asked).toEqual([
    { atMs: hour, keptMs: 24 * hour, after: undefined },
    { atMs: hour + 1_000, keptMs: 24 * hour, after: next },
    { atMs: 2 * hour + 1_000, keptMs: 24 * hour, after: undefined },
    { atMs: 2 * hour + 2_000, keptMs: 24 * hour, after: next },
  ]);
  expect(entries).toMatchObject([
    { level: 'info', message: 'expired items removed', fields: { items: 5 } },
    { level: 'info', message: 'expired items removed', fields: { items: 5 } },
  ]);
  await sweep.close(0);
  await time.advance(10 * hour);
  expect(asked).toHaveLength(4);
});

it('begins anew an hour after a failure, and says nothing where nothing has expired', async () => {
  let fails = true;
  const { time, entries, asked } = setUp(async () => {
    if (fails) throw new Error('no space left');
    return { removed: 0, next: undefined };
  });
  await time.advance(hour);
  expect(entries).toMatchObject([{ level: 'warn', message: 'expired items not removed' }]);
  fails = false;
  await time.advance(2 * hour);
  expect(asked.map(({ atMs, after }) => [atMs, after])).toEqual([
    [hour, undefined],
    [2 * hour, undefined],
    [3 * hour, undefined],
  ]);
  expect(entries).toHaveLength(1);
});

it('waits at its close for what is being removed, and does not go on', async () => {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const { time, asked, sweep } = setUp(async () => {
    await ended;
    return { removed: 1, next: { pk: 'a' } };
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
