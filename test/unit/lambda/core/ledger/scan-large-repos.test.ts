import { describe, expect, it, vi } from 'vitest';
import type { RepoRecord } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import { selectLargeRepos } from '../../../../../lambda/core/ledger/scan-large-repos.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { type LargeRepoStack, largeRepoStack } from '../../../../support/memory/large-repo-stack.ts';
import { minute } from '../../../../support/memory/stack.ts';

const week = 7 * 24 * 60 * minute;

describe('the large repos of a tenant', () => {
  const record = (name: string, objectCount: number, isLarge: boolean) =>
    ({
      repo: name,
      objectCount,
      epoch: 1,
      closedAtMs: null,
      ...(isLarge && { large: { sinceEpoch: 1, rescanFromMs: 0 } }),
    }) as Partial<RepoRecord> as RepoRecord;
  const repos = [
    record('giant', 60, true),
    record('shrunk', 19, true),
    record('large', 60, false),
    record('small', 3, false),
  ];
  const select = (more: { due?: string[]; isFull?: boolean; isAwaited?: boolean }) => {
    const { records, names, former } = selectLargeRepos(
      { settings: { largeRepoObjects: 40 } as LargeRepoStack['deps']['settings'] },
      { repos, due: new Set(more.due), isFull: more.isFull ?? false, isAwaited: more.isAwaited ?? false },
    );
    expect([...names]).toEqual(records.map((each) => each.repo));
    return { names: [...names], former };
  };

  it('are counted by shards by every reconcile, and those that have shrunk are listed', () => {
    expect(select({})).toEqual({ names: ['giant'], former: ['shrunk'] });
  });

  it('grow by a large repo that would be listed anyway', () => {
    expect(select({ due: ['large', 'small'] }).names).toEqual(['giant', 'large']);
    expect(select({ due: ['small'] }).names).toEqual(['giant']);
    expect(select({ isFull: true }).names).toEqual(['giant', 'large']);
  });

  it('stay what they are while somebody waits', () => {
    const given = { due: ['large'], isFull: true, isAwaited: true };
    expect(select(given)).toEqual({ names: ['giant', 'shrunk'], former: [] });
  });
});

