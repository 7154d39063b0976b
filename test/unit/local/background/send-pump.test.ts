import type { SQSEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import type { WebhookMessage } from '../../../../lambda/alerts/rules/webhook-delivery.ts';
import type { KeptMessages } from '../../../../local/background/queue-items.ts';
import { SendPump } from '../../../../local/background/send-pump.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { FakeTime } from './fake-time.ts';

const event = {
  id: 'acme:1',
  type: 'storage.threshold',
  timestamp: '2026-11-21T05:00:00Z',
  data: {},
} as const;
const messageOf = (tenant: string) => ({ tenant, event });

/** What is kept, which outlives a pump. */
class Disk implements KeptMessages<WebhookMessage> {
  text = '[]';
  saves = 0;
  isFull = false;
  async save(messages: Parameters<KeptMessages<WebhookMessage>['save']>[0]) {
    if (this.isFull) throw new Error('no space left');
    this.saves += 1;
    this.text = JSON.stringify(messages);
  }
  async load() {
    return JSON.parse(this.text);
  }
  get tenants() {
    return JSON.parse(this.text).map(({ message }: { message: { tenant: string } }) => message.tenant);
  }
}

function world(kept = new Disk(), time = new FakeTime()) {
  const { log, entries } = recordingLog();
  const pump = new SendPump<WebhookMessage>({ timers: time, log, kept, sender: 'sendWebhook' });
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
  return { time, pump, kept, delivered, failing, delays, consume, entries };
}

describe('the queue of webhooks', () => {
  it('delivers once what is done, and what came before anybody took it', async () => {
    const { time, pump, delivered, consume } = world();
    await pump.send([messageOf('a'), messageOf('b')]);
    expect([pump.gauge.queue, (await pump.gauge.read()).waiting]).toEqual(['webhooks', 2]);
    await pump.deliverTo(consume);
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
    await pump.deliverTo(consume);
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
    await pump.deliverTo(consume);
    await pump.send([messageOf('crash'), messageOf('b')]);
    for (let minute = 0; minute < 60; minute += 1) await time.advance(60_000);
    expect(delivered.filter(({ tenant }) => tenant === 'crash')).toHaveLength(20);
    expect(delivered.filter(({ tenant }) => tenant === 'b')).toHaveLength(1);
    expect(entries).toHaveLength(20);
  });

  it('delivers nothing after it was closed', async () => {
    const { time, pump, delivered, failing, consume } = world();
    await pump.deliverTo(consume);
    failing.add('a');
    await pump.send([messageOf('a')]);
    await time.advance(1);
    await pump.close(1000);
    // Who sends keeps it.
    await expect(pump.send([messageOf('b')])).rejects.toThrow('being stopped');
    await time.advance(3_600_000);
    expect(delivered).toHaveLength(1);
  });

  it('drops the oldest of more than a thousand that wait', async () => {
    const { time, pump, delivered, consume } = world();
    await pump.send(Array.from({ length: 1003 }, (_, index) => messageOf(`t${index}`)));
    await pump.deliverTo(consume);
    await time.advance(1000);
    expect(delivered).toHaveLength(1000);
    expect(delivered[0]).toMatchObject({ tenant: 't3', count: '1' });
  });
});

describe('what is not done', () => {
  it('is kept over a stop, counts on, and is delivered by the next start', async () => {
    const first = world();
    await first.pump.deliverTo(first.consume);
    for (const tenant of ['refused', 'crash']) first.failing.add(tenant);
    await first.pump.send([messageOf('done'), messageOf('refused'), messageOf('crash')]);
    await first.time.advance(0);
    await first.pump.close(1000);
    expect(first.kept.tenants.sort()).toEqual(['crash', 'refused']);
    await first.time.advance(3_600_000);
    expect(first.delivered).toHaveLength(3);

    const second = world(first.kept);
    await second.pump.deliverTo(second.consume);
    await second.time.advance(0);
    const counts = second.delivered.map(({ tenant, count }) => [tenant, count]);
    expect(counts.sort()).toEqual([
      ['crash', '2'],
      ['refused', '2'],
    ]);
    expect(second.kept.tenants).toEqual(['crash']);
  });

  it('is kept over a kill: before it is accepted, while it is sent, and until it is done', async () => {
    const { time, pump, kept, consume } = world();
    await pump.send([messageOf('a')]);
    expect(kept.tenants).toEqual(['a']);
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    await pump.deliverTo(async (event) => {
      await ended;
      return consume(event);
    });
    await pump.send([messageOf('b')]);
    await time.advance(0);
    expect(kept.tenants.sort()).toEqual(['a', 'b']);
    end();
    await time.advance(0);
    expect(kept.tenants).toEqual([]);
  });

  /** A run of one message that ends as the test says. */
  async function running() {
    const { time, pump, kept } = world();
    let end = (_failed: readonly string[] = []) => {};
    await pump.deliverTo(
      () =>
        new Promise((resolve) => {
          end = (failed = []) =>
            resolve({ batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) });
        }),
    );
    await pump.send([messageOf('a')]);
    return { time, kept, closing: pump.close(5000), end: (...failed: string[]) => end(failed) };
  }

  it('is kept if it still runs when the stack stops waiting for it', async () => {
    const { time, kept, closing, end } = await running();
    await time.advance(5000);
    await closing;
    expect(kept.tenants).toEqual(['a']);
    const { saves } = kept;
    end();
    await time.advance(10_000);
    // Another process may have the folder by now.
    expect(kept.saves).toBe(saves);
  });

  it('is kept if it fails while the stack waits for it', async () => {
    const { time, kept, closing, end } = await running();
    end('m');
    await time.advance(0);
    await closing;
    expect(await kept.load()).toMatchObject([{ message: { tenant: 'a' }, failures: 1 }]);
  });

  it('is not accepted while it cannot be written down, and goes on once it can', async () => {
    const { time, pump, kept, entries, failing, consume } = world();
    await pump.deliverTo(consume);
    failing.add('a');
    kept.isFull = true;
    await expect(pump.send([messageOf('a')])).rejects.toThrow('no space left');
    await time.advance(0);
    expect(entries[0]).toMatchObject({ level: 'error', message: 'messages not written down' });
    kept.isFull = false;
    await pump.send([messageOf('b')]);
    await time.advance(0);
    expect(kept.tenants).toEqual(['a']);
  });
});
