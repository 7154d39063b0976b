import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { monthlyCost } from '../../../cost/monthly-cost.ts';
import { type Cost, totalOf } from '../../../cost/operation-cost.ts';
import { defaultWorkload, occurrences, type Workload } from '../../../cost/workload.ts';

const idle: Workload = {
  ...defaultWorkload,
  tenants: 0,
  pushesPerTenant: 0,
  fetchesPerTenant: 0,
  readsPerTenant: 0,
};
const total = (workload: Workload, store: 's3' | 'r2' = 's3') =>
  totalOf(monthlyCost(workload, { store }).total);
const lineOf = (workload: Workload, what: string): Cost => {
  const line = monthlyCost(workload).lines.find((candidate) => candidate.what === what);
  if (!line) throw new Error(`No line "${what}".`);
  return line.cost;
};

describe('by hand', () => {
  it('a million verifies', () => {
    const cost = lineOf(
      { ...defaultWorkload, tenants: 1000, pushesPerTenant: 50, objectsPerPush: 20, objectMb: 8 },
      'push: verify',
    );
    expect(cost.api).toBeCloseTo(1, 6);
    expect(cost.queue).toBeCloseTo(0.5, 6);
    expect(cost.store).toBeCloseTo(0.4, 6);
    expect(cost.table).toBeCloseTo(0.125, 6);
    // 10 + 10 + 30 + 1.5 ms of half a GB, and the request.
    expect(cost.functions).toBeCloseTo(0.2 + 0.0515 * 0.5 * 13.3334, 6);
  });

  it('a million looks for file locks, one for each push', () => {
    const workload = { ...defaultWorkload, tenants: 10_000, pushesPerTenant: 100 };
    const cost = lineOf(workload, 'push: look for file locks');
    expect(cost.api).toBeCloseTo(1, 6);
    // Token, tenant, repo, locks.
    expect(cost.table).toBeCloseTo(4 * 0.125, 6);
    expect(cost.functions).toBeCloseTo(0.2 + 0.04 * 0.5 * 13.3334, 6);
    expect([cost.store, cost.queue]).toEqual([0, 0]);
  });

  it('a verify for each batch of a push that is not full, and for each object of 8 MiB or more', () => {
    const verifies = (more: Partial<Workload>) =>
      occurrences({ ...defaultWorkload, ...more }).verifiesPerPush;
    expect(verifies({ objectsPerPush: 20 })).toBe(1);
    // Two full batches, after which another follows.
    expect(verifies({ objectsPerPush: 250 })).toBe(1);
    expect(verifies({ objectsPerPush: 200 })).toBe(0);
    expect(verifies({ objectsPerPush: 250, objectMb: 8 })).toBe(250);
    expect(verifies({ objectsPerPush: 0 })).toBe(0);
  });

  it('10,000 batches of 100 new objects', () => {
    const workload = { ...defaultWorkload, tenants: 100, pushesPerTenant: 100, objectsPerPush: 100 };
    const cost = lineOf(workload, 'push: batch of 100');
    // A LIST each, of the thousand objects of a repo.
    expect(cost.store).toBeCloseTo(1e4 * 5e-6, 6);
    // Reservation of 7,380 bytes: put 8 and 1 in the index, issue 8 and 2; the counter 1. Reads: token, tenant, repo, deletions.
    expect(cost.table).toBeCloseTo(1e4 * (20 * 0.625e-6 + 4 * 0.125e-6), 6);
    expect(cost.queue).toBeCloseTo(1e4 * 0.5e-6, 6);
  });

  it('an unused stage: 40 alarms, 17 metrics, a dashboard, a secret, 648,000 empty receives of three queues, 43,200 runs', () => {
    // Base and three rounds of 10 ms; the state read and written, twelve partitions queried.
    const perRun =
      0.2e-6 + 0.04 * 0.25 * 13.3334e-6 + 1e-6 + 7 * 0.125e-6 + 1 * 0.625e-6 + (1200 / 1e9) * 0.5;
    // Every fifth run looks at what is still due: another round, and other queries.
    const perLook = 0.01 * 0.25 * 13.3334e-6 + 6 * 0.125e-6;
    const runs = 43_200 * perRun + 8640 * perLook;
    expect(total(idle)).toBeCloseTo(4 + 17 * 0.3 + 3 + 0.4 + 0.324 + 2 * 0.2592 + runs, 5);
  });
});

