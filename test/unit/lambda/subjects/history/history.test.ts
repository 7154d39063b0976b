import { describe, expect, it, vi } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import type { Refusal } from '../../../../../lambda/core/ledger/rules/limits.ts';
import type { TenantRecord } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import type { Refused } from '../../../../../lambda/core/ledger/seams.ts';
import { dayAfter, dayOf } from '../../../../../lambda/core/rules/dates.ts';
import { demoTenant } from '../../../../../lambda/core/rules/names.ts';
import { createTenant } from '../../../../../lambda/frame/access/tenants.ts';
import { iso } from '../../../../../lambda/frame/contract/fields.ts';
import {
  forecastBody,
  forecastFrom,
  forecastNow,
  forgetHistory,
  noteCount,
  noteRefusal,
  noteWeek,
  readHistory,
  readWeeks,
} from '../../../../../lambda/subjects/history/history.ts';
import { createDynamoDbHistory, type History } from '../../../../../lambda/subjects/history/history-store.ts';
import type { OfferedPorts } from '../../../../../lambda/subjects/history/ports.ts';
import { RefusalTally, weekOf } from '../../../../../lambda/subjects/history/rules/history.ts';
import { ManualClock, replacingDeps } from '../../../../support/memory/deps.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { storeClass } from '../../../../support/memory/stores.ts';
import { setRepoLimit } from '../../../../support/over-settings.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const isShown = () => true;

class MemoryHistory extends storeClass(createDynamoDbHistory) {}

describe('forget history', () => {
  const range = { tenant, from: '2020-01-01', to: '2099-01-01' };

  describe('the history of a tenant', () => {
    it('goes with it, and is not written again by the reconcile that empties it', async () => {
      const world = new MemoryStack();
      world.put({ [`a/${oidOf(1)}`]: 1 });
      await world.create();
      expect(await world.deps.history.days(range)).toHaveLength(1);
      await world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });
      await world.consume({ full: true });
      expect(await world.deps.history.days(range)).toEqual([]);
    });

    it('that is long goes a part at a time, until the time is up', async () => {
      const { deps } = new MemoryStack();
      const asked: number[] = [];
      let nowMs = 1000;
      const history = Object.assign(new MemoryHistory(), {
        forgetSome: async ({ itemsMax }: { itemsMax: number }) => {
          asked.push(itemsMax);
          nowMs += 10;
          return { hasMore: asked.length % 3 !== 0 };
        },
      });
      const clock = { ...deps.clock, nowMs: () => nowMs };
      expect(await forgetHistory({ history, clock }, { tenant, untilMs: 2000 })).toBe('done');
      expect(asked).toEqual([100, 100, 100]);
      expect(await forgetHistory({ history, clock }, { tenant, untilMs: nowMs })).toBe('unfinished');
      expect(asked).toHaveLength(4);
      // To the last moment of its time.
      expect(await forgetHistory({ history, clock }, { tenant, untilMs: nowMs + 10 })).toBe('done');
      expect(asked).toHaveLength(6);
    });
  });
});

