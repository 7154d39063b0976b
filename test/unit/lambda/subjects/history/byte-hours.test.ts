import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayOf } from '../../../../../lambda/core/rules/dates.ts';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { removing } from '../../../../../lambda/core/table/expressions.ts';
import { updateItem } from '../../../../../lambda/core/table/requests.ts';
import { createTenant } from '../../../../../lambda/frame/access/tenants.ts';
import { usagePage } from '../../../../../lambda/subjects/history/byte-hours.ts';
import { byteHoursOperations } from '../../../../../lambda/subjects/history/byte-hours-routes.ts';
import { noteLastCount } from '../../../../../lambda/subjects/history/history.ts';
import {
  afterStep,
  finalUntilMs,
  type Hour,
  hourMs,
  hourName,
  hourOf,
  hoursIn,
  hourText,
  stepOf,
  wholeHour,
} from '../../../../../lambda/subjects/history/rules/byte-hours.ts';
import { httpEvent } from '../../../../support/http-event.ts';
import { adminToken } from '../../../../support/memory/deps.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const day = 24 * hourMs;
const begin = Date.UTC(2026, 10, 28, 7);

describe('an hour', () => {
  it('has for each second what was stored by then', () => {
    const steps = fc.array(
      fc.record({ second: fc.integer({ min: 0, max: 3599 }), storedBytes: fc.maxSafeNat() }),
    );
    fc.assert(
      fc.property(steps, fc.maxSafeNat(), (given, carriedBytes) => {
        const sorted = [...given].sort((a, b) => a.second - b.second);
        let hour: Hour | undefined;
        for (const [epoch, { second, storedBytes }] of sorted.entries()) {
          const step = { epoch, storedBytes, atMs: begin + second * 1000 + 999 };
          hour = afterStep(hour, step, carriedBytes);
          // A step that is noted twice is noted once.
          expect(afterStep(hour, step, carriedBytes)).toEqual(hour);
          expect(hoursIn({ h07: hourText(hour) }, begin - 7 * hourMs).get(begin)).toEqual(hour);
        }
        let sum = 0n;
        for (let second = 0; second < 3600; second += 1)
          sum += BigInt(sorted.findLast((step) => step.second <= second)?.storedBytes ?? carriedBytes);
        const isAtStart = sorted.some(({ second }) => second === 0);
        expect(wholeHour(hour, carriedBytes)).toEqual({
          byteSeconds: sum,
          peakBytes: Math.max(
            ...(isAtStart ? [] : [carriedBytes]),
            ...sorted.map(({ storedBytes }) => storedBytes),
          ),
          storedBytes: sorted.at(-1)?.storedBytes ?? carriedBytes,
        });
      }),
      { numRuns: 20 },
    );
  });

  it('is final two hours after its end', () => {
    expect(hourName(finalUntilMs(begin + 3 * hourMs - 1))).toBe('2026-11-28T07Z');
    expect(hourName(finalUntilMs(begin + 3 * hourMs))).toBe('2026-11-28T08Z');
  });
});

describe('the last step of a tenant', () => {
  const scanned = { storedBytes: 5, objectCount: 1, scannedAtMs: 1000 };

  it('is as its last count, and has the time of that', () => {
    expect(stepOf(tenantRecord({ scanned: null }))).toBeUndefined();
    expect(stepOf(tenantRecord({ scanned, appliedEpoch: 7 }))).toEqual({
      epoch: 7,
      storedBytes: 5,
      atMs: 1000,
    });
    // What the shards of a large repo found may be days old.
    expect(stepOf(tenantRecord({ scanned, stepAtMs: 5000 }))?.atMs).toBe(5000);
    expect(stepOf(tenantRecord({ scanned, stepAtMs: 500 }))?.atMs).toBe(1000);
  });
});

