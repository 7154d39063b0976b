import { describe, expect, it } from 'vitest';
import type { TenantRecord } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { noteFull, noteLimit, noteThreshold } from '../../../../../lambda/subjects/alerts/alerts.ts';
import { ManualClock, replacingDeps } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { updateTenant } from '../../../../support/over-settings.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { MemoryAlerts } from '../../../../support/subjects/alerts/in-memory.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const day = 86_400_000;

/** A tenant with a limit of 1,000 bytes. */
async function world() {
  const made = new MemoryStack();
  await made.create(1000);
  const pending = async () =>
    (await made.deps.alerts.read(tenant)).pending.map(({ alert }) =>
      alert.kind === 'threshold'
        ? [alert.previousThreshold, alert.threshold, alert.storedBytes]
        : [alert.kind],
    );
  const reconcile = () => made.consume({ full: true });
  return { made, pending, reconcile };
}

describe('a reconcile', () => {
  it('warns once for each level that is reached or left', async () => {
    const { made, pending, reconcile } = await world();
    const steps = [
      [700, []],
      [810, [[0, 80, 810]]],
      [800, []],
      [760, []],
      [900, [[80, 90, 900]]],
      [860, []],
      [840, [[90, 80, 840]]],
      [100, [[80, 0, 100]]],
      [950, [[0, 90, 950]]],
    ] as const;
    const raised: unknown[] = [];
    for (const [storedBytes, more] of steps) {
      made.put({ [`a/${oidOf(1)}`]: storedBytes });
      for (let times = 0; times < 3; times += 1) await reconcile();
      raised.push(...more);
      expect(await pending()).toEqual(raised);
    }
  });

  it('counts what is stored, and not what is promised to uploads', async () => {
    const { made, pending, reconcile } = await world();
    await made.push('a', { [oidOf(1)]: 950 });
    await reconcile();
    expect((await made.ledger.readTenant(tenant))?.committedBytes).toBe(950);
    expect(await pending()).toEqual([]);
  });

  it('that runs twice at the same time warns once', async () => {
    const { made, pending, reconcile } = await world();
    made.put({ [`a/${oidOf(1)}`]: 850 });
    await Promise.all(Array.from({ length: 5 }, reconcile));
    expect(await pending()).toEqual([[0, 80, 850]]);
  });

  it('that is not the newest warns of what the newest found, which may have died; if nobody knows, of its own', async () => {
    const { made } = await world();
    const note = async (now: Partial<TenantRecord> | Error | undefined) => {
      const alerts = new MemoryAlerts();
      const scanned = { storedBytes: 85, objectCount: 1, scannedAtMs: 1 };
      const after = tenantRecord({ tenant, limitBytes: 100, scanned });
      const ledger = Object.assign(new MemoryLedger(), {
        readTenant: async () => {
          if (now instanceof Error) throw now;
          return now && tenantRecord({ tenant, limitBytes: 100, scanned, ...now });
        },
      });
      await noteThreshold({ ...made.deps, alerts, ledger }, { after, epoch: 1 });
      return (await alerts.read(tenant)).threshold;
    };
    expect(await note({ appliedEpoch: 1 })).toBe(80);
    expect(await note(undefined)).toBe(80);
    expect(await note(new Error('The table is down.'))).toBe(80);
    expect(await note({ appliedEpoch: 2 })).toBe(80);
    const less = { storedBytes: 10, objectCount: 1, scannedAtMs: 2 };
    expect(await note({ appliedEpoch: 2, scanned: less })).toBe(0);
    expect(await note({ appliedEpoch: 2, closedAtMs: 3 })).toBe(0);
  });

  it('whose alert fails does not fail, and the next one makes up for it', async () => {
    const { made } = await world();
    made.put({ [`a/${oidOf(1)}`]: 850 });
    const kept = new MemoryAlerts();
    const { log, entries } = recordingLog();
    for (const broken of ['read', 'crossThreshold'] as const) {
      const alerts = Object.assign(new MemoryAlerts(), {
        [broken]: async () => Promise.reject(new Error('The table is down.')),
      });
      const outcome = await runReconcile(replacingDeps(made.deps, { alerts, log }), {
        request: { tenant, reason: 'manual', full: true },
        deadlineMs: made.nowMs + 14 * minute,
      });
      expect(outcome).toBe('done');
    }
    expect(entries.filter(({ message }) => message === 'threshold not noted')).toHaveLength(2);
    await runReconcile(replacingDeps(made.deps, { alerts: kept }), {
      request: { tenant, reason: 'manual', full: true },
      deadlineMs: made.nowMs + 14 * minute,
    });
    expect((await kept.read(tenant)).threshold).toBe(80);
  });
});

