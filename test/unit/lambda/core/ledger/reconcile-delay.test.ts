import { beforeEach, describe, expect, it, vi } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { deleteRepo, markObject } from '../../../../../lambda/core/ledger/deletes.ts';
import { getSubscription } from '../../../../../lambda/core/ledger/get-subscription.ts';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { awaitOtherReconcile } from '../../../../../lambda/core/ledger/reconcile-now.ts';
import type { ReconcileRequest } from '../../../../../lambda/core/ledger/rules/reconcile-policy.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { tenantRecord, unlimitedRepo } from '../../../../support/tenant-record.ts';

describe('a reconcile that another one waits for', () => {
  let clock: ManualClock;
  let ledger: MemoryLedger;
  let beganMs: number;
  /** When the tenant was read, in milliseconds from the beginning. */
  let readAtMs: number[];

  beforeEach(() => {
    [clock, ledger] = [new ManualClock(), new MemoryLedger()];
    beganMs = clock.nowMs();
    readAtMs = [];
  });

  /** The tenant is read as given, by the milliseconds that have passed. */
  const wait = (
    read: (afterMs: number) => Parameters<typeof tenantRecord>[0] | undefined,
    limitMs: number,
  ) => {
    vi.spyOn(ledger, 'readTenant').mockImplementation(async (tenant) => {
      const afterMs = clock.nowMs() - beganMs;
      readAtMs.push(afterMs);
      const found = read(afterMs);
      return found && tenantRecord({ tenant, ...found });
    });
    const before = tenantRecord({ tenant: 'acme', appliedEpoch: 4, leaseUntilMs: beganMs + 1 });
    return awaitOtherReconcile({ ledger, clock }, { before, deadlineMs: beganMs + limitMs });
  };
  const running = { appliedEpoch: 4, leaseUntilMs: 9e15 };

  it('is asked for with pauses that grow up to a second', async () => {
    expect(await wait(() => running, 5000)).toBeUndefined();
    const pauses = readAtMs.map((atMs, index) => atMs - (readAtMs[index - 1] ?? 0));
    expect(pauses).toEqual([100, 150, 225, 337.5, 506.25, 759.375, 1000, 1000]);
  });

  it('is no longer waited for when the next pause would reach the deadline', async () => {
    expect(await wait(() => running, 100)).toBeUndefined();
    expect([readAtMs, clock.nowMs()]).toEqual([[], beganMs]);
    await wait(() => running, 101);
    expect(readAtMs).toEqual([100]);
  });

  it('has committed when a later epoch is applied, even if the next one holds the lease already', async () => {
    const found = await wait((afterMs) => ({ ...running, appliedEpoch: afterMs < 400 ? 4 : 5 }), 5000);
    expect(found).toMatchObject({ tenant: 'acme', appliedEpoch: 5 });
    expect(readAtMs).toHaveLength(3);
  });

  it('has given up when its lease is over', async () => {
    expect(await wait(() => ({ ...running, leaseUntilMs: beganMs + 251 }), 5000)).toBeUndefined();
    expect(readAtMs).toEqual([100, 250, 475]);
    readAtMs = [];
    beganMs = clock.nowMs();
    expect(await wait(() => ({ ...running, leaseUntilMs: beganMs + 250 }), 5000)).toBeUndefined();
    expect(readAtMs).toEqual([100, 250]);
  });

  it('has nothing to tell of a tenant that is gone', async () => {
    expect(await wait(() => undefined, 5000)).toBeUndefined();
    expect(readAtMs).toEqual([100]);
  });
});

const { maxAgeMs, scanWaitMs } = defaultSettings;

