import { describe, expect, it } from 'vitest';
import { createTenant } from '../../../../../lambda/frame/access/tenants.ts';
import { usageBeat } from '../../../../../lambda/subjects/history/byte-hours-beat.ts';
import { hourMs } from '../../../../../lambda/subjects/history/rules/byte-hours.ts';
import { MemoryStack } from '../../../../support/memory/stack.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

interface Message {
  readonly event: {
    readonly id: string;
    readonly data: { readonly usage: readonly { readonly id: string; readonly tenant: string }[] };
  };
}

async function world(names: readonly string[] = ['acme']) {
  const made = new MemoryStack();
  made.nowMs = Math.ceil(made.nowMs / hourMs) * hourMs;
  for (const tenant of names) await createTenant(made.deps, { tenant, plan: null, limitBytes: null });
  made.nowMs += 10 * hourMs;
  const sent: Message[] = [];
  const log = recordingLog();
  let failsAt = Number.POSITIVE_INFINITY;
  const webhookQueue = {
    send: async (messages: readonly object[]) => {
      if (sent.length + 1 === failsAt) {
        failsAt = Number.POSITIVE_INFINITY;
        throw new Error('The queue is down.');
      }
      sent.push(...(messages as Message[]));
    },
  };
  let isSet = false;
  const usageHookIsSet = async () => isSet;
  const beat = async () =>
    (await usageBeat.beat({ ...made.deps, log: log.log, webhookQueue, usageHookIsSet })).usage;
  const set = () => {
    isSet = true;
  };
  const ids = () => sent.map(({ event }) => event.id);
  return { made, beat, set, sent, ids, log, fail: (at: number) => (failsAt = at) };
}

describe('the webhook for usage', () => {
  it('gets each hour once, from the first that becomes final after it was set', async () => {
    const { made, beat, set, sent } = await world();
    expect(await beat()).toBe(0);
    set();
    expect(await beat()).toBe(0);
    made.nowMs += hourMs;
    expect([await beat(), await beat()]).toEqual([1, 0]);
    const startMs = made.nowMs - 3 * hourMs;
    const hour = new Date(startMs).toISOString().replace('.000', '');
    const name = hour.replace(':00:00', '');
    expect(sent).toEqual([
      {
        tenant: 'USAGE',
        event: {
          id: `usage:${name}:1`,
          type: 'usage.hour',
          timestamp: new Date(startMs + hourMs).toISOString(),
          data: {
            hour,
            part: 1,
            usage: [
              { id: `acme:${name}`, tenant: 'acme', hour, byteSeconds: '0', peakBytes: 0, storedBytes: 0 },
            ],
          },
        },
      },
    ]);
  });

  it('gets what an outage left, a day of hours in a run, and nothing that is older than 30 days', async () => {
    const { made, beat, set, ids } = await world();
    set();
    await beat();
    made.nowMs += 40 * 24 * hourMs;
    for (let run = 0; run < 30; run += 1) expect(await beat()).toBe(24);
    expect(await beat()).toBe(0);
    expect(new Set(ids()).size).toBe(30 * 24);
  });

  it('gets an hour again if the function dies before it has noted it', async () => {
    const { made, beat, set, ids, log, fail } = await world();
    set();
    await beat();
    made.nowMs += 2 * hourMs;
    fail(2);
    expect(await beat()).toBe(1);
    expect(log.entries).toMatchObject([{ message: 'hours not sent' }]);
    expect(await beat()).toBe(1);
    expect(ids()).toHaveLength(2);
    expect(new Set(ids()).size).toBe(2);
  });

  it('gets up to 1,000 records at once, and no more than a queue takes', async () => {
    const names = Array.from(
      { length: 1500 },
      (_, index) => `${'x'.repeat(30)}${String(index).padStart(5, '0')}`,
    );
    const { made, beat, set, sent } = await world(names);
    set();
    await beat();
    made.nowMs += hourMs;
    expect(await beat()).toBe(1);
    const parts = sent.map(({ event }) => event.data.usage as readonly { readonly tenant: string }[]);
    expect(parts.flat().map(({ tenant }) => tenant)).toEqual(names);
    expect(new Set(sent.map(({ event }) => event.id)).size).toBe(sent.length);
    for (const part of parts) {
      expect(part.length).toBeLessThanOrEqual(1000);
      expect(JSON.stringify(part).length).toBeLessThan(250_000);
    }
  });

  it('is nothing where nobody sends webhooks', async () => {
    const { made } = await world();
    const { ledger, clock, log, history, corrections, sentHours } = made.deps;
    const deps = { ledger, clock, log, history, corrections, sentHours };
    expect(await usageBeat.beat(deps)).toEqual({ usage: 0, usageFiles: 0 });
  });
});
