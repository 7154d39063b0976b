import { describe, expect, it } from 'vitest';
import { type LedgerUnderTest, ledgerContext, plainCommit, reservation } from './ledger-context.ts';

export function dueContract(open: () => Promise<LedgerUnderTest>): void {
  describe('due tenants', () => {
    const { get, create } = ledgerContext(open);
    it('are those due for a full count, and those with a dead reservation', async () => {
      const fresh = await create({ dueAtMs: 9e14 });
      const old = await create({ dueAtMs: 500 });
      const withDead = await create({ dueAtMs: 9e14 });
      await get().ledger.putReservation({
        tenant: withDead,
        reservation: reservation('r', { deadAtMs: 400 }),
      });
      const found = await get().ledger.dueTenants({ nowMs: 1000, tenantsMax: 1000 });
      const due = found.map(({ tenant }) => tenant);
      expect(found).toContainEqual({ tenant: old, full: true });
      expect(found).toContainEqual({ tenant: withDead, full: false });
      expect(due).toContain(old);
      expect(due).toContain(withDead);
      expect(due).not.toContain(fresh);
      expect(due.indexOf(withDead)).toBeLessThan(due.indexOf(old));
      expect(await get().ledger.dueTenants({ nowMs: 1000, tenantsMax: 1 })).toHaveLength(1);
    });

    it('are those in which uploads are to be looked for, until a count finds them', async () => {
      const commits = [
        { dueAtMs: 8e14, lookAtMs: 900, due: { full: false } },
        { dueAtMs: 900, lookAtMs: 950, due: { full: true } },
        { dueAtMs: 900, lookAtMs: 900, due: { full: true } },
        { dueAtMs: 950, lookAtMs: 900, due: { full: false } },
        { dueAtMs: 8e14, lookAtMs: 1001, due: undefined },
        { dueAtMs: 8e14, lookAtMs: null, due: undefined },
      ];
      const tenant = await create({ dueAtMs: 8e14 });
      for (const [index, { due, ...times }] of commits.entries()) {
        const nowMs = 1000 + index;
        await get().ledger.beginReconcile({ tenant, holder: `h${index}`, nowMs, leaseUntilMs: nowMs });
        const commit = { tenant, epoch: index + 1, ...plainCommit, expiredNotes: [], ...times };
        expect((await get().ledger.commitTenant(commit)).kind).toBe('committed');
        const found = await get().ledger.dueTenants({ nowMs: 1000, tenantsMax: 1000 });
        expect(found.find((each) => each.tenant === tenant)).toEqual(due && { tenant, ...due });
      }
    });

    it('come in the order of what is due longest, whatever else of them is due later', async () => {
      const [first, second, third] = [await create(), await create(), await create()];
      const put = (tenant: string, deadAtMs: number) =>
        get().ledger.putReservation({ tenant, reservation: reservation(`r${deadAtMs}`, { deadAtMs }) });
      // Of the second one, what is due first is put last.
      for (const [tenant, deadAtMs] of [
        [third, 130],
        [second, 300],
        [second, 120],
        [first, 110],
        [first, 200],
      ] as const)
        await put(tenant, deadAtMs);
      const due = await get().ledger.dueTenants({ nowMs: 1000, tenantsMax: 1000 });
      const ours = due.map(({ tenant }) => tenant).filter((name) => [first, second, third].includes(name));
      expect(ours).toEqual([first, second, third]);
    });

    it('are no longer due after a full count', async () => {
      const tenant = await create({ dueAtMs: 10 });
      await get().ledger.beginReconcile({ tenant, holder: 'h', nowMs: 1000, leaseUntilMs: 2000 });
      await get().ledger.commitTenant({ tenant, epoch: 1, ...plainCommit, expiredNotes: [], dueAtMs: 8e14 });
      expect(await get().ledger.dueTenants({ nowMs: 1000, tenantsMax: 1000 })).not.toContainEqual({
        tenant,
        full: true,
      });
    });
  });
}
