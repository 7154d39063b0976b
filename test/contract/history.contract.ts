import { describe, expect, it } from 'vitest';
import type { History } from '../../lambda/history/history-store.ts';
import { type LastRefusal, lastRefusalsMax } from '../../lambda/history/rules/history.ts';
import { onceOpen } from '../support/once-open.ts';
import { tenantName } from './ledger-context.ts';

const noonMs = Date.UTC(2026, 10, 21, 12);
const last: LastRefusal = {
  atMs: noonMs,
  repo: 'game',
  user: 'ada',
  files: 2,
  bytes: 500,
  shortBytes: 400,
  limit: 'tenant',
};
const dayMs = 86_400_000;

export function historyContract(open: () => Promise<History>): void {
  describe('the history', () => {
    const history = onceOpen(open);
    const note = (
      tenant: string,
      epoch: number,
      storedBytes: number,
      more: { atMs?: number; highestBytes?: number } = {},
    ) =>
      history.note({
        tenant,
        epoch,
        storedBytes,
        objectCount: storedBytes / 10,
        atMs: noonMs,
        highestBytes: storedBytes,
        ...more,
      });
    const refuse = (
      tenant: string,
      count: number,
      more: { atMs?: number; storedBytes?: number; last?: LastRefusal } = {},
    ) => history.addRefusals({ tenant, count, atMs: noonMs, storedBytes: 70, objectCount: 7, last, ...more });
    const days = (tenant: string, from = '2026-01-01', to = '2026-12-31') =>
      history.days({ tenant, from, to });
    const point = (day: string, storedBytes: number, maxStoredBytes: number, refusals = 0) => ({
      day,
      storedBytes,
      objectCount: storedBytes / 10,
      maxStoredBytes,
      refusals,
      ...(refusals > 0 && { lastRefusals: [last] }),
    });

    it('has the last count of a day and the highest', async () => {
      const tenant = tenantName();
      expect(await days(tenant)).toEqual([]);
      for (const [index, bytes] of [50, 90, 20, 20, 60].entries())
        expect(await note(tenant, index + 1, bytes)).toBe('noted');
      expect(await days(tenant)).toEqual([point('2026-11-21', 60, 90)]);
      await note(tenant, 6, 10, { highestBytes: 95 });
      expect(await days(tenant)).toEqual([point('2026-11-21', 10, 95)]);
    });

    it('takes no older epoch, whether it is higher or lower, and the same one twice', async () => {
      const tenant = tenantName();
      await note(tenant, 5, 50);
      expect(await note(tenant, 5, 50)).toBe('noted');
      expect(await note(tenant, 4, 90)).toBe('older');
      expect(await note(tenant, 4, 10)).toBe('older');
      expect(await days(tenant)).toEqual([point('2026-11-21', 50, 50)]);
    });

    it('keeps days and tenants apart, and answers a range of days in their order', async () => {
      const tenant = tenantName();
      await note(tenant, 7, 30, { atMs: noonMs + dayMs });
      await note(tenant, 6, 20);
      await note(tenant, 9, 40, { atMs: noonMs + 10 * dayMs });
      await note(tenantName(), 99, 1000);
      const all = [point('2026-11-21', 20, 20), point('2026-11-22', 30, 30), point('2026-12-01', 40, 40)];
      expect(await days(tenant)).toEqual(all);
      expect(await days(tenant, '2026-11-22', '2026-12-01')).toEqual(all.slice(1));
      expect(await days(tenant, '2026-11-21', '2026-11-21')).toEqual(all.slice(0, 1));
      expect(await days(tenant, '2026-11-23', '2026-11-30')).toEqual([]);
      expect(await days(tenant, '2026-11-23', '2026-11-21')).toEqual([]);
    });

    it('adds up refusals, and has what was stored then if nothing was noted yet', async () => {
      const tenant = tenantName();
      await refuse(tenant, 1);
      await refuse(tenant, 4, { storedBytes: 1000 });
      expect(await days(tenant)).toEqual([point('2026-11-21', 70, 70, 5)]);
      expect(await note(tenant, 1, 30)).toBe('noted');
      await refuse(tenant, 2);
      expect(await days(tenant)).toEqual([point('2026-11-21', 30, 70, 7)]);
      await refuse(tenant, 1, { atMs: noonMs + dayMs });
      expect(await days(tenant)).toHaveLength(2);
    });

    it('has the latest of a push and its retries, and no more than a few pushes', async () => {
      const tenant = tenantName();
      await refuse(tenant, 0);
      const later = { ...last, atMs: noonMs + 1, shortBytes: 300 };
      await refuse(tenant, 1, { last: later });
      expect(await days(tenant)).toEqual([{ ...point('2026-11-21', 70, 70, 1), lastRefusals: [later] }]);
      const anonymous = { ...last, user: null, limit: 'repo' as const };
      for (let index = 0; index < 50; index += 1)
        await refuse(tenant, 1, { last: { ...anonymous, atMs: noonMs + 2 + index, repo: `repo-${index}` } });
      const [day] = await days(tenant);
      const kept = day?.lastRefusals ?? [];
      expect(kept).toHaveLength(lastRefusalsMax);
      expect(kept).toContainEqual({ ...anonymous, atMs: noonMs + 51, repo: 'repo-49' });
    });

    it('of many counts and refusals at once has the newest and all', async () => {
      const tenant = tenantName();
      await Promise.all(
        Array.from({ length: 20 }, (_, index) => [
          note(tenant, index + 1, 10 * (index + 1)),
          refuse(tenant, 1, { storedBytes: 0 }),
        ]).flat(),
      );
      const [day] = await days(tenant);
      expect(day).toMatchObject({ storedBytes: 200, maxStoredBytes: 200, refusals: 20 });
    });

    it('is forgotten a part at a time', async () => {
      const [tenant, other] = [tenantName(), tenantName()];
      await note(other, 1, 10);
      for (let index = 0; index < 45; index += 1) await note(tenant, 1, 10, { atMs: noonMs - index * dayMs });
      expect(await history.forgetSome({ tenant, daysMax: 20 })).toEqual({ hasMore: true });
      expect(await days(tenant)).toHaveLength(25);
      expect(await history.forgetSome({ tenant, daysMax: 20 })).toEqual({ hasMore: true });
      expect(await history.forgetSome({ tenant, daysMax: 20 })).toEqual({ hasMore: false });
      expect(await days(tenant)).toEqual([]);
      expect(await history.forgetSome({ tenant, daysMax: 20 })).toEqual({ hasMore: false });
      expect(await days(other)).toHaveLength(1);
    });
  });
}
