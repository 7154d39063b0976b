import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  candidateListsMax,
  chargedForShards,
  chargedUntilMs,
  dueAfterActivityMs,
  dueAfterFullMs,
  isReconcileReason,
  listsAtOnceMax,
  lookAgainAtMs,
  mayListCandidatesAtMs,
  queuedUrgencyOf,
  reconcileWaitMs,
  type Urgency,
} from '../../../../../../lambda/core/ledger/rules/reconcile-policy.ts';
import { defaultSettings } from '../../../../../../lambda/core/rules/settings.ts';

describe('LIST requests for shards', () => {
  const nowMs = Date.UTC(2027, 2, 10);
  const minute = 60_000;
  const charge = (before: Parameters<typeof chargedForShards>[1]['before'], requests: number) =>
    chargedForShards({ shardListsPerHour: 60 }, { before, requests, nowMs });

  it('are paid for at their rate, and added to those of the month', () => {
    const before = { shardsListedUntilMs: nowMs + minute, shardLists: { month: '2027-03', requests: 5 } };
    expect(charge(before, 2)).toEqual({
      shardsListedUntilMs: nowMs + 3 * minute,
      shardLists: { month: '2027-03', requests: 7 },
    });
    const february = { ...before, shardLists: { month: '2027-02', requests: 5 } };
    expect(charge(february, 2).shardLists).toEqual({ month: '2027-03', requests: 2 });
  });

  it('of a tenant that had none are counted from the first on', () => {
    expect(charge({}, 0)).toEqual({ shardsListedUntilMs: 0 });
    expect(charge({}, 1)).toEqual({
      shardsListedUntilMs: nowMs + minute,
      shardLists: { month: '2027-03', requests: 1 },
    });
    expect(charge({ shardLists: { month: '2027-03', requests: 5 } }, 0).shardLists?.requests).toBe(5);
  });
});

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const nowMs = 1_800_000_000_000;

const scannedAt = (scannedAtMs: number) => ({ storedBytes: 1, objectCount: 1, scannedAtMs });

function waitMs(more: { urgency: Urgency; debtMs?: number; scannedMsAgo?: number | null }): number {
  const { urgency, debtMs = 0, scannedMsAgo = hour } = more;
  const scanned = scannedMsAgo === null ? null : scannedAt(nowMs - scannedMsAgo);
  return reconcileWaitMs(defaultSettings, {
    tenant: { listedUntilMs: nowMs + debtMs, scanned },
    urgency,
    nowMs,
  });
}

describe('a reconcile', () => {
  it('begins a minute after the last one at the earliest, unless somebody waits for it', () => {
    expect(waitMs({ urgency: 'background', scannedMsAgo: 20_000 })).toBe(40_000);
    expect(waitMs({ urgency: 'background', scannedMsAgo: minute })).toBe(0);
    expect(waitMs({ urgency: 'decision', scannedMsAgo: 0 })).toBe(0);
  });

  it.each([
    ['background', 5 * minute],
    ['decision', hour],
  ] as const)('with urgency %s may overdraw the budget by %i ms, and must wait for more', (urgency, ms) => {
    expect(waitMs({ urgency, debtMs: ms })).toBe(0);
    expect(waitMs({ urgency, debtMs: ms + 7 })).toBe(7);
  });

  it('is waited for if the tenant was never counted, and otherwise has the urgency of its reason', () => {
    const never = { listedUntilMs: 0, scanned: null };
    const known = { listedUntilMs: 0, scanned: scannedAt(0) };
    expect(queuedUrgencyOf(never, 'upload')).toBe('decision');
    for (const reason of ['upload', 'verify', 'event', 'schedule'] as const)
      expect(queuedUrgencyOf(known, reason)).toBe('background');
    for (const reason of ['refusal', 'miss', 'import', 'manual', 'delete', 'unfinished'] as const)
      expect(queuedUrgencyOf(known, reason)).toBe('decision');
  });
});

it('a reason is one of the known ones, as text', () => {
  for (const reason of ['upload', 'verify', 'event', 'schedule', 'unfinished'])
    expect(isReconcileReason(reason)).toBe(true);
  for (const value of ['', 'uploads', 'toString', undefined, null, 7, ['upload']])
    expect(isReconcileReason(value)).toBe(false);
});

