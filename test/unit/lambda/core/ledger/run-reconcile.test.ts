import { beforeEach, describe, expect, it, vi } from 'vitest';
import { deleteRepo, markObject } from '../../../../../lambda/core/ledger/deletes.ts';
import { newDeletion } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import type { ReconcileRequest } from '../../../../../lambda/core/ledger/rules/reconcile-policy.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { cancelGc, openGc, startRun } from '../../../../../lambda/subjects/gc/gc.ts';
import { endedGc, reachableSetKey } from '../../../../../lambda/subjects/gc/rules/gc.ts';
import { takeLock } from '../../../../../lambda/subjects/locks/locks.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

const second = 1000;
const hour = 60 * minute;
const day = 24 * hour;
/** Kept back from the deadline: nothing is begun after that. */
const reserveMs = 70 * second;

describe('a reconcile from the queue', () => {
  let world: MemoryStack;
  const run = (more: Partial<ReconcileRequest> = {}, limitMs = 14 * minute) =>
    runReconcile(world.deps, {
      request: { tenant, reason: 'upload', full: false, ...more },
      deadlineMs: world.nowMs + limitMs,
    });
  /** Whether each reconcile since was full. */
  const fulls: boolean[] = [];
  const open = async (settings: ConstructorParameters<typeof MemoryStack>[0] = {}) => {
    world = new MemoryStack(settings);
    world.put({ [`game/${oidOf(1)}`]: 10, [`art/${oidOf(2)}`]: 20 });
    await world.create(1000);
    fulls.length = 0;
    const { commitTenant } = world.ledger;
    vi.spyOn(world.ledger, 'commitTenant').mockImplementation(async (commit) => {
      fulls.push(commit.fullScannedAtMs !== null);
      return commitTenant.call(world.ledger, commit);
    });
  };
  beforeEach(() => open());

  it('of a tenant that is not there does nothing', async () => {
    expect(await run({ tenant: 'nobody' })).toBe('done');
    expect(world.requests).toEqual([]);
  });

  it('is full from the time on at which a full count is due', async () => {
    world.nowMs = (await world.record()).dueAtMs - 1;
    await run();
    world.nowMs += 1;
    await run({ reason: 'verify' });
    expect(fulls).toEqual([false, true]);
  });

  it('for the schedule is made when it is due, and not made if a full count came first', async () => {
    await run({ reason: 'schedule', full: true });
    await run({ reason: 'schedule', full: false });
    world.nowMs = (await world.record()).dueAtMs;
    await run({ reason: 'schedule', full: true });
    expect(fulls).toEqual([false, true]);
  });

  describe('that finds deletions', () => {
    const mark = async (count: number) => {
      for (let index = 0; index < count; index += 1) {
        const deletion = newDeletion({
          id: `d${index}`,
          repo: 'game',
          objects: new Map([[oidOf(index), 10]]),
          dueAtMs: 0,
        });
        await world.ledger.putDeletion({ tenant, deletion });
      }
    };

    it('runs them until it must keep time for a reconcile, and leaves the others to the next message', async () => {
      await mark(3);
      world.beforeDelete = () => {
        world.nowMs += 10 * second;
      };
      expect(await run({}, reserveMs + 15 * second)).toBe('requeued');
      expect(world.requests).toEqual([{ tenant, reason: 'unfinished', full: false }]);
      expect((await world.deletions()).map(({ state }) => state)).toEqual([
        'deleted',
        'deleted',
        'scheduled',
      ]);
      expect(await run()).toBe('done');
    });

    it('has a full count made once, however many messages the deletions take', async () => {
      await mark(3);
      world.beforeDelete = () => {
        world.nowMs += 20 * second;
      };
      expect(await run({ reason: 'manual', full: true }, reserveMs + 15 * second)).toBe('requeued');
      expect([fulls, world.requests]).toEqual([[true], [{ tenant, reason: 'unfinished', full: false }]]);
    });
  });

  describe('that finds closed repos', () => {
    /** Closes these repos, of one object each, long enough ago to be opened once they are empty. */
    const close = async (...repos: string[]) => {
      for (const repo of repos) {
        world.put({ [`${repo}/${oidOf(7)}`]: 5 });
        await world.ledger.closeRepo({ tenant, repo, closedAtMs: world.nowMs });
      }
      world.nowMs += 2 * minute;
    };
    const left = async () => (await world.keys()).map((key) => key.split('/')[0]);

    it('shows its progress every 20 seconds, and counts in full when they are empty', async () => {
      await close('a', 'b', 'c', 'd');
      world.beforeDelete = () => {
        world.nowMs += 11 * second;
      };
      expect(await run({ reason: 'manual', full: true })).toBe('done');
      // Two repos take longer than 20 seconds, and so do the other two.
      expect(fulls).toEqual([false, false, true]);
      expect(await left()).toEqual(['art', 'game']);
      expect(world.requests).toEqual([]);
    });

    it('has the full count made by the next message if the time is up before they are empty', async () => {
      await close('a', 'b', 'c');
      world.beforeDelete = () => {
        world.nowMs += 11 * second;
      };
      expect(await run({ reason: 'manual', full: true }, reserveMs + 10 * second)).toBe('requeued');
      expect([fulls, world.requests]).toEqual([[false], [{ tenant, reason: 'manual', full: true }]]);
      expect(await left()).toHaveLength(4);
    });

    it('begins nothing at the moment from which it must keep time for a reconcile', async () => {
      await close('a', 'b');
      world.beforeDelete = () => {
        world.nowMs += 25 * second;
      };
      expect(await run({ reason: 'manual' }, reserveMs + 25 * second)).toBe('requeued');
      expect(await left()).toEqual(['art', 'b', 'game']);
    });

    it('is requested again while a repo that is empty cannot be opened yet', async () => {
      await deleteRepo(world.deps, { tenant, repo: 'game', dryRun: false });
      world.requests.length = 0;
      expect(await run({ reason: 'manual', full: true })).toBe('requeued');
      expect([fulls, world.requests]).toEqual([[true], [{ tenant, reason: 'unfinished', full: false }]]);
    });

    it('closes the repos of a tenant that is closed', async () => {
      await world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });
      world.nowMs += 2 * minute;
      expect(await run()).toBe('done');
      expect(await world.keys()).toEqual([]);
    });

    describe('of a tenant that is being deleted', () => {
      const lockIn = async (name: string, count: number) => {
        for (let index = 0; index < count; index += 1) {
          const token = { tokenId: 't', scope: 'write', user: null, label: null } as const;
          await takeLock(world.deps, {
            isRepoKnown: true,
            tenant: name,
            repo: 'game',
            path: `a${index}`,
            token,
          });
        }
      };
      const locksOf = async (name: string) =>
        (await world.deps.locks.listPage({ tenant: name, repo: 'game', pageSize: 100 })).locks.length;
      const note = async (name: string) => {
        const counts = { epoch: 1, storedBytes: 1, objectCount: 1, limitBytes: null };
        await world.deps.history.note({
          tenant: name,
          atMs: world.nowMs,
          ...counts,
          highestBytes: 1,
          highestUsedBytes: 1,
        });
      };
      const daysOf = async (name: string) =>
        (await world.deps.history.days({ tenant: name, from: '0000-01-01', to: '9999-12-31' })).length;
      const webhook = {
        url: 'https://example.com/',
        secret: 's',
        previousSecret: null,
        last: null,
        createdAtMs: 1,
        secretChangedAtMs: 1,
      };
      const alert = { kind: 'limit_reached', atMs: 1, storedBytes: 1, limitBytes: 1 } as const;

      it('removes its warnings, its webhook, its locks and its history, and those of nobody else', async () => {
        const { alerts, webhooks } = world.deps;
        for (const name of [tenant, 'other']) {
          await webhooks.put({ tenant: name, webhook });
          await alerts.raiseFull({ tenant: name, day: '2026-01-01', alert });
          await lockIn(name, 2);
          await note(name);
        }
        await world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });
        world.nowMs += 2 * minute;
        expect(await run()).toBe('done');
        const left = (name: string) =>
          Promise.all([
            webhooks.read(name).then((found) => found !== undefined),
            alerts.read(name).then(({ pending }) => pending.length),
            locksOf(name),
            daysOf(name),
          ]);
        expect(await left(tenant)).toEqual([false, 0, 0, 0]);
        expect(await left('other')).toEqual([true, 1, 2, 1]);
      });

      it('removes nothing of one that is not', async () => {
        await lockIn(tenant, 1);
        await note(tenant);
        await run();
        expect([await locksOf(tenant), await daysOf(tenant)]).toEqual([1, 1]);
      });

      it.each(['locks', 'history'] as const)(
        'goes on with the next message if its %s take longer than there is time',
        async (subject) => {
          await world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });
          world.nowMs += 2 * minute;
          const asked: string[] = [];
          const takeTime = async () => {
            asked.push(subject);
            world.nowMs += 10 * second;
            return { count: 1, paths: ['a'], hasMore: true };
          };
          const { locks, history } = world.deps;
          if (subject === 'locks') vi.spyOn(locks, 'releaseSome').mockImplementation(takeTime);
          else vi.spyOn(history, 'forgetSome').mockImplementation(takeTime);
          const request = { tenant, reason: 'delete', full: false } as const;
          const deadlineMs = world.nowMs + reserveMs + 15 * second;
          expect(await runReconcile(world.deps, { request, deadlineMs })).toBe('requeued');
          expect(asked).toHaveLength(2);
          expect(world.requests).toEqual([{ tenant, reason: 'unfinished', full: false }]);
        },
      );
    });

    it('lists progress no more often than in the background', async () => {
      await open({ reconcileRestMs: 30 * second });
      await close('a', 'b', 'c', 'd', 'e', 'f');
      const scanned: number[] = [];
      const beganMs = world.nowMs;
      const { beginReconcile } = world.ledger;
      world.ledger.beginReconcile = async (input) => {
        scanned.push((world.nowMs - beganMs) / second);
        return beginReconcile.call(world.ledger, input);
      };
      world.beforeDelete = () => {
        world.nowMs += 21 * second;
      };
      expect(await run({ reason: 'manual' })).toBe('done');
      expect(scanned).toEqual([21, 63, 105, 126]);
    });
  });

  it('that is the first of its tenant is one that somebody waits for, whoever requested it', async () => {
    world = new MemoryStack();
    const times = { createdAtMs: 0, dueAtMs: 9e15 };
    await world.ledger.createTenant({ tenant, plan: null, limitBytes: 9, scanned: null, ...times });
    const setDebt = (debtMs: number) =>
      world.ledger.setLease({ tenant, epoch: 0, leaseUntilMs: 0, listedUntilMs: world.nowMs + debtMs });
    await setDebt(hour + 1);
    expect(await run({ reason: 'upload' })).toBe('requeued');
    await setDebt(hour);
    expect(await run({ reason: 'upload' })).toBe('done');
  });

  describe('that cannot be committed', () => {
    it('is requested again, as full as it was, if it was overtaken', async () => {
      vi.spyOn(world.ledger, 'commitTenant').mockResolvedValue({ kind: 'superseded' });
      expect(await run({ reason: 'manual', full: true })).toBe('requeued');
      expect(await run({ reason: 'manual' })).toBe('requeued');
      expect(world.requests).toEqual([
        { tenant, reason: 'manual', full: true },
        { tenant, reason: 'unfinished', full: false },
      ]);
    });

    it('is requested again if its scan did not end in time', async () => {
      expect(await run({ reason: 'manual', full: true }, 0)).toBe('requeued');
      expect(world.requests).toEqual([{ tenant, reason: 'manual', full: true }]);
    });

    it('is done if the tenant is gone by then', async () => {
      vi.spyOn(world.ledger, 'beginReconcile').mockResolvedValue({ kind: 'absent' });
      expect(await run()).toBe('done');
      vi.spyOn(world.ledger, 'beginReconcile').mockResolvedValue({ kind: 'busy', leaseUntilMs: 9e15 });
      const { readTenant } = world.ledger;
      let reads = 0;
      world.ledger.readTenant = async (name) => {
        reads += 1;
        return reads === 1 ? readTenant.call(world.ledger, name) : undefined;
      };
      expect(await run({ reason: 'manual' })).toBe('done');
      expect([reads, world.requests]).toEqual([2, []]);
    });

    it('waits for another that is running, and is then made too', async () => {
      await world.ledger.beginReconcile({
        tenant,
        holder: 'h',
        nowMs: world.nowMs,
        leaseUntilMs: world.nowMs + 5 * second,
      });
      const beganMs = world.nowMs;
      expect(await run({ reason: 'manual' })).toBe('done');
      expect(fulls).toEqual([false]);
      expect(world.nowMs - beganMs).toBeGreaterThanOrEqual(5 * second);
      expect(world.nowMs - beganMs).toBeLessThan(6 * second);
    });

    it.each([
      [1000, 'requeued'],
      [1001, 'done'],
    ] as const)('with %i ms left after another is %s', async (leftMs, expected) => {
      const deadlineMs = world.nowMs + 10 * second;
      vi.spyOn(world.ledger, 'beginReconcile').mockImplementationOnce(async () => {
        world.nowMs = deadlineMs - leftMs - 100;
        return { kind: 'busy', leaseUntilMs: world.nowMs };
      });
      const request = { tenant, reason: 'manual', full: false } as const;
      expect(await runReconcile(world.deps, { request, deadlineMs })).toBe(expected);
    });
  });

  it('waits with a full count for a gc run that has more to do than there is time', async () => {
    await openGc(world.deps, { tenant, repo: 'game' });
    const gc = await world.gcRuns.read({ tenant, repo: 'game' });
    if (!gc) throw new Error('There is no gc run.');
    const { version } = gc;
    const cancelled = endedGc(gc, { state: 'cancelled', nowMs: world.nowMs });
    await world.gcRuns.put({ tenant, gc: cancelled, versionRead: version, writeId: 'w' });
    // The time is up when it comes to the gc run.
    const allRepos = world.ledger.repos.bind(world.ledger);
    const spy = vi.spyOn(world.ledger, 'repos').mockImplementation((name) => {
      world.nowMs += 10 * second;
      return allRepos(name);
    });
    expect(await run({ reason: 'manual', full: true }, reserveMs + 5 * second)).toBe('requeued');
    expect([fulls, world.requests]).toEqual([[false], [{ tenant, reason: 'manual', full: true }]]);
    spy.mockRestore();
    world.requests.length = 0;
    expect(await run({ reason: 'manual', full: true })).toBe('done');
    expect((await world.ledger.readRepo({ tenant, repo: 'game' }))?.watch).toBeUndefined();
  });

  it('goes on with gc runs while other repos are emptied, however long that takes', async () => {
    await openGc(world.deps, { tenant, repo: 'game' });
    await cancelGc(world.deps, { tenant, repo: 'game' });
    for (const repo of ['a', 'b', 'c']) {
      world.put({ [`${repo}/${oidOf(7)}`]: 5 });
      await deleteRepo(world.deps, { tenant, repo, dryRun: false });
    }
    const closeWatch = vi.spyOn(world.ledger, 'closeWatch');
    const closedBefore: number[] = [];
    world.beforeDelete = (key) => {
      if (!key.startsWith(`${tenant}/`)) return;
      closedBefore.push(closeWatch.mock.calls.length);
      world.nowMs += 21 * second;
    };
    await run();
    expect(closedBefore).toEqual([0, 1, 1]);
  });

  describe('beside which something fails', () => {
    const { log, entries } = recordingLog();
    const metrics: string[] = [];
    beforeEach(() => {
      entries.length = 0;
      metrics.length = 0;
      const increment = (name: string) => void metrics.push(name);
      Object.assign(world.deps, { log, metrics: { ...world.deps.metrics, increment } });
    });
    const failures = () => entries.filter(({ level }) => level === 'error').map(({ message }) => message);

    it('takes place in full though a gc run fails, each time', async () => {
      await openGc(world.deps, { tenant, repo: 'game' });
      world.nowMs += day;
      const keep = { reachableCount: 0, reachableSha256: sha256Hex(Buffer.of()) };
      await world.deps.archives.put(reachableSetKey({ tenant, repo: 'game' }), Buffer.of());
      await startRun(world.deps, {
        tenant,
        repo: 'game',
        ...keep,
        isDryRun: false,
        isForced: true,
        minAgeMs: 0,
      });
      vi.spyOn(world.deps.archives, 'put').mockRejectedValue(new StoreUnavailableError('No grant.'));
      for (const sizeBytes of [6, 7, 8]) {
        world.nowMs += hour;
        world.objects.put(`${tenant}/game/${oidOf(3)}`, sizeBytes, undefined, 0);
        expect(await run({ reason: 'manual', full: true })).toBe('done');
        expect(await world.usage()).toEqual({ committedBytes: 30 + sizeBytes, storedBytes: 30 + sizeBytes });
      }
      expect(failures()).toEqual(['delete or gc failed', 'delete or gc failed', 'delete or gc failed']);
      expect(metrics.filter((name) => name === 'ReconcilesFailed')).toHaveLength(3);
    });

    it('takes place in full though deletions fail, which are asked for again', async () => {
      await markObject(world.deps, { tenant, repo: 'game', oid: oidOf(1), dryRun: false });
      world.nowMs += 2 * hour;
      world.put({ [`art/${oidOf(3)}`]: 6 });
      const list = vi
        .spyOn(world.deps.exportJobs, 'list')
        .mockRejectedValue(new TypeError('Of a newer version.'));
      expect(await run({ reason: 'manual', full: true })).toBe('requeued');
      expect(await world.usage()).toMatchObject({ storedBytes: 36 });
      expect(world.requests).toEqual([{ tenant, reason: 'unfinished', full: false }]);
      expect(entries.find(({ level }) => level === 'error')).toMatchObject({
        message: 'delete or gc failed',
        fields: { what: 'deletions' },
      });
      list.mockRestore();
      await run({ reason: 'unfinished' });
      expect(await world.usage()).toMatchObject({ storedBytes: 26 });
    });

    it('takes place in full though a closed repo is not emptied, which is asked for again', async () => {
      await deleteRepo(world.deps, { tenant, repo: 'game', dryRun: false });
      world.requests.length = 0;
      world.nowMs += 2 * minute;
      world.put({ [`art/${oidOf(3)}`]: 6 });
      const deletionsOf = vi.spyOn(world.ledger, 'deletionsOf').mockImplementation(() => {
        throw new TypeError('A mistake of ours.');
      });
      expect(await run({ reason: 'manual', full: true })).toBe('requeued');
      expect(await world.usage()).toMatchObject({ storedBytes: 36 });
      expect(world.requests).toEqual([{ tenant, reason: 'unfinished', full: false }]);
      expect(failures()).toEqual(['delete or gc failed']);
      deletionsOf.mockRestore();
      await run({ reason: 'unfinished' });
      expect(await world.usage()).toMatchObject({ storedBytes: 26 });
    });
  });

  it('requests another if a batch has probably died, so that its room is given back', async () => {
    vi.spyOn(world.ledger, 'issueReservation').mockRejectedValueOnce(new Error('The function died.'));
    await expect(world.push('game', { [oidOf(3)]: 50 })).rejects.toThrow();
    world.requests.length = 0;
    await run({ full: true });
    expect(world.requests).toEqual([]);
    world.nowMs += 2001;
    expect(await run({ full: true })).toBe('done');
    expect(world.requests).toEqual([{ tenant, reason: 'unfinished', full: false }]);
  });
});