describe('note count', () => {
  const day = 86_400_000;
  const range = { tenant, from: '2020-01-01', to: '2099-01-01' };

  async function world() {
    const made = new MemoryStack();
    made.put({ [`a/${oidOf(1)}`]: 100, [`b/${oidOf(2)}`]: 20 });
    await made.create(1000);
    const days = () => made.deps.history.days(range);
    return { made, days };
  }

  describe('a reconcile', () => {
    it('is noted as the value of its day, with the highest of the day', async () => {
      const { made, days } = await world();
      const first = {
        day: dayOf(made.nowMs),
        storedBytes: 120,
        objectCount: 2,
        maxStoredBytes: 120,
        maxUsedBytes: 120,
        limitBytes: 1000,
        refusals: 0,
        repoRefusals: 0,
      };
      expect(await days()).toEqual([first]);
      await made.objects.delete([`${tenant}/a/${oidOf(1)}`]);
      await made.consume({ full: true });
      expect(await days()).toEqual([{ ...first, storedBytes: 20, objectCount: 1 }]);
      made.nowMs += day;
      made.put({ [`a/${oidOf(3)}`]: 1 });
      await made.consume({ full: true });
      // The new day began with 20.
      expect(await days()).toEqual([
        { ...first, storedBytes: 20, objectCount: 1 },
        {
          ...first,
          day: dayOf(made.nowMs),
          storedBytes: 21,
          maxStoredBytes: 21,
          maxUsedBytes: 21,
        },
      ]);
      made.nowMs += day;
      await made.objects.delete([`${tenant}/b/${oidOf(2)}`]);
      await made.consume({ full: true });
      expect((await days()).at(-1)).toMatchObject({ storedBytes: 1, maxStoredBytes: 21 });
    });

    it('has the most that was stored and promised, also if it was never stored', async () => {
      const { made, days } = await world();
      await made.push('a', { [oidOf(7)]: 500 });
      made.nowMs += 2 * 3_600_000;
      await made.consume({ full: true });
      expect(await days()).toMatchObject([{ storedBytes: 120, maxStoredBytes: 120, maxUsedBytes: 620 }]);
    });

    it('whose note is lost does not fail, is logged and counted, and the next one makes up for it', async () => {
      const { made } = await world();
      const { log, entries } = recordingLog();
      const scanned: string[] = [];
      const metrics = { ...made.deps.metrics, increment: (name: string) => void scanned.push(name) };
      const kept = new MemoryHistory();
      let isBroken = true;
      const history: History = {
        ...bound(kept),
        note: async (count) => {
          if (isBroken) throw new Error('The table is down.');
          return kept.note(count);
        },
      };
      const reconcile = () =>
        runReconcile(replacingDeps(made.deps, { history, log, metrics }), {
          request: { tenant, reason: 'manual', full: true },
          deadlineMs: made.nowMs + 14 * minute,
        });
      expect(await reconcile()).toBe('done');
      expect(scanned).toContain('HistoryNotNoted');
      expect(entries.some(({ message }) => message === 'history not noted')).toBe(true);
      expect(await kept.days(range)).toEqual([]);
      isBroken = false;
      expect(await reconcile()).toBe('done');
      expect(await kept.days(range)).toMatchObject([{ storedBytes: 120, objectCount: 2 }]);
    });

    it('that cannot be noted is logged with its tenant', async () => {
      const { made } = await world();
      const { log, entries } = recordingLog();
      const error = new Error('The table is down.');
      const history: History = { ...bound(new MemoryHistory()), note: () => Promise.reject(error) };
      const after = await made.record();
      await noteCount({ ...made.deps, history, log }, { before: after, after, epoch: 1 });
      expect(entries).toEqual([{ level: 'warn', message: 'history not noted', fields: { tenant, error } }]);
    });

    it('of a tenant that was never counted, or is being deleted, is not noted', async () => {
      const { made } = await world();
      const history = new MemoryHistory();
      const note = (after: object) => {
        const before = tenantRecord({ tenant });
        return noteCount({ ...made.deps, history }, { before, after: { ...before, ...after }, epoch: 1 });
      };
      const scanned = { storedBytes: 5, objectCount: 1, scannedAtMs: made.nowMs };
      await note({ scanned: null, closedAtMs: null });
      await note({ scanned, closedAtMs: 7 });
      expect(await history.days(range)).toEqual([]);
      await note({ scanned, closedAtMs: null });
      expect(await history.days(range)).toHaveLength(1);
    });
  });

  function bound(history: MemoryHistory): History {
    return {
      note: (count, read) => history.note(count, read),
      hasNoted: (input) => history.hasNoted(input),
      hours: (input) => history.hours(input),
      bytesBefore: (input) => history.bytesBefore(input),
      addRefusals: (refused) => history.addRefusals(refused),
      days: (input) => history.days(input),
      putSample: (made) => history.putSample(made),
      sample: (name) => history.sample(name),
      noteWeek: (noted) => history.noteWeek(noted),
      weeks: (input) => history.weeks(input),
      forgetWeeks: (path) => history.forgetWeeks(path),
      forgetSome: (input) => history.forgetSome(input),
    };
  }
});