describe('the budget', () => {
  it('is charged for each LIST request, from when the earlier ones are paid for', () => {
    const charged = (listedUntilMs: number, requests: number) =>
      chargedUntilMs(defaultSettings, { listedUntilMs, requests, nowMs });
    expect(charged(0, 20)).toBe(nowMs + minute);
    expect(charged(nowMs + hour, 20)).toBe(nowMs + hour + minute);
    expect(charged(nowMs - 5, 0)).toBe(nowMs - 5);
  });

  it('limits the LIST requests of a tenant to the budget, an hour of overdraft, and one scan', () => {
    const asked = fc.record({
      afterMs: fc.integer({ min: 0, max: 10 * minute }),
      requests: fc.integer({ min: 0, max: 400 }),
      urgency: fc.constantFrom<Urgency>('background', 'decision'),
    });
    const budget = fc.record({
      listRequestsPerHour: fc.integer({ min: 1, max: 5000 }),
      reconcileRestMs: fc.integer({ min: 0, max: 2 * minute }),
    });
    fc.assert(
      fc.property(fc.array(asked, { maxLength: 200 }), budget, (reconciles, settings) => {
        let [atMs, listedUntilMs, listed, dearest] = [nowMs, 0, 0, 0];
        let scanned = scannedAt(nowMs - day);
        for (const { afterMs, requests, urgency } of reconciles) {
          atMs += afterMs;
          if (reconcileWaitMs(settings, { tenant: { listedUntilMs, scanned }, urgency, nowMs: atMs }) > 0)
            continue;
          listedUntilMs = chargedUntilMs(settings, { listedUntilMs, requests, nowMs: atMs });
          scanned = scannedAt(atMs);
          listed += requests;
          dearest = Math.max(dearest, requests);
        }
        const perHour = settings.listRequestsPerHour;
        expect(listed).toBeLessThanOrEqual(((atMs - nowMs) / hour) * perHour + perHour + dearest);
      }),
    );
  });

  it('allows a reconcile after exactly the wait that it states, so nobody waits for ever', () => {
    const anyUrgency = fc.constantFrom<Urgency>('background', 'decision');
    fc.assert(
      fc.property(fc.nat(1e9), fc.nat(day), anyUrgency, (debtMs, scannedMsAgo, urgency) => {
        const tenant = { listedUntilMs: nowMs + debtMs, scanned: scannedAt(nowMs - scannedMsAgo) };
        const wait = reconcileWaitMs(defaultSettings, { tenant, urgency, nowMs });
        expect(reconcileWaitMs(defaultSettings, { tenant, urgency, nowMs: nowMs + wait })).toBe(0);
      }),
    );
  });

  it('costs at most 4.32 dollars a month by default, at 5 dollars per million requests', () => {
    expect((defaultSettings.listRequestsPerHour * 24 * 30 * 5) / 1e6).toBeCloseTo(4.32, 6);
  });

  it('allows background reconciles of 1,000 LIST requests every 50 minutes, and those of 20 every minute', () => {
    const beginnings = (requests: number) => {
      const begun: number[] = [];
      let [listedUntilMs, scanned] = [0, scannedAt(nowMs - day)];
      let atMs = nowMs;
      // One each second at most, if nothing has to wait.
      while (begun.length < day / 1000) {
        const tenant = { listedUntilMs, scanned };
        atMs += reconcileWaitMs(defaultSettings, { tenant, urgency: 'background', nowMs: atMs });
        if (atMs >= nowMs + day) break;
        listedUntilMs = chargedUntilMs(defaultSettings, { listedUntilMs, requests, nowMs: atMs });
        scanned = scannedAt(atMs);
        begun.push(atMs);
      }
      return begun.length;
    };
    expect(beginnings(20)).toBe(24 * 60);
    expect(beginnings(1000)).toBe(Math.ceil(day / (50 * minute)));
  });
});

describe('a reconcile within a request', () => {
  const lists = (debtMs: number) => listsAtOnceMax(defaultSettings, { listedUntilMs: nowMs + debtMs, nowMs });

  it('lists while the budget is overdrawn by less than half an hour', () => {
    expect([-hour, 0, 10 * minute, 30 * minute - 3000, 30 * minute - 2999, day].map(lists)).toEqual([
      600, 600, 400, 1, 0, 0,
    ]);
  });

  it('never keeps the queue from counting: it leaves half of the overdraft', () => {
    const listedUntilMs = chargedUntilMs(defaultSettings, {
      listedUntilMs: nowMs,
      requests: lists(0),
      nowMs,
    });
    expect(waitMs({ urgency: 'decision', debtMs: listedUntilMs - nowMs + 29 * minute })).toBe(0);
  });
});