describe('usage', () => {
  async function world() {
    const made = new MemoryStack();
    made.nowMs = Math.ceil(made.nowMs / day) * day + 7 * hourMs;
    const startMs = made.nowMs;
    const read = async (from: number, to: number, limit = 1000) => {
      const pages: string[][] = [];
      for (let after: Awaited<ReturnType<typeof usagePage>>['next']; pages.length < 50; ) {
        const hours = { fromMs: startMs + from * hourMs, toMs: startMs + to * hourMs };
        const { usage, next } = await usagePage(made.deps, { ...hours, limit, after });
        pages.push(
          usage.map(
            ({ tenant: of, hour, byteSeconds }) =>
              `${of} ${(Date.parse(hour) - startMs) / hourMs} ${byteSeconds}`,
          ),
        );
        after = next;
        if (!next) break;
      }
      return pages;
    };
    return { made, startMs, read, all: async (from: number, to: number) => (await read(from, to)).flat() };
  }

  it('of a tenant is that of its scans, carried for days, also before a later one', async () => {
    const { made, all } = await world();
    await made.create();
    made.nowMs += 30 * minute;
    made.put({ [`a/${oidOf(1)}`]: 100 });
    await made.consume({ full: true });
    const first = [`${tenant} 0 ${100 * 1800}`, `${tenant} 1 360000`];
    made.nowMs += 3 * hourMs;
    expect(await all(-5, 2)).toEqual(first);
    // It has no step for 30 days, and then another one.
    made.nowMs += 30 * day;
    expect(await all(700, 702)).toEqual([`${tenant} 700 360000`, `${tenant} 701 360000`]);
    made.put({ [`a/${oidOf(2)}`]: 1 });
    await made.consume({ full: true });
    made.nowMs += 3 * hourMs;
    expect(await all(-5, 2)).toEqual(first);
    expect(await all(700, 702)).toEqual([`${tenant} 700 360000`, `${tenant} 701 360000`]);
  });

  it('is looked up behind days on which pushes were refused alone', async () => {
    const { made, startMs, all } = await world();
    made.put({ [`a/${oidOf(1)}`]: 100 });
    await made.create();
    const last = {
      atMs: 0,
      repo: 'a',
      user: null,
      files: 1,
      bytes: 1,
      isAtLeast: false,
      shortBytes: 1,
      limit: 'tenant',
    } as const;
    for (let index = 1; index < 8; index += 1)
      await made.deps.history.addRefusals({
        tenant,
        atMs: startMs + index * day,
        storedBytes: 9,
        objectCount: 1,
        usedBytes: 9,
        limitBytes: 5,
        count: 1,
        last,
      });
    made.nowMs += 10 * day;
    await made.consume({ full: true });
    expect(await all(7 * 24, 7 * 24 + 1)).toEqual([`${tenant} 168 360000`]);
  });

  it('of a new tenant begins with the hour in which it was created, and of a deleted one there is none', async () => {
    const { made, all } = await world();
    made.put({ [`a/${oidOf(1)}`]: 100 });
    made.nowMs += 2 * hourMs;
    await createTenant(made.deps, { tenant, plan: null, limitBytes: null });
    // It was never counted.
    expect(await all(0, 4)).toEqual([`${tenant} 2 0`, `${tenant} 3 0`]);
    made.nowMs += hourMs + 1000;
    await made.consume({ full: true });
    expect(await all(0, 4)).toEqual([`${tenant} 2 0`, `${tenant} 3 ${100 * 3599}`]);
    await made.ledger.closeTenant({ tenant, closedAtMs: made.nowMs });
    expect(await all(0, 4)).toEqual([]);
  });

  it('of days that an older version noted is taken over by the next scan', async () => {
    const { made, startMs, all } = await world();
    made.put({ [`a/${oidOf(1)}`]: 100 });
    await made.create();
    const key = { pk: `HISTORY#${tenant}`, sk: `DAY#${dayOf(startMs)}` };
    await updateItem(made.ledger.table, { key, change: [removing('h07')] });
    made.nowMs += 5 * hourMs;
    expect(await all(1, 3)).toEqual([`${tenant} 1 360000`, `${tenant} 2 360000`]);
    made.put({ [`a/${oidOf(2)}`]: 1 });
    await made.consume({ full: true });
    expect(await all(1, 3)).toEqual([`${tenant} 1 360000`, `${tenant} 2 360000`]);
  });

  it('comes in pages, and each has as many records as it may', async () => {
    const { made, startMs, read } = await world();
    const names = ['acme', 'acme-2', 'b', 'c'];
    for (const each of names) await createTenant(made.deps, { tenant: each, plan: null, limitBytes: null });
    made.nowMs += 10 * hourMs;
    const correction = {
      hourMs: startMs,
      number: 1,
      byteSeconds: '-7',
      reason: 'why',
      atMs: startMs + 2 * hourMs,
    };
    for (const each of ['acme', 'c']) await made.deps.corrections.add({ ...correction, tenant: each });
    // That of another hour isn't in these.
    await made.deps.corrections.add({ ...correction, tenant: 'b', atMs: startMs + 3 * hourMs });
    const expected = names.flatMap((each) => [
      ...[0, 1, 2].map((hour) => `${each} ${hour} 0`),
      ...(each === 'acme' || each === 'c' ? [`${each} 0 -7`] : []),
    ]);
    for (const limit of [1, 2, 3, 4, 5, 14, 1000]) {
      const pages = await read(0, 3, limit);
      expect(pages.flat(), `by ${limit}`).toEqual(expected);
      for (const page of pages.slice(0, -2)) expect(page).toHaveLength(limit);
    }
  });
});