describe('a change of the limit', () => {
  it('warns like a reconcile, and of a reconcile that knows the old one only', async () => {
    const { made, pending, reconcile } = await world();
    made.put({ [`a/${oidOf(1)}`]: 500 });
    await reconcile();
    const stale = await made.ledger.readTenant(tenant);
    if (!stale) throw new Error('No tenant.');
    const limit = async (limitBytes: number | null) => {
      const changed = await updateTenant(made.ledger, { tenant, limitBytes });
      if (!changed) throw new Error('No tenant.');
      await noteLimit(made.deps, changed);
    };
    await limit(550);
    expect(await pending()).toEqual([[0, 90, 500]]);
    await noteThreshold(made.deps, { after: stale, epoch: stale.epoch });
    expect(await pending()).toHaveLength(1);
    await limit(null);
    expect(await pending()).toEqual([
      [0, 90, 500],
      [90, 0, 500],
    ]);
    // It changed nothing here, and yet the reconcile with the old limit is over.
    await limit(10_000);
    await noteThreshold(made.deps, {
      after: { ...stale, limitBytes: 550 },
      epoch: stale.epoch + 2,
    });
    expect(await pending()).toHaveLength(2);
  });

  it('of a tenant that was never counted, or whose table fails, warns of nothing and does not fail', async () => {
    const { made } = await world();
    await noteLimit(made.deps, tenantRecord({ tenant: 'other', scanned: null }));
    expect((await made.deps.alerts.read('other')).pending).toEqual([]);
    const { log, entries } = recordingLog();
    const alerts = Object.assign(new MemoryAlerts(), {
      ignoreBefore: async () => Promise.reject(new Error('The table is down.')),
    });
    const scanned = { storedBytes: 85, objectCount: 1, scannedAtMs: 1 };
    await noteLimit({ ...made.deps, alerts, log }, tenantRecord({ tenant, scanned }));
    expect(entries.map(({ message }) => message)).toEqual(['threshold not noted']);
  });
});

describe('the level of a tenant', () => {
  const scanned = { storedBytes: 85, objectCount: 1, scannedAtMs: 1 };
  it.each([
    ['it was never counted', { scanned: null }],
    ['it is being deleted', { scanned, closedAtMs: 5 }],
  ])('is neither read nor written if %s', async (_, more) => {
    const { made } = await world();
    const { log, entries } = recordingLog();
    const asked = () => Promise.reject(new Error('Nothing is to be asked.'));
    const alerts = Object.assign(new MemoryAlerts(), { read: asked, ignoreBefore: asked });
    const after = tenantRecord({ tenant, ...more });
    await noteThreshold({ ...made.deps, alerts, log }, { after, epoch: 1 });
    if (after.scanned === null) await noteLimit({ ...made.deps, alerts, log }, after);
    expect(entries).toEqual([]);
  });

  it('that cannot be read is logged with its tenant', async () => {
    const { made } = await world();
    const { log, entries } = recordingLog();
    const error = new Error('The table is down.');
    const alerts = Object.assign(new MemoryAlerts(), { read: () => Promise.reject(error) });
    const after = tenantRecord({ tenant, scanned });
    await noteThreshold({ ...made.deps, alerts, log }, { after, epoch: 1 });
    await noteLimit({ ...made.deps, alerts, log }, after);
    const entry = { level: 'warn', message: 'threshold not noted', fields: { tenant, error } };
    expect(entries).toEqual([entry, entry]);
  });
});