describe('the choice of candidates of a gc run', () => {
  const lists = (debtMs: number, isFirst: boolean) =>
    candidateListsMax(defaultSettings, { listedUntilMs: nowMs + debtMs, isFirst, nowMs });

  it('begins when a reconcile may that nobody waits for, and leaves half of the overdraft to those who wait', () => {
    expect(mayListCandidatesAtMs({ listedUntilMs: nowMs, sinceMs: nowMs })).toBe(nowMs - 5 * minute);
    expect([lists(-hour, true), lists(0, true), lists(5 * minute, true)]).toEqual([600, 600, 500]);
    expect([lists(-hour, false), lists(0, false), lists(5 * minute, false)]).toEqual([200, 200, 100]);
    const most = Math.max(
      ...[true, false].map((isFirst) =>
        chargedUntilMs(defaultSettings, { listedUntilMs: nowMs, requests: lists(0, isFirst), nowMs }),
      ),
    );
    expect(waitMs({ urgency: 'decision', debtMs: most - nowMs })).toBe(0);
  });

  it('waits half an hour at most, and then makes as many requests as are free in five minutes', () => {
    expect(mayListCandidatesAtMs({ listedUntilMs: nowMs + day, sinceMs: nowMs })).toBe(nowMs + 30 * minute);
    expect([lists(day, true), lists(day, false)]).toEqual([100, 100]);
  });

  it('shares these five minutes with the other gc runs of the tenant, but not what is left anyway', () => {
    const shared = (debtMs: number) =>
      candidateListsMax(defaultSettings, {
        listedUntilMs: nowMs + debtMs,
        isFirst: false,
        gcCount: 20,
        nowMs,
      });
    expect([day, 5 * minute, 0].map(shared)).toEqual([5, 100, 200]);
  });

  it('always makes a request, however small the budget is', () => {
    const input = { listedUntilMs: nowMs, isFirst: false, nowMs };
    expect(candidateListsMax({ listRequestsPerHour: 1 }, input)).toBe(1);
  });
});

describe('uploads that may be under way are looked for', () => {
  /** Seconds from a count, by the seconds since the newest of them began, and by what the count used of the budget. */
  const looksIn = (began: number, listed = 0, listedUntilMs = 0) =>
    (lookAgainAtMs(
      { reconcileRestMs: minute },
      { newestUploadMs: nowMs - began * 1000, scannedAtMs: nowMs, listedMs: listed * 1000, listedUntilMs },
    ) -
      nowMs) /
    1000;

  it('after the rest between two reconciles, and the later the longer ago they began', () => {
    expect([0, 120, 121, 7200].map((began) => looksIn(began))).toEqual([60, 60, 60.5, 3600]);
  });

  it('no sooner than four times what the count used of the budget', () => {
    expect([15, 16, 900].map((listed) => looksIn(0, listed))).toEqual([60, 64, 3600]);
    expect(looksIn(7200, 899)).toBe(3600);
  });

  it('no sooner than the budget lets a reconcile begin that nobody waits for', () => {
    expect(looksIn(0, 0, nowMs + 6 * minute)).toBe(60);
    expect(looksIn(0, 0, nowMs + 7 * minute)).toBe(120);
    expect(looksIn(300, 0, nowMs + 7 * minute)).toBe(150);
  });
});