describe('what is noted before a commit', () => {
  const scanned = { storedBytes: 5, objectCount: 1, scannedAtMs: begin };

  it('waits for a table that does not answer, and for nothing else', async () => {
    const { deps } = new MemoryStack();
    const before = tenantRecord({ tenant, scanned, appliedEpoch: 3 });
    const failing = (error: Error) => ({
      ...deps,
      ...recordingLog(),
      history: { ...deps.history, hasNoted: () => Promise.reject(error) },
    });
    await expect(noteLastCount(failing(new LedgerUnavailableError('Down.')), before)).rejects.toThrow(
      'Down.',
    );
    const broken = failing(new Error('A bug.'));
    await noteLastCount(broken, before);
    expect(broken.entries).toMatchObject([{ message: 'history not noted', fields: { tenant } }]);
  });

  it('is the last count, if it was not', async () => {
    const { deps } = new MemoryStack();
    const days = () => deps.history.days({ tenant, from: '2026-11-01', to: '2026-12-31' });
    for (const nothing of [
      { scanned: null },
      { scanned, appliedEpoch: 0 },
      { scanned, appliedEpoch: 3, closedAtMs: 1 },
    ])
      await noteLastCount(deps, tenantRecord({ tenant, ...nothing }));
    expect(await days()).toEqual([]);
    await noteLastCount(deps, tenantRecord({ tenant, scanned, appliedEpoch: 3 }));
    expect(await days()).toMatchObject([{ day: '2026-11-28', storedBytes: 5 }]);
  });
});

describe('the answer', () => {
  it('quotes what a sheet would take for something else, and leads to the next page', async () => {
    const { deps, nowMs } = new MemoryStack();
    await createTenant(deps, { tenant, plan: null, limitBytes: null });
    const hour = hourOf(nowMs) - 4 * hourMs;
    for (const [index, reason] of ['a, "b"', '=cmd()', '-5 GiB'].entries())
      await deps.corrections.add({
        tenant,
        hourMs: hour,
        number: index + 1,
        byteSeconds: '-7',
        reason,
        atMs: hour,
      });
    const at = new Date(hour).toISOString().replace('.000', '');
    const asked = (format: string, more: object = { limit: '2', from: at }) =>
      byteHoursOperations['GET /v1/usage'](deps, {
        ...httpEvent({
          method: 'GET',
          path: '/v1/usage',
          headers: { authorization: `Bearer ${adminToken}` },
        }),
        queryStringParameters: { format, ...more },
      });
    const id = `${tenant}:${hourName(hour)}`;
    const sheet = await asked('csv');
    expect(sheet.body?.split('\r\n')).toEqual([
      'id,tenant,hour,byteSeconds,peakBytes,storedBytes,reason,at',
      `${id}:c1,${tenant},${at},-7,,,"a, ""b""",${at}`,
      `${id}:c2,${tenant},${at},-7,,,'=cmd(),${at}`,
      '',
    ]);
    const [, cursor] =
      /^<\/v1\/usage\?format=csv&limit=2&cursor=(c\w+)>; rel="next"$/.exec(String(sheet.headers?.['link'])) ??
      [];
    const rest = await asked('csv', { limit: '2', cursor });
    expect(rest.body).toContain(`${id}:c3,${tenant},${at},-7,,,-5 GiB,${at}`);
    const lines = (await asked('jsonl')).body?.trim().split('\n') ?? [];
    expect(lines.map((line) => JSON.parse(line).id)).toEqual([`${id}:c1`, `${id}:c2`]);
  });
});
