import { describe, expect, it } from 'vitest';
import { updateTenant } from '../support/over-settings.ts';
import { unlimitedRepo } from '../support/tenant-record.ts';
import { ledgerContext, type OpenTable, scanned, tenantName } from './ledger-context.ts';

export function addCommittedContract(table: OpenTable): void {
  describe('addCommitted', () => {
    const { ledger, create, add } = ledgerContext(table);

    it('adds up to the limit and not one byte beyond', async () => {
      const tenant = await create();
      expect([await add(tenant, 60), await add(tenant, 41), await add(tenant, 40)]).toEqual([
        'added',
        'refused',
        'added',
      ]);
      expect((await ledger.readTenant(tenant))?.committedBytes).toBe(100);
    });

    it('refuses if the limit has changed since it was read, and returns the tenant as it is now', async () => {
      const tenant = await create();
      await updateTenant(ledger, { tenant, limitBytes: 50 });
      const input = { tenant, repo: unlimitedRepo, sumBytes: 1, limitBytes: 100 };
      expect(await ledger.addCommitted(input)).toMatchObject({
        kind: 'refused',
        tenant: { limitBytes: 50, committedBytes: 0 },
      });
      await updateTenant(ledger, { tenant, limitBytes: null });
      expect(await add(tenant, 1, { limitBytes: 50 })).toBe('refused');
      expect(await add(tenant, 1, { limitBytes: null })).toBe('added');
    });

    it('refuses a tenant with a limit until it was counted, but not one without a limit', async () => {
      const tenant = await create({ scanned: null });
      expect(await add(tenant, 1)).toBe('refused');
      await updateTenant(ledger, { tenant, limitBytes: null });
      expect(await add(tenant, 1, { limitBytes: null })).toBe('added');
    });

    it('adds up to 2^53 − 1, exactly, and refuses what is beyond rather than rounding it', async () => {
      const [limitBytes, sumBytes] = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
      const tenant = await create({ limitBytes });
      expect(await add(tenant, sumBytes, { limitBytes })).toBe('added');
      expect((await ledger.readTenant(tenant))?.committedBytes).toBe(Number.MAX_SAFE_INTEGER);
      const unlimited = await create({ limitBytes: null, scanned: scanned(10) });
      expect(await add(unlimited, sumBytes, { limitBytes: null })).toBe('refused');
    });

    it('counts reservations and entries with the bytes, up to a million', async () => {
      const tenant = await create();
      const kinds = [];
      for (const entryCount of [999_990, 11, 10, 0, 1]) kinds.push(await add(tenant, 1, { entryCount }));
      expect(kinds).toEqual(['added', 'refused', 'added', 'added', 'refused']);
      expect(await ledger.readTenant(tenant)).toMatchObject({ entryCount: 1_000_000, committedBytes: 3 });
    });

    it('counts no more of them than the caller lets it', async () => {
      const tenant = await create();
      const kinds = [];
      for (const [entriesMax, limitBytes] of [
        [3, 100],
        [5, 100],
        [5, 'any'],
        [6, 'any'],
      ] as const)
        kinds.push(await add(tenant, 0, { limitBytes, entryCount: 3, entriesMax }));
      expect(kinds).toEqual(['added', 'refused', 'refused', 'added']);
      expect(await ledger.readTenant(tenant)).toMatchObject({ entryCount: 6 });
    });

    it('takes what has no bytes above any limit, while the tenant is open', async () => {
      const tenant = await create({ limitBytes: 5, scanned: null });
      const empty = { limitBytes: 'any', entryCount: 2 } as const;
      expect(await add(tenant, 0, empty)).toBe('added');
      expect(await ledger.readTenant(tenant)).toMatchObject({ entryCount: 2, committedBytes: 0 });
      await ledger.closeTenant({ tenant, closedAtMs: 1 });
      expect(await add(tenant, 0, empty)).toBe('refused');
    });

    it('returns absent for an unknown tenant', async () => {
      expect(await add(tenantName(), 1)).toBe('absent');
    });

    it('admits exactly what fits of many at a time', async () => {
      const tenant = await create();
      const kinds = await Promise.all(Array.from({ length: 50 }, () => add(tenant, 10)));
      expect(kinds.filter((kind) => kind === 'added')).toHaveLength(10);
      expect((await ledger.readTenant(tenant))?.committedBytes).toBe(100);
    });
  });
}
