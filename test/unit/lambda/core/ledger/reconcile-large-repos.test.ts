import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type ReconcileInput, reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { LargeRepoStack, largeRepoStack, oidOf, repo } from '../../../../support/memory/large-repo-stack.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';

const week = 7 * 24 * 60 * minute;

let stack: LargeRepoStack;

beforeEach(async () => {
  stack = await largeRepoStack();
});

const run = (more: Partial<ReconcileInput> = {}) => reconcile(stack.deps, { tenant, full: false, ...more });

describe('a reconcile of a tenant with a large repo', () => {
  const oid = oidOf(70);
  const exclude = (where: string) => ({
    exclude: { reservationId: 'r', repo: where, oids: new Set([oid]) },
    isAwaited: true,
  });

  it('tells a batch what has arrived in it, although its reservation is left out', async () => {
    await stack.send([oid]);
    const outcome = await run(exclude(repo));
    expect(outcome.kind === 'committed' && outcome.basis.seen.has(oid)).toBe(true);
    expect(await stack.usage()).toEqual({ storedBytes: 610, committedBytes: 610 });
  });

  it('asks the large repo for nothing if the batch is of another repo', async () => {
    const heads = stack.heads;
    expect((await run(exclude('other'))).kind).toBe('committed');
    expect(stack.heads).toBe(heads);
  });

  it('scans no shard while somebody waits, and otherwise says when the next are due', async () => {
    stack.nowMs += week;
    const lists = stack.lists;
    expect(await run({ isAwaited: true })).toMatchObject({ shardsDueAtMs: stack.nowMs });
    expect(stack.lists).toBe(lists);
    expect(await run()).toMatchObject({ shardsDueAtMs: stack.nowMs + week });
    expect(stack.lists).toBe(lists + 16);
  });

  it('counts its shards again only if it is told to', async () => {
    stack.nowMs += minute;
    const lists = stack.lists;
    await run();
    expect(stack.lists).toBe(lists);
    await run({ isThorough: true });
    expect(stack.lists).toBe(lists + 16);
  });

  it('logs all LISTs, those of the shards too', async () => {
    stack.put({ [`other/${oid}`]: 10 });
    stack.nowMs += week;
    const info = vi.spyOn(stack.deps.log, 'info');
    const lists = stack.lists;
    await run({ full: true });
    const logged = info.mock.calls.find(([message]) => message === 'reconciled');
    info.mockRestore();
    expect(stack.lists - lists).toBeGreaterThan(16);
    // One more for the folders.
    expect(logged?.[1]).toMatchObject({ requests: stack.lists - lists + 1 });
  });

  it('gives the scans of shards no longer than the whole has', async () => {
    stack.nowMs += minute;
    const { scan } = stack.deps;
    const deadlines = new Set<number | undefined>();
    const watched = {
      ...scan,
      scan: (input: Parameters<typeof scan.scan>[0]) => {
        deadlines.add(input.deadlineMs);
        return scan.scan(input);
      },
    };
    const deadlineMs = stack.nowMs + minute;
    const thorough = { tenant, full: false, isThorough: true };
    expect((await reconcile({ ...stack.deps, scan: watched }, { ...thorough, deadlineMs })).kind).toBe(
      'committed',
    );
    expect(deadlines).toEqual(new Set([deadlineMs]));
    deadlines.clear();
    stack.nowMs += minute;
    await reconcile({ ...stack.deps, scan: watched }, thorough);
    expect(deadlines).toEqual(new Set([undefined]));
  });

  it('drops the shards of one that is a large repo no longer, while another still is', async () => {
    stack = await largeRepoStack({ repos: [repo, 'large'] });
    const more = Array.from({ length: 140 }, (_, index) => [`large/${oidOf(index + 60)}`, 10] as const);
    stack.put(Object.fromEntries(more));
    stack.nowMs += minute;
    await stack.reconcile('manual', true);
    const shardsOf = (name: string) => allPages(stack.ledger.shards({ tenant, repo: name }));
    const settings = { ...stack.deps.settings, largeRepoObjects: 150 };
    expect((await reconcile({ ...stack.deps, settings }, { tenant, full: true })).kind).toBe('committed');
    expect(await shardsOf(repo)).toEqual([]);
    expect((await shardsOf('large')).length).toBeGreaterThan(0);
    expect(await stack.ledger.readRepo({ tenant, repo })).not.toHaveProperty('large');
  });

  it('ends if another reconcile takes the lease while the shards are read, and commits nothing', async () => {
    const { shards, setLease } = stack.ledger;
    vi.spyOn(stack.ledger, 'shards').mockImplementation((path) => {
      stack.nowMs += minute;
      return shards.call(stack.ledger, path);
    });
    const released: number[] = [];
    vi.spyOn(stack.ledger, 'setLease').mockImplementation(async (input) => {
      if ((input.leaseUntilMs ?? 0) > 0) return 'superseded';
      released.push(input.epoch);
      return setLease.call(stack.ledger, input);
    });
    const before = await stack.record();
    expect(await run()).toEqual({ kind: 'superseded' });
    expect(released).toEqual([before.epoch + 1]);
    expect((await stack.record()).appliedEpoch).toBe(before.appliedEpoch);
  });
});

describe('a repo that becomes a large repo', () => {
  beforeEach(async () => {
    stack = new LargeRepoStack();
    stack.put(Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`${repo}/${oidOf(index)}`, 10])));
    await stack.create(100_000);
    await stack.ledger.markDirty({ tenant, repo, dirtyToken: 'x' });
  });

  it('is marked by one reconcile and counted by the next, and a full count waits for it', async () => {
    expect(await run({ full: true })).toMatchObject({ hasInitialScans: true, isFull: false });
    expect(await stack.shards()).toHaveLength(16);
    expect(await run({ full: true })).toMatchObject({ hasInitialScans: false, isFull: false });
    expect(await run({ full: true })).toMatchObject({ isFull: true });
    expect((await stack.record()).fullScannedAtMs).toBe(stack.nowMs);
  });

  it.each([
    [20_000, 'requeued'],
    [20_001, 'done'],
  ] as const)(
    'of a tenant that was counted has the full count made after it: with %i ms left, that is %s',
    async (leftMs, expected) => {
      stack.requests.length = 0;
      const before = (await stack.record()).fullScannedAtMs;
      stack.nowMs += minute;
      const request = { tenant, reason: 'manual', full: true } as const;
      expect(await runReconcile(stack.deps, { request, deadlineMs: stack.nowMs + leftMs })).toBe(expected);
      // In either case its shards are counted.
      expect((await stack.shards()).map(({ scannedAtMs }) => scannedAtMs)).toEqual(
        Array(16).fill(stack.nowMs),
      );
      const isDone = expected === 'done';
      expect((await stack.record()).fullScannedAtMs).toBe(isDone ? stack.nowMs : before);
      expect(stack.requests).toEqual(isDone ? [] : [request]);
    },
  );

  it('is listed as a whole once more while somebody waits', async () => {
    expect((await run({ isAwaited: true })).kind).toBe('committed');
    expect(await stack.shards()).toEqual([]);
  });
});
