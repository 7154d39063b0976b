import { beforeEach, describe, expect, it, vi } from 'vitest';
import { deleteRepo } from '../../../../../lambda/core/ledger/deletes.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { openGc, startRun, tidyGc } from '../../../../../lambda/subjects/gc/gc.ts';
import { endedGc, type Gc, reachableSetKey } from '../../../../../lambda/subjects/gc/rules/gc.ts';
import { advanceGc } from '../../../../../lambda/subjects/gc/sweep-candidates.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';
import { GcWorld, hour, oidAt, path, repo } from './gc-world.ts';

describe('going on with the gc runs of a tenant', () => {
  let world: GcWorld;
  const advance = async (untilMs = 9e15) =>
    advanceGc(world.deps, { tenant, repos: await allPages(world.ledger.repos(tenant)), untilMs });
  const put = async (more: Partial<Gc>) => {
    const before = await world.gc();
    const gc = { ...before, ...more };
    await world.gcRuns.put({ tenant, gc, versionRead: before.version, writeId: 'test' });
  };
  /** Whoever works on it finds that somebody else has changed it. */
  const refuseWrites = (isRefused: (gc: Gc) => boolean) => {
    const putGc = world.gcRuns.put.bind(world.ledger);
    world.gcRuns.put = async (input) => (isRefused(input.gc) ? undefined : putGc(input));
  };

  const web = { tenant, repo: 'web' };
  /** Opens and cancels a gc run of another repo, which lies behind this one. */
  const cancelOther = async () => {
    const opened = await openGc(world.deps, web);
    if (opened.kind !== 'open') throw new Error(opened.kind);
    const gc = endedGc(opened.gc, { state: 'cancelled', nowMs: world.nowMs });
    const versionRead = opened.gc.version;
    await world.gcRuns.put({ tenant, gc, versionRead, writeId: 'test' });
  };
  /** Reading what is reserved takes a millisecond: the time is up after that. */
  const readSlowly = () => {
    const reservationsOf = world.ledger.reservationsOf.bind(world.ledger);
    world.ledger.reservationsOf = (input) => {
      world.nowMs += 1;
      return reservationsOf(input);
    };
  };

  beforeEach(async () => {
    world = await GcWorld.with([0, 1, 2]);
    await world.opened();
  });

  it('leaves one alone that nobody has asked to run', async () => {
    const before = await world.gc();
    expect(await advance()).toBe('done');
    expect(await world.gc()).toEqual(before);
  });

  it('passes over repos that have none', async () => {
    world.objects.put(`${tenant}/another/${oidAt(3)}`, 4);
    await world.consume({ full: true });
    await world.run([0]);
    expect((await allPages(world.ledger.repos(tenant))).map((each) => each.repo)).toEqual(['another', repo]);
    expect(await advance()).toBe('done');
    expect(await world.gc()).toMatchObject({ state: 'done' });
  });

  it('begins nothing once the time is up, and does at its last moment', async () => {
    await world.run([0]);
    expect(await advance(world.nowMs - 1)).toBe('unfinished');
    expect(await world.gc()).toMatchObject({ state: 'selecting', selection: null });
    expect(await advance(world.nowMs)).toBe('done');
    expect(await world.gc()).toMatchObject({ state: 'done', dueAtMs: null });
  });

  it('with the time up after the choice, deletes in the next run', async () => {
    await world.run([0]);
    const untilMs = world.nowMs;
    const putDeletion = world.ledger.putDeletion.bind(world.ledger);
    readSlowly();
    world.ledger.putDeletion = async () => {
      throw new Error('Nothing is to be deleted yet.');
    };
    expect(await advance(untilMs)).toBe('unfinished');
    expect(await world.gc()).toMatchObject({ state: 'deleting' });
    world.ledger.putDeletion = putDeletion;
    expect(await advance()).toBe('done');
    expect(await world.stored()).toEqual([0]);
  });

  it('with the time up after a dry run has nothing left to do', async () => {
    await world.run([0], { isDryRun: true });
    readSlowly();
    expect(await advance(world.nowMs)).toBe('done');
    expect(await world.gc()).toMatchObject({ state: 'watching' });
  });

  it('with the time up after some deletes, removes in the next run what is left of it', async () => {
    await world.run([0]);
    const endDeletion = world.ledger.endDeletion.bind(world.ledger);
    world.ledger.endDeletion = async (input) => {
      await endDeletion(input);
      world.nowMs += 1;
    };
    expect(await advance(world.nowMs)).toBe('unfinished');
    expect(await world.gc()).toMatchObject({ state: 'deleting', progress: { file: 1 } });
    expect(await advance()).toBe('done');
    expect(await world.watch()).toBeUndefined();
  });

  it('goes on with the next repo if one waits', async () => {
    world.objects.put(`${tenant}/web/${oidAt(7)}`, 8, undefined, 0);
    world.objects.put(`${tenant}/aaa/${oidAt(8)}`, 9, undefined, 0);
    await world.consume({ full: true });
    // A watch of which the record was never put, and one without a run: both lie before the other.
    const watch = { id: 'x', openedAtMs: world.nowMs, untilMs: 9e15 };
    await world.ledger.openWatch({ tenant, repo: 'aaa', watch, nowMs: world.nowMs });
    await cancelOther();
    expect(await advance()).toBe('done');
    expect((await world.ledger.readRepo(web))?.watch).toBeUndefined();
    expect((await world.ledger.readRepo({ tenant, repo: 'aaa' }))?.watch).toEqual(watch);
  });

  it('ends a watch of which the record was never put, once its time is over', async () => {
    const orphan = { tenant, repo: 'aaa' };
    const watch = { id: 'x', openedAtMs: world.nowMs, untilMs: world.nowMs + hour };
    await world.ledger.openWatch({ ...orphan, watch, nowMs: world.nowMs });
    world.nowMs = watch.untilMs - 2 * world.deps.settings.clockSkewMs - 1;
    await advance();
    expect((await world.ledger.readRepo(orphan))?.watch).toEqual(watch);
    world.nowMs += 1;
    await advance();
    expect((await world.ledger.readRepo(orphan))?.watch).toBeUndefined();
    expect((await world.ledger.readRepo(orphan))?.endedWatchMs).toBe(watch.openedAtMs);
  });

  it('goes on with the next repo if one fails, which is told at the end', async () => {
    world.objects.put(`${tenant}/web/${oidAt(7)}`, 8, undefined, 0);
    await world.consume({ full: true });
    await cancelOther();
    await world.run([0]);
    vi.spyOn(world.deps.archives, 'get').mockRejectedValue(new StoreUnavailableError('Access denied.'));
    await expect(advance()).rejects.toThrow('Access denied.');
    expect((await world.ledger.readRepo(web))?.watch).toBeUndefined();
    expect(await world.gc()).toMatchObject({ state: 'selecting' });
  });

  it('removes what one of an earlier watch has left, and leaves the later watch open', async () => {
    const { watch } = await world.gc();
    await world.ledger.closeWatch({ ...path, watch });
    const later = { id: 'later', openedAtMs: world.nowMs, untilMs: 9e15 };
    await world.ledger.openWatch({ ...path, watch: later, nowMs: world.nowMs });
    await world.deps.archives.put(reachableSetKey(path), Buffer.of(1));
    await put({ state: 'cancelled', dueAtMs: 1 });
    expect(await advance()).toBe('done');
    expect(await world.files()).toEqual([]);
    expect(await world.gc()).toMatchObject({ dueAtMs: null });
    expect(await world.watch()).toEqual(later);
  });

  it('ends one whose watch is not to be relied on any more, right when that begins, and still runs it before', async () => {
    await world.run([0]);
    const { watch } = await world.gc();
    const expiresMs = watch.untilMs - 2 * world.deps.settings.clockSkewMs;
    world.nowMs = expiresMs;
    expect(await advance()).toBe('done');
    expect(await world.gc()).toMatchObject({ state: 'expired', endedAtMs: expiresMs, dueAtMs: null });
    expect(await world.stored()).toEqual([0, 1, 2]);
    world = await GcWorld.with([0, 1, 2]);
    await world.opened();
    await world.run([0]);
    world.nowMs = expiresMs - 1;
    expect(await advance()).toBe('done');
    expect(await world.stored()).toEqual([0]);
  });

  it.each([
    ['while it runs', 0],
    ['though its time is over too', 31 * 24 * hour],
  ])('cancels one whose repo is deleted %s', async (_, afterMs) => {
    await world.run([0]);
    await deleteRepo(world.deps, { ...path, dryRun: false });
    world.nowMs += afterMs;
    await advance();
    expect(await world.gc()).toMatchObject({ state: 'cancelled', dueAtMs: null });
    expect(await world.watch()).toBeUndefined();
  });

  it('leaves one to whoever else ends it', async () => {
    await world.run([0]);
    world.nowMs = (await world.gc()).watch.untilMs;
    refuseWrites(({ state }) => state === 'expired');
    expect(await advance()).toBe('done');
    expect(await world.gc()).toMatchObject({ state: 'selecting' });
  });

  it('leaves one to whoever else goes on with it, and goes on with the others', async () => {
    await world.run([0]);
    refuseWrites(() => true);
    expect(await advance()).toBe('done');
    expect(await world.gc()).toMatchObject({ state: 'selecting' });
  });

  describe('that has ended', () => {
    it('removes its files once, and gives the store a minute for it', async () => {
      await world.run([0]);
      await put({ state: 'cancelled', dueAtMs: world.nowMs });
      const deleted: (readonly [string, number | undefined])[] = [];
      const store = {
        ...world.deps.store,
        delete: async (keys: readonly string[], limits?: { deadlineMs?: number }) => {
          deleted.push(...keys.map((key) => [key, limits?.deadlineMs] as const));
          return new Map();
        },
      };
      const gc = await world.gc();
      // Older versions kept sets beside candidates.
      const names = ['e/candidates-0.txt', 'f/candidates-0.txt', 'f/candidates-1.txt', 'keep-0a'];
      const left = ['long-gone/e/candidates-0.txt', 'long-gone/keep-0b'];
      const keys = [...names.map((name) => `${gc.watch.id}/${name}`), ...left]
        .map((name) => `_gc/${tenant}/${name}`)
        .sort();
      const others = ['other/f/candidates-0.txt', 'sets/keep-0c'].map((name) => `_gc/${tenant}/${name}`);
      for (const key of [...keys, ...others]) await world.deps.archives.put(key, Buffer.of(1));
      expect(await tidyGc({ ...world.deps, store }, { tenant, gc, open: [gc.watch.id, 'other'] })).toBe(
        'done',
      );
      const deadlineMs = world.nowMs + minute;
      expect(deleted).toEqual([reachableSetKey(path), ...keys].map((key) => [key, deadlineMs]));
      deleted.length = 0;
      await tidyGc({ ...world.deps, store }, { tenant, gc: await world.gc(), open: [] });
      expect(deleted).toEqual([]);
    });

    it('without a run is closed, too', async () => {
      await put({ state: 'cancelled', dueAtMs: world.nowMs });
      expect(await advance()).toBe('done');
      expect(await world.gc()).toMatchObject({ dueAtMs: null });
      expect(await world.watch()).toBeUndefined();
    });
  });

  it('is asked for with a request of its own', async () => {
    world.requests.length = 0;
    const wish = { reachableCount: 0, reachableSha256: '', isDryRun: true, isForced: false, minAgeMs: hour };
    const started = await startRun(world.deps, { tenant, repo, ...wish });
    expect(started).toMatchObject({ gc: { run: { ...wish, requestedAtMs: world.nowMs } } });
    expect(started.kind === 'started' && started.gc.run?.id).toMatch(/^\w{16}$/);
    expect(world.requests).toEqual([{ tenant, reason: 'delete', full: false }]);
  });

  it.each([
    ['another run was begun', 'selecting', { kind: 'running', gc: { state: 'selecting' } }],
    ['it was cancelled', 'cancelled', { kind: 'not-open' }],
  ] as const)('is not begun if %s at the same time', async (_, state, outcome) => {
    world.requests.length = 0;
    const putGc = world.gcRuns.put.bind(world.ledger);
    world.gcRuns.put = async (input) => {
      world.gcRuns.put = putGc;
      await put({ state });
      return putGc(input);
    };
    const wish = { reachableCount: 0, reachableSha256: '', isDryRun: true, isForced: false, minAgeMs: 0 };
    expect(await startRun(world.deps, { tenant, repo, ...wish })).toMatchObject(outcome);
    expect(world.requests).toEqual([]);
  });
});
