import { beforeEach, describe, expect, it } from 'vitest';
import { markObject } from '../../../../../lambda/core/ledger/deletes.ts';
import { type ReconcileOutcome, reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import type { Settings } from '../../../../../lambda/core/rules/settings.ts';
import { createTenant } from '../../../../../lambda/frame/access/tenants.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;
const day = 24 * hour;
const repo = 'app';
/** Spread evenly, as hashes are. */
const oidOf = (index: number) =>
  ((index * 37) % 256)
    .toString(16)
    .padStart(2, '0')
    .padEnd(64, `${index % 10}`);
const objectsFrom = (from: number, count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`${repo}/${oidOf(from + index)}`, 10] as const),
  );

/** A stack in which a repo of 40 objects is a large repo, and a reconcile scans about two shards. */
function slowStack(settings: Partial<Settings> = {}): MemoryStack {
  return new MemoryStack({ largeRepoObjects: 40, shardObjectsMax: 20, shardListsPerRun: 4, ...settings });
}

let stack: MemoryStack;

const put = (objects: Readonly<Record<string, number>>) => {
  for (const [path, sizeBytes] of Object.entries(objects))
    stack.objects.put(`${tenant}/${path}`, sizeBytes, undefined, stack.nowMs);
};
const reconcileOnce = async (full = false) => {
  const outcome = await reconcile(stack.deps, { tenant, full });
  if (outcome.kind !== 'committed') throw new Error(`The reconcile was ${outcome.kind}.`);
  stack.nowMs += minute;
  return outcome;
};
/** Reconciles until no initial scan goes on. @returns how many reconciles that took. */
const finish = async () => {
  for (let reconciles = 1; reconciles < 100; reconciles += 1)
    if (!(await reconcileOnce()).hasInitialScans) return reconciles;
  throw new Error('The initial scan does not end.');
};
const shards = () => allPages(stack.ledger.shards({ tenant, repo }));

describe('a repo that has grown to a large repo', () => {
  beforeEach(async () => {
    stack = slowStack();
    put(objectsFrom(0, 60));
    stack.nowMs += day;
    await stack.create(100_000);
    // What has come around the API is not known yet.
    put({ [`${repo}/${oidOf(100)}`]: 7 });
    stack.nowMs += hour;
  });

  it('is counted a few shards at a time, and its last count holds until all are counted', async () => {
    const begun = await reconcileOnce(true);
    expect(begun).toMatchObject({ hasInitialScans: true, isFull: false });
    expect(await stack.ledger.readRepo({ tenant, repo })).toMatchObject({
      objectCount: 60,
      large: { isInitialScan: true },
    });
    await reconcileOnce();
    const scanned = (await shards()).filter(({ scannedAtMs }) => scannedAtMs > 0);
    expect(scanned.length).toBeGreaterThan(0);
    expect(scanned.length).toBeLessThan(5);
    const listRequests = async () =>
      (await stack.ledger.readRepo({ tenant, repo }))?.large?.progress?.listRequests;
    expect(await listRequests()).toBe(4);
    expect(await stack.usage()).toEqual({ storedBytes: 600, committedBytes: 600 });
    expect(await finish()).toBe(3);
    expect(await stack.usage()).toEqual({ storedBytes: 607, committedBytes: 607 });
    expect((await stack.ledger.readRepo({ tenant, repo }))?.large).not.toHaveProperty('isInitialScan');
  });

  it('keeps what is shown as old as its last count', async () => {
    const { scanned } = await stack.record();
    await reconcileOnce(true);
    await reconcileOnce();
    expect((await stack.record()).scanned).toEqual(scanned);
    expect((await stack.record()).fullScannedAtMs).toBeLessThan(stack.nowMs - minute);
  });

  it('counts what is pushed meanwhile, and what is deleted', async () => {
    await reconcileOnce(true);
    await reconcileOnce();
    const oids = [oidOf(110), oidOf(111), oidOf(112)];
    await stack.push(repo, Object.fromEntries(oids.map((oid) => [oid, 10])));
    await reconcileOnce();
    put(Object.fromEntries(oids.slice(0, 2).map((oid) => [`${repo}/${oid}`, 10])));
    for (const oid of [oidOf(0), oidOf(1)])
      await markObject(stack.deps, { tenant, repo, oid, dryRun: false });
    stack.nowMs += stack.deps.settings.deleteGraceMs;
    expect((await stack.usage()).committedBytes).toBe(630);
    await stack.consume();
    await finish();
    stack.nowMs += 2 * day;
    for (let runs = 0; runs < 5; runs += 1) await reconcileOnce();
    expect(await stack.usage()).toEqual({ storedBytes: 607, committedBytes: 607 });
  });

  it('takes no bytes for freed that are only claimed for too long', async () => {
    const oids = [oidOf(110), oidOf(111)];
    await stack.push(repo, Object.fromEntries(oids.map((oid) => [oid, 40_000])));
    put(Object.fromEntries(oids.map((oid) => [`${repo}/${oid}`, 40_000])));
    await reconcileOnce(true);
    // The reservations are lapsed, and nobody has looked whether their objects are there.
    stack.nowMs += 6 * hour;
    await reconcileOnce();
    expect((await stack.usage()).committedBytes).toBe(80_600);
    await finish();
    expect((await stack.usage()).committedBytes).toBe(80_607);
  });
});

describe('a tenant whose large repo was never counted', () => {
  beforeEach(async () => {
    stack = slowStack({ largeRepoObjects: 600, shardObjectsMax: 200 });
    put({
      ...Object.fromEntries(
        Array.from({ length: 2500 }, (_, index) => [
          `${repo}/${index.toString(16).padStart(4, '0').split('').reverse().join('')}${'0'.repeat(60)}`,
          1,
        ]),
      ),
      [`small/${oidOf(1)}`]: 5,
    });
    stack.nowMs += day;
    await createTenant(stack.deps, { tenant, plan: null, limitBytes: 100_000 });
  });

  it('is unknown until then, and what is large is not listed to its end', async () => {
    const outcomes: Extract<ReconcileOutcome, { kind: 'committed' }>[] = [];
    for (;;) {
      const outcome = await reconcileOnce(true);
      outcomes.push(outcome);
      if (outcome.isFull) break;
      expect((await stack.record()).scanned).toBeNull();
      if (outcomes.length > 100) throw new Error('The initial scan does not end.');
    }
    expect(outcomes[0]?.hasInitialScans).toBe(true);
    expect(outcomes.length).toBeGreaterThan(4);
    expect(await stack.usage()).toEqual({ storedBytes: 2505, committedBytes: 2505 });
    // Each part of 200 or fewer.
    for (const shard of await shards()) expect(shard.objectCount).toBeLessThanOrEqual(200);
  });

  it.each([
    { reason: 'import', full: true },
    // Of a tenant that was never counted all is counted, whatever is asked for.
    { reason: 'manual', full: false },
  ] as const)('is counted by one run of the queue if there is time for it: %j', async (asked) => {
    await runReconcile(stack.deps, {
      request: { tenant, ...asked },
      deadlineMs: stack.nowMs + 14 * minute,
    });
    expect(await stack.usage()).toEqual({ storedBytes: 2505, committedBytes: 2505 });
    expect((await stack.record()).fullScannedAtMs).toBeGreaterThan(0);
  });
});
