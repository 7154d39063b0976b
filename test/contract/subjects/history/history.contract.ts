import { describe, expect, it } from 'vitest';
import { createDynamoDbHistory } from '../../../../lambda/subjects/history/history-store.ts';
import {
  historyWeeksMax,
  type LastRefusal,
  lastRefusalsMax,
} from '../../../../lambda/subjects/history/rules/history.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { type OpenTable, tenantName } from '../../ledger-context.ts';

const noonMs = Date.UTC(2026, 10, 21, 12);
const last: LastRefusal = {
  atMs: noonMs,
  repo: 'game',
  user: 'ada',
  files: 2,
  bytes: 500,
  isAtLeast: false,
  shortBytes: 400,
  limit: 'tenant',
};
const dayMs = 86_400_000;

export function historyContract(table: OpenTable): void {
  describe('the history', () => {
    const history = onceOpen(async () => createDynamoDbHistory(await table()));
    const note = (
      tenant: string,
      epoch: number,
      storedBytes: number,
      more: {
        atMs?: number;
        highestBytes?: number;
        highestUsedBytes?: number;
        limitBytes?: number | null;
      } = {},
    ) =>
      history.note({
        tenant,
        epoch,
        storedBytes,
        objectCount: storedBytes / 10,
        atMs: noonMs,
        highestBytes: storedBytes,
        highestUsedBytes: storedBytes + 5,
        limitBytes: 1000,
        ...more,
      });
    const refuse = (
      tenant: string,
      count: number,
      more: { atMs?: number; storedBytes?: number; limitBytes?: number; last?: LastRefusal } = {},
    ) =>
      history.addRefusals({
        tenant,
        count,
        atMs: noonMs,
        storedBytes: 70,
        objectCount: 7,
        usedBytes: 75,
        limitBytes: 1000,
        last,
        ...more,
      });
    const days = (tenant: string, from = '2026-01-01', to = '2026-12-31') =>
      history.days({ tenant, from, to });
    const point = (day: string, storedBytes: number, maxStoredBytes: number, refusals = 0) => ({
      day,
      storedBytes,
      objectCount: storedBytes / 10,
      maxStoredBytes,
      maxUsedBytes: maxStoredBytes + 5,
      limitBytes: 1000,
      refusals,
      repoRefusals: 0,
      ...(refusals > 0 && { lastRefusals: [last] }),
    });

    it('has the last count of a day and the highest', async () => {
      const tenant = tenantName();
      expect(await days(tenant)).toEqual([]);
      for (const [index, bytes] of [50, 90, 20, 20, 60].entries())
        expect(await note(tenant, index + 1, bytes)).toBe('noted');
      expect(await days(tenant)).toEqual([point('2026-11-21', 60, 90)]);
      await note(tenant, 6, 10, { highestBytes: 95, highestUsedBytes: 100 });
      expect(await days(tenant)).toEqual([point('2026-11-21', 10, 95)]);
    });

    it('has the peaks of what was stored and of what was promised, and the last limit', async () => {
      const tenant = tenantName();
      await note(tenant, 1, 10, { highestBytes: 40, highestUsedBytes: 60, limitBytes: 500 });
      await note(tenant, 2, 10, { highestBytes: 20, highestUsedBytes: 90, limitBytes: null });
      expect(await days(tenant)).toMatchObject([{ maxStoredBytes: 40, maxUsedBytes: 90, limitBytes: null }]);
      await note(tenant, 3, 10, { highestBytes: 50, highestUsedBytes: 70, limitBytes: 700 });
      expect(await days(tenant)).toMatchObject([{ maxStoredBytes: 50, maxUsedBytes: 90, limitBytes: 700 }]);
      await refuse(tenant, 1, { limitBytes: 600 });
      expect(await days(tenant)).toMatchObject([{ maxStoredBytes: 50, maxUsedBytes: 90, limitBytes: 600 }]);
    });

    it('takes no older epoch, whether it is higher or lower, and the same one twice', async () => {
      const tenant = tenantName();
      await note(tenant, 5, 50);
      expect(await note(tenant, 5, 50)).toBe('noted');
      expect(await note(tenant, 4, 90)).toBe('older');
      expect(await note(tenant, 4, 10)).toBe('older');
      expect(await days(tenant)).toEqual([point('2026-11-21', 50, 50)]);
    });

    it('has the hours of a day, and an older epoch changes none, however late it lands', async () => {
      const tenant = tenantName();
      const minute = 60_000;
      await note(tenant, 5, 60, { atMs: noonMs + 10 * minute });
      await note(tenant, 7, 30, { atMs: noonMs + 70 * minute });
      const twelve = { byteSeconds: 0n, peakBytes: 60, lastBytes: 60, lastSecond: 600 };
      const thirteen = { byteSeconds: 36_000n, peakBytes: 60, lastBytes: 30, lastSecond: 600 };
      const hoursOf = async () =>
        (await history.hours({ tenant, from: '2026-11-21', to: '2026-11-21' })).hours;
      const expected = new Map([
        [noonMs, twelve],
        [noonMs + 60 * minute, thirteen],
      ]);
      expect(await hoursOf()).toEqual(expected);
      expect(await note(tenant, 6, 9000, { atMs: noonMs + 20 * minute })).toBe('older');
      expect(await note(tenant, 7, 30, { atMs: noonMs + 70 * minute })).toBe('noted');
      expect(await hoursOf()).toEqual(expected);
      const step = (epoch: number, minutes: number) =>
        history.hasNoted({ tenant, step: { epoch, storedBytes: 30, atMs: noonMs + minutes * minute } });
      expect((await step(7, 70)).isNoted).toBe(true);
      expect((await step(6, 20)).isNoted).toBe(true);
      expect((await step(8, 80)).isNoted).toBe(false);
      const bytesBefore = (minutes: number) =>
        history.bytesBefore({ tenant, atMs: noonMs + minutes * minute });
      expect(await Promise.all([bytesBefore(0), bytesBefore(61), bytesBefore(3000)])).toEqual([0, 60, 30]);
    });

    it('takes all steps of two functions that note at once', async () => {
      const tenant = tenantName();
      await Promise.all(
        [1, 2, 3, 4].map((epoch) => note(tenant, epoch, 10 * epoch, { atMs: noonMs + epoch * 1000 })),
      );
      const { hours, hasNoted } = await history.hours({ tenant, from: '2026-11-21', to: '2026-11-21' });
      expect(hasNoted({ epoch: 4, storedBytes: 40, atMs: noonMs + 4000 })).toBe(true);
      expect(hours.get(noonMs)).toMatchObject({ lastBytes: 40, lastSecond: 4, peakBytes: 40 });
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

    it('tells refusals by the limit of a repo from those by the tenant’s', async () => {
      const tenant = tenantName();
      await refuse(tenant, 2);
      await refuse(tenant, 3, { last: { ...last, limit: 'repo' } });
      expect(await days(tenant)).toMatchObject([{ refusals: 2, repoRefusals: 3 }]);
    });

    it('says that a push had more files if a batch of it was full within ten minutes', async () => {
      const tenant = tenantName();
      const isAtLeast = async () => (await days(tenant))[0]?.lastRefusals?.map((each) => each.isAtLeast);
      await refuse(tenant, 1, { last: { ...last, isAtLeast: true } });
      expect(await isAtLeast()).toEqual([true]);
      const later = (ms: number) => ({ atMs: noonMs + ms, last: { ...last, atMs: noonMs + ms } });
      await refuse(tenant, 1, later(599_999));
      expect(await isAtLeast()).toEqual([true]);
      await refuse(tenant, 1, later(600_000));
      expect(await isAtLeast()).toEqual([false]);
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

    it('has the weeks of repos, each in its place until the year is over, and none of an older epoch', async () => {
      const tenant = tenantName();
      const week = (repo: string, number: number, storedBytes: number, epoch = number) =>
        history.noteWeek({ tenant, repo, epoch, week: number, storedBytes, atMs: noonMs });
      const weeks = (...repos: string[]) => history.weeks({ tenant, repos });
      await week('game', 2900, 10);
      await week('game', 2901, 20);
      await week('game', 2901, 20);
      await week('game', 2900, 99, 2899);
      await week('art', 2901, 7);
      await history.noteWeek({
        tenant: tenantName(),
        repo: 'game',
        epoch: 9,
        week: 1,
        storedBytes: 1,
        atMs: noonMs,
      });
      const found = await weeks('game', 'art', 'none');
      expect([...found.keys()].sort()).toEqual(['art', 'game']);
      expect(found.get('art')).toEqual([{ week: 2901, storedBytes: 7 }]);
      const byWeek = [...(found.get('game') ?? [])].sort((a, b) => a.week - b.week);
      expect(byWeek).toEqual([
        { week: 2900, storedBytes: 10 },
        { week: 2901, storedBytes: 20 },
      ]);
      // It is no day, and goes with the tenant's days or alone.
      expect(await days(tenant)).toEqual([]);
      await history.forgetWeeks({ tenant, repo: 'art' });
      expect([...(await weeks('game', 'art')).keys()]).toEqual(['game']);
      for (let number = 2902; number < 2980; number += 1) await week('game', number, number);
      const kept = (await weeks('game')).get('game') ?? [];
      expect(kept.map((each) => each.week).sort()).toEqual(
        Array.from({ length: historyWeeksMax }, (_, index) => 2979 - historyWeeksMax + 1 + index),
      );
      expect(await history.forgetSome({ tenant, itemsMax: 20 })).toEqual({ hasMore: false });
      expect(await weeks('game')).toEqual(new Map());
    });

    it('has weeks of more repos than one request reads, and of those with long names', async () => {
      const tenant = tenantName();
      const repos = Array.from({ length: 130 }, (_, index) => `${'ü'.repeat(index * 5)}${index}`);
      for (const [index, repo] of repos.entries())
        await history.noteWeek({ tenant, repo, epoch: 1, week: 2900, storedBytes: index, atMs: noonMs });
      const found = await history.weeks({ tenant, repos });
      expect(repos.map((repo) => found.get(repo)?.[0]?.storedBytes)).toEqual(repos.map((_, index) => index));
    });

    it('has sample days apart from the others, put once, and forgets them too', async () => {
      const [tenant, other] = [tenantName(), tenantName()];
      const { maxUsedBytes: _, ...made } = point('2026-11-20', 60, 90);
      await history.putSample({ tenant, days: [made], atMs: noonMs });
      await history.putSample({ tenant, days: [], atMs: noonMs });
      expect(await history.sample(tenant)).toEqual([made]);
      expect(await history.sample(other)).toEqual([]);
      expect(await days(tenant)).toEqual([]);
      expect(await history.forgetSome({ tenant, itemsMax: 20 })).toEqual({ hasMore: false });
      expect(await history.sample(tenant)).toEqual([]);
    });

    it('is forgotten a part at a time', async () => {
      const [tenant, other] = [tenantName(), tenantName()];
      await note(other, 1, 10);
      for (let index = 0; index < 45; index += 1) await note(tenant, 1, 10, { atMs: noonMs - index * dayMs });
      expect(await history.forgetSome({ tenant, itemsMax: 20 })).toEqual({ hasMore: true });
      expect(await days(tenant)).toHaveLength(25);
      expect(await history.forgetSome({ tenant, itemsMax: 20 })).toEqual({ hasMore: true });
      expect(await history.forgetSome({ tenant, itemsMax: 20 })).toEqual({ hasMore: false });
      expect(await days(tenant)).toEqual([]);
      expect(await history.forgetSome({ tenant, itemsMax: 20 })).toEqual({ hasMore: false });
      expect(await days(other)).toHaveLength(1);
    });
  });
}
