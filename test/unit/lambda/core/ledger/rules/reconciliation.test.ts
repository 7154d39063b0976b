import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  expiredIntents,
  type FlatPlan,
  isUnchanged,
  planFlat,
  recompute,
  recomputeLimited,
  repoOfKey,
  reposToScan,
  scannedRepos,
} from '../../../../../../lambda/core/ledger/rules/reconciliation.ts';
import { RepoReservations } from '../../../../../../lambda/core/ledger/rules/repo-reservations.ts';
import type { Reservation } from '../../../../../../lambda/core/ledger/rules/reservation.ts';
import type { RepoRecord, TenantRecord } from '../../../../../../lambda/core/ledger/rules/tenant.ts';
import { compareKeys } from '../../../../../../lambda/core/rules/names.ts';
import { defaultSettings } from '../../../../../../lambda/core/rules/settings.ts';
import { reservation } from '../../../../../support/ledger-records.ts';
import { tenantRecord } from '../../../../../support/tenant-record.ts';

const ranges = (plan: FlatPlan) => plan.ranges.map(({ after, until, requests }) => [after, until, requests]);

describe('a flat listing', () => {
  it('of few small repos is one range', () => {
    const plan = planFlat([
      { repo: 'a', objectCount: 3 },
      { repo: 'b', objectCount: 999 },
      { repo: 'new', objectCount: undefined },
    ]);
    expect(ranges(plan)).toEqual([[null, null, 2]]);
    expect([plan.large, plan.requests]).toEqual([new Set(), 2]);
  });

  it('of nothing is one request', () => {
    expect(planFlat([])).toMatchObject({ requests: 1, ranges: [{ after: null, until: null }] });
  });

  it('leaves out repos that fill a page, in the order of their keys', () => {
    const plan = planFlat([
      { repo: 'app', objectCount: 1000 },
      { repo: 'app-x', objectCount: 5 },
      { repo: 'app.y', objectCount: 70_000 },
    ]);
    // '-' and '.' sort before the slash.
    expect(ranges(plan)).toEqual([
      [null, 'app.y/', 1],
      ['app.y/~', 'app/', 1],
      ['app/~', null, 1],
    ]);
    expect(plan.large).toEqual(new Set(['app', 'app.y']));
  });

  it('has no range of its own for what lies beside the folders, however much that is', () => {
    const plan = planFlat([
      { repo: '', objectCount: 1500 },
      { repo: 'a', objectCount: 400 },
    ]);
    expect(ranges(plan)).toEqual([[null, null, 2]]);
    expect(plan.large).toEqual(new Set());
  });

  it('has ranges of 2,000 objects or more, which end behind a repo', () => {
    const plan = planFlat([
      { repo: 'd', objectCount: 1 },
      { repo: 'c', objectCount: 999 },
      { repo: 'b', objectCount: 999 },
      { repo: 'a', objectCount: 2 },
    ]);
    expect(ranges(plan)).toEqual([
      [null, 'c/~', 2],
      ['c/~', null, 1],
    ]);
    expect(plan.requests).toBe(3);
  });

  it('takes a repo of unknown size for ten objects', () => {
    const unknown = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ repo: `r${100 + index}`, objectCount: undefined }));
    expect(planFlat(unknown(100))).toMatchObject({ requests: 1, large: new Set() });
    expect(planFlat(unknown(101)).requests).toBe(2);
  });

  it('of 20,000 repos of 3 objects has 8 ranges and less than 70 requests', () => {
    const repos = Array.from({ length: 20_000 }, (_, index) => ({ repo: `r${index}`, objectCount: 3 }));
    const plan = planFlat(repos);
    expect(plan.ranges).toHaveLength(8 + 1);
    expect(plan.ranges.map(({ requests }) => requests)).toEqual([...Array(8).fill(8), 1]);
    expect(plan.requests).toBe(8 * 8 + 1);
  });

  it('covers every key outside of the large repos exactly once', () => {
    const name = fc.stringMatching(/^[-.a-c]{0,3}$/);
    const sized = fc.uniqueArray(
      fc.record({ repo: name, objectCount: fc.constantFrom(undefined, 0, 5, 900, 1000, 5000) }),
      { selector: ({ repo }) => repo },
    );
    const key = fc
      .tuple(name, fc.constantFrom('', '/', '/0', '/ff', '/~', '/é'))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(sized, key, (repos, listed) => {
        const plan = planFlat(repos);
        const holding = plan.ranges.filter(
          ({ after, until }) =>
            (after === null || compareKeys(listed, after) > 0) &&
            (until === null || compareKeys(listed, until) <= 0),
        );
        if (plan.large.has(repoOfKey(listed))) expect(holding.length).toBeLessThanOrEqual(1);
        else expect(holding).toHaveLength(1);
      }),
      { numRuns: 2000 },
    );
  });
});

