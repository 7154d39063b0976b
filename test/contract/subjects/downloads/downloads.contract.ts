import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  createDynamoDbDownloads,
  type DownloadPlace,
} from '../../../../lambda/subjects/downloads/download-store.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { walk } from '../../../support/walk.ts';
import { type OpenTable, tenantName } from '../../ledger-context.ts';

const novemberMs = Date.UTC(2026, 10, 21, 12);
const dayMs = 86_400_000;

export function downloadsContract(table: OpenTable): void {
  describe('downloads', () => {
    const downloads = onceOpen(async () => createDynamoDbDownloads(await table()));
    const offer = (
      tenant: string,
      bytes: number,
      more: { repo?: string; tokenId?: string; atMs?: number; writeId?: string } = {},
    ) => ({
      tenant,
      writeId: randomBytes(4).toString('hex'),
      bytes,
      objects: 1,
      repo: 'game',
      tokenId: 't1',
      atMs: novemberMs,
      ...more,
    });
    const meter = async (
      tenant: string,
      bytes: number,
      more: Parameters<typeof offer>[2] & { limitBytes?: number } = {},
    ) => {
      const { limitBytes = null, ...rest } = more;
      const each = offer(tenant, bytes, rest);
      const outcome = await downloads.meter({ ...each, limitBytes });
      if (outcome === 'metered') await downloads.addToDay(each);
      return outcome;
    };
    const month = (tenant: string, name = '2026-11') => downloads.month({ tenant, month: name });
    const all = async (tenant: string, range: { from?: string; to?: string; pageSize?: number } = {}) => {
      const { from = '2026-01-01', to = '2026-12-31', pageSize = 2 } = range;
      const pages = await walk(async (after: DownloadPlace | undefined) => {
        const page = await downloads.days({ tenant, from, to, pageSize, ...(after && { after }) });
        return [page.days, page.next];
      });
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(pageSize);
      return pages.flat();
    };

    it('are summed by month, and by day, repo and token', async () => {
      const tenant = tenantName();
      expect(await month(tenant)).toEqual({ bytes: 0, objects: 0 });
      expect(await all(tenant)).toEqual([]);
      for (const more of [{}, {}, { repo: 'film' }, { tokenId: 't2' }, { atMs: novemberMs + dayMs }])
        expect(await meter(tenant, 10, more)).toBe('metered');
      await meter(tenant, 5, { atMs: novemberMs + 30 * dayMs });
      await meter(tenantName(), 7);
      expect(await month(tenant)).toEqual({ bytes: 50, objects: 5 });
      expect(await month(tenant, '2026-12')).toEqual({ bytes: 5, objects: 1 });
      const rows = [
        { day: '2026-11-21', repo: 'film', tokenId: 't1', bytes: 10, objects: 1 },
        { day: '2026-11-21', repo: 'game', tokenId: 't1', bytes: 20, objects: 2 },
        { day: '2026-11-21', repo: 'game', tokenId: 't2', bytes: 10, objects: 1 },
        { day: '2026-11-22', repo: 'game', tokenId: 't1', bytes: 10, objects: 1 },
        { day: '2026-12-21', repo: 'game', tokenId: 't1', bytes: 5, objects: 1 },
      ];
      for (const pageSize of [1, 2, 5, 100]) expect(await all(tenant, { pageSize })).toEqual(rows);
      expect(await all(tenant, { from: '2026-11-22', to: '2026-11-22' })).toEqual(rows.slice(3, 4));
      expect(await all(tenant, { from: '2026-11-22', to: '2026-11-21' })).toEqual([]);
    });

    it('are summed by day within months', async () => {
      const tenant = tenantName();
      const months = ['2026-12', '2026-10', '2026-11'];
      expect(await downloads.months({ tenant, months })).toEqual([]);
      await meter(tenant, 10);
      await meter(tenant, 5, { repo: 'film', tokenId: 't2' });
      await meter(tenant, 7, { atMs: novemberMs + dayMs });
      await meter(tenant, 3, { atMs: novemberMs + 30 * dayMs });
      await meter(tenantName(), 1);
      expect(await downloads.months({ tenant, months })).toEqual([
        {
          month: '2026-11',
          bytes: 22,
          objects: 3,
          days: new Map([
            ['2026-11-21', { bytes: 15, objects: 2 }],
            ['2026-11-22', { bytes: 7, objects: 1 }],
          ]),
        },
        { month: '2026-12', bytes: 3, objects: 1, days: new Map([['2026-12-21', { bytes: 3, objects: 1 }]]) },
      ]);
      expect(await downloads.months({ tenant, months: ['2026-12'] })).toHaveLength(1);
      expect(await meter(tenant, 86, { limitBytes: 100 })).toBe('over-limit');
      expect((await downloads.months({ tenant, months: ['2026-11'] }))[0]?.days.get('2026-11-21')).toEqual({
        bytes: 15,
        objects: 2,
      });
    });

    it('go on after a place that is gone, and never before the first day asked for', async () => {
      const tenant = tenantName();
      for (const atMs of [novemberMs, novemberMs + dayMs]) await meter(tenant, 1, { atMs });
      const range = { tenant, from: '2026-11-22', to: '2026-11-30', pageSize: 10 };
      const dayAfter = async (day: string, repo: string, tokenId: string) =>
        (await downloads.days({ ...range, after: { day, repo, tokenId } })).days.map((found) => found.day);
      expect(await dayAfter('2026-11-01', 'game', 't1')).toEqual(['2026-11-22']);
      expect(await dayAfter('2026-11-22', 'art', 't1')).toEqual(['2026-11-22']);
      expect(await dayAfter('2026-11-22', 'game', '')).toEqual(['2026-11-22']);
      expect(await dayAfter('2026-11-22', 'game', 't1')).toEqual([]);
      expect(await dayAfter('2027', '', '')).toEqual([]);
    });

    it('end at the limit of the month, exactly', async () => {
      const tenant = tenantName();
      expect(await meter(tenant, 101, { limitBytes: 100 })).toBe('over-limit');
      expect(await meter(tenant, 60, { limitBytes: 100 })).toBe('metered');
      expect(await meter(tenant, 41, { limitBytes: 100 })).toBe('over-limit');
      expect(await month(tenant)).toEqual({ bytes: 60, objects: 1 });
      expect(await all(tenant)).toMatchObject([{ bytes: 60, objects: 1 }]);
      expect(await meter(tenant, 40, { limitBytes: 100 })).toBe('metered');
      expect(await meter(tenant, 1, { limitBytes: 100 })).toBe('over-limit');
      expect(await meter(tenant, 0, { limitBytes: 100 })).toBe('metered');
      expect(await meter(tenant, 1, { limitBytes: 50 })).toBe('over-limit');
      expect(await meter(tenant, 100, { limitBytes: 100, atMs: novemberMs + 30 * dayMs })).toBe('metered');
      expect(await meter(tenant, 1000)).toBe('metered');
      expect(await month(tenant)).toEqual({ bytes: 1100, objects: 4 });
    });

    it('of many at once never exceed the limit together', async () => {
      const tenant = tenantName();
      const outcomes = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          meter(tenant, 10, { limitBytes: 100, tokenId: `t${index}` }),
        ),
      );
      expect(outcomes.filter((outcome) => outcome === 'metered')).toHaveLength(10);
      expect(await month(tenant)).toEqual({ bytes: 100, objects: 10 });
      const sums = (await all(tenant, { pageSize: 100 })).reduce((sum, { bytes }) => sum + bytes, 0);
      expect(sums).toBe(100);
    });

    it('without a token are summed by repo and month, apart from the others, and end at the ceiling', async () => {
      const tenant = tenantName();
      const anybody = () => {
        const { tokenId: _, ...others } = offer(tenant, 60);
        return others;
      };
      const meterPublic = (
        bytes: number,
        more: { repo?: string; atMs?: number; limitBytes?: number | null } = {},
      ) => downloads.meterPublic({ ...anybody(), bytes, limitBytes: 100, ...more });
      const sum = (repo = 'game', name = '2026-11') => downloads.publicMonth({ tenant, repo, month: name });
      expect(await sum()).toEqual({ bytes: 0, objects: 0 });
      expect(await meterPublic(101)).toBe('over-limit');
      expect(await meterPublic(60)).toBe('metered');
      expect(await meterPublic(41)).toBe('over-limit');
      expect(await meterPublic(41, { repo: 'film' })).toBe('metered');
      expect(await meterPublic(100, { atMs: novemberMs + 30 * dayMs })).toBe('metered');
      await downloads.correctPublic({ ...anybody(), bytes: -20, objects: -1 });
      expect(await meterPublic(60)).toBe('metered');
      expect(await meterPublic(1)).toBe('over-limit');
      expect(await meterPublic(0)).toBe('metered');
      expect(await sum()).toEqual({ bytes: 100, objects: 2 });
      expect(await meterPublic(1000, { limitBytes: null })).toBe('metered');
      expect(await sum()).toEqual({ bytes: 1100, objects: 3 });
      expect(await sum('film')).toEqual({ bytes: 41, objects: 1 });
      expect(await sum('game', '2026-12')).toEqual({ bytes: 100, objects: 1 });
      expect(await month(tenant)).toEqual({ bytes: 0, objects: 0 });
      expect(await all(tenant)).toEqual([]);
      const atOnce = await Promise.all(Array.from({ length: 20 }, () => meterPublic(10, { repo: 'art' })));
      expect(atOnce.filter((outcome) => outcome === 'metered')).toHaveLength(10);
      expect(await sum('art')).toEqual({ bytes: 100, objects: 10 });
    });

    it('count once, however often their writes are repeated, though the limit is reached by then', async () => {
      const tenant = tenantName();
      // One that begins like that of the correction would be replaced by it, as one of 16 is.
      const first = offer(tenant, 60, { writeId: 'a0000000' });
      for (let attempt = 0; attempt < 3; attempt += 1) {
        expect(await downloads.meter({ ...first, limitBytes: 100 })).toBe('metered');
        await downloads.addToDay(first);
      }
      expect(await month(tenant)).toEqual({ bytes: 60, objects: 1 });
      expect(await all(tenant)).toMatchObject([{ bytes: 60, objects: 1 }]);
      expect(await meter(tenant, 60, { limitBytes: 100 })).toBe('over-limit');
      const { tokenId: _, ...anybody } = first;
      for (let attempt = 0; attempt < 3; attempt += 1) {
        expect(await downloads.meterPublic({ ...anybody, limitBytes: 100 })).toBe('metered');
        await downloads.correctPublic({ ...anybody, bytes: -10, writeId: 'back0000' });
      }
      const sum = { tenant, repo: 'game', month: '2026-11' };
      expect(await downloads.publicMonth(sum)).toEqual({ bytes: 50, objects: 2 });
    });

    it('count once though another batch was metered before the write is repeated', async () => {
      const tenant = tenantName();
      // Write ids that begin with different characters, as 15 of 16 do.
      const [first, second] = ['a0000000', 'b0000000'].map((writeId) => offer(tenant, 40, { writeId }));
      if (!first || !second) throw new Error('There are two.');
      for (const each of [first, second, first, second])
        expect(await downloads.meter({ ...each, limitBytes: 100 })).toBe('metered');
      expect(await month(tenant)).toEqual({ bytes: 80, objects: 2 });
    });
  });
}
