import { expect, it } from 'vitest';
import { refresh } from '../../../../../lambda/core/ledger/reconcile-requests.ts';
import { ManualClock, memoryDeps, recordingQueue } from '../../../../support/memory/deps.ts';

it('leaves to its next run what became due less than 10 s ago: the index may not show all of that yet', async () => {
  const clock = new ManualClock();
  const { queue, requests } = recordingQueue();
  const deps = memoryDeps({ clock, queue });
  const dueAgo = { long: 60_000, settled: 10_000, 'not-settled': 9_999, now: 0 };
  for (const [tenant, agoMs] of Object.entries(dueAgo)) {
    const nowMs = clock.nowMs();
    const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs: nowMs - 3_600_000 };
    const dueAtMs = nowMs - agoMs;
    await deps.ledger.createTenant({ tenant, plan: null, limitBytes: 9, createdAtMs: 0, scanned, dueAtMs });
  }
  expect(await refresh(deps)).toBe(2);
  expect(requests.map(({ tenant }) => tenant)).toEqual(['long', 'settled']);
  clock.advance(60_000);
  requests.length = 0;
  await refresh(deps);
  expect(requests.map(({ tenant }) => tenant)).toEqual(['not-settled', 'now']);
});
