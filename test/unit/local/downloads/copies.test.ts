import { expect, it } from 'vitest';
import { createInvocations } from '../../../../lambda/frame/aws/invocation-log.ts';
import type { CopyMessage } from '../../../../lambda/subjects/downloads/lfs/messages.ts';
import { createPumps, defaultQueueTiming } from '../../../../local/background/queues.ts';
import { memoryTable } from '../../../support/memory/table.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { FakeTime } from '../background/fake-time.ts';

it('copies are made four at a time, each until it is done or has failed often, and the log has no URL', async () => {
  const [table, time, { log, entries }] = [memoryTable(), new FakeTime(), recordingLog()];
  const around = { clock: time.clock, timers: time, log, invocations: createInvocations() };
  const pumps = createPumps({ table, timing: defaultQueueTiming, ...around });
  const attempts = new Map<string, number>();
  let running = 0;
  let most = 0;
  await pumps.copies.deliverTo(async ({ body, again }) => {
    const { oid } = JSON.parse(body) as CopyMessage;
    attempts.set(oid, (attempts.get(oid) ?? 0) + 1);
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    running -= 1;
    if (oid === 'throws') throw new Error('A mistake.');
    await again(1_000);
    return oid !== 'fails';
  });
  const messageOf = (oid: string): CopyMessage => ({
    tenant: 'acme',
    repo: 'game',
    oid,
    sizeBytes: 1,
    from: 'https://store.example.com/secret',
    to: { href: 'https://bucket.example.com/secret', header: {} },
    untilMs: 1,
  });
  await pumps.copies.send([...'abcdefgh', 'fails', 'throws'].map(messageOf));
  for (let minute = 0; minute < 30; minute += 1) await time.advance(60_000);
  expect(most).toBe(4);
  const once = [...'abcdefgh'].map((oid) => [oid, 1] as const);
  expect(attempts).toEqual(new Map([...once, ['fails', 20], ['throws', 20]]));
  expect(JSON.stringify(entries)).not.toContain('secret');
});