describe('the LIST requests for shards', () => {
  const two = { repos: ['app', 'web'], shardListsPerHour: 3600 };
  const lists = (found: Awaited<ReturnType<LargeRepoStack['scanLargeRepos']>>) =>
    found?.outcomes.map(({ shardLists }) => shardLists);

  it('of all large repos are charged to a rate of their own', async () => {
    const stack = await largeRepoStack(two);
    stack.nowMs += week;
    const found = await stack.scanLargeRepos();
    expect(lists(found)).toEqual([16, 16]);
    expect(found?.shardsListedUntilMs).toBe(stack.nowMs + 32_000);
  });

  it('cost nothing if there were none', async () => {
    const stack = await largeRepoStack(two);
    const before = { ...(await stack.record()), shardsListedUntilMs: 7 };
    const found = await stack.scanLargeRepos({ before });
    expect([lists(found), found?.shardsListedUntilMs]).toEqual([[0, 0], 7]);
  });

  it('of one reconcile have a bound: what is left after one large repo is for the next', async () => {
    const stack = await largeRepoStack({ ...two, shardListsPerRun: 20 });
    stack.nowMs += week;
    expect(lists(await stack.scanLargeRepos())).toEqual([16, 4]);
  });

  it('are all that is charged: who asks again and again for what never arrives keeps no shard from being scanned', async () => {
    const stack = await largeRepoStack(two);
    const before = { ...(await stack.record()), shardsListedUntilMs: 7 };
    const claimed = { awaitedOidsOf: () => new Set(manyOids) };
    const heads = stack.heads;
    expect((await stack.scanLargeRepos({ ...claimed, before }))?.shardsListedUntilMs).toBe(7);
    expect(stack.heads).toBeGreaterThan(heads);
  });

  describe('have a ceiling for the calendar month', () => {
    const november = Date.UTC(2027, 10, 20);
    /** All shards are due, and so many LISTs were made this month. */
    const inNovember = async (requests: number, shardListsPerMonth = 20) => {
      const stack = await largeRepoStack(two);
      Object.assign(stack.deps, { settings: { ...stack.deps.settings, shardListsPerMonth } });
      stack.nowMs = november;
      const before = { ...(await stack.record()), shardLists: { month: '2027-11', requests } };
      return { stack, before };
    };

    it('and are added up over the reconciles of the month', async () => {
      const { stack, before } = await inNovember(17);
      const warn = vi.spyOn(stack.deps.log, 'warn');
      const found = await stack.scanLargeRepos({ before });
      expect([lists(found), found?.shardLists]).toEqual([[3, 0], { month: '2027-11', requests: 20 }]);
      expect(warn).toHaveBeenCalledWith(expect.stringContaining('are used up'), {
        tenant: before.tenant,
        requests: 20,
      });
    });

    it('and are added up though the reconciles break off, until it is reached', async () => {
      const { stack } = await inNovember(0, 30);
      const { listPage } = stack.objects;
      let left = 0;
      stack.objects.listPage = async (request) => {
        if (left === 0) throw new StoreUnavailableError('The store breaks off.');
        left -= 1;
        return listPage.call(stack.objects, request);
      };
      const counted: (number | undefined)[] = [];
      for (let turn = 0; turn < 5; turn += 1) {
        left = 10;
        await stack.reconcile('manual').catch(() => undefined);
        stack.nowMs += week / 100;
        counted.push((await stack.record()).shardLists?.requests);
      }
      expect(counted.slice(0, 3)).toEqual([10, 20, 30]);
      expect(counted.slice(3)).toEqual([30, 30]);
    });

    it('and are logged as used up once: not before, and not by who makes none', async () => {
      for (const most of [1000, 20]) {
        const { stack, before } = await inNovember(20, most);
        const warn = vi.spyOn(stack.deps.log, 'warn').mockClear();
        await stack.scanLargeRepos({ before });
        expect(warn).not.toHaveBeenCalledWith(expect.stringContaining('are used up'), expect.anything());
        warn.mockRestore();
      }
    });

    it('and begin with the first of them', async () => {
      const { stack, before: october } = await inNovember(1, 1000);
      const { shardLists: _, ...before } = october;
      const listed = await stack.scanLargeRepos({ before });
      expect(listed?.shardLists?.requests).toBeGreaterThan(0);
      const idle = await largeRepoStack(two);
      const { shardLists: __, ...fresh } = await idle.record();
      const found = await idle.scanLargeRepos({ before: fresh });
      expect(lists(found)).toEqual([0, 0]);
      expect(found).not.toHaveProperty('shardLists');
    });

    it('and are none until the next month once it is reached: then the shards are due', async () => {
      const { stack, before } = await inNovember(20);
      const found = await stack.scanLargeRepos({ before });
      expect([lists(found), found?.nextDueAtMs]).toEqual([[0, 0], Date.UTC(2027, 11, 1)]);
      expect(found?.shardLists).toEqual({ month: '2027-11', requests: 20 });
      stack.nowMs = Date.UTC(2027, 11, 1);
      const next = await stack.scanLargeRepos({ before });
      expect([lists(next), next?.shardLists]).toEqual([[16, 4], { month: '2027-12', requests: 20 }]);
    });

    it('and are as many again as soon as it is raised', async () => {
      const { stack, before } = await inNovember(20, 1000);
      const found = await stack.scanLargeRepos({ before });
      expect([lists(found), found?.shardLists]).toEqual([[16, 16], { month: '2027-11', requests: 52 }]);
      expect(found?.nextDueAtMs).toBe(november + week);
    });

    it('and are noted with the count', async () => {
      const { stack } = await inNovember(0);
      await stack.reconcile();
      expect((await stack.record()).shardLists).toEqual({ month: '2027-11', requests: 20 });
    });
  });

  /** Objects that somebody waits for. To ask for them costs as much as 24 LISTs. */
  const manyOids = Array.from({ length: 300 }, (_, index) => (1000 + index).toString(16).padStart(64, 'f'));

  it('are none while somebody waits, or while the rate is overdrawn by more than a minute', async () => {
    const stack = await largeRepoStack(two);
    stack.nowMs += week;
    const before = await stack.record();
    const overdrawn = (ms: number) => ({ before: { ...before, shardsListedUntilMs: stack.nowMs + ms } });
    expect(lists(await stack.scanLargeRepos({ isAwaited: true }))).toEqual([0, 0]);
    expect(lists(await stack.scanLargeRepos(overdrawn(minute + 1)))).toEqual([0, 0]);
    expect(lists(await stack.scanLargeRepos(overdrawn(minute)))).toEqual([16, 16]);
  });
});

describe('further shards are due', () => {
  it('when the first shard of any large repo is, after their round', async () => {
    const stack = await largeRepoStack({ repos: ['app', 'web'] });
    const scannedAtMs = stack.nowMs;
    expect((await stack.scanLargeRepos())?.nextDueAtMs).toBe(scannedAtMs + week);
    stack.nowMs += week;
    await stack.reconcile();
    stack.nowMs += 5;
    expect((await stack.scanLargeRepos())?.nextDueAtMs).toBe(scannedAtMs + 2 * week);
    await stack.changeShard('3', { scannedAtMs: scannedAtMs + 7 }, 'web');
    expect((await stack.scanLargeRepos())?.nextDueAtMs).toBe(scannedAtMs + week + 7);
  });

  it('not before the rate is overdrawn by less than a minute', async () => {
    const stack = await largeRepoStack({ shardListsPerHour: 360, shardListsPerRun: 10 });
    stack.nowMs += week;
    // Ten shards were scanned, at 10 s each. The others are due already.
    expect((await stack.scanLargeRepos())?.nextDueAtMs).toBe(stack.nowMs + 100_000 - minute);
  });

  it('never, without large repos', async () => {
    const stack = await largeRepoStack();
    expect((await stack.scanLargeRepos({ largeRepos: [] }))?.nextDueAtMs).toBeNull();
  });
});
