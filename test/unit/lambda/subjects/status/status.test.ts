import { beforeEach, describe, expect, it } from 'vitest';
import { noRefreshState } from '../../../../../lambda/core/ledger/rules/reconcile-policy.ts';
import { LedgerUnavailableError, NewerFormatError } from '../../../../../lambda/core/rules/errors.ts';
import { type ListPageRequest, StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { iso } from '../../../../../lambda/frame/contract/fields.ts';
import { createDynamoDbFailures } from '../../../../../lambda/frame/failures/failure-store.ts';
import { noteFailedReconcile, noteFailure, whyOf } from '../../../../../lambda/frame/failures/failures.ts';
import { createStoreProbe, type QueueGauge } from '../../../../../lambda/frame/gauges/rules/gauges.ts';
import { readStatus } from '../../../../../lambda/subjects/status/status.ts';
import { memoryDeps } from '../../../../support/memory/deps.ts';
import { largeRepoStack, repo } from '../../../../support/memory/large-repo-stack.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { MemoryStack, tenant } from '../../../../support/memory/stack.ts';
import { storeClass } from '../../../../support/memory/stores.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

class MemoryFailures extends storeClass(createDynamoDbFailures) {}

it('the probe of the store is one LIST of at most one key, below a name that no tenant has, within 6 s', async () => {
  const objects = new MemoryObjectStore();
  const asked: ListPageRequest[] = [];
  const listing = {
    listPage: (request: ListPageRequest) => {
      asked.push(request);
      return objects.listPage(request);
    },
  };
  const place = { kind: 'external', endpoint: 'https://r2.example', bucket: 'b' } as const;
  const probe = createStoreProbe({ listing, clock: { nowMs: () => 1000 } }, place);
  expect(probe).toMatchObject(place);
  await probe.probe();
  expect(asked).toEqual([{ prefix: 'v1/', maxKeys: 1, deadlineMs: 7000 }]);
});

describe('a failure', () => {
  it.each([
    [new StoreUnavailableError('x'), 'store'],
    [new LedgerUnavailableError('x'), 'table'],
    [new NewerFormatError('x'), 'newer-format'],
    [new Error('x'), 'unexpected'],
    [undefined, 'unexpected'],
  ])('%s is told in a word', (error, why) => expect(whyOf(error)).toBe(why));

  it('is noted with its time', async () => {
    const deps = memoryDeps();
    await noteFailure(deps, { kind: 'reconcile', tenant: 'acme', tries: 3, why: 'store' });
    const atMs = deps.clock.nowMs();
    expect(await deps.failures.list()).toEqual([
      { kind: 'reconcile', tenant: 'acme', tries: 3, why: 'store', atMs, sinceMs: atMs },
    ]);
  });

  it('of a reconcile is noted with the newest one that had committed, if that can be read', async () => {
    const world = new MemoryStack();
    await world.create();
    const { appliedEpoch } = await world.record();
    const failure = { tenant, tries: 1, why: 'store' } as const;
    await noteFailedReconcile(world.deps, failure);
    expect(await world.deps.failures.list()).toMatchObject([{ kind: 'reconcile', ...failure, appliedEpoch }]);
    world.nowMs += 1;
    world.ledger.readTenant = () => Promise.reject(new LedgerUnavailableError('The table does not answer.'));
    await noteFailedReconcile(world.deps, failure);
    const [last] = await world.deps.failures.list();
    expect(last).toMatchObject({ ...failure, atMs: world.nowMs });
    expect(last).not.toHaveProperty('appliedEpoch');
  });

  it('that cannot be noted is logged, and breaks nothing', async () => {
    const { log, entries } = recordingLog();
    const failures = new MemoryFailures();
    failures.note = () => Promise.reject(new LedgerUnavailableError('The table does not answer.'));
    await noteFailure(memoryDeps({ failures, log }), {
      kind: 'export',
      tenant: 'acme',
      tries: 1,
      why: 'export',
    });
    expect(entries.map(({ level, message, fields }) => [level, message, fields['tenant']])).toEqual([
      ['warn', 'failure not noted', 'acme'],
    ]);
  });
});

const nowMs = 1_800_000_000_000;
const minute = 60_000;
const hour = 60 * minute;
/** Time that passes only if a test says so. */
const clock = (sleep: () => Promise<void> = () => new Promise(() => {})) => ({ nowMs: () => nowMs, sleep });
const level = { waiting: 2, running: 1, oldestAtMs: null, deadLetters: 0, deadLettersAt: 'https://dead' };
const gauge = (read: QueueGauge['read'] = async () => level): QueueGauge => ({ queue: 'reconciles', read });

describe('the status', () => {
  let ledger: MemoryLedger;
  let failures: MemoryFailures;
  const deps = (more: Parameters<typeof memoryDeps>[0] = {}) =>
    memoryDeps({ clock: clock(), ledger, failures, queueGauges: [gauge()], ...more });
  const create = (tenant: string, dueAtMs: number, scannedAtMs = 1) =>
    ledger.createTenant({
      tenant,
      plan: null,
      limitBytes: null,
      createdAtMs: 1,
      scanned: { storedBytes: 0, objectCount: 0, scannedAtMs },
      dueAtMs,
    });
  const stateOf = async (given: ReturnType<typeof deps>, part: string) =>
    (await readStatus(given)).parts.find((each) => each.part === part)?.state;

  beforeEach(async () => {
    ledger = new MemoryLedger();
    failures = new MemoryFailures();
    await ledger.putRefreshState({
      ...noRefreshState,
      handedUntilMs: nowMs - 2 * minute,
      ranAtMs: nowMs - minute,
    });
  });

  it.each([
    [true, 'fine'],
    [false, 'act'],
  ])('asks who knows a kind of failures whether one is over: %s', async (over, state) => {
    const failure = { kind: 'export', tenant: 'acme', tries: 1, why: 'export' } as const;
    await noteFailure(deps(), failure);
    const asked: unknown[] = [];
    const isOver = async (given: object, atMs: number) => {
      asked.push([given, atMs]);
      return over;
    };
    // Whatever subjects there are.
    const failureKinds = [{ kind: 'export', isOver }] as never;
    expect(await stateOf(deps({ failureKinds }), 'failures')).toBe(state);
    expect(asked).toMatchObject([[failure, nowMs]]);
  });

  it('of a stage in which nothing failed is fine in each part', async () => {
    const status = await readStatus(deps());
    expect(status.parts.map(({ part, state }) => `${part} ${state}`)).toEqual([
      'store fine',
      'uncounted fine',
      'schedule fine',
      'tenants fine',
      'reconciles fine',
      'failures fine',
    ]);
    expect(status).toMatchObject({
      state: 'fine',
      checkedAt: iso(nowMs),
      store: { kind: 'embedded', bucket: 'objects', latencyMs: 0 },
      schedule: { ranAt: iso(nowMs - minute), handedUntil: iso(nowMs - 2 * minute) },
      overdue: { tenants: [], more: false },
      queues: [{ queue: 'reconciles', waiting: 2, running: 1, oldestAt: null, deadLetters: 0 }],
      failures: [],
    });
  });

  it('has a disk where a server has one', async () => {
    const disk = () => ({ folder: '/data', freeBytes: 0, sizeBytes: 100, isWritable: true });
    expect(await stateOf(deps({ disk }), 'disk')).toBe('act');
    expect(await stateOf(deps(), 'disk')).toBeUndefined();
  });

  it('knows the schedule from what an older version wrote, and from nothing', async () => {
    await ledger.putRefreshState({ ...noRefreshState, handedUntilMs: nowMs - minute });
    expect((await readStatus(deps())).schedule).toEqual({
      ranAt: iso(nowMs - minute),
      handedUntil: iso(nowMs - minute),
    });
    ledger = new MemoryLedger();
    expect((await readStatus(deps())).schedule).toEqual({ ranAt: null, handedUntil: null });
  });

  it('has those that are due for more than an hour, those due longest first', async () => {
    await create('soon', nowMs - hour + 1);
    await create('late', nowMs - 2 * hour);
    await create('later', nowMs - 13 * hour);
    const { overdue } = await readStatus(deps());
    expect(overdue?.tenants.map(({ tenant }) => tenant)).toEqual(['later', 'late']);
    expect(await stateOf(deps(), 'tenants')).toBe('act');
  });

  it('has at most a hundred of those, and says that there are more', async () => {
    for (let index = 0; index < 150; index += 1)
      await create(`t${index}`, nowMs - 2 * hour - Math.floor(index / 3));
    const { overdue } = await readStatus(deps());
    expect([overdue?.tenants.length, overdue?.more]).toEqual([100, true]);
  });

  it('says of each failure whether the tenant was counted since, or is gone', async () => {
    await create('counted', 9e15, nowMs - 1);
    await create('failing', 9e15, nowMs - hour);
    await create('newer', 9e15, nowMs - hour);
    // In the same millisecond: whether it is made up for is not known.
    await create('just now', 9e15, nowMs - minute);
    await ledger.createTenant({
      tenant: 'never counted',
      plan: null,
      limitBytes: null,
      createdAtMs: 1,
      scanned: null,
      dueAtMs: 9e15,
    });
    const reads = ledger.readTenant.bind(ledger);
    ledger.readTenant = (tenant) =>
      tenant === 'newer' ? Promise.reject(new NewerFormatError('x')) : reads(tenant);
    for (const tenant of ['counted', 'failing', 'newer', 'just now', 'never counted', 'gone'])
      await failures.note({
        kind: 'reconcile',
        tenant,
        atMs: nowMs - minute,
        sinceMs: nowMs - minute,
        tries: 1,
        why: 'store',
      });
    const shown = (await readStatus(deps())).failures ?? [];
    expect(Object.fromEntries(shown.map(({ kind, tenant, over }) => [`${kind} ${tenant}`, over]))).toEqual({
      'reconcile counted': true,
      'reconcile failing': false,
      'reconcile newer': false,
      'reconcile just now': false,
      'reconcile never counted': false,
      'reconcile gone': true,
    });
    expect(await stateOf(deps(), 'failures')).toBe('act');
    ledger.readTenant = () => Promise.reject(new LedgerUnavailableError('The table does not answer.'));
    expect(await stateOf(deps(), 'failures')).toBe('unknown');
  });

  it('says that a failure is over once a later reconcile has committed, however old what it counted is', async () => {
    const stack = await largeRepoStack();
    const { deps: given } = stack;
    const statusNow = async () =>
      (await readStatus({ ...given, clock: clock() })).failures?.map(({ over }) => over);
    // Nobody lists the shard, of which something was deleted around the API.
    const { steeringVersion = 0 } = (await stack.ledger.readRepo({ tenant, repo })) ?? {};
    await stack.ledger.steerScan({ tenant, repo, steeringVersion, pausedAtMs: stack.nowMs });
    await stack.ledger.markDirty({ tenant, repo, dirtyToken: 'unknown' });
    stack.nowMs += hour;
    await noteFailedReconcile(given, { tenant, tries: 1, why: 'store' });
    expect(await statusNow()).toEqual([false]);
    stack.nowMs += minute;
    await stack.reconcile();
    const { scanned } = await stack.record();
    expect(scanned?.scannedAtMs).toBeLessThan(stack.nowMs - hour);
    expect(await statusNow()).toEqual([true]);
  });

  it('shows what does not answer, and all else beside it', async () => {
    const down = () => Promise.reject(new LedgerUnavailableError('The table does not answer.'));
    ledger.readRefreshState = down;
    ledger.dueTenants = down;
    failures.list = down;
    const probe = () =>
      Promise.reject(new StoreUnavailableError('no https://b.example/?a=1&X-Amz-Signature=abc123 today'));
    const listing = {
      ...memoryDeps().listing,
      listPage: () => Promise.reject(new StoreUnavailableError('no')),
    };
    const { parts, ...facts } = await readStatus(
      deps({
        listing,
        storeProbe: { kind: 's3', bucket: 'objects', endpoint: null, probe },
        queueGauges: [
          gauge(() => Promise.reject(new Error('x'.repeat(500)))),
          { ...gauge(), queue: 'exports' },
        ],
      }),
    );
    expect(parts.map(({ part, state }) => `${part} ${state}`)).toEqual([
      'store act',
      'uncounted unknown',
      'schedule unknown',
      'tenants unknown',
      'reconciles unknown',
      'exports fine',
      'failures unknown',
    ]);
    for (const { state, todo } of parts) expect(todo === null).toBe(state === 'fine');
    expect(parts[0]?.says).toContain('StoreUnavailableError: no https://b.example/?… today');
    expect(parts[4]?.says).toMatch(/: Error: x{193}…$/);
    expect(facts).toMatchObject({ schedule: null, overdue: null, failures: null });
    expect(facts.store.latencyMs).toBeNull();
    expect(facts.queues.map(({ queue }) => queue)).toEqual(['exports']);
  });

  it('shows what is stored and counts nowhere, of up to 10,000 files a folder', async () => {
    const objects = new MemoryObjectStore();
    const saysOf = async () => (await readStatus(deps({ objects }))).parts[1];
    const beginning = 'Stored, but not counted as usage:';
    expect(await saysOf()).toEqual({
      part: 'uncounted',
      state: 'fine',
      says: `${beginning} _gc/ 0 B, _exports/ 0 B, _names/ 0 B, _parts/ 0 B, _proofs/ 0 B, _usage/ 0 B.`,
      todo: null,
    });
    objects.put(`acme/app/${'a'.repeat(64)}`, 5000);
    objects.put('_gcx/1', 5000);
    objects.put('_gc/1', 1024);
    objects.put('_parts/acme/1', 2048);
    for (let file = 0; file < 10_000; file += 1) objects.put(`_exports/${file}`, 1);
    const sums = '_gc/ 1 KiB, _exports/ 9.77 KiB, _names/ 0 B, _parts/ 2 KiB, _proofs/ 0 B, _usage/ 0 B.';
    expect((await saysOf())?.says).toBe(`${beginning} ${sums}`);
    objects.put('_exports/last', 1);
    expect((await saysOf())?.says).toContain('_exports/ more than 9.77 KiB');
  });

  it('tells all of an error of 200 characters', async () => {
    const why = 'x'.repeat(193);
    const { parts } = await readStatus(deps({ queueGauges: [gauge(() => Promise.reject(new Error(why)))] }));
    expect(parts[4]?.says).toMatch(/: Error: x{193}\.$/);
  });

  it('waits for nothing longer than eight seconds', async () => {
    const waited: number[] = [];
    const sleep = async (ms: number) => {
      waited.push(ms);
      // What answers has answered by then.
      await new Promise((resolve) => setTimeout(resolve, 20));
    };
    const silent = {
      kind: 's3',
      bucket: 'b',
      endpoint: null,
      probe: () => new Promise<void>(() => {}),
    } as const;
    const { parts } = await readStatus(deps({ clock: { nowMs: () => nowMs, sleep }, storeProbe: silent }));
    expect(parts.map(({ state }) => state)).toEqual(['act', 'fine', 'fine', 'fine', 'fine', 'fine']);
    expect(parts[0]?.says).toContain('no answer within 8 s.');
    expect(new Set(waited)).toEqual(new Set([8000]));
  });
});
