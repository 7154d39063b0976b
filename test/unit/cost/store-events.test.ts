import { describe, expect, it } from 'vitest';
import { monthlyCost } from '../../../cost/monthly-cost.ts';
import { totalOf } from '../../../cost/operation-cost.ts';
import { tenantEvents } from '../../../cost/operations.ts';
import { defaultWorkload } from '../../../cost/workload.ts';
import { recordStoreEvents } from '../../../lambda/use-cases/recounts/record-store-events.ts';
import { Counter, tenant } from './counting.ts';

describe('events of the store', () => {
  it.each([0, 1, 9])('of %i changed repos make the calls of the model', async (noted) => {
    const made = await Counter.create();
    const atMs = made.deps.clock.nowMs();
    const claims = new Map([['expected', 5]]);
    const times = { createdAtMs: atMs, expiresAtMs: atMs + 1e12, deadAtMs: atMs + 1e12, lookAtMs: null };
    const reservation = { id: 'r', repo: 'app', state: 'issued', claims, ...times } as const;
    await made.ledger.putReservation({ tenant, reservation });
    const removed = Array.from({ length: noted }, (_, index) => ({
      tenant,
      repo: `repo${index}`,
      name: 'x',
      atMs,
      kind: 'removed' as const,
    }));
    const expected = { tenant, repo: 'app', name: 'expected', sizeBytes: 5, atMs, kind: 'created' as const };
    const changes = [expected, ...removed];
    const { result, asked } = await made.ask(() => recordStoreEvents(made.deps, { tenant, changes }));
    expect(result).toMatchObject({ kind: 'requested', noted: { length: noted } });
    const { calls, tableRounds, headRounds, listRounds } = tenantEvents({ expected: 1, recorded: noted });
    const modelled = Object.fromEntries(Object.entries(calls).filter(([, count]) => count > 0));
    expect(asked).toEqual({ calls: modelled, tableRounds, headRounds, listRounds });
  });

  it('cost per event, per tenant looked up, and for a second queue and its alarms', () => {
    const workload = { ...defaultWorkload, tenants: 1000 };
    const [off, on] = [false, true].map((storeEvents) => monthlyCost({ ...workload, storeEvents }));
    const added = Object.fromEntries(
      (on?.lines ?? []).map(({ what, cost }) => {
        const before = off?.lines.find((line) => line.what === what);
        return [what, totalOf(cost) - (before ? totalOf(before.cost) : 0)];
      }),
    );
    // 1.2 million uploads, each sent, received and deleted.
    expect(added['store: event of an upload']).toBeCloseTo(1.2 * 3 * 0.4, 6);
    expect(added['store: look up a tenant']).toBeGreaterThan(0.1);
    const ofQueue = added['alarms, metrics, dashboard, secret, idle queue'];
    expect(ofQueue).toBeCloseTo(0.3 + 0.648 * 0.4, 6);
  });
});
