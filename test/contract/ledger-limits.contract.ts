import { describe, expect, it } from 'vitest';
import { repoLimitsMax } from '../../lambda/domain/tenant.ts';
import { setRepoLimit } from '../support/over-settings.ts';
import { counted, type LedgerUnderTest, ledgerContext, plainCommit, tenantName } from './ledger-context.ts';

const app = 'art/app # 1';

/** Limits of single repos. */
export function limitContract(open: () => Promise<LedgerUnderTest>): void {
  describe('the limit of a repo', () => {
    const { get, create } = ledgerContext(open);
    const limitOf = async (tenant: string, repo = app) =>
      (await get().ledger.readTenant(tenant))?.repoLimits.get(repo);
    const add = async (
      tenant: string,
      {
        sumBytes,
        repoLimitBytes,
        repo = app,
      }: { sumBytes: number; repoLimitBytes: number | null; repo?: string },
    ) => {
      const limits = { limitBytes: 100, repo: { name: repo, limitBytes: repoLimitBytes } };
      return (await get().ledger.addCommitted({ tenant, sumBytes, ...limits })).kind;
    };
    const found = { limitBytes: 50, storedBytes: 20, floorBaseBytes: 15, floorUntilMs: 7 };
    /** Counts the tenant, and what is given of repos that have a limit. */
    const commit = async (tenant: string, corrections: Readonly<Record<string, number>>) => {
      const holder = `h${Math.random()}`;
      const begun = await get().ledger.beginReconcile({ tenant, holder, nowMs: 1, leaseUntilMs: 0 });
      if (begun.kind !== 'begun') throw new Error(begun.kind);
      const repoLimits = new Map(
        Object.entries(corrections).map(([repo, correctionBytes]) => [repo, { ...found, correctionBytes }]),
      );
      const { epoch } = begun;
      const commit = { ...plainCommit, tenant, epoch, dueAtMs: 9, expiredNotes: [], repoLimits };
      return (await get().ledger.commitTenant(commit)).kind;
    };

    it('admits nothing until the repo was counted', async () => {
      const tenant = await create();
      const set = await setRepoLimit(get().ledger, { tenant, repo: app, limitBytes: 50 });
      expect(set?.repoLimits).toEqual(new Map([[app, { limitBytes: 50, counted: null }]]));
      expect(await add(tenant, { sumBytes: 1, repoLimitBytes: 50 })).toBe('refused');
      expect(await commit(tenant, { [app]: 20 })).toBe('committed');
      expect(await limitOf(tenant)).toEqual({
        limitBytes: 50,
        counted: { committedBytes: 20, storedBytes: 20, floorBaseBytes: 15, floorUntilMs: 7 },
      });
      expect(await add(tenant, { sumBytes: 1, repoLimitBytes: 50 })).toBe('added');
    });

    it('is refused if somebody’s claims were found late since it was read, of the tenant or of the repo', async () => {
      const late = { bytes: 70, makers: new Map([['ada.b#c', 9]]), crowd: new Map([['github:7', 8]]) };
      const commitLate = async (tenant: string, of: 'tenant' | 'repo' | 'none') => {
        const holder = `h${Math.random()}`;
        const begun = await get().ledger.beginReconcile({ tenant, holder, nowMs: 1, leaseUntilMs: 0 });
        if (begun.kind !== 'begun') throw new Error(begun.kind);
        const limit = { ...found, correctionBytes: 0, ...(of === 'repo' && { late }) };
        const repoLimits = new Map([[app, limit]]);
        const commit = { ...plainCommit, claimsCounted: 5, ...(of === 'tenant' && { late }), repoLimits };
        const { epoch } = begun;
        await get().ledger.commitTenant({ tenant, epoch, ...commit, dueAtMs: 9, expiredNotes: [] });
      };
      const tenant = await create();
      await setRepoLimit(get().ledger, { tenant, repo: app, limitBytes: 50 });
      const kindOf = async (
        more: { lateMax?: { tenantBytes: number; repoBytes: number }; limitBytes?: 'any' } = {},
      ) => {
        const input = { tenant, sumBytes: 1, limitBytes: 100, repo: { name: app, limitBytes: 50 }, ...more };
        return (await get().ledger.addCommitted(input)).kind;
      };
      const kinds = async () => [
        await kindOf({ lateMax: { tenantBytes: 69, repoBytes: 69 } }),
        await kindOf({ lateMax: { tenantBytes: 70, repoBytes: 70 } }),
        await kindOf(),
        await kindOf({ lateMax: { tenantBytes: 0, repoBytes: 0 }, limitBytes: 'any' }),
      ];
      await commitLate(tenant, 'none');
      expect(await kinds()).toEqual(['added', 'added', 'added', 'added']);
      await commitLate(tenant, 'tenant');
      expect(await get().ledger.readTenant(tenant)).toMatchObject({ late, claimsCounted: 5 });
      expect(await kinds()).toEqual(['refused', 'added', 'added', 'added']);
      await commitLate(tenant, 'repo');
      expect((await get().ledger.readTenant(tenant))?.late).toBeUndefined();
      expect((await limitOf(tenant))?.counted?.late).toEqual(late);
      expect(await kinds()).toEqual(['refused', 'added', 'added', 'added']);
      await commitLate(tenant, 'none');
      expect(await kinds()).toEqual(['added', 'added', 'added', 'added']);
    });

    it('takes no more beside what the caller says that the counters hold at most', async () => {
      const tenant = await create();
      await setRepoLimit(get().ledger, { tenant, repo: app, limitBytes: 50 });
      await commit(tenant, { [app]: 20 });
      const kindOf = async (beforeMax: { tenantBytes?: number; repoBytes?: number }) => {
        const input = { tenant, sumBytes: 1, limitBytes: 100, repo: { name: app, limitBytes: 50 } };
        return (await get().ledger.addCommitted({ ...input, beforeMax })).kind;
      };
      expect([await kindOf({ tenantBytes: -1 }), await kindOf({ repoBytes: 19 })]).toEqual([
        'refused',
        'refused',
      ]);
      expect(await kindOf({ tenantBytes: 0, repoBytes: 20 })).toBe('added');
      expect([await kindOf({ tenantBytes: 0 }), await kindOf({ repoBytes: 20 })]).toEqual([
        'refused',
        'refused',
      ]);
      expect(await kindOf({ tenantBytes: 1, repoBytes: 21 })).toBe('added');
    });

    it('is kept to the byte, beside that of the tenant', async () => {
      const tenant = await create();
      await setRepoLimit(get().ledger, { tenant, repo: app, limitBytes: 50 });
      await commit(tenant, { [app]: 20 });
      expect(await add(tenant, { sumBytes: 31, repoLimitBytes: 50 })).toBe('refused');
      expect((await get().ledger.readTenant(tenant))?.committedBytes).toBe(0);
      expect(await add(tenant, { sumBytes: 30, repoLimitBytes: 50 })).toBe('added');
      expect(await add(tenant, { sumBytes: 0, repoLimitBytes: 50 })).toBe('added');
      expect((await limitOf(tenant))?.counted?.committedBytes).toBe(50);
      expect((await get().ledger.readTenant(tenant))?.committedBytes).toBe(30);
      // Another repo may have the rest of the tenant's.
      expect(await add(tenant, { repo: 'web', sumBytes: 71, repoLimitBytes: null })).toBe('refused');
      expect(await add(tenant, { repo: 'web', sumBytes: 70, repoLimitBytes: null })).toBe('added');
      await setRepoLimit(get().ledger, { tenant, repo: app, limitBytes: 80 });
      await commit(tenant, { [app]: 0 });
      // The commit says what the limit was when it began.
      expect(await add(tenant, { sumBytes: 1, repoLimitBytes: 50 })).toBe('refused');
    });

    it('must be as it was read', async () => {
      const tenant = await create();
      expect(await add(tenant, { sumBytes: 1, repoLimitBytes: 50 })).toBe('refused');
      await setRepoLimit(get().ledger, { tenant, repo: app, limitBytes: 50 });
      await commit(tenant, { [app]: 0 });
      expect(await add(tenant, { sumBytes: 1, repoLimitBytes: null })).toBe('refused');
      expect(await add(tenant, { sumBytes: 1, repoLimitBytes: 51 })).toBe('refused');
      expect(await add(tenant, { sumBytes: 1, repoLimitBytes: 50 })).toBe('added');
    });

    it('does not matter to what has no bytes', async () => {
      const tenant = await create();
      await setRepoLimit(get().ledger, { tenant, repo: app, limitBytes: 0 });
      const repo = { name: app, limitBytes: 0 };
      const outcome = await get().ledger.addCommitted({ tenant, sumBytes: 0, limitBytes: 'any', repo });
      expect(outcome).toEqual({ kind: 'added' });
      expect(await limitOf(tenant)).toEqual({ limitBytes: 0, counted: null });
    });

    it('ends a recount that is running, and what was counted by the one before', async () => {
      const tenant = await create();
      await setRepoLimit(get().ledger, { tenant, repo: app, limitBytes: 50 });
      await commit(tenant, { [app]: 20 });
      const input = { tenant, holder: 'h', nowMs: 1, leaseUntilMs: 5 };
      const begun = await get().ledger.beginReconcile(input);
      const epoch = begun.kind === 'begun' ? begun.epoch : 0;
      await setRepoLimit(get().ledger, { tenant, repo: app, limitBytes: 40 });
      expect(await limitOf(tenant)).toEqual({ limitBytes: 40, counted: null });
      const repoLimits = new Map([[app, { ...found, correctionBytes: 1 }]]);
      const late = { ...plainCommit, tenant, epoch, dueAtMs: 9, expiredNotes: [], repoLimits };
      expect((await get().ledger.commitTenant(late)).kind).toBe('superseded');
      // Nobody waits for the lease of the one that was ended.
      expect((await get().ledger.readTenant(tenant))?.leaseUntilMs).toBe(0);
    });

    it('is lifted with its counter, so that another one begins uncounted', async () => {
      const tenant = await create();
      await setRepoLimit(get().ledger, { tenant, repo: app, limitBytes: 50 });
      await setRepoLimit(get().ledger, { tenant, repo: 'web', limitBytes: 60 });
      await commit(tenant, { [app]: 20, web: 3 });
      const lifted = await setRepoLimit(get().ledger, { tenant, repo: app, limitBytes: null });
      expect([...(lifted?.repoLimits.keys() ?? [])]).toEqual(['web']);
      expect(await add(tenant, { sumBytes: 60, repoLimitBytes: null })).toBe('added');
      const again = await setRepoLimit(get().ledger, { tenant, repo: app, limitBytes: 50 });
      expect(again?.repoLimits.get(app)).toEqual({ limitBytes: 50, counted: null });
      expect(again?.repoLimits.get('web')?.counted?.committedBytes).toBe(3);
    });

    it('fits for as many repos as may have one, in one commit with as many notes as it removes', async () => {
      const tenant = await create({ counted: counted(1) });
      const repos = Array.from({ length: repoLimitsMax }, (_, index) => `teams/games/repo-${index}`);
      for (const repo of repos) await setRepoLimit(get().ledger, { tenant, repo, limitBytes: 50 });
      const ids = Array.from({ length: 100 }, (_, index) => `note-${index}`.padEnd(32, 'x'));
      for (const noteId of ids)
        await get().ledger.announceDelete({ tenant, noteId, note: { repo: app, bytes: 1, deadlineMs: 5 } });
      const begun = await get().ledger.beginReconcile({ tenant, holder: 'h', nowMs: 1, leaseUntilMs: 0 });
      const epoch = begun.kind === 'begun' ? begun.epoch : 0;
      const big = { ...found, storedBytes: 2 ** 52, floorBaseBytes: 2 ** 52, floorUntilMs: 2 ** 52 };
      const repoLimits = new Map(repos.map((repo) => [repo, { ...big, correctionBytes: 2 ** 52 }]));
      const more = { listedUntilMs: 5, shardsListedUntilMs: 6, listedObjectCount: 7, fullCountedAtMs: 8 };
      const commit = { ...plainCommit, ...more, tenant, epoch, dueAtMs: 9, expiredNotes: ids, repoLimits };
      expect((await get().ledger.commitTenant(commit)).kind).toBe('committed');
      const record = await get().ledger.readTenant(tenant);
      expect(record?.notes.size).toBe(0);
      expect(record?.repoLimits.size).toBe(repoLimitsMax);
      for (const limit of record?.repoLimits.values() ?? [])
        expect(limit.counted).toMatchObject({ committedBytes: 2 ** 52, floorBaseBytes: 2 ** 52 });
    });

    it('is none of a tenant that is not there', async () => {
      const input = { tenant: tenantName(), settingsVersion: 0, repo: app, limitBytes: 5 };
      expect(await get().ledger.setRepoLimit(input)).toEqual({ kind: 'absent' });
      expect(await get().ledger.readTenant(input.tenant)).toBeUndefined();
    });

    it('changes over what was read alone, so a write that lands late undoes no later one', async () => {
      const tenant = await create();
      const { ledger } = get();
      const first = { tenant, settingsVersion: 0, repo: app, limitBytes: 5 };
      expect(await ledger.setRepoLimit(first)).toMatchObject({
        kind: 'changed',
        tenant: { settingsVersion: 1 },
      });
      const later = { tenant, settingsVersion: 1, repo: app, limitBytes: 6 };
      const changed = await ledger.setRepoLimit(later);
      expect(changed).toMatchObject({ kind: 'changed', tenant: { settingsVersion: 2 } });
      const now = await ledger.readTenant(tenant);
      expect(changed).toEqual({ kind: 'changed', tenant: now });
      for (const again of [first, later])
        expect(await ledger.setRepoLimit(again)).toEqual({ kind: 'superseded', tenant: now });
      const change = { tenant, settingsVersion: 1, limitBytes: 1, plan: 'p' };
      expect(await ledger.updateTenant(change)).toEqual({ kind: 'superseded', tenant: now });
      expect(await ledger.readTenant(tenant)).toEqual(now);
    });
  });
}