describe('a read of the usage', () => {
  let world: MemoryStack;
  let scanned: string[];
  const read = async (more: { refresh?: boolean; cachedRepos?: [] } = {}) => {
    const cached = { tenant: await world.record(), repos: more.cachedRepos ?? [] };
    return getSubscription(world.deps, { cached, refresh: more.refresh ?? false });
  };

  beforeEach(async () => {
    world = new MemoryStack();
    scanned = [];
    vi.spyOn(world.deps.metrics, 'increment').mockImplementation((name) => {
      if (name.startsWith('Cache')) scanned.push(name);
    });
    world.put({ [`app/${oidOf(1)}`]: 10 });
    await world.create(100);
  });

  it('shows the last count while that is young, and lists nothing', async () => {
    const begun = vi.spyOn(world.ledger, 'beginReconcile');
    world.nowMs += maxAgeMs;
    expect(await read()).toMatchObject({ source: 'cache', refreshing: false, repos: [] });
    expect(begun).not.toHaveBeenCalled();
    expect([scanned, world.requests]).toEqual([['CacheHits'], []]);
  });

  it('counts all of the tenant once the last count is too old', async () => {
    world.put({ [`new/${oidOf(2)}`]: 5 });
    world.nowMs += maxAgeMs + 1;
    const repos = vi.spyOn(world.ledger, 'repos');
    expect(await read()).toMatchObject({
      source: 'scan',
      refreshing: false,
      tenant: { scanned: { storedBytes: 15 } },
      repos: [{ repo: 'app' }, { repo: 'new' }],
    });
    expect([scanned, world.requests]).toEqual([['CacheMisses'], []]);
    // By the count itself, which tells them.
    expect(repos).toHaveBeenCalledTimes(1);
  });

  it('counts if somebody asks for it, which is no miss', async () => {
    expect(await read({ refresh: true })).toMatchObject({ source: 'scan' });
    expect(scanned).toEqual([]);
  });

  it('counts what was never counted', async () => {
    world = new MemoryStack();
    world.put({ [`app/${oidOf(1)}`]: 10 });
    const times = { createdAtMs: 0, dueAtMs: 9e15 };
    await world.ledger.createTenant({ tenant, plan: null, limitBytes: 100, scanned: null, ...times });
    expect(await read()).toMatchObject({ source: 'scan', tenant: { scanned: { storedBytes: 10 } } });
  });

  it('shows the repos as another count that was running has left them', async () => {
    const begun = await world.ledger.beginReconcile({
      tenant,
      holder: 'h',
      nowMs: world.nowMs,
      leaseUntilMs: 9e15,
    });
    if (begun.kind !== 'begun') throw new Error(begun.kind);
    const { readTenant } = world.ledger;
    const before = await world.record();
    world.ledger.readTenant = async (name) => {
      const found = await readTenant.call(world.ledger, name);
      return found && { ...found, appliedEpoch: begun.epoch };
    };
    const shown = await getSubscription(world.deps, { cached: { tenant: before, repos: [] }, refresh: true });
    expect(shown).toMatchObject({
      source: 'scan',
      refreshing: false,
      tenant: { appliedEpoch: begun.epoch },
      repos: [{ repo: 'app', storedBytes: 10 }],
    });
  });

  it('waits for a count no longer than its time, then shows the last one, and has another queued', async () => {
    await world.ledger.beginReconcile({ tenant, holder: 'h', nowMs: world.nowMs, leaseUntilMs: 9e15 });
    const beganMs = world.nowMs;
    expect(await read({ refresh: true })).toMatchObject({
      source: 'cache',
      refreshing: true,
      repos: [],
      tenant: { scanned: { storedBytes: 10 } },
    });
    expect(world.requests).toEqual([{ tenant, reason: 'miss', full: true }]);
    expect(world.nowMs - beganMs).toBeLessThan(scanWaitMs);
    expect(world.nowMs - beganMs).toBeGreaterThan(scanWaitMs - 2000);
  });
});

const hour = 60 * minute;
const day = 24 * hour;
/** Here a LIST request costs a minute of the budget. */
const tight = { listRequestsPerHour: 60, reconcileRestMs: minute };

let world: MemoryStack;
let deferred: number;

async function open(
  settings: Partial<typeof tight> = tight,
  limitBytes: number | null = null,
): Promise<void> {
  world = new MemoryStack(settings);
  world.put({ [`game/${oidOf(1)}`]: 10, [`art/${oidOf(2)}`]: 20 });
  deferred = 0;
  vi.spyOn(world.deps.metrics, 'increment').mockImplementation((name) => {
    if (name === 'ReconcilesDeferred') deferred += 1;
  });
  await world.create(limitBytes);
}

const consume = (request: Partial<ReconcileRequest>, more: { isRetry?: boolean } = {}) =>
  runReconcile(world.deps, {
    request: { tenant, reason: 'upload', full: false, ...request },
    deadlineMs: world.nowMs + 14 * minute,
    ...more,
  });

/** As if the LIST requests so far used up the budget for this long. */
async function indebt(debtMs: number): Promise<void> {
  const { epoch } = await world.record();
  const listedUntilMs = world.nowMs + debtMs;
  await world.ledger.setLease({ tenant, epoch, leaseUntilMs: 0, listedUntilMs });
}

const epochs = async () => (await world.record()).appliedEpoch;

beforeEach(() => open());