describe('the cost grows with', () => {
  it.each([
    'tenants',
    'pushesPerTenant',
    'objectsPerPush',
    'pushSeconds',
    'fetchesPerTenant',
    'objectsPerFetch',
    'objectsPerTenant',
    'reposPerTenant',
    'readsPerTenant',
  ] as const)('%s', (name) => {
    for (const tenants of [10, 1000, 100_000]) {
      let before = 0;
      for (const factor of [1, 2, 5, 20]) {
        const workload = { ...defaultWorkload, tenants };
        const now = total({ ...workload, [name]: workload[name] * factor });
        expect(now).toBeGreaterThanOrEqual(before);
        before = now;
      }
    }
  });

  it('fresher counts', () => {
    const refreshed = (maxAgeHours: number) =>
      total({ ...defaultWorkload, refresh: { ...defaultWorkload.refresh, maxAgeHours } });
    expect(refreshed(1)).toBeGreaterThan(refreshed(24));
    expect(refreshed(24)).toBeGreaterThan(refreshed(240));
  });
});

describe('a month of a tenant', () => {
  it('costs the same for any number of tenants, except for fixed costs', () => {
    const standing = total(idle);
    const of = (tenants: number) => total({ ...defaultWorkload, tenants }) - standing;
    expect(of(100) / of(10)).toBeCloseTo(10, 1);
  });

  it('costs less for requests on R2', () => {
    expect(total(defaultWorkload, 'r2')).toBeLessThan(total(defaultWorkload, 's3'));
  });

  it('has the recounts that the policy allows', () => {
    const { recountsThatScan, recountsThatDoNot, recountsDeferred } = occurrences(defaultWorkload);
    expect([recountsThatScan, recountsThatDoNot, recountsDeferred]).toEqual([60, 60, expect.closeTo(60, 6)]);
  });

  it('has at most the scans that the budget of LIST requests allows', () => {
    const large = { ...defaultWorkload, objectsPerTenant: 40_000_000, pushesPerTenant: 300 };
    // 10,700 requests a scan, of 864,000 a month.
    expect(occurrences(large).recountsThatScan).toBeCloseTo(864_000 / 10_700, 6);
  });

  it('has visits of the schedule up to the limit of its runs', () => {
    const few = occurrences({ ...defaultWorkload, tenants: 1000 });
    expect(few).toMatchObject({ cleanups: 60, missedReads: 0, clearedLater: 0 });
    expect(few.fullCounts).toBeCloseTo(720 / 22.8, 6);
    expect(few.duePerRun).toBeCloseTo((1000 * (60 + 720 / 22.8)) / 43_200, 6);
    const many = occurrences({ ...defaultWorkload, tenants: 200_000 });
    expect(many.duePerRun).toBe(300);
    expect(many.cleanups + many.fullCounts).toBeCloseTo(64.8, 6);
    expect(many.cleanups + many.clearedLater).toBeCloseTo(60, 6);
  });

  it('has about one full count if it is idle, and one per read of an old count', () => {
    const quiet = { ...defaultWorkload, pushesPerTenant: 0 };
    expect(occurrences({ ...quiet, readsPerTenant: 0 })).toMatchObject({
      fullCounts: expect.closeTo(1.05, 2),
      missedReads: 0,
    });
    expect(occurrences(quiet).missedReads).toBeCloseTo(30 * (1 - 24 / 684), 6);
  });
});

describe('docs/cost.md', () => {
  const text = readFileSync(new URL('../../../docs/cost.md', import.meta.url), 'utf8');
  const grouped = (dollars: number) => dollars.toFixed(2).replace(/\B(?=(\d{3})+(?!\d))/g, ',');

  it.each([10, 1000, 100_000])('has the cost of %i tenants, on S3 and on R2', (tenants) => {
    const workload = { ...defaultWorkload, tenants };
    const row = text.split('\n').find((line) => line.startsWith(`${tenants.toLocaleString('en')} `));
    expect(row?.split(/ +/)).toContain(grouped(total(workload)));
    expect(text).toContain(grouped(total(workload, 'r2')));
  });
});
