import { describe, expect, it } from 'vitest';
import { noRefreshState } from '../../lambda/domain/refresh-state.ts';
import { dueOf, type LedgerUnderTest, ledgerContext, plainCommit, reservation } from './ledger-context.ts';

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
      const found = await dueOf(get().ledger, { nowMs: 1000, tenantsMax: 1000 });
      const due = found.map(({ tenant }) => tenant);
      expect(found).toContainEqual({ tenant: old, full: true });
      expect(found).toContainEqual({ tenant: withDead, full: false });
      expect(due).toContain(old);
      expect(due).toContain(withDead);
      expect(due).not.toContain(fresh);
      expect(due.indexOf(withDead)).toBeLessThan(due.indexOf(old));
      expect(await dueOf(get().ledger, { nowMs: 1000, tenantsMax: 1 })).toHaveLength(1);
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
        const found = await dueOf(get().ledger, { nowMs: 1000, tenantsMax: 1000 });
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
      const due = await dueOf(get().ledger, { nowMs: 1000, tenantsMax: 1000 });
      const ours = due.map(({ tenant }) => tenant).filter((name) => [first, second, third].includes(name));
      expect(ours).toEqual([first, second, third]);
    });

    it('are those of a span of time, each with the time since when it is due', async () => {
      // A span that no other test uses.
      const fromMs = 7e12;
      const tenants = [await create(), await create(), await create(), await create()];
      const put = (index: number, afterMs: number) =>
        get().ledger.putReservation({
          tenant: tenants[index] ?? '',
          reservation: reservation(`span${index}.${afterMs}`, { deadAtMs: fromMs + afterMs }),
        });
      for (const [index, afterMs] of [
        [0, 1],
        [1, 2],
        [1, 5],
        [2, 5],
        [3, 5],
      ] as const)
        await put(index, afterMs);
      const within = async (afterMs: number, untilMs: number, tenantsMax: number) => {
        const input = { afterMs: fromMs + afterMs, untilMs: fromMs + untilMs, tenantsMax };
        const found = await get().ledger.dueTenants(input);
        return {
          due: found.due.map(({ tenant, dueAtMs }) => [tenants.indexOf(tenant), dueAtMs - fromMs]),
          untilMs: found.untilMs - fromMs,
        };
      };
      expect(await within(0, 4, 9)).toEqual({
        due: [
          [0, 1],
          [1, 2],
        ],
        untilMs: 4,
      });
      expect(await within(1, 2, 9)).toEqual({ due: [[1, 2]], untilMs: 2 });
      expect(await within(5, 9, 9)).toEqual({ due: [], untilMs: 9 });
      expect(await within(9, 9, 9)).toEqual({ due: [], untilMs: 9 });
      expect(await within(0, 9, 1)).toEqual({ due: [[0, 1]], untilMs: 1 });
      // More than were asked for, as they became due together.
      const together = await within(2, 9, 1);
      expect(together.untilMs).toBe(5);
      expect(together.due.map(([index]) => index).sort()).toEqual([1, 2, 3]);
    });

    it('say what is due: a count, or deletions too', async () => {
      const [counted, deleting] = [await create({ dueAtMs: 6e12 }), await create()];
      await get().ledger.closeRepo({ tenant: deleting, repo: 'app', closedAtMs: 6e12 + 1 });
      const { due } = await get().ledger.dueTenants({ afterMs: 6e12 - 1, untilMs: 6e12 + 1, tenantsMax: 9 });
      expect(due).toEqual([
        { tenant: counted, full: true, deletes: false, dueAtMs: 6e12 },
        { tenant: deleting, full: false, deletes: true, dueAtMs: 6e12 + 1 },
      ]);
    });

    it('how far the schedule has come is kept as it was put last', async () => {
      const { ledger } = get();
      const round = { ...noRefreshState.round, untilMs: 4, doneUntilMs: 3 };
      for (const handedUntilMs of [5, 7, 6]) {
        await ledger.putRefreshState({ handedUntilMs, round });
        expect(await ledger.readRefreshState()).toEqual({ handedUntilMs, round });
      }
    });

    it('are no longer due after a full count', async () => {
      const tenant = await create({ dueAtMs: 10 });
      await get().ledger.beginReconcile({ tenant, holder: 'h', nowMs: 1000, leaseUntilMs: 2000 });
      await get().ledger.commitTenant({ tenant, epoch: 1, ...plainCommit, expiredNotes: [], dueAtMs: 8e14 });
      expect(await dueOf(get().ledger, { nowMs: 1000, tenantsMax: 1000 })).not.toContainEqual({
        tenant,
        full: true,
      });
    });
  });
}