describe('a reconcile', () => {
  it('charges the tenant for its LIST requests, and nothing if it made none', async () => {
    const { listedUntilMs } = await world.record();
    // One for the folders and one for each of two repos.
    expect(listedUntilMs).toBe(world.nowMs + 3 * minute);
    await reconcile(world.deps, { tenant, full: false });
    expect(await world.record()).toMatchObject({ listedUntilMs, appliedEpoch: 2 });
  });

  it('is charged even if it is not committed', async () => {
    await indebt(0);
    vi.spyOn(world.ledger, 'commitTenant').mockResolvedValueOnce({ kind: 'superseded' });
    expect((await reconcile(world.deps, { tenant, full: true })).kind).toBe('superseded');
    expect(await world.record()).toMatchObject({ listedUntilMs: world.nowMs + minute, leaseUntilMs: 0 });
    vi.spyOn(world.ledger, 'commitTenant').mockRejectedValueOnce(new Error('No.'));
    await expect(reconcile(world.deps, { tenant, full: true })).rejects.toThrow('No.');
    expect(await world.record()).toMatchObject({ listedUntilMs: world.nowMs + 2 * minute, leaseUntilMs: 0 });
  });

  it('is not charged if the store fails before the first page', async () => {
    const { listedUntilMs } = await world.record();
    vi.spyOn(world.objects, 'listPage').mockRejectedValueOnce(new StoreUnavailableError('No.'));
    await expect(reconcile(world.deps, { tenant, full: true })).rejects.toThrow('No.');
    expect(await world.record()).toMatchObject({ listedUntilMs, leaseUntilMs: 0 });
  });
});

describe('a reconcile from the queue', () => {
  it('that comes too soon after another is queued again unchanged, and measured', async () => {
    world.nowMs += minute - 1;
    expect(await consume({ reason: 'verify' })).toBe('requeued');
    expect(world.requests).toEqual([{ tenant, reason: 'verify', full: false }]);
    expect([deferred, await epochs()]).toEqual([1, 1]);
    world.nowMs += 1;
    expect(await consume({ reason: 'verify' })).toBe('done');
    expect([deferred, await epochs()]).toEqual([1, 2]);
  });

  it('that somebody waits for may follow at once, and may overdraw the budget by an hour', async () => {
    await indebt(hour);
    expect(await consume({ reason: 'refusal' })).toBe('done');
    await indebt(hour + 1);
    expect(await consume({ reason: 'manual', full: true })).toBe('requeued');
    expect(world.requests).toEqual([{ tenant, reason: 'manual', full: true }]);
  });

  it('for the schedule is not queued again: the tenant stays due', async () => {
    world.nowMs += day;
    await indebt(hour);
    expect(await consume({ reason: 'schedule', full: true })).toBe('done');
    expect(world.requests).toEqual([]);
    expect([deferred, await epochs(), await world.isDue()]).toEqual([1, 1, true]);
  });

  it('for the schedule lists nothing if a full count was made meanwhile', async () => {
    const lists = [vi.spyOn(world.objects, 'listFolders'), vi.spyOn(world.objects, 'listPage')];
    world.nowMs += 2 * minute;
    expect(await consume({ reason: 'schedule', full: true })).toBe('done');
    expect([deferred, await epochs()]).toEqual([0, 1]);
    for (const list of lists) expect(list).not.toHaveBeenCalled();
  });

  it('is full if a full count is due, unless somebody waits for less', async () => {
    world.nowMs += day;
    const lists = vi.spyOn(world.objects, 'listPage');
    await consume({ reason: 'refusal' });
    expect(lists).not.toHaveBeenCalled();
    world.nowMs += minute;
    await consume({ reason: 'upload' });
    expect(lists).toHaveBeenCalled();
    expect(await world.isDue()).toBe(false);
  });

  it('that failed before is not deferred: it succeeds or ends as a dead letter', async () => {
    await indebt(9 * day);
    expect(await consume({ reason: 'upload' }, { isRetry: true })).toBe('done');
    expect([deferred, await epochs()]).toEqual([0, 2]);
  });

  it('runs the due deletions even if it is deferred, and is then one that somebody waits for', async () => {
    await markObject(world.deps, { tenant, repo: 'game', oid: oidOf(1), dryRun: false });
    world.nowMs += hour;
    await indebt(hour + minute);
    expect(await consume({ reason: 'upload', full: true })).toBe('requeued');
    expect(await world.keys()).toEqual([`art/${oidOf(2)}`]);
    expect(world.requests).toEqual([{ tenant, reason: 'delete', full: true }]);
    await indebt(hour);
    await markObject(world.deps, { tenant, repo: 'art', oid: oidOf(2), dryRun: false });
    world.nowMs += hour;
    await indebt(hour);
    expect(await consume({ reason: 'schedule' })).toBe('done');
    expect((await world.record()).scanned).toMatchObject({ storedBytes: 0, objectCount: 0 });
  });

  it('continues to empty a repo even if it is deferred', async () => {
    await deleteRepo(world.deps, { tenant, repo: 'game', dryRun: false });
    world.requests.length = 0;
    await indebt(2 * hour);
    expect(await consume({ reason: 'manual', full: true })).toBe('requeued');
    expect(await world.keys()).toEqual([`art/${oidOf(2)}`]);
    expect(world.requests).toEqual([{ tenant, reason: 'manual', full: true }]);
    expect(await epochs()).toBe(1);
  });
});