it.each([
  ['app/0f', 'app'],
  ['app/x/y', 'app'],
  ['app/', 'app'],
  ['beside', ''],
  ['/x', ''],
  ['', ''],
])('the key %j belongs to the repo %j', (key, repo) => {
  expect(repoOfKey(key)).toBe(repo);
});

const settings = { ...defaultSettings, clockSkewMs: 7 };
const hour = 3_600_000;
const nowMs = 100 * hour;

const repo = (name: string, more: Partial<RepoRecord> = {}): RepoRecord => ({
  repo: name,
  storedBytes: 10,
  objectCount: 1,
  scannedAtMs: 1,
  epoch: 1,
  dirtyToken: null,
  covered: new Set(),
  putsUntilMs: 0,
  closedAtMs: null,
  ...more,
});

const tenantWith = (more: Partial<TenantRecord> = {}) =>
  tenantRecord({
    committedBytes: 30,
    scanned: { storedBytes: 30, objectCount: 3, scannedAtMs: 1 },
    ...more,
  });

const note = (deadlineMs: number, of = 'app') => ({ repo: of, bytes: 1, deadlineMs });

const issued = (id: string, more: Partial<Reservation> = {}) =>
  reservation(id, { state: 'issued', createdAtMs: 0, expiresAtMs: nowMs, lapsedAtMs: nowMs + hour, ...more });

/** repo → its reservations, of one object each. */
function reservationsIn(
  given: Readonly<Record<string, readonly (Partial<Reservation> & { bytes?: number })[]>>,
): Map<string, RepoReservations> {
  return new Map(
    Object.entries(given).map(([name, list]) => {
      const all = new RepoReservations();
      for (const [index, { bytes = 10, ...more }] of list.entries())
        all.add(issued(`${name}${index}`, { entries: new Map([[`${name}${index}`, bytes]]), ...more }));
      return [name, all];
    }),
  );
}

describe('a delete that died', () => {
  const expired = (...deadlines: number[]) =>
    expiredIntents(
      settings,
      tenantWith({ intents: new Map(deadlines.map((at, index) => [`n${index}`, note(at)])) }),
      1000,
    );

  it('loses its note only when its deleter has stopped by every clock: twice the skew after the deadline', () => {
    expect(expired(1000, 986, 985, 1)).toEqual(['n3', 'n2']);
  });

  it('may keep it for one more commit if there are too many: the oldest 100 go first', () => {
    const ids = expired(...Array.from({ length: 150 }, (_, index) => 900 - index));
    expect(ids).toHaveLength(100);
    expect([ids[0], ids[99]]).toEqual(['n149', 'n50']);
  });
});

describe('a repo is scanned', () => {
  const scanned = (input: {
    repos?: RepoRecord[];
    reservations?: Map<string, RepoReservations>;
    intents?: TenantRecord['intents'];
  }) => [
    ...reposToScan({
      repos: input.repos ?? [],
      reservations: input.reservations ?? new Map(),
      tenant: tenantWith({ intents: input.intents ?? new Map() }),
      nowMs,
    }),
  ];

  it('if a delete marked it', () => {
    expect(scanned({ repos: [repo('app'), repo('web', { dirtyToken: 'd' })] })).toEqual(['web']);
  });

  it('if a delete in it is noted, alive or not', () => {
    const intents = new Map([
      ['a', note(1, 'web')],
      ['b', note(9e15, 'art')],
    ]);
    expect(scanned({ repos: [repo('app')], intents })).toEqual(['web', 'art']);
  });

  it('if it has a reservation that no scan of this very repo covered, known or not', () => {
    const reservations = reservationsIn({ app: [{}], web: [{}], art: [{}] });
    const repos = [repo('app', { covered: new Set(['app0']) }), repo('web', { covered: new Set(['app0']) })];
    expect(scanned({ repos, reservations })).toEqual(['web', 'art']);
  });
});

