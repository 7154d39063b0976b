import { expect, it } from 'vitest';
import { createInvocations } from '../../../../lambda/frame/aws/invocation-log.ts';
import { ownDelivery } from '../../../../local/background/delivery.ts';
import { defaultQueueTiming } from '../../../../local/background/queues.ts';
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
  const endless = (name: string) => () => {
    running.push(name);
    return new Promise<never>(() => {});
  };
  const { close } = await delivery.start({
    resume: async () => undefined,
    refresh: endless('refresh'),
    consumers: {
      reconciles: endless('reconcile'),
      exports: endless('export'),
      chunks: endless('chunk'),
      copies: endless('copy'),
      webhooks: endless('webhook'),
      emails: endless('email'),
    },
  });
  await delivery.queues.exportQueue.send([
    { tenant: 'acme', export: 'one', step: { kind: 'advance' } } as never,
  ]);
  await delivery.queues.chunkQueue.send([{ upload: 'one', step: 'advance' } as never]);
  await time.advance(10_000);
  expect(running.sort()).toEqual(['chunk', 'export', 'refresh']);
  let isClosed = false;
  void close(30_000).then(() => {
    isClosed = true;
  });
  await time.advance(29_000);
  expect(isClosed).toBe(false);
  await time.advance(1_000);
  expect(isClosed).toBe(true);
});
