import { describe, expect, it } from 'vitest';
import { updateTenant } from '../support/over-settings.ts';
import { unlimitedRepo } from '../support/tenant-record.ts';
import { counted, type LedgerUnderTest, ledgerContext, plainCommit, tenantName } from './ledger-context.ts';

export function tenantContract(open: () => Promise<LedgerUnderTest>): void {
  describe('tenants', () => {
    const { get, create } = ledgerContext(open);
    it('reads back what was created, and refuses to create it again', async () => {
      const tenant = await create({ plan: 'pro', counted: counted(7) });
      const again = { tenant, plan: null, limitBytes: null, createdAtMs: 2, counted: null, dueAtMs: 0 };
      expect(await get().ledger.createTenant(again)).toBe('exists');
      expect(await get().ledger.readTenant(tenant)).toEqual({
        tenant,
        plan: 'pro',
        limitBytes: 100,
        downloadLimitBytes: null,
        createdAtMs: 1,
        settingsVersion: 0,
        committedBytes: 7,
        epoch: 0,
        appliedEpoch: 0,
        floorBaseBytes: 7,
        floorUntilMs: Number.MAX_SAFE_INTEGER,
        deletedBytes: 0,
        notes: new Map(),
        counted: counted(7),
        leaseUntilMs: 0,
        listedUntilMs: 0,
        claimCount: 0,
        deletionCount: 0,
        repoCount: 0,
        overtakenEpoch: 0,
        fullCountedAtMs: 0,
        reservedUntilMs: null,
        repoLimits: new Map(),
        reposMustExist: false,
        lookAtMs: null,
        dueAtMs: 9e15,
        closedAtMs: null,
      });
    });

    it('returns undefined for an unknown tenant', async () => {
      expect(await get().ledger.readTenant(tenantName())).toBeUndefined();
      expect(await updateTenant(get().ledger, { tenant: tenantName(), limitBytes: 1 })).toBeUndefined();
    });

    it('keeps the largest safe integer exact', async () => {
      const tenant = await create({ limitBytes: Number.MAX_SAFE_INTEGER });
      const sumBytes = Number.MAX_SAFE_INTEGER;
      expect(
        await get().ledger.addCommitted({
          tenant,
          repo: unlimitedRepo,
          sumBytes,
          limitBytes: Number.MAX_SAFE_INTEGER,
        }),
      ).toEqual({
        kind: 'added',
      });
      expect((await get().ledger.readTenant(tenant))?.committedBytes).toBe(Number.MAX_SAFE_INTEGER);
    });

    it('changes and removes the limit of downloads, and leaves the counter’s alone', async () => {
      const tenant = await create();
      const before = await get().ledger.readTenant(tenant);
      const changed = await updateTenant(get().ledger, { tenant, downloadLimitBytes: 7 });
      expect(changed).toEqual({ ...before, downloadLimitBytes: 7, settingsVersion: 1 });
      expect(await get().ledger.readTenant(tenant)).toEqual(changed);
      expect(await updateTenant(get().ledger, { tenant, downloadLimitBytes: null })).toEqual({
        ...before,
        settingsVersion: 2,
      });
    });

    it('changes and removes the limit', async () => {
      const tenant = await create();
      expect((await updateTenant(get().ledger, { tenant, limitBytes: 5 }))?.limitBytes).toBe(5);
      expect(
        (await updateTenant(get().ledger, { tenant, limitBytes: null, plan: 'p' }))?.limitBytes,
      ).toBeNull();
      expect((await get().ledger.readTenant(tenant))?.plan).toBe('p');
    });

    it('changes over what was read alone, so a write that lands late undoes no later one', async () => {
      const tenant = await create({ plan: 'pro' });
      const { ledger } = get();
      const first = { tenant, settingsVersion: 0, limitBytes: 5, plan: 'p' };
      expect(await ledger.updateTenant(first)).toMatchObject({
        kind: 'changed',
        tenant: { settingsVersion: 1 },
      });
      const later = { tenant, settingsVersion: 1, plan: 'q' };
      const changed = await ledger.updateTenant(later);
      expect(changed).toMatchObject({ kind: 'changed', tenant: { settingsVersion: 2, plan: 'q' } });
      const now = await ledger.readTenant(tenant);
      expect(changed).toEqual({ kind: 'changed', tenant: now });
      for (const again of [first, later])
        expect(await ledger.updateTenant(again)).toEqual({ kind: 'superseded', tenant: now });
      const limit = { tenant, settingsVersion: 1, repo: 'app', limitBytes: 1 };
      expect(await ledger.setRepoLimit(limit)).toEqual({ kind: 'superseded', tenant: now });
      expect(await ledger.readTenant(tenant)).toEqual(now);
    });

    it('a reconcile that is running keeps nobody from changing the settings', async () => {
      const tenant = await create();
      const { ledger } = get();
      await ledger.beginReconcile({ tenant, holder: 'h', nowMs: 1000, leaseUntilMs: 16_000 });
      expect((await ledger.updateTenant({ tenant, settingsVersion: 0, plan: 'p' })).kind).toBe('changed');
    });

    it('a new limit ends the floor, and a reconcile that is running', async () => {
      const tenant = await create({ counted: counted(50) });
      expect((await get().ledger.readTenant(tenant))?.floorUntilMs).toBe(Number.MAX_SAFE_INTEGER);
      const begin = { tenant, holder: 'h1', nowMs: 1000, leaseUntilMs: 16_000 };
      await get().ledger.beginReconcile(begin);
      await updateTenant(get().ledger, { tenant, plan: 'p' });
      const other = { ...begin, holder: 'h2' };
      expect((await get().ledger.beginReconcile(other)).kind).toBe('busy');
      expect(await updateTenant(get().ledger, { tenant, limitBytes: 200 })).toMatchObject({
        floorUntilMs: 0,
        epoch: 2,
      });
      const commit = { tenant, ...plainCommit, expiredNotes: [], dueAtMs: 9e15 };
      expect(await get().ledger.commitTenant({ ...commit, epoch: 1 })).toEqual({ kind: 'superseded' });
      expect((await get().ledger.beginReconcile(other)).kind).toBe('begun');
    });

    it('lists by name, a page at a time', async () => {
      const names = [await create(), await create(), await create()].sort();
      const all: string[] = [];
      let after: string | undefined;
      for (;;) {
        const page = await get().ledger.listTenants({ pageSize: 2, ...(after && { after }) });
        all.push(...page.map((tenant) => tenant.tenant));
        after = page.at(-1)?.tenant;
        if (page.length < 2) break;
      }
      expect(all.filter((name) => names.includes(name))).toEqual(names);
      expect(all).toEqual([...new Set(all)].sort());
    });
  });
}