describe('beyond the overdraft', () => {
  it('a batch near the limit is told to retry when a reconcile may begin, but in 4 minutes at the latest', async () => {
    for (const [debtMs, leastMs] of [
      [hour + minute, minute],
      [9 * hour, 4 * minute],
    ] as const) {
      await open(tight, 100);
      await world.ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 60, limitBytes: 100 });
      await indebt(debtMs);
      const objects = new Map([[oidOf(3), 50]]);
      const outcome = await admitUpload(world.deps, { tenant: await world.record(), repo: 'game', objects });
      if (outcome.kind !== 'retry') throw new Error(`The batch was ${outcome.kind}.`);
      expect(outcome.retryAfterMs).toBeGreaterThanOrEqual(leastMs);
      // git-lfs gives up if the wait is longer than 300 s.
      expect(outcome.retryAfterMs).toBeLessThanOrEqual(leastMs + 2000);
      expect(world.requests).toEqual([{ tenant, reason: 'refusal', full: false }]);
      expect([deferred, await epochs()]).toEqual([1, 1]);
    }
  });

  it('within it, the same batch is answered after a reconcile', async () => {
    await open(tight, 100);
    await world.ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 60, limitBytes: 100 });
    await indebt(hour / 2 - minute);
    const objects = new Map([[oidOf(3), 50]]);
    const outcome = await admitUpload(world.deps, { tenant: await world.record(), repo: 'game', objects });
    expect(outcome.kind).toBe('answered');
    expect(await epochs()).toBe(2);
  });

  it('the console shows the last known usage, and a reconcile is requested', async () => {
    await indebt(hour / 2 - minute + 1);
    const cached = { tenant: await world.record(), repos: [] };
    expect(await getSubscription(world.deps, { cached, refresh: true })).toMatchObject({
      source: 'cache',
      refreshing: true,
      tenant: { scanned: { storedBytes: 30 } },
    });
    expect(world.requests).toEqual([{ tenant, reason: 'miss', full: true }]);
    world.nowMs += 3 * minute;
    const shown = await getSubscription(world.deps, { cached, refresh: true });
    expect(shown).toMatchObject({ source: 'scan', refreshing: false });
    expect(shown.repos.map(({ repo, storedBytes }) => [repo, storedBytes])).toEqual([
      ['art', 20],
      ['game', 10],
    ]);
  });

  it('a read of the usage still waits for a reconcile that is running', async () => {
    await indebt(2 * hour);
    await world.ledger.beginReconcile({
      tenant,
      holder: 'h',
      nowMs: world.nowMs,
      leaseUntilMs: world.nowMs + 15_000,
    });
    const cached = { tenant: await world.record(), repos: [] };
    const { appliedEpoch, scanned, ...rest } = cached.tenant;
    world.ledger.readTenant = async () => ({ ...rest, scanned, appliedEpoch: appliedEpoch + 1 });
    expect(await getSubscription(world.deps, { cached, refresh: true })).toMatchObject({ source: 'scan' });
  });
});

describe('the next full count by the schedule', () => {
  const inMs = async () => (await world.record()).dueAtMs - world.nowMs;
  const passTo = async (reason: 'schedule' | 'upload', afterMs: number) => {
    world.nowMs += afterMs;
    await consume({ reason, full: reason === 'schedule' });
  };

  it('is due after a day, and after longer and longer while nothing happens', async () => {
    expect(await inMs()).toBeLessThanOrEqual(day);
    await passTo('schedule', day);
    expect(await inMs()).toBeGreaterThan(1.7 * day);
    await passTo('schedule', 2 * day);
    expect(await inMs()).toBeGreaterThan(3.5 * day);
    await passTo('upload', hour);
    expect(await inMs()).toBeLessThanOrEqual(day);
  });

  it.each([
    ['an object did not come through the API', () => world.put({ [`game/${oidOf(9)}`]: 1 })],
    [
      'the counter was too high',
      () => world.ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 5, limitBytes: null }),
    ],
    ['a repo is dirty', () => world.ledger.markDirty({ tenant, repo: 'game', dirtyToken: 'x' })],
    ['an upload is under way', () => world.push('game', { [oidOf(8)]: 3 })],
  ])('is due after a day if %s', async (_what, happen) => {
    world.nowMs += day;
    await happen();
    await consume({ reason: 'schedule', full: true });
    expect(await inMs()).toBeLessThanOrEqual(day);
  });

  it('is not made later by counts that somebody requests within minutes', async () => {
    for (let times = 0; times < 8; times += 1) {
      world.nowMs += 2 * minute;
      await consume({ reason: 'manual', full: true });
    }
    expect(await inMs()).toBeLessThanOrEqual(day);
  });
});
