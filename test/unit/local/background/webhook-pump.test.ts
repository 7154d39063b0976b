import type { SQSEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { WebhookPump } from '../../../../local/background/webhook-pump.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { FakeTime } from './fake-time.ts';

const event = { id: 'acme:1', type: 'storage.level', timestamp: '2026-11-21T05:00:00Z', data: {} } as const;
const messageOf = (tenant: string) => ({ tenant, event });

function world() {
  const time = new FakeTime();
  const { log, entries } = recordingLog();
  const pump = new WebhookPump({ timers: time, log });
  const delivered: { tenant: string; count: string; receiptHandle: string }[] = [];
  const failing = new Set<string>();
  const delays = new Map<string, number>();
  const consume = async ({ Records }: SQSEvent) => {
    const [record] = Records;
    if (!record) throw new Error('No record.');
    const { tenant } = JSON.parse(record.body) as { tenant: string };
    const { receiptHandle, messageId } = record;
    delivered.push({ tenant, count: record.attributes.ApproximateReceiveCount, receiptHandle });
    const delayMs = delays.get(tenant);
    if (delayMs !== undefined) await pump.delay({ receiptHandle, delayMs });
    if (tenant === 'crash') throw new Error('crashed');
    return { batchItemFailures: failing.has(tenant) ? [{ itemIdentifier: messageId }] : [] };
  };
  return { time, pump, delivered, failing, delays, consume, entries };
}

describe('the queue of webhooks', () => {
  it('delivers once what is done, and what came before anybody took it', async () => {
    const { time, pump, delivered, consume } = world();
    await pump.send([messageOf('a'), messageOf('b')]);
    pump.deliverTo(consume);
    await pump.send([messageOf('c')]);
    await time.advance(3_600_000);
    expect(delivered.map(({ tenant, count }) => [tenant, count])).toEqual([
      ['a', '1'],
      ['b', '1'],
      ['c', '1'],
    ]);
  });

  it('delivers what failed again, when its run says so or after a minute, and counts', async () => {
    const { time, pump, delivered, failing, delays, consume } = world();
    pump.deliverTo(consume);
    for (const tenant of ['soon', 'late']) failing.add(tenant);
    delays.set('soon', 5000);
    await pump.send([messageOf('soon'), messageOf('late')]);
    await time.advance(4999);
    expect(delivered).toHaveLength(2);
    await time.advance(1);
    expect(delivered.at(-1)).toMatchObject({ tenant: 'soon', count: '2' });
    failing.clear();
    await time.advance(55_000);
    expect(delivered.filter(({ tenant }) => tenant === 'late').map(({ count }) => count)).toEqual(['1', '2']);
    expect(delivered.filter(({ tenant }) => tenant === 'soon')).toHaveLength(3);
    expect(new Set(delivered.map(({ receiptHandle }) => receiptHandle)).size).toBe(delivered.length);
  });

  it('goes on after a run that crashed, and drops a message after 20 deliveries', async () => {
    const { time, pump, delivered, consume, entries } = world();
    pump.deliverTo(consume);
    await pump.send([messageOf('crash'), messageOf('b')]);
    for (let minute = 0; minute < 60; minute += 1) await time.advance(60_000);
    expect(delivered.filter(({ tenant }) => tenant === 'crash')).toHaveLength(20);
    expect(delivered.filter(({ tenant }) => tenant === 'b')).toHaveLength(1);
    expect(entries).toHaveLength(20);
  });

  it('delivers nothing after it was closed', async () => {
    const { time, pump, delivered, failing, consume } = world();
    pump.deliverTo(consume);
    failing.add('a');
    await pump.send([messageOf('a')]);
    await time.advance(1);
    await pump.close(1000);
    await pump.send([messageOf('b')]);
    await time.advance(3_600_000);
    expect(delivered).toHaveLength(1);
  });
});