describe('the schedule', () => {
  const due = (
    more: { tenant?: string; epoch?: number; unchangedForMs?: number; listedUntilMs?: number } = {},
  ) =>
    dueAfterFullMs(defaultSettings, {
      tenant: 'acme',
      epoch: 1,
      scannedAtMs: nowMs,
      listedUntilMs: 0,
      unchangedForMs: 0,
      ...more,
    }) - nowMs;

  it('counts a tenant in use after a day, up to a tenth of it earlier', () => {
    const all = Array.from({ length: 1000 }, (_, epoch) => due({ epoch }));
    expect(Math.max(...all)).toBeLessThanOrEqual(day);
    expect(Math.min(...all)).toBeGreaterThanOrEqual(0.9 * day);
    expect(due()).toBe(due());
  });

  it('counts an idle tenant after twice the time without changes, but at least every 30 days', () => {
    for (const [unchangedForMs, expectedMs] of [
      [0, day],
      [hour, day],
      [day, 2 * day],
      [10 * day, 20 * day],
      [29 * day, 30 * day],
      [300 * day, 30 * day],
    ] as const) {
      expect(due({ unchangedForMs })).toBeLessThanOrEqual(expectedMs);
      expect(due({ unchangedForMs })).toBeGreaterThanOrEqual(0.9 * expectedMs);
    }
  });

  it('does not count a tenant before its budget allows it', () => {
    expect(due({ listedUntilMs: nowMs + 3 * day })).toBe(3 * day);
  });

  it('counts within a day of any activity, and activity never makes it later', () => {
    const dueAfter = (dueAtMs: number) =>
      dueAfterActivityMs(defaultSettings, {
        tenant: 'acme',
        epoch: 2,
        scannedAtMs: nowMs,
        listedUntilMs: 0,
        dueAtMs,
      });
    expect(dueAfter(nowMs + 30 * day)).toBeLessThanOrEqual(nowMs + day);
    expect(dueAfter(nowMs + 5)).toBe(nowMs + 5);
    expect(dueAfter(nowMs - 5)).toBe(nowMs - 5);
  });

  it('counts an idle tenant 15 to 18 times in its first year', () => {
    let [atMs, listed, unchangedForMs] = [nowMs, 0, 0];
    for (let epoch = 1; ; epoch += 1) {
      const nextMs = dueAfterFullMs(defaultSettings, {
        tenant: 'acme',
        epoch,
        scannedAtMs: atMs,
        listedUntilMs: 0,
        unchangedForMs,
      });
      if (nextMs > nowMs + 365 * day) break;
      unchangedForMs = nextMs - atMs;
      atMs = nextMs;
      listed += 1;
    }
    expect(listed).toBeGreaterThanOrEqual(15);
    expect(listed).toBeLessThanOrEqual(18);
  });

  it('spreads 3,000 tenants that were counted within one hour over many hours, within two weeks', () => {
    const runMs = 15 * minute;
    const perRun = new Map<number, number>();
    for (let index = 0; index < 3_000; index += 1) {
      let atMs = nowMs + (index % 60) * minute;
      for (let epoch = 1; epoch <= 14; epoch += 1)
        atMs = dueAfterFullMs(defaultSettings, {
          tenant: `tenant${index}`,
          epoch,
          scannedAtMs: atMs,
          listedUntilMs: 0,
          unchangedForMs: 0,
        });
      const run = Math.floor(atMs / runMs);
      perRun.set(run, (perRun.get(run) ?? 0) + 1);
    }
    // Without the spread there would be 750 in each of four runs.
    expect(Math.max(...perRun.values())).toBeLessThan(180);
    expect(perRun.size).toBeGreaterThan(4 * 8);
  });

  it('visits each of 100,000 tenants in use within a day of its due time, even if all are due at once', () => {
    expect(defaultSettings.refreshTenantsMax).toBe(300);
    // A tenth of the tenants and of a run: each run looks at all that wait.
    const refreshTenantsMax = 30;
    const runMs = minute;
    const tenants = Array.from({ length: 10_000 }, (_, index) => ({
      tenant: `tenant${index}`,
      dueAtMs: nowMs,
      visitedAtMs: nowMs,
      epoch: 1,
    }));
    /** By the run in which they are due. */
    const dueIn = new Map([[0, [...tenants]]]);
    let longestMs = 0;
    for (let run = 0; run < (2 * day) / runMs; run += 1) {
      const atMs = nowMs + run * runMs;
      const found = dueIn.get(run) ?? [];
      found.sort((a, b) => a.dueAtMs - b.dueAtMs);
      dueIn.set(run + 1, [...found.splice(refreshTenantsMax), ...(dueIn.get(run + 1) ?? [])]);
      for (const tenant of found) {
        longestMs = Math.max(longestMs, atMs - tenant.dueAtMs);
        tenant.epoch += 1;
        tenant.visitedAtMs = atMs;
        tenant.dueAtMs = dueAfterFullMs(defaultSettings, {
          tenant: tenant.tenant,
          epoch: tenant.epoch,
          scannedAtMs: atMs,
          listedUntilMs: 0,
          unchangedForMs: 0,
        });
        const next = Math.ceil((tenant.dueAtMs - nowMs) / runMs);
        const others = dueIn.get(next);
        if (others) others.push(tenant);
        else dueIn.set(next, [tenant]);
      }
    }
    // The first round takes 334 runs.
    expect(longestMs).toBe(333 * runMs);
    const oldestMs = nowMs + 2 * day - Math.min(...tenants.map(({ visitedAtMs }) => visitedAtMs));
    expect(oldestMs).toBeLessThanOrEqual(day + runMs);
  });
});
