import { expect, it, vi } from 'vitest';
import { refresh } from '../../../../../lambda/use-cases/recounts/refresh.ts';
import { noMetrics } from '../../../../../local/no-metrics.ts';
import { memoryDeps, recordingQueue } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';

const due = [
  { tenant: 'a', full: true },
  { tenant: 'b', full: false },
];

it('the schedule has every tenant that is due recounted, as far as each is due, up to its limit', async () => {
  const [ledger, { queue, requests }] = [new MemoryLedger(), recordingQueue()];
  const increment = vi.fn();
  const deps = memoryDeps({ ledger, queue, metrics: { ...noMetrics, increment } });
  const found = vi.spyOn(ledger, 'dueTenants').mockResolvedValue(due);
  expect(await refresh(deps)).toBe(2);
  expect(requests).toEqual(due.map((tenant) => ({ ...tenant, reason: 'schedule' })));
  const tenantsMax = deps.settings.refreshTenantsMax;
  expect(found.mock.calls).toEqual([[{ nowMs: deps.clock.nowMs(), tenantsMax }]]);
  expect(increment.mock.calls).toEqual([['TenantsQueued', 2]]);
});

it('the schedule measures no tenant that the queue did not take', async () => {
  const ledger = new MemoryLedger();
  vi.spyOn(ledger, 'dueTenants').mockResolvedValue(due);
  const refuse = async () => {
    throw new Error('Throttled.');
  };
  const increment = vi.fn();
  const metrics = { ...noMetrics, increment };
  const deps = memoryDeps({ ledger, queue: { request: refuse, requestAll: refuse }, metrics });
  await expect(refresh(deps)).rejects.toThrow('Throttled.');
  expect(increment).not.toHaveBeenCalled();
});