describe('sample days', () => {
  const sampleDay = (day: string, storedBytes: number) => ({
    day,
    storedBytes,
    objectCount: 1,
    maxStoredBytes: storedBytes,
    limitBytes: 5000,
    refusals: 0,
    repoRefusals: 0,
  });

  it('are shown before the first day that was noted, marked, and nothing is forecast or made from them', async () => {
    const made = new MemoryStack();
    const tenant = demoTenant;
    await createTenant(made.deps, { tenant, plan: null, limitBytes: 1000 });
    const today = dayOf(made.nowMs);
    const found = async (from?: string) => {
      const record = await made.ledger.readTenant(tenant);
      if (!record) throw new Error('no tenant');
      return readHistory(made.deps, { tenant: record, from, isShown });
    };
    const without = await found(dayAfter(today, -400));
    const days = Array.from({ length: 90 }, (_, index) =>
      // One of them is of today: what is real is shown.
      sampleDay(dayAfter(today, index - 89), 4000 - index),
    );
    await made.deps.history.putSample({ tenant, days, atMs: made.nowMs });
    const all = await found(dayAfter(today, -400));
    expect(all.days.slice(0, -1)).toEqual(
      days.slice(0, -1).map((day) => ({
        ...day,
        maxUsedBytes: day.maxStoredBytes,
        carried: false,
        sample: true,
        downloads: null,
      })),
    );
    expect(all.days.at(-1)).toEqual(without.days.at(-1));
    expect(all.days.at(-1)).not.toHaveProperty('sample');
    expect(all.forecast).toEqual(without.forecast);
    expect((await found()).days).toHaveLength(30);
    expect(await made.deps.history.days({ tenant, from: '2020-01-01', to: '2099-01-01' })).toEqual([]);
    // They are kept no longer than others.
    made.nowMs += 400 * 86_400_000;
    expect((await found(dayAfter(today, 0))).days.filter(({ sample }) => sample)).toEqual([]);
  });

  it('are read of the demo alone', async () => {
    const made = new MemoryStack();
    await made.create(1000);
    const asked = vi.spyOn(made.deps.history, 'sample');
    await readHistory(made.deps, { tenant: tenantRecord({ tenant }), isShown });
    expect(asked).not.toHaveBeenCalled();
    await readHistory(made.deps, { tenant: tenantRecord({ tenant: demoTenant }), isShown });
    expect(asked).toHaveBeenCalledOnce();
  });
});

describe('the weeks of a repo', () => {
  const week = 7 * 86_400_000;

  async function world() {
    const made = new MemoryStack();
    made.put({ [`a/${oidOf(1)}`]: 100, [`b/${oidOf(2)}`]: 20 });
    await made.create(1000);
    const weeks = async (repo = 'a') => {
      const record = await made.ledger.readRepo({ tenant, repo });
      const repos = record ? [record] : [];
      return (await readWeeks(made.deps, { tenant, repos, count: 4 })).get(repo);
    };
    return { made, weeks };
  }

  it('have what was stored at the end of each, and the current one what is', async () => {
    const { made, weeks } = await world();
    expect(await weeks()).toEqual([null, null, null, 100]);
    made.put({ [`a/${oidOf(3)}`]: 5 });
    await made.consume({ full: true });
    made.nowMs += week;
    expect(await weeks()).toEqual([null, null, 105, 105]);
    made.put({ [`a/${oidOf(4)}`]: 1 });
    await made.consume({ full: true });
    made.nowMs += 2 * week;
    await made.objects.delete([`${tenant}/a/${oidOf(1)}`]);
    await made.consume({ full: true });
    expect(await weeks()).toEqual([105, 106, 106, 6]);
  });

  it('are written once a week at most, and not for a repo that did not change', async () => {
    const { made, weeks } = await world();
    const noted: string[] = [];
    const { noteWeek: note } = made.deps.history;
    made.deps.history.noteWeek = async (input) => {
      noted.push(input.repo);
      await note.call(made.deps.history, input);
    };
    for (let number = 1; number <= 3; number += 1) {
      made.nowMs += week;
      for (let change = 1; change <= 3; change += 1) {
        made.put({ [`a/${oidOf(10 * number + change)}`]: 1 });
        await made.consume({ full: true });
      }
    }
    expect(noted).toEqual(['a', 'a', 'a']);
    expect(await weeks('b')).toEqual([20, 20, 20, 20]);
  });

  it('that could not be noted are logged, and the reconcile does not fail', async () => {
    const { made, weeks } = await world();
    const { log, entries } = recordingLog();
    const error = new Error('The table is down.');
    const record = await made.ledger.readRepo({ tenant, repo: 'a' });
    if (!record) throw new Error('No repo.');
    const history = Object.assign(new MemoryHistory(), { noteWeek: () => Promise.reject(error) });
    const input = { tenant, epoch: 9, before: record, scannedAtMs: made.nowMs + week };
    await noteWeek({ ...made.deps, history, log }, input);
    expect(entries).toEqual([
      { level: 'warn', message: 'history not noted', fields: { tenant, repo: 'a', error } },
    ]);
    expect(await weeks()).toEqual([null, null, null, 100]);
  });

  it('go with the repo, and a note that lands late says nothing of one that has its name', async () => {
    const { made, weeks } = await world();
    made.nowMs += week;
    made.put({ [`a/${oidOf(3)}`]: 5 });
    await made.consume({ full: true });
    expect(await weeks()).toEqual([null, null, 100, 105]);
    const stored = () => made.deps.history.weeks({ tenant, repos: ['a'] });
    const lateWeek = weekOf(made.nowMs) - 1;
    await made.ledger.closeRepo({ tenant, repo: 'a', closedAtMs: made.nowMs });
    for (let run = 0; run < 3; run += 1) {
      made.nowMs += 5 * minute;
      await made.consume({ full: true });
    }
    expect((await made.ledger.readRepo({ tenant, repo: 'a' }))?.closedAtMs).toBeNull();
    expect(await stored()).toEqual(new Map());
    const late = { tenant, repo: 'a', epoch: 99, week: lateWeek, storedBytes: 100, atMs: made.nowMs };
    await made.deps.history.noteWeek(late);
    expect(await weeks()).toEqual([null, null, null, 0]);
  });
});

