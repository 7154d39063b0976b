import { expect, it } from 'vitest';
import { CollectingQueue } from '../../../../bench/push/collecting-queue.ts';

it('the queue of the benchmark counts each send, and keeps one message a tenant', async () => {
  const queue = new CollectingQueue();
  await queue.request({ tenant: 'a', reason: 'verify', full: false });
  await queue.requestAll([
    { tenant: 'a', reason: 'verify', full: true },
    { tenant: 'b', reason: 'verify', full: false },
  ]);
  expect(queue.takeSends()).toBe(3);
  expect(queue.takeSends()).toBe(0);
  expect(queue.takeWaiting().map(({ tenant, full }) => [tenant, full])).toEqual([
    ['a', true],
    ['b', false],
  ]);
  expect(queue.takeWaiting()).toEqual([]);
});
