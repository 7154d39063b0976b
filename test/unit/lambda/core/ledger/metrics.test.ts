import { describe, expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { getSubscription } from '../../../../../lambda/core/ledger/get-subscription.ts';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { refresh } from '../../../../../lambda/core/ledger/reconcile-requests.ts';
import type { Metrics } from '../../../../../lambda/core/rules/metrics.ts';
import { objectKey } from '../../../../../lambda/core/rules/names.ts';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { unlimitedRepo } from '../../../../support/tenant-record.ts';

const tenant = 'acme';
const oid = (index: number) => index.toString(16).padStart(64, '0');

/** Keeps the values of each metric, in order. */
function recordingMetrics() {
  const values: Record<string, number[]> = {};
  const keep = (name: string, value: number) => {
    values[name] = [...(values[name] ?? []), value];
  };
  const metrics: Metrics = {
    increment: (name, times = 1) => keep(name, times),
    measure: keep,
    flush: () => undefined,
  };
  return { metrics, values };
}

/** A tenant with a limit of 1,000 bytes that was counted as empty. */
async function setUp() {
  const { metrics, values } = recordingMetrics();
  const { log, entries } = recordingLog();
  const [clock, ledger, store] = [new ManualClock(), new MemoryLedger(), new MemoryObjectStore()];
  const deps = memoryDeps({ ledger, objects: store, clock, metrics, log });
  const nowMs = clock.nowMs();
  const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs: nowMs };
  const times = { createdAtMs: nowMs, dueAtMs: nowMs + 60_000 };
  await ledger.createTenant({ tenant, plan: null, limitBytes: 1000, scanned, ...times });
  const record = async () => {
    const found = await ledger.readTenant(tenant);
    if (!found) throw new Error('No tenant.');
    return found;
  };
  const push = async (...sizes: number[]) => {
    const objects = new Map(sizes.map((sizeBytes, index) => [oid(index), sizeBytes]));
    return admitUpload(deps, { tenant: await record(), repo: 'app', objects });
  };
  const ask = async (isRefresh: boolean) =>
    getSubscription(deps, { cached: { tenant: await record(), repos: [] }, refresh: isRefresh });
  return { deps, clock, ledger, store, values, entries, push, ask };
}

describe('a batch of uploads', () => {
  it('measures what is admitted and what is refused, and logs the tenant and repo', async () => {
    const { push, values, entries } = await setUp();
    await push(600, 300, 5000);
    expect(values).toMatchObject({ UploadsAdmitted: [2], BytesAdmitted: [900], UploadsRefused: [1] });
    expect(values['BatchesDeferred']).toBeUndefined();
    const said = entries.find(({ message }) => message === 'uploads');
    expect(said?.fields).toEqual({ tenant, repo: 'app', admitted: 2, admittedBytes: 900, refused: 1 });
  });

  it('measures nothing that did not happen', async () => {
    const refused = await setUp();
    await refused.push(5000);
    expect(refused.values).toEqual({ UploadsRefused: [1] });
    const admitted = await setUp();
    await admitted.push(10);
    expect(admitted.values).toEqual({ UploadsAdmitted: [1], BytesAdmitted: [10] });
  });

  it('counts the deferred ones', async () => {
    const { ledger, push, values, entries } = await setUp();
    ledger.issueReservation = async () => 'gone';
    expect((await push(10)).kind).toBe('retry');
    expect(values).toEqual({ BatchesDeferred: [1] });
    expect(entries.map(({ message, fields }) => [message, fields['tenant']])).toEqual([
      ['uploads deferred', tenant],
    ]);
  });
});

describe('a reconcile', () => {
  it('measures its requests, the age of the last count, and the shortfall of the counter', async () => {
    const { deps, store, values, clock } = await setUp();
    store.put(objectKey({ tenant, repo: 'app', oid: oid(1) }), 700);
    clock.advance(90_000);
    const { kind } = await reconcile(deps, { tenant, full: true });
    expect(kind).toBe('committed');
    expect(values).toMatchObject({ DriftBytes: [700], CounterShortfallBytes: [700], ReconcileAge: [90_000] });
    expect(values['ScanRequests']?.[0]).toBeGreaterThanOrEqual(2);
    expect(values['ScanDuration']).toEqual([0]);
  });

  it('measures no shortfall if the counter was too high', async () => {
    const { deps, values } = await setUp();
    await deps.ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 400, limitBytes: 1000 });
    await reconcile(deps, { tenant, full: true });
    expect(values).toMatchObject({ DriftBytes: [400], CounterShortfallBytes: [0] });
  });

  it('measures neither age nor drift if it is the first', async () => {
    const { deps, store, values } = await setUp();
    const times = { createdAtMs: 0, dueAtMs: 0 };
    await deps.ledger.createTenant({ tenant: 'new', plan: null, limitBytes: null, scanned: null, ...times });
    store.put(objectKey({ tenant: 'new', repo: 'app', oid: oid(1) }), 700);
    expect((await reconcile(deps, { tenant: 'new', full: true })).kind).toBe('committed');
    expect(Object.keys(values).sort()).toEqual(['ScanDuration', 'ScanRequests']);
  });
});

describe('a read of the usage', () => {
  it('is a hit while the count is young, a miss once it is too old, neither if a refresh was requested', async () => {
    const { ask, values, clock } = await setUp();
    await ask(false);
    await ask(true);
    expect(values).toMatchObject({ CacheHits: [1] });
    expect(values['CacheMisses']).toBeUndefined();
    clock.advance(defaultSettings.maxAgeMs + 1);
    await ask(false);
    expect(values).toMatchObject({ CacheHits: [1], CacheMisses: [1] });
  });
});

it('the schedule measures how many tenants it found due, even if there are none', async () => {
  const { deps, values, clock } = await setUp();
  await refresh(deps);
  clock.advance(120_000);
  await refresh(deps);
  expect(values).toEqual({ TenantsQueued: [0, 1] });
});