describe('note refusal', () => {
  const refusal: Refusal = {
    repo: null,
    oids: [oidOf(3)],
    askedCount: 1,
    refusedBytes: 500,
    missingBytes: 450,
    storedBytes: 100,
    limitBytes: 150,
    reservedBytes: 20,
    reservedUntilMs: null,
    isWaitingEnough: false,
  };
  const refusedOf = ({ scanned }: Pick<TenantRecord, 'scanned'>): Refused => ({
    tenant: { tenant, limitBytes: 150, committedBytes: 120, scanned },
    refusal,
    repo: 'a',
    user: 'ada',
  });
  const range = { tenant, from: '2020-01-01', to: '2099-01-01' };

  async function world() {
    const made = new MemoryStack();
    made.put({ [`a/${oidOf(1)}`]: 100 });
    await made.create(150);
    const refusals = async () => (await made.deps.history.days(range)).map((day) => day.refusals);
    const push = (index: number, sizeBytes: number) => made.push('a', { [oidOf(index)]: sizeBytes });
    return { made, refusals, push };
  }

  describe('a refused batch', () => {
    it('is counted on its day, also if only some of it is refused; an admitted one is not', async () => {
      const { made, refusals, push } = await world();
      await push(2, 10);
      expect(await refusals()).toEqual([0]);
      await push(3, 500);
      expect(await refusals()).toEqual([1]);
      await made.push('a', { [oidOf(4)]: 10, [oidOf(5)]: 500 });
      expect(await refusals()).toEqual([2]);
      made.nowMs += 86_400_000;
      await push(3, 500);
      const days = await made.deps.history.days(range);
      expect(days.map((day) => day.refusals)).toEqual([2, 1]);
    });

    it('for the limit of its repo alone is not the tenant’s', async () => {
      const { made, refusals } = await world();
      await setRepoLimit(made.ledger, { tenant, repo: 'b', limitBytes: 5 });
      const verdicts = await made.push('b', { [oidOf(2)]: 6 });
      expect([...(verdicts as ReadonlyMap<string, { kind: string }>).values()]).toMatchObject([
        { kind: 'over-limit' },
      ]);
      await new Promise((resolve) => setImmediate(resolve));
      expect(await refusals()).toEqual([0]);
      // The push is shown all the same, with what the tenant stores.
      const [day] = await made.deps.history.days(range);
      expect(day).toMatchObject({
        storedBytes: 100,
        refusals: 0,
        repoRefusals: 1,
        lastRefusals: [
          { repo: 'b', user: null, files: 1, isAtLeast: false, bytes: 6, shortBytes: 1, limit: 'repo' },
        ],
      });
    });

    it('is kept for a day with its repo, user and what was missing', async () => {
      const { made } = await world();
      const record = await made.ledger.readTenant(tenant);
      if (!record) throw new Error('No tenant.');
      const objects = new Map([
        [oidOf(8), 20],
        [oidOf(9), 500],
        [oidOf(10), 40],
      ]);
      const outcome = await admitUpload(made.deps, { tenant: record, repo: 'a', user: 'ada', objects });
      if (outcome.kind !== 'answered') throw new Error('No answer.');
      const told = [...outcome.verdicts.values()].find((verdict) => verdict.kind === 'over-limit');
      const lastRefusals = async () =>
        (await readHistory(made.deps, { tenant: record, isShown })).lastRefusals;
      const { oids = [], refusedBytes: bytes, missingBytes: shortBytes } = told?.refusal ?? {};
      const at = iso(made.nowMs);
      const files = oids.length;
      const found = { at, repo: 'a', user: 'ada', files, atLeast: false, bytes, shortBytes };
      expect(bytes).toBeGreaterThanOrEqual(500);
      expect(await lastRefusals()).toEqual([{ ...found, limit: 'tenant' }]);
      made.nowMs += 25 * 3_600_000;
      expect(await lastRefusals()).toEqual([]);
    });

    it('of as many files as git-lfs puts into one says that the push may have more', async () => {
      const { made } = await world();
      const lastOf = async () => (await made.deps.history.days(range))[0]?.lastRefusals;
      const pushOf = (count: number) =>
        made.push('a', Object.fromEntries(Array.from({ length: count }, (_, i) => [oidOf(100 + i), 200])));
      await pushOf(99);
      expect(await lastOf()).toMatchObject([{ files: 99, isAtLeast: false }]);
      await pushOf(100);
      expect(await lastOf()).toMatchObject([{ files: 100, isAtLeast: true }]);
    });

    it.each([
      ['fails', async () => Promise.reject(new Error('The table is down.'))],
      ['never ends', () => new Promise<never>(() => undefined)],
    ])('is answered though the write of the history %s', async (_, addRefusals) => {
      const { made } = await world();
      const history: History = Object.assign(new MemoryHistory(), { addRefusals });
      const record = await made.ledger.readTenant(tenant);
      if (!record) throw new Error('No tenant.');
      const { log, entries } = recordingLog();
      const outcome = await admitUpload(replacingDeps(made.deps, { history, log }), {
        tenant: record,
        repo: 'a',
        objects: new Map([[oidOf(9), 500]]),
      });
      expect(outcome).toMatchObject({ kind: 'answered' });
      await new Promise((resolve) => setImmediate(resolve));
      expect(entries.filter(({ message }) => message === 'refusal not noted').length).toBe(
        _ === 'fails' ? 1 : 0,
      );
    });

    it('that could not be written is written with the next, and one in a loop costs no write each time', async () => {
      const { made } = await world();
      const kept = new MemoryHistory();
      const writes: number[] = [];
      let isBroken = true;
      const history: History = Object.assign(new MemoryHistory(), {
        addRefusals: async (refused: Parameters<History['addRefusals']>[0]) => {
          if (isBroken) throw new Error('The table is down.');
          writes.push(refused.count);
          await kept.addRefusals(refused);
        },
      });
      const deps = { ...made.deps, history, tally: new RefusalTally() };
      const scanned = { storedBytes: 100, objectCount: 1, scannedAtMs: 1 };
      await noteRefusal(deps, refusedOf({ scanned }));
      isBroken = false;
      for (let index = 0; index < 50; index += 1) await noteRefusal(deps, refusedOf({ scanned }));
      expect(writes).toEqual([2, ...Array(8).fill(1)]);
      expect(await kept.days(range)).toMatchObject([
        { refusals: 10, storedBytes: 100, maxStoredBytes: 100, maxUsedBytes: 120, limitBytes: 150 },
      ]);
    });

    it('of a tenant that was never counted is not noted', async () => {
      const { made } = await world();
      const history = new MemoryHistory();
      await noteRefusal({ ...made.deps, history, tally: new RefusalTally() }, refusedOf({ scanned: null }));
      expect(await history.days(range)).toEqual([]);
    });

    it('that could not be counted is logged', async () => {
      const { made } = await world();
      const { log, entries } = recordingLog();
      const error = new Error('The table is down.');
      const history: History = Object.assign(new MemoryHistory(), {
        addRefusals: () => Promise.reject(error),
      });
      const scanned = { storedBytes: 100, objectCount: 1, scannedAtMs: 1 };
      await noteRefusal({ ...made.deps, history, log, tally: new RefusalTally() }, refusedOf({ scanned }));
      expect(entries).toEqual([{ level: 'warn', message: 'refusal not noted', fields: { tenant, error } }]);
    });
  });
});

