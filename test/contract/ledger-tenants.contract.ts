import { describe, expect, it } from 'vitest';
import { newTenant } from '../support/ledger-records.ts';
import { updateTenant } from '../support/over-settings.ts';
import { walk } from '../support/walk.ts';
import { ledgerContext, type OpenTable, scanned, tenantName } from './ledger-context.ts';

export function tenantContract(table: OpenTable): void {
  describe('tenants', () => {
    const { ledger, create, begin, commit } = ledgerContext(table);
    it('reads back what was created, and refuses to create it again', async () => {
      const tenant = await create({ plan: 'pro', scanned: scanned(7) });
      expect(await ledger.createTenant(newTenant(tenant, { dueAtMs: 0 }))).toBe('exists');
      expect(await ledger.readTenant(tenant)).toEqual({
        tenant,
        plan: 'pro',
        limitBytes: 100,
        downloadLimitBytes: null,
        createdAtMs: 1,
        settingsVersion: 0,
        committedBytes: 7,
        epoch: 0,
        appliedEpoch: 0,
        confirmedBaseBytes: 7,
        confirmedUntilMs: Number.MAX_SAFE_INTEGER,
        deletedBytes: 0,
        intents: new Map(),
        scanned: scanned(7),
        leaseUntilMs: 0,
        listedUntilMs: 0,
        entryCount: 0,
        deletionCount: 0,
        repoCount: 0,
        overtakenEpoch: 0,
        fullScannedAtMs: 0,
        reservedUntilMs: null,
        repoLimits: new Map(),
        reposMustExist: false,
        storageClass: null,
        suspended: null,
        suspendedMessage: null,
        lookAtMs: null,
        dueAtMs: 9e15,
        closedAtMs: null,
      });
    });

    it('returns undefined for an unknown tenant', async () => {
      expect(await ledger.readTenant(tenantName())).toBeUndefined();
      expect(await updateTenant(ledger, { tenant: tenantName(), limitBytes: 1 })).toBeUndefined();
    });

    it('changes and removes the limit of downloads, and leaves the counter’s alone', async () => {
      const tenant = await create();
      const before = await ledger.readTenant(tenant);
      const changed = await updateTenant(ledger, { tenant, downloadLimitBytes: 7 });
      expect(changed).toEqual({ ...before, downloadLimitBytes: 7, settingsVersion: 1 });
      expect(await ledger.readTenant(tenant)).toEqual(changed);
      expect(await updateTenant(ledger, { tenant, downloadLimitBytes: null })).toEqual({
        ...before,
        settingsVersion: 2,
      });
    });

    it('changes and removes the limit', async () => {
      const tenant = await create();
      expect((await updateTenant(ledger, { tenant, limitBytes: 5 }))?.limitBytes).toBe(5);
      expect((await updateTenant(ledger, { tenant, limitBytes: null, plan: 'p' }))?.limitBytes).toBeNull();
      expect((await ledger.readTenant(tenant))?.plan).toBe('p');
    });

    it('a reconcile that is running keeps nobody from changing the settings', async () => {
      const tenant = await create();
      await begin(tenant);
      expect((await ledger.updateTenant({ tenant, settingsVersion: 0, plan: 'p' })).kind).toBe('changed');
    });

    it('a new limit ends the confirmed usage, and a reconcile that is running', async () => {
      const tenant = await create({ scanned: scanned(50) });
      expect((await ledger.readTenant(tenant))?.confirmedUntilMs).toBe(Number.MAX_SAFE_INTEGER);
      await begin(tenant);
      await updateTenant(ledger, { tenant, plan: 'p' });
      expect((await begin(tenant)).kind).toBe('busy');
      expect(await updateTenant(ledger, { tenant, limitBytes: 200 })).toMatchObject({
        confirmedUntilMs: 0,
        epoch: 2,
      });
      expect(await commit(tenant, 1)).toEqual({ kind: 'superseded' });
      expect((await begin(tenant)).kind).toBe('begun');
    });

    it('lists by name, a page at a time', async () => {
      const names = [await create(), await create(), await create()].sort();
      const pages = await walk(async (after: string | undefined) => {
        const page = await ledger.listTenants({ pageSize: 2, ...(after && { after }) });
        return [page.map(({ tenant }) => tenant), page.length < 2 ? null : (page.at(-1)?.tenant ?? null)];
      });
      const all = pages.flat();
      expect(all.filter((name) => names.includes(name))).toEqual(names);
      expect(all).toEqual([...new Set(all)].sort());
    });
  });

  describe('a change of a setting', () => {
    const { ledger, create } = ledgerContext(table);
    const plan = (tenant: string, settingsVersion: number, text: string) =>
      ledger.updateTenant({ tenant, settingsVersion, plan: text });
    const limit = (tenant: string, settingsVersion: number, text: string) =>
      ledger.setRepoLimit({ tenant, settingsVersion, repo: text, limitBytes: 5 });

    it.each([
      ['of the tenant', plan, limit],
      ['of the limit of a repo', limit, plan],
    ])(
      '%s is made over what was read alone, so one that lands late undoes no later one',
      async (_, set, other) => {
        const tenant = await create({ plan: 'pro' });
        expect(await set(tenant, 0, 'first')).toMatchObject({
          kind: 'changed',
          tenant: { settingsVersion: 1 },
        });
        const changed = await set(tenant, 1, 'later');
        const now = await ledger.readTenant(tenant);
        expect(changed).toEqual({ kind: 'changed', tenant: now });
        expect(now?.settingsVersion).toBe(2);
        for (const unconfirmed of [
          set(tenant, 0, 'first'),
          set(tenant, 1, 'later'),
          other(tenant, 1, 'another'),
        ])
          expect(await unconfirmed).toEqual({ kind: 'superseded', tenant: now });
        expect(await ledger.readTenant(tenant)).toEqual(now);
      },
    );
  });
}
