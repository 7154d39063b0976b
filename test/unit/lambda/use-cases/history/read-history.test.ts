import { describe, expect, it } from 'vitest';
import { dayAfter } from '../../../../../lambda/rules/text.ts';
import {
  forecastFrom,
  forecastNow,
  readHistory,
} from '../../../../../lambda/use-cases/history/read-history.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { MemoryDownloads, MemoryHistory } from '../../../../support/memory/stores.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const tenant = 'acme';
// 2027-01-15.
const clock = new ManualClock();
const today = '2027-01-15';
const atDay = (day: string) => Date.parse(`${day}T12:00:00Z`);

async function world(stored: Readonly<Record<string, number>>) {
  const [history, downloads] = [new MemoryHistory(), new MemoryDownloads()];
  for (const [day, storedBytes] of Object.entries(stored))
    await history.note({
      tenant,
      atMs: atDay(day),
      epoch: 1,
      storedBytes,
      objectCount: 1,
      highestBytes: storedBytes,
    });
  const nowBytes = Object.values(stored).at(-1) ?? 0;
  const record = tenantRecord({
    tenant,
    limitBytes: 1000,
    counted: { storedBytes: nowBytes, objectCount: 1, countedAtMs: clock.nowMs() },
  });
  const read = (range: { from?: string; to?: string } = {}) =>
    readHistory({ history, downloads, clock }, { tenant: record, ...range });
  return { history, downloads, record, read };
}

describe('the history', () => {
  it('is that of the last 30 days, unless others are asked for', async () => {
    const { read } = await world({ '2026-10-01': 5, '2027-01-10': 7 });
    const { from, to, days } = await read();
    expect([from, to, days.length]).toEqual(['2026-12-17', today, 30]);
    expect(days[0]).toMatchObject({ day: '2026-12-17', storedBytes: 5, isCarried: true });
    expect(days.at(-1)).toMatchObject({ day: today, storedBytes: 7 });
    expect(await read({ to: '2026-10-02' })).toMatchObject({ from: '2026-09-03', to: '2026-10-02' });
    expect((await read({ to: '2026-10-02' })).days.map(({ day }) => day)).toEqual([
      '2026-10-01',
      '2026-10-02',
    ]);
    expect((await read({ from: '2027-01-10', to: '2027-01-10' })).days).toHaveLength(1);
  });

  it('has what is kept, and nothing of the future', async () => {
    const old = dayAfter(today, -400);
    const { read } = await world({ [old]: 5, [dayAfter(today, -399)]: 6 });
    const { from, to, days } = await read({ from: '0001-01-01', to: '9999-12-31' });
    expect([from, to]).toEqual([dayAfter(today, -399), today]);
    expect(days).toHaveLength(400);
    expect(days[0]).toMatchObject({ storedBytes: 6 });
    expect((await read({ from: '2030-01-01' })).days).toEqual([]);
    expect((await read({ from: '2027-01-10', to: '2027-01-01' })).days).toEqual([]);
    expect((await read({ to: '2020-01-01' })).days).toEqual([]);
  });

  it('has what was offered on each day, and says where that is not known', async () => {
    const { read, downloads } = await world({ '2026-11-01': 5 });
    const meter = (day: string, bytes: number) =>
      downloads.meter({
        tenant,
        repo: 'app',
        tokenId: 't',
        atMs: atDay(day),
        writeId: `${day} ${bytes}`,
        bytes,
        objects: 1,
        limitBytes: null,
      });
    await meter('2026-12-30', 10);
    await meter('2027-01-02', 20);
    await meter('2027-01-02', 5);
    const offered = async () =>
      (await read({ from: '2026-12-29', to: '2027-01-03' })).days.map((day) => day.downloads?.bytes);
    expect(await offered()).toEqual([0, 10, 0, 0, 25, 0]);
    // A month that was metered before its days were summed up.
    const months = downloads.months.bind(downloads);
    downloads.months = async (input) =>
      (await months(input)).map((month) =>
        month.month === '2026-12' ? { ...month, bytes: 90, objects: 9 } : month,
      );
    expect(await offered()).toEqual([undefined, 10, undefined, 0, 25, 0]);
  });

  it('has what was offered on the one day that is asked for, and on the first of a month', async () => {
    const { read, downloads } = await world({ '2026-11-01': 5 });
    const offer = { tenant, repo: 'app', tokenId: 't', objects: 1, limitBytes: null };
    await downloads.meter({ ...offer, writeId: 'a', atMs: atDay('2027-01-01'), bytes: 7 });
    await downloads.meter({ ...offer, writeId: 'b', atMs: atDay('2026-12-31'), bytes: 8 });
    const offered = async (from: string, to: string) =>
      (await read({ from, to })).days.map((day) => day.downloads?.bytes);
    expect(await offered('2027-01-01', '2027-01-01')).toEqual([7]);
    expect(await offered('2026-12-31', '2027-01-01')).toEqual([8, 7]);
  });

  it('has the forecast that the subscription has, whichever days are asked for', async () => {
    const growing = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [dayAfter(today, index - 49), 10 * index]),
    );
    // The first day of which a forecast of today knows, and one before it.
    expect(forecastFrom(today)).toBe('2026-10-08');
    const [first, older] = [
      { '2026-10-08': 100, [today]: 700 },
      { '2026-10-07': 100, [today]: 700 },
    ];
    expect((await (await world(first)).read()).forecast).toMatchObject({ reason: 'not-growing' });
    expect((await (await world(older)).read()).forecast).toMatchObject({ reason: 'too-few-days' });
    const cases = [growing, { '2026-10-20': 100 }, { '2026-11-30': 1, [today]: 700 }, {}, first, older];
    for (const stored of cases) {
      const { history, record, read } = await world(stored);
      const noted = await history.days({ tenant, from: forecastFrom(today), to: today });
      const forecast = forecastNow({ tenant: record, noted, today });
      expect((await read()).forecast).toEqual(forecast);
      expect((await read({ from: today })).forecast).toEqual(forecast);
    }
    const { read } = await world(growing);
    expect((await read()).forecast).toEqual({ kind: 'full', day: '2027-03-07', bytesPerDay: 10 });
  });
});
