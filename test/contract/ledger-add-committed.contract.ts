import { describe, expect, it } from 'vitest';
import { updateTenant } from '../support/over-settings.ts';
import { unlimitedRepo } from '../support/tenant-record.ts';
import { counted, type LedgerUnderTest, ledgerContext, tenantName } from './ledger-context.ts';

export function addCommittedContract(open: () => Promise<LedgerUnderTest>): void {
  describe('addCommitted', () => {
    const { get, create } = ledgerContext(open);
    it('adds up to the limit and not one byte beyond', async () => {
      const tenant = await create();
      expect(
        (await get().ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 60, limitBytes: 100 }))
          .kind,
      ).toBe('added');
      expect(
        (await get().ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 41, limitBytes: 100 }))
          .kind,
      ).toBe('refused');
      expect(
        (await get().ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 40, limitBytes: 100 }))
          .kind,
      ).toBe('added');
      expect((await get().ledger.readTenant(tenant))?.committedBytes).toBe(100);
    });

    it('refuses if the limit has changed since it was read, and returns the tenant as it is now', async () => {
      const tenant = await create();
      await updateTenant(get().ledger, { tenant, limitBytes: 50 });
      const outcome = await get().ledger.addCommitted({
        tenant,
        repo: unlimitedRepo,
        sumBytes: 1,
        limitBytes: 100,
      });
      expect(outcome).toMatchObject({ kind: 'refused', tenant: { limitBytes: 50, committedBytes: 0 } });
      await updateTenant(get().ledger, { tenant, limitBytes: null });
      expect(
        (await get().ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 1, limitBytes: 50 })).kind,
      ).toBe('refused');
      expect(
        (await get().ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 1, limitBytes: null }))
          .kind,
      ).toBe('added');
    });

    it('refuses a tenant with a limit until it was counted, but not one without a limit', async () => {
      const tenant = await create({ counted: null });
      expect(
        (await get().ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 1, limitBytes: 100 })).kind,
      ).toBe('refused');
      await updateTenant(get().ledger, { tenant, limitBytes: null });
      expect(
        (await get().ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 1, limitBytes: null }))
          .kind,
      ).toBe('added');
    });

    it('refuses a sum beyond 2^53 − 1 rather than rounding it', async () => {
      const tenant = await create({ limitBytes: null, counted: counted(10) });
      const sumBytes = Number.MAX_SAFE_INTEGER;
      expect(
        (await get().ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes, limitBytes: null })).kind,
      ).toBe('refused');
    });

    it('counts reservations and claims with the bytes, up to a million', async () => {
      const tenant = await create();
      const add = async (claimCount: number) =>
        (
          await get().ledger.addCommitted({
            tenant,
            repo: unlimitedRepo,
            sumBytes: 1,
            limitBytes: 100,
            claimCount,
          })
        ).kind;
      expect([await add(999_990), await add(11), await add(10), await add(0), await add(1)]).toEqual([
        'added',
        'refused',
        'added',
        'added',
        'refused',
      ]);
      expect(await get().ledger.readTenant(tenant)).toMatchObject({
        claimCount: 1_000_000,
        committedBytes: 3,
      });
    });

    it('counts no more of them than the caller lets it', async () => {
      const tenant = await create();
      const add = async (claimsMax: number, limitBytes: 100 | 'any') =>
        (
          await get().ledger.addCommitted({
            tenant,
            repo: unlimitedRepo,
            sumBytes: 0,
            limitBytes,
            claimCount: 3,
            claimsMax,
          })
        ).kind;
      const answers = [await add(3, 100), await add(5, 100), await add(5, 'any'), await add(6, 'any')];
      expect(answers).toEqual(['added', 'refused', 'refused', 'added']);
      expect(await get().ledger.readTenant(tenant)).toMatchObject({ claimCount: 6 });
    });

    it('takes what has no bytes above any limit, while the tenant is open', async () => {
      const tenant = await create({ limitBytes: 5, counted: null });
      const add = async () =>
        (
          await get().ledger.addCommitted({
            tenant,
            repo: unlimitedRepo,
            sumBytes: 0,
            limitBytes: 'any',
            claimCount: 2,
          })
        ).kind;
      expect(await add()).toBe('added');
      expect(await get().ledger.readTenant(tenant)).toMatchObject({ claimCount: 2, committedBytes: 0 });
      await get().ledger.closeTenant({ tenant, closedAtMs: 1 });
      expect(await add()).toBe('refused');
    });

    it('returns absent for an unknown tenant', async () => {
      expect(
        await get().ledger.addCommitted({
          tenant: tenantName(),
          repo: unlimitedRepo,
          sumBytes: 1,
          limitBytes: 1,
        }),
      ).toEqual({
        kind: 'absent',
      });
    });

    it('admits exactly what fits of many at a time', async () => {
      const tenant = await create({ limitBytes: 100 });
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, () =>
          get().ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 10, limitBytes: 100 }),
        ),
      );
      expect(outcomes.filter((outcome) => outcome.kind === 'added')).toHaveLength(10);
      expect((await get().ledger.readTenant(tenant))?.committedBytes).toBe(100);
    });
  });
}