describe('a reconcile', () => {
  const computed = (
    reservations: Map<string, RepoReservations>,
    more: { limitBytes?: number | null; repos?: RepoRecord[] } = {},
  ) =>
    recompute({
      repos: more.repos ?? [],
      scans: new Map([['app', { storedBytes: 5, objectCount: 2, seen: new Set() }]]),
      reservations,
      limitBytes: more.limitBytes === undefined ? 100 : more.limitBytes,
      scannedAtMs: nowMs,
      settings,
    });

  it('takes what was scanned, and the last count of the other repos', () => {
    expect(computed(new Map(), { repos: [repo('app'), repo('web')] })).toEqual({
      storedBytes: 15,
      objectCount: 3,
      totalBytes: 15,
      leastBytes: 15,
      leastUntilMs: Number.MAX_SAFE_INTEGER,
      entryCount: 0,
      reservedUntilMs: null,
      newestUploadMs: null,
    });
  });

  it('knows when the newest upload began that may be under way, in whichever repo', () => {
    const began = (...createdAtMs: number[]) => createdAtMs.map((ms) => ({ createdAtMs: ms }));
    expect(computed(reservationsIn({ app: began(3, 7, 5), web: began(6) })).newestUploadMs).toBe(7);
    expect(computed(reservationsIn({ app: began(3), web: began(9) })).newestUploadMs).toBe(9);
    const pending = [{ state: 'pending', createdAtMs: 9 }] as const;
    expect(computed(reservationsIn({ app: pending, web: began(3) })).newestUploadMs).toBe(3);
    expect(computed(reservationsIn({ app: pending, web: pending })).newestUploadMs).toBeNull();
  });

  it('adds what live reservations of every repo may bring, and its confirmed usage ends when the first may be lapsed', () => {
    const first = { bytes: 10, lapsedAtMs: nowMs + 100_000 };
    const pending = { bytes: 3, state: 'pending' } as const;
    expect(computed(reservationsIn({ app: [{ bytes: 20 }, pending], web: [first] }))).toMatchObject({
      storedBytes: 5,
      totalBytes: 5 + 33,
      leastBytes: 5 + 30,
      leastUntilMs: nowMs + 100_000 - 14,
      entryCount: 3 + 3,
    });
  });

  it('does not add what a scan of the repo saw before, and asks for each repo by its name', () => {
    const repos = [repo('web', { covered: new Set(['web0']) })];
    expect(computed(reservationsIn({ web: [{}] }), { repos })).toMatchObject({
      totalBytes: 15,
      entryCount: 1 + 1,
    });
    const known = scannedRepos({ repos, scans: new Map() });
    expect([known('web').covered, known('app').covered]).toEqual([new Set(['web0']), new Set()]);
    expect([known('web').isBehind, known('web').scan]).toEqual([false, undefined]);
    const scan = { storedBytes: 5, objectCount: 2, seen: new Set<string>() };
    const more = scannedRepos({ repos, scans: new Map([['web', scan]]), behind: new Set(['app']) });
    expect([more('web').isBehind, more('app').isBehind]).toEqual([false, true]);
    expect([more('web').scan, more('app').scan]).toEqual([scan, undefined]);
  });

  const unconfirmed = (bytes: number) => ({ bytes, lapsedAtMs: nowMs - 1 });

  it('adds of unconfirmed reservations only what exceeds the limit, all repos together', () => {
    const reservations = reservationsIn({ app: [unconfirmed(60)], web: [unconfirmed(70)] });
    expect(computed(reservations)).toMatchObject({
      totalBytes: 5 + 30,
      leastBytes: 5 + 30,
      leastUntilMs: nowMs - 1 + 24 * hour - 14,
    });
    expect(computed(reservationsIn({ app: [unconfirmed(100)] }))).toMatchObject({
      totalBytes: 5,
      leastBytes: 5,
      leastUntilMs: Number.MAX_SAFE_INTEGER,
    });
    expect(computed(reservations, { limitBytes: null }).totalBytes).toBe(5);
  });

  it('tells when the last promise that it counts ends: of a late one only if it exceeds the limit', () => {
    const until = (given: Parameters<typeof reservationsIn>[0]) =>
      computed(reservationsIn(given)).reservedUntilMs;
    expect(until({ app: [{}], web: [{ bytes: 1, lapsedAtMs: nowMs + 2 * hour }] })).toBe(nowMs + 2 * hour);
    expect(until({ app: [{ bytes: 1, lapsedAtMs: nowMs + 2 * hour }], web: [{}] })).toBe(nowMs + 2 * hour);
    expect(until({ app: [unconfirmed(100)] })).toBeNull();
    expect(until({ app: [unconfirmed(101)] })).toBe(nowMs - 1 + 24 * hour);
    expect(until({ app: [unconfirmed(100)], web: [{}] })).toBe(nowMs + hour);
    expect(until({ app: [unconfirmed(101)], web: [{ bytes: 1, lapsedAtMs: nowMs + 30 * hour }] })).toBe(
      nowMs + 30 * hour,
    );
  });

  it('that found too much late keeps its confirmed usage no longer than its live reservations let it', () => {
    const reservations = reservationsIn({
      app: [unconfirmed(130)],
      web: [{ bytes: 1, lapsedAtMs: nowMs + 90_000 }],
    });
    expect(computed(reservations)).toMatchObject({
      leastBytes: 5 + 1 + 30,
      leastUntilMs: nowMs + 90_000 - 14,
    });
  });
});

