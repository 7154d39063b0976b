import { describe, expect, it } from 'vitest';
import { pendingWarningsMax, type Warnings } from '../../lambda/alerts/alert-store.ts';
import type { WarningLevel } from '../../lambda/alerts/rules/alerts.ts';
import { onceOpen } from '../support/once-open.ts';
import { tenantName } from './ledger-context.ts';

export function warningsContract(open: () => Promise<Warnings>): void {
  describe('warnings', () => {
    const warnings = onceOpen(open);
    const figures = { atMs: 1_800_000_000_123, storedBytes: 85, limitBytes: 100 };
    const levelWarning = (previousLevel: WarningLevel, level: WarningLevel) =>
      ({ kind: 'level', ...figures, level, previousLevel }) as const;
    const raise = (tenant: string, from: WarningLevel, to: WarningLevel, epoch = 1) =>
      warnings.raiseLevel({ tenant, epoch, warning: levelWarning(from, to) });
    const full = { kind: 'full', ...figures, limitBytes: null } as const;
    const raiseFull = (tenant: string, day: string) => warnings.raiseFull({ tenant, day, warning: full });
    /** Others use the same table. */
    const isPending = async (tenant: string) =>
      (await warnings.listPending({ tenantsMax: 1000 })).includes(tenant);

    it('of a new tenant are none, and its level is 0', async () => {
      const tenant = tenantName();
      expect(await warnings.read(tenant)).toEqual({ level: 0, pending: [] });
      expect(await isPending(tenant)).toBe(false);
    });

    it('are raised with a level, from the level that it was, and numbered', async () => {
      const tenant = tenantName();
      expect(await raise(tenant, 80, 90)).toBe('not-raised');
      expect(await raise(tenant, 0, 80)).toBe('raised');
      expect(await raise(tenant, 0, 80)).toBe('not-raised');
      expect(await raise(tenant, 80, 90)).toBe('raised');
      expect(await raise(tenant, 90, 0)).toBe('raised');
      expect(await raise(tenant, 0, 90)).toBe('raised');
      expect(await warnings.read(tenant)).toEqual({
        level: 90,
        pending: [
          { seq: 1, warning: levelWarning(0, 80) },
          { seq: 2, warning: levelWarning(80, 90) },
          { seq: 3, warning: levelWarning(90, 0) },
          { seq: 4, warning: levelWarning(0, 90) },
        ],
      });
      expect(await isPending(tenant)).toBe(true);
    });

    it('are raised once, however many try at the same time', async () => {
      const tenant = tenantName();
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, index) => raise(tenant, 0, 80, index)),
      );
      expect(outcomes.filter((outcome) => outcome === 'raised')).toHaveLength(1);
      const fulls = await Promise.all(Array.from({ length: 20 }, () => raiseFull(tenant, '2026-11-21')));
      expect(fulls.filter((outcome) => outcome === 'raised')).toHaveLength(1);
      expect((await warnings.read(tenant)).pending.map(({ seq }) => seq)).toEqual([1, 2]);
    });

    it('are not raised by an epoch before the one that changed the level, or that is to be ignored', async () => {
      const tenant = tenantName();
      expect(await raise(tenant, 0, 80, 5)).toBe('raised');
      expect(await raise(tenant, 80, 0, 4)).toBe('not-raised');
      await warnings.ignoreBefore({ tenant, epoch: 8 });
      await warnings.ignoreBefore({ tenant, epoch: 6 });
      expect(await raise(tenant, 80, 0, 7)).toBe('not-raised');
      expect(await raise(tenant, 80, 0, 8)).toBe('raised');
      const other = tenantName();
      await warnings.ignoreBefore({ tenant: other, epoch: 3 });
      expect(await warnings.read(other)).toEqual({ level: 0, pending: [] });
      expect(await raise(other, 0, 80, 2)).toBe('not-raised');
      expect(await raise(other, 0, 80, 3)).toBe('raised');
    });

    it('that a tenant is full are raised once a day', async () => {
      const tenant = tenantName();
      expect(await raiseFull(tenant, '2026-11-21')).toBe('raised');
      expect(await raiseFull(tenant, '2026-11-21')).toBe('not-raised');
      expect(await raiseFull(tenant, '2026-11-20')).toBe('not-raised');
      expect(await raise(tenant, 0, 80)).toBe('raised');
      expect(await raiseFull(tenant, '2026-11-22')).toBe('raised');
      const { pending, level } = await warnings.read(tenant);
      expect(pending.map(({ warning }) => warning.kind)).toEqual(['full', 'level', 'full']);
      expect(pending[0]).toEqual({ seq: 1, warning: full });
      expect(level).toBe(80);
    });

    it('are pending until they are settled, and go on counting', async () => {
      const tenant = tenantName();
      await raise(tenant, 0, 80);
      await raise(tenant, 80, 90);
      await raiseFull(tenant, '2026-11-21');
      await warnings.settle({ tenant, seq: 2 });
      expect((await warnings.read(tenant)).pending).toEqual([{ seq: 3, warning: full }]);
      expect(await isPending(tenant)).toBe(true);
      // Twice, and late.
      await warnings.settle({ tenant, seq: 2 });
      await warnings.settle({ tenant, seq: 1 });
      expect((await warnings.read(tenant)).pending).toHaveLength(1);
      await warnings.settle({ tenant, seq: 3 });
      expect(await warnings.read(tenant)).toEqual({ level: 90, pending: [] });
      expect(await isPending(tenant)).toBe(false);
      await raise(tenant, 90, 80);
      expect((await warnings.read(tenant)).pending.map(({ seq }) => seq)).toEqual([4]);
      expect(await isPending(tenant)).toBe(true);
    });

    it('that are settled while others are raised leave those', async () => {
      const tenant = tenantName();
      await raise(tenant, 0, 80);
      await Promise.all([
        warnings.settle({ tenant, seq: 1 }),
        warnings.settle({ tenant, seq: 1 }),
        raise(tenant, 80, 90),
        raiseFull(tenant, '2026-11-21'),
      ]);
      expect((await warnings.read(tenant)).pending.map(({ seq }) => seq)).toEqual([2, 3]);
    });

    it('are bounded while nobody settles them: the level then stays as it is', async () => {
      const tenant = tenantName();
      for (let index = 0; index < pendingWarningsMax; index += 1)
        expect(await raise(tenant, index % 2 === 0 ? 0 : 80, index % 2 === 0 ? 80 : 0)).toBe('raised');
      expect(await raise(tenant, 0, 80)).toBe('not-raised');
      expect(await raiseFull(tenant, '2026-11-21')).toBe('not-raised');
      await warnings.settle({ tenant, seq: 1 });
      expect(await raise(tenant, 0, 80)).toBe('raised');
      expect((await warnings.read(tenant)).pending.at(-1)?.seq).toBe(pendingWarningsMax + 1);
    });

    it('go with their tenant, and others stay', async () => {
      const [tenant, other] = [tenantName(), tenantName()];
      for (const each of [tenant, other]) await raise(each, 0, 80);
      await warnings.forget(tenant);
      await warnings.forget(tenant);
      expect(await warnings.read(tenant)).toEqual({ level: 0, pending: [] });
      expect([await isPending(tenant), await isPending(other)]).toEqual([false, true]);
    });

    it('are listed for so many tenants at most', async () => {
      for (const tenant of [tenantName(), tenantName(), tenantName()]) await raise(tenant, 0, 80);
      expect(await warnings.listPending({ tenantsMax: 2 })).toHaveLength(2);
    });
  });
}