describe('a refusal', () => {
  it('warns that the tenant is full, once a day', async () => {
    const { made, pending } = await world();
    const refused = () => made.push('a', { [oidOf(9)]: 5000 });
    await refused();
    await refused();
    expect(await pending()).toEqual([['limit_reached']]);
    made.nowMs += day;
    await refused();
    await refused();
    expect(await pending()).toEqual([['limit_reached'], ['limit_reached']]);
  });

  it('says what is stored as its batch has counted it, and not as it began', async () => {
    const { made } = await world();
    await made.push('a', { [oidOf(1)]: 700 });
    made.put({ [`a/${oidOf(1)}`]: 700 });
    await made.push('a', { [oidOf(9)]: 400 });
    expect((await made.deps.alerts.read(tenant)).pending.at(-1)?.alert).toMatchObject({
      kind: 'limit_reached',
      storedBytes: 700,
      limitBytes: 1000,
    });
  });

  it('is tried again by the next one if it failed', async () => {
    const { made } = await world();
    let isBroken = true;
    const kept = new MemoryAlerts();
    made.deps.alerts.raiseFull = async (input) => {
      if (isBroken) throw new Error('The table is down.');
      return kept.raiseFull(input);
    };
    await made.push('a', { [oidOf(9)]: 5000 });
    isBroken = false;
    await made.push('a', { [oidOf(9)]: 5000 });
    expect((await kept.read(tenant)).pending).toHaveLength(1);
  });
});

it('the alerts of a tenant go with it', async () => {
  const { made, reconcile } = await world();
  made.put({ [`a/${oidOf(1)}`]: 950 });
  await reconcile();
  await made.ledger.closeTenant({ tenant, closedAtMs: made.nowMs });
  await reconcile();
  expect(await made.deps.alerts.read(tenant)).toEqual({ threshold: 0, pending: [] });
});

it('a refused batch is warned of once a day by each process, and again if that failed, which is logged', async () => {
  const { log, entries } = recordingLog();
  const clock = new ManualClock();
  const error = new Error('The table is down.');
  const scanned = { storedBytes: 100, objectCount: 1, scannedAtMs: 1 };
  const raised: unknown[] = [];
  let isBroken = true;
  const alerts = Object.assign(new MemoryAlerts(), {
    raiseFull: async (input: unknown) => {
      raised.push(input);
      if (isBroken) throw error;
      return 'raised' as const;
    },
  });
  const deps = { alerts, log, clock, warned: new Map<string, string>() };
  const refused = {
    tenant: { tenant, limitBytes: 150, committedBytes: 120, scanned },
    refusal: {
      repo: null,
      oids: [oidOf(3)],
      askedCount: 1,
      refusedBytes: 500,
      missingBytes: 450,
      storedBytes: 100,
      limitBytes: 150,
      reservedBytes: 20,
      reservedUntilMs: null,
      isWaitingEnough: false,
    },
  };
  const refuse = () => noteFull(deps, refused);
  // For the limit of its repo alone, which isn't the tenant's.
  await noteFull(deps, { ...refused, refusal: { ...refused.refusal, repo: 'a' } });
  await refuse();
  expect(entries).toEqual([{ level: 'warn', message: 'refusal not warned of', fields: { tenant, error } }]);
  isBroken = false;
  for (let index = 0; index < 3; index += 1) await refuse();
  expect(raised).toHaveLength(2);
  clock.advance(86_400_000);
  await refuse();
  expect(raised).toHaveLength(3);
});