it('tells who has more entries than one may have that have not arrived, in all repos together, limit or not', () => {
  const one = (repo: string, count: number, madeBy: string) => {
    const reservations = new RepoReservations();
    const entries = new Map(Array.from({ length: count }, (_, index) => [`${madeBy}${index}`, 0]));
    reservations.add(issued(`${repo}${madeBy}`, { repo, entries, madeBy }));
    return reservations;
  };
  const loadOf = (reservations: Map<string, RepoReservations>, limitBytes: number | null) =>
    recompute({ repos: [], scans: new Map(), reservations, limitBytes, scannedAtMs: nowMs, settings })
      .unconfirmed;
  const most = new Map([
    ['app', one('app', 60_000, 'ada')],
    ['web', one('web', 40_000, 'ada')],
    ['art', one('art', 1, 'ben')],
  ]);
  expect(loadOf(most, null)).toBeUndefined();
  const more = new Map(most).set('one', one('one', 1, 'ada'));
  for (const limitBytes of [null, 0, 100])
    expect(loadOf(more, limitBytes)).toEqual({
      bytes: 0,
      makers: new Map(),
      crowd: new Map([['ada', nowMs + 25 * hour]]),
    });
});

it('a repo that has a limit is counted as if it were a tenant of its own, and no other', () => {
  const scan = (storedBytes: number) => ({ storedBytes, objectCount: 2, seen: new Set<string>() });
  const unconfirmed = { bytes: 60, lapsedAtMs: nowMs - 1 };
  const found = recomputeLimited({
    repos: [repo('app'), repo('web', { storedBytes: 20 }), repo('art', { storedBytes: 40 })],
    scans: new Map([
      ['app', scan(5)],
      ['new', scan(7)],
      ['other', scan(1000)],
    ]),
    reservations: reservationsIn({
      app: [{ bytes: 3 }, unconfirmed],
      web: [{ bytes: 4 }],
      art: [{ bytes: 5 }],
    }),
    repoLimits: new Map(
      Object.entries({ app: 50, web: 100, new: 100, none: 100 }).map(([name, limitBytes]) => [
        name,
        { limitBytes, scanned: null },
      ]),
    ),
    scannedAtMs: nowMs,
    settings,
  });
  // Of what is late only what exceeds the repo's own limit.
  expect([...found].map(([name, { storedBytes, totalBytes }]) => [name, storedBytes, totalBytes])).toEqual([
    ['app', 5, 5 + 3 + 10],
    ['web', 20, 24],
    ['new', 7, 7],
    ['none', 0, 0],
  ]);
});

describe('a tenant is idle', () => {
  const recomputed = {
    storedBytes: 30,
    objectCount: 3,
    totalBytes: 30,
    leastBytes: 30,
    leastUntilMs: 0,
    entryCount: 0,
    reservedUntilMs: null,
    newestUploadMs: null,
  };
  const idle = { before: tenantWith(), recomputed, repos: [repo('app')], reservations: new Map() };

  it('if a full scan found what the ledger has', () => {
    expect(isUnchanged(idle)).toBe(true);
  });

  it.each<[string, Partial<Parameters<typeof isUnchanged>[0]>]>([
    ['it was never counted', { before: tenantWith({ scanned: null }) }],
    ['the bytes differ', { recomputed: { ...recomputed, storedBytes: 31 } }],
    ['the number of objects differs', { recomputed: { ...recomputed, objectCount: 4 } }],
    ['the counter differs', { before: tenantWith({ committedBytes: 31 }) }],
    ['a delete is noted', { before: tenantWith({ intents: new Map([['n', note(1)]]) }) }],
    ['an upload is promised', { reservations: reservationsIn({ app: [{}] }) }],
    ['a delete marked a repo', { repos: [repo('app'), repo('web', { dirtyToken: 'd' })] }],
    ['a repo is closed', { repos: [repo('app'), repo('web', { closedAtMs: 1 })] }],
  ])('not if %s', (_, change) => {
    expect(isUnchanged({ ...idle, ...change })).toBe(false);
  });
});
