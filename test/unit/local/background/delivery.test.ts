import { expect, it } from 'vitest';
import type { Consumer } from '../../../../lambda/core/rules/jobs.ts';
import { createInvocations } from '../../../../lambda/frame/aws/invocation-log.ts';
import { ownDelivery } from '../../../../local/background/delivery.ts';
import {
  defaultQueueTiming,
  type QueueName,
  type Queues,
  queuesOfSubjects,
} from '../../../../local/background/queues.ts';
import { LocalTable } from '../../../../local/table/table.ts';
import { MemoryStore } from '../../../support/memory/memory-store.ts';
import { FakeTime } from './fake-time.ts';

const silent = { info: () => {}, warn: () => {}, error: () => {} };

it('is closed within its limit, however many queues have something that does not end', async () => {
  const time = new FakeTime();
  const delivery = ownDelivery({
    table: { client: new LocalTable(new MemoryStore()), tableName: 'test' },
    clock: time.clock,
    timers: time,
    log: silent,
    invocations: createInvocations(),
    timing: defaultQueueTiming,
    elapsedMs: time.clock.nowMs,
  });
  const running: string[] = [];
  const names = queuesOfSubjects.map(([name]) => name);
  const endless = (name: string) => () => {
    running.push(name);
    return new Promise<never>(() => {});
  };
  const consumers: object = Object.fromEntries(['reconciles', ...names].map((name) => [name, endless(name)]));
  const { close } = await delivery.start({
    resume: async () => undefined,
    refresh: endless('refresh'),
    consumers: consumers as Readonly<Record<QueueName, Consumer>>,
  });
  for (const [, { port }] of queuesOfSubjects)
    await delivery.queues[port as Exclude<keyof Queues, 'queue'>].send([{ tenant: 'acme' }]);
  await time.advance(10_000);
  expect(running.sort()).toEqual([...names, 'refresh'].sort());
  let isClosed = false;
  void close(30_000).then(() => {
    isClosed = true;
  });
  await time.advance(29_000);
  expect(isClosed).toBe(false);
  await time.advance(1_000);
  expect(isClosed).toBe(true);
});
