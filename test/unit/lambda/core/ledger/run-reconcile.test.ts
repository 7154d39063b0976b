import { beforeEach, describe, expect, it, vi } from 'vitest';
import { deleteRepo, markObject } from '../../../../../lambda/core/ledger/deletes.ts';
import { newDeletion } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import type { ReconcileRequest } from '../../../../../lambda/core/ledger/rules/reconcile-policy.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import type { Belongings, Chore } from '../../../../../lambda/core/ledger/seams.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

const second = 1000;
const hour = 60 * minute;
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
      const take = async (forgetTenant: Belongings['forgetTenant'], limitMs?: number) => {
        Object.assign(world.deps, { belongings: [{ forgetTenant }] });
        await world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });
        world.nowMs += 2 * minute;
        return run({ reason: 'delete' }, limitMs);
      };

      it('has what belongs to it forgotten, and that of no other', async () => {
        const forgotten: string[] = [];
        await run();
        const forget = async ({ tenant: name }: { tenant: string }) => {
          forgotten.push(name);
          return 'done' as const;
        };
        expect(await take(forget)).toBe('done');
        expect(forgotten).toEqual([tenant]);
      });

      it('goes on with the next message if what belongs to it takes longer than there is time', async () => {
        const asked: number[] = [];
        const forget = async ({ untilMs }: { untilMs: number }) => {
          asked.push(untilMs - world.nowMs);
          return 'unfinished' as const;
        };
        expect(await take(forget, reserveMs + 15 * second)).toBe('requeued');
        expect(asked).toEqual([15 * second]);
        expect(world.requests).toEqual([{ tenant, reason: 'unfinished', full: false }]);
      });
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

  describe('that has chores', () => {
    const advance = (chore: Chore['advance']) =>
      Object.assign(world.deps, { chores: [{ what: 'a chore', advance: chore }] });

    it('waits with a full count for one that has more to do than there is time', async () => {
      let left: 'done' | 'unfinished' = 'unfinished';
      advance(async () => {
        world.nowMs += 10 * second;
        return left;
      });
      expect(await run({ reason: 'manual', full: true }, reserveMs + 5 * second)).toBe('requeued');
      expect([fulls, world.requests]).toEqual([[false], [{ tenant, reason: 'manual', full: true }]]);
      left = 'done';
      expect(await run({ reason: 'manual', full: true })).toBe('done');
      expect(fulls).toEqual([false, true]);
    });

    it('goes on with them while other repos are emptied, however long that takes', async () => {
      for (const repo of ['a', 'b', 'c']) {
        world.put({ [`${repo}/${oidOf(7)}`]: 5 });
        await deleteRepo(world.deps, { tenant, repo, dryRun: false });
      }
      let advanced = 0;
      advance(async () => {
        advanced += 1;
        return 'done';
      });
      const before: number[] = [];
      world.beforeDelete = () => {
        before.push(advanced);
        world.nowMs += 21 * second;
      };
      await run();
      expect(before).toEqual([0, 1, 2]);
    });
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

    it('takes place in full though a chore fails, each time', async () => {
      const advance = () => Promise.reject(new StoreUnavailableError('No grant.'));
      Object.assign(world.deps, { chores: [{ what: 'gc', advance }] });
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
      const { holds } = world.deps;
      const spared = () => Promise.reject(new TypeError('Of a newer version.'));
      Object.assign(world.deps, { holds: [{ spared }] });
      expect(await run({ reason: 'manual', full: true })).toBe('requeued');
      expect(await world.usage()).toMatchObject({ storedBytes: 36 });
      expect(world.requests).toEqual([{ tenant, reason: 'unfinished', full: false }]);
      expect(entries.find(({ level }) => level === 'error')).toMatchObject({
        message: 'delete or gc failed',
        fields: { what: 'deletions' },
      });
      Object.assign(world.deps, { holds });
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