describe('read history', () => {
  const tenant = 'acme';
  // 2027-01-15.
  const clock = new ManualClock();
  const today = '2027-01-15';
  const atDay = (day: string) => Date.parse(`${day}T12:00:00Z`);

  async function world(stored: Readonly<Record<string, number>>) {
    const history = new MemoryHistory();
    /** Day → what was offered. */
    const offers = new Map<string, { bytes: number; objects: number }>();
    for (const [day, storedBytes] of Object.entries(stored))
      await history.note({
        tenant,
        atMs: atDay(day),
        epoch: 1,
        storedBytes,
        objectCount: 1,
        highestBytes: storedBytes,
        highestUsedBytes: storedBytes,
        limitBytes: 1000,
      });
    const nowBytes = Object.values(stored).at(-1) ?? 0;
    const record = tenantRecord({
      tenant,
      limitBytes: 1000,
      scanned: { storedBytes: nowBytes, objectCount: 1, scannedAtMs: clock.nowMs() },
    });
    const ports: OfferedPorts = {
      offered: async ({ months }) =>
        months.flatMap((month) => {
          const days = new Map([...offers].filter(([day]) => day.startsWith(month)));
          const sum = (of: 'bytes' | 'objects') =>
            [...days.values()].reduce((all, each) => all + each[of], 0);
          return days.size === 0 ? [] : [{ month, bytes: sum('bytes'), objects: sum('objects'), days }];
        }),
    };
    const read = (range: { from?: string; to?: string } = {}) =>
      readHistory({ history, offered: ports.offered, clock }, { tenant: record, ...range, isShown });
    return { history, offers, ports, record, read };
  }

  describe('the history', () => {
    it('is that of the last 30 days, unless others are asked for', async () => {
      const { read } = await world({ '2026-10-01': 5, '2027-01-10': 7 });
      const { from, to, days } = await read();
      expect([from, to, days.length]).toEqual(['2026-12-17', today, 30]);
      expect(days[0]).toMatchObject({ day: '2026-12-17', storedBytes: 5, carried: true });
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
      const { read, offers, ports } = await world({ '2026-11-01': 5 });
      offers.set('2026-12-30', { bytes: 10, objects: 1 });
      offers.set('2027-01-02', { bytes: 25, objects: 2 });
      const offered = async () =>
        (await read({ from: '2026-12-29', to: '2027-01-03' })).days.map((day) => day.downloads?.bytes);
      expect(await offered()).toEqual([0, 10, 0, 0, 25, 0]);
      // A month that was metered before its days were summed up.
      const { offered: months } = ports;
      Object.assign(ports, {
        offered: async (of: Parameters<typeof months>[0]) =>
          (await months(of)).map((month) =>
            month.month === '2026-12' ? { ...month, bytes: 90, objects: 9 } : month,
          ),
      });
      expect(await offered()).toEqual([undefined, 10, undefined, 0, 25, 0]);
    });

    it('has what was offered on the one day that is asked for, and on the first of a month', async () => {
      const { read, offers } = await world({ '2026-11-01': 5 });
      offers.set('2027-01-01', { bytes: 7, objects: 1 });
      offers.set('2026-12-31', { bytes: 8, objects: 1 });
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
        expect((await read()).forecast).toEqual(forecastBody(forecast));
        expect((await read({ from: today })).forecast).toEqual(forecastBody(forecast));
      }
      const { read } = await world(growing);
      expect((await read()).forecast).toEqual({ fullOn: '2027-03-07', reason: null, bytesPerDay: 10 });
    });
  });
});
