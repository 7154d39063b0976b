import { describe, expect, it } from 'vitest';
import { createDynamoDbAlerts, pendingAlertsMax } from '../../../../lambda/subjects/alerts/alert-store.ts';
import type { Threshold } from '../../../../lambda/subjects/alerts/rules/alerts.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { type OpenTable, tenantName } from '../../ledger-context.ts';

export function alertsContract(table: OpenTable): void {
  describe('alerts', () => {
    const alerts = onceOpen(async () => createDynamoDbAlerts(await table()));
    const figures = { atMs: 1_800_000_000_123, storedBytes: 85, limitBytes: 100 };
    const thresholdAlert = (previousThreshold: Threshold, threshold: Threshold) =>
      ({ kind: 'threshold', ...figures, threshold, previousThreshold }) as const;
    const raise = (tenant: string, from: Threshold, to: Threshold, epoch = 1) =>
      alerts.crossThreshold({ tenant, epoch, alert: thresholdAlert(from, to) });
    const full = { kind: 'limit_reached', ...figures, limitBytes: null } as const;
    const raiseFull = (tenant: string, day: string) => alerts.raiseFull({ tenant, day, alert: full });
    /** Others use the same table. */
    const isPending = async (tenant: string) =>
      (await alerts.listPending({ tenantsMax: 1000 })).includes(tenant);

    it('of a new tenant are none, and its level is 0', async () => {
      const tenant = tenantName();
      expect(await alerts.read(tenant)).toEqual({ threshold: 0, pending: [] });
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
      expect(await alerts.read(tenant)).toEqual({
        threshold: 90,
        pending: [
          { seq: 1, alert: thresholdAlert(0, 80) },
          { seq: 2, alert: thresholdAlert(80, 90) },
          { seq: 3, alert: thresholdAlert(90, 0) },
          { seq: 4, alert: thresholdAlert(0, 90) },
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
      expect((await alerts.read(tenant)).pending.map(({ seq }) => seq)).toEqual([1, 2]);
    });

    it('are not raised by an epoch before the one that changed the level, or that is to be ignored', async () => {
      const tenant = tenantName();
      expect(await raise(tenant, 0, 80, 5)).toBe('raised');
      expect(await raise(tenant, 80, 0, 4)).toBe('not-raised');
      await alerts.ignoreBefore({ tenant, epoch: 8 });
      await alerts.ignoreBefore({ tenant, epoch: 6 });
      expect(await raise(tenant, 80, 0, 7)).toBe('not-raised');
      expect(await raise(tenant, 80, 0, 8)).toBe('raised');
      const other = tenantName();
      await alerts.ignoreBefore({ tenant: other, epoch: 3 });
      expect(await alerts.read(other)).toEqual({ threshold: 0, pending: [] });
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
      const { pending, threshold } = await alerts.read(tenant);
      expect(pending.map(({ alert }) => alert.kind)).toEqual(['limit_reached', 'threshold', 'limit_reached']);
      expect(pending[0]).toEqual({ seq: 1, alert: full });
      expect(threshold).toBe(80);
    });

    it('are pending until they are settled, and go on counting', async () => {
      const tenant = tenantName();
      await raise(tenant, 0, 80);
      await raise(tenant, 80, 90);
      await raiseFull(tenant, '2026-11-21');
      await alerts.settle({ tenant, seq: 2 });
      expect((await alerts.read(tenant)).pending).toEqual([{ seq: 3, alert: full }]);
      expect(await isPending(tenant)).toBe(true);
      // Twice, and late.
      await alerts.settle({ tenant, seq: 2 });
      await alerts.settle({ tenant, seq: 1 });
      expect((await alerts.read(tenant)).pending).toHaveLength(1);
      await alerts.settle({ tenant, seq: 3 });
      expect(await alerts.read(tenant)).toEqual({ threshold: 90, pending: [] });
      expect(await isPending(tenant)).toBe(false);
      await raise(tenant, 90, 80);
      expect((await alerts.read(tenant)).pending.map(({ seq }) => seq)).toEqual([4]);
      expect(await isPending(tenant)).toBe(true);
    });

    it('that are settled while others are raised leave those', async () => {
      const tenant = tenantName();
      await raise(tenant, 0, 80);
      await Promise.all([
        alerts.settle({ tenant, seq: 1 }),
        alerts.settle({ tenant, seq: 1 }),
        raise(tenant, 80, 90),
        raiseFull(tenant, '2026-11-21'),
      ]);
      expect((await alerts.read(tenant)).pending.map(({ seq }) => seq)).toEqual([2, 3]);
    });

    it('are bounded while nobody settles them: the level then stays as it is', async () => {
      const tenant = tenantName();
      for (let index = 0; index < pendingAlertsMax; index += 1)
        expect(await raise(tenant, index % 2 === 0 ? 0 : 80, index % 2 === 0 ? 80 : 0)).toBe('raised');
      expect(await raise(tenant, 0, 80)).toBe('not-raised');
      expect(await raiseFull(tenant, '2026-11-21')).toBe('not-raised');
      await alerts.settle({ tenant, seq: 1 });
      expect(await raise(tenant, 0, 80)).toBe('raised');
      expect((await alerts.read(tenant)).pending.at(-1)?.seq).toBe(pendingAlertsMax + 1);
    });

    it('go with their tenant, and others stay', async () => {
      const [tenant, other] = [tenantName(), tenantName()];
      for (const each of [tenant, other]) await raise(each, 0, 80);
      await alerts.forget(tenant);
      await alerts.forget(tenant);
      expect(await alerts.read(tenant)).toEqual({ threshold: 0, pending: [] });
      expect([await isPending(tenant), await isPending(other)]).toEqual([false, true]);
    });

    it('are listed for so many tenants at most', async () => {
      for (const tenant of [tenantName(), tenantName(), tenantName()]) await raise(tenant, 0, 80);
      expect(await alerts.listPending({ tenantsMax: 2 })).toHaveLength(2);
    });
  });
}
