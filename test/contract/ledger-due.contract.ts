import { describe, expect, it } from 'vitest';
import { noRefreshState } from '../../lambda/core/ledger/rules/reconcile-policy.ts';
import { ledgerContext, type OpenTable } from './ledger-context.ts';

export function dueContract(table: OpenTable): void {
  describe('due tenants', () => {
    const { ledger, create, reserve, begin, commit, dueAt } = ledgerContext(table);
    const dueTenants = async (tenantsMax: number) =>
      (await ledger.dueTenants({ untilMs: 1000, tenantsMax })).due.map(({ tenant }) => tenant);

    it('are those due for a full count, and those with a lapsed reservation', async () => {
      const fresh = await create({ dueAtMs: 9e14 });
      const old = await create({ dueAtMs: 500 });
      const withLapsed = await create({ dueAtMs: 9e14 });
      await reserve(withLapsed, 'r', { lapsedAtMs: 400 });
      const found = [await dueAt(old, 1000), await dueAt(withLapsed, 1000), await dueAt(fresh, 1000)];
      expect(found).toEqual(['all', 'some', 'nothing']);
      const due = await dueTenants(1000);
      expect(due.indexOf(withLapsed)).toBeLessThan(due.indexOf(old));
      expect(await dueTenants(1)).toHaveLength(1);
    });

    it('are those in which uploads are to be looked for, until a count finds them', async () => {
      const tenant = await create({ dueAtMs: 8e14 });
      for (const [index, [dueAtMs, lookAtMs, due]] of (
        [
          [8e14, 900, 'some'],
          [900, 950, 'all'],
          [900, 900, 'all'],
          [950, 900, 'some'],
          [8e14, 1001, 'nothing'],
          [8e14, null, 'nothing'],
        ] as const
      ).entries()) {
        await begin(tenant);
        expect((await commit(tenant, index + 1, { dueAtMs, lookAtMs })).kind).toBe('committed');
        expect(await dueAt(tenant, 1000), `${dueAtMs} ${lookAtMs}`).toBe(due);
      }
    });

    it('are no longer due after a full count', async () => {
      const tenant = await create({ dueAtMs: 10 });
      await begin(tenant);
      await commit(tenant, 1, { dueAtMs: 8e14 });
      expect(await dueAt(tenant, 1000)).toBe('nothing');
    });

    it('come in the order of what is due longest, whatever else of them is due later', async () => {
      const [first, second, third] = [await create(), await create(), await create()];
      // Of the second one, what is due first is put last.
      for (const [tenant, lapsedAtMs] of [
        [third, 130],
        [second, 300],
        [second, 120],
        [first, 110],
        [first, 200],
      ] as const)
        await reserve(tenant, `r${lapsedAtMs}`, { lapsedAtMs });
      const ours = (await dueTenants(1000)).filter((name) => [first, second, third].includes(name));
      expect(ours).toEqual([first, second, third]);
    });

    it('are those of a span of time, each with the time since when it is due', async () => {
      // A span that no other test uses.
      const fromMs = 7e12;
      const tenants = [await create(), await create(), await create(), await create()];
      for (const [index, afterMs] of [
        [0, 1],
        [1, 2],
        [1, 5],
        [2, 5],
        [3, 5],
      ] as const)
        await reserve(tenants[index] ?? '', `span${index}.${afterMs}`, { lapsedAtMs: fromMs + afterMs });
      const within = async (afterMs: number, untilMs: number, tenantsMax: number) => {
        const input = { afterMs: fromMs + afterMs, untilMs: fromMs + untilMs, tenantsMax };
        const found = await ledger.dueTenants(input);
        const due = found.due.map(({ tenant, dueAtMs }) => [tenants.indexOf(tenant), dueAtMs - fromMs]);
        return [found.untilMs - fromMs, ...due.sort()];
      };
      expect(await within(0, 4, 9)).toEqual([4, [0, 1], [1, 2]]);
      expect(await within(1, 2, 9)).toEqual([2, [1, 2]]);
      expect(await within(5, 9, 9)).toEqual([9]);
      expect(await within(9, 9, 9)).toEqual([9]);
      expect(await within(0, 9, 1)).toEqual([1, [0, 1]]);
      // More than were asked for, as they became due together.
      expect(await within(2, 9, 1)).toEqual([5, [1, 5], [2, 5], [3, 5]]);
    });

    it('say what is due: a count, or deletions too', async () => {
      const [scanned, deleting] = [await create({ dueAtMs: 6e12 }), await create()];
      await ledger.closeRepo({ tenant: deleting, repo: 'app', closedAtMs: 6e12 + 1 });
      const { due } = await ledger.dueTenants({ afterMs: 6e12 - 1, untilMs: 6e12 + 1, tenantsMax: 9 });
      expect(due).toEqual([
        { tenant: scanned, full: true, deletes: false, dueAtMs: 6e12 },
        { tenant: deleting, full: false, deletes: true, dueAtMs: 6e12 + 1 },
      ]);
    });

    it('are handed over by a schedule that keeps how far it has come as it was put last', async () => {
      const round = { ...noRefreshState.round, untilMs: 4, doneUntilMs: 3 };
      for (const handedUntilMs of [5, 7, 6]) {
        await ledger.putRefreshState({ handedUntilMs, round });
        expect(await ledger.readRefreshState()).toEqual({ handedUntilMs, round });
      }
    });
  });
}
