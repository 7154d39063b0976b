import type { SQSEvent } from 'aws-lambda';
import { expect, it } from 'vitest';
import type { CopyMessage } from '../../../../lambda/downloads/messages.ts';
import { copyPump } from '../../../../local/background/work-pumps.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { FakeTime } from './fake-time.ts';

const messageOf = (oid: string): CopyMessage => ({
  tenant: 'acme',
  repo: 'game',
  oid,
  sizeBytes: 1,
  from: 'https://store.example.com/secret',
  to: { href: 'https://bucket.example.com/secret', header: {} },
  untilMs: 1,
});

it('copies four at a time, each three times at most, and logs no URL', async () => {
  const time = new FakeTime();
  const { log, entries } = recordingLog();
  const pump = copyPump({ timers: time, log });
  const attempts = new Map<string, number>();
  let running = 0;
  let most = 0;
  pump.deliverTo(async ({ Records: [record] }: SQSEvent) => {
    const { oid } = JSON.parse(record?.body ?? '') as CopyMessage;
    attempts.set(oid, (attempts.get(oid) ?? 0) + 1);
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    running -= 1;
    if (oid === 'throws') throw new Error('A mistake.');
    return { batchItemFailures: oid === 'fails' ? [{ itemIdentifier: '' }] : [] };
  });
  await pump.send([...'abcdefgh', 'fails', 'throws'].map(messageOf));
  for (let times = 0; times < 5; times += 1) await time.advance(30_000);
  expect(most).toBe(4);
  expect(attempts).toEqual(
    new Map([...[...'abcdefgh'].map((oid) => [oid, 1] as const), ['fails', 3], ['throws', 3]]),
  );
  expect(entries).toHaveLength(3);
  expect(JSON.stringify(entries)).not.toContain('secret');
  await pump.close(0);
});
