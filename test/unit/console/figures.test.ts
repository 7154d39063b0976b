import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  barOf,
  type Column,
  growthText,
  isInGroup,
  progressOf,
  repoSumText,
  reservationText,
  sortObjects,
  sortRepos,
  sortReservations,
  sortTenants,
  stateOf,
  tenantGroups,
} from '../../../console/src/figures.ts';
import { forecastNote, percentText, timeText, whoText } from '../../../console/src/text.ts';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

describe('percent', () => {
  it.each([
    [0, 100, '0 %'],
    [0, 0, '100 %'],
    [1, 0, 'over 100 %'],
    [1, 1_000_000, '0.1 %'],
    [838, 1000, '83.8 %'],
    [999_999, 1_000_000, '99.9 %'],
    [1000, 1000, '100 %'],
    [1_000_001, 1_000_000, '100.1 %'],
    [1032, 1000, '103.2 %'],
  ])('of %d in %d is %s', (part, whole, expected) => {
    expect(plain(percentText(part, whole))).toBe(expected);
  });

  it('is 100 of what is exactly full alone, and 0 of nothing alone', () => {
    const amount = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(amount, amount, (part, whole) => {
        expect(percentText(part, whole) === percentText(1, 1)).toBe(part === whole);
        expect(percentText(part, whole)).not.toBe(percentText(0, 1));
      }),
    );
  });
});

describe('the bar', () => {
  const most = 2 ** 50;
  const amount = fc.oneof(fc.constantFrom(0, 1, most - 2, most), fc.integer({ min: 0, max: most }));

  it('shows whatever is not empty, and is full only when nothing is free', () => {
    fc.assert(
      fc.property(amount, amount, amount, (stored, reserved, limit) => {
        const bar = barOf({ stored, reserved, limit });
        const used = stored + reserved;
        const sum = bar.stored + bar.reserved + bar.over;
        for (const width of [bar.stored, bar.reserved, bar.over]) expect(width).toBeGreaterThanOrEqual(0);
        expect(sum).toBeLessThanOrEqual(1 + 1e-9);
        if (used > 0) expect(sum).toBeGreaterThanOrEqual(0.006);
        if (used < limit) expect(sum).toBeLessThanOrEqual(0.994 + 1e-9);
        expect(bar.over > 0).toBe(used > limit);
        if (stored > 0 && used <= limit) expect(bar.stored).toBeGreaterThanOrEqual(0.006 - 1e-9);
        if (reserved > 0 && used <= limit) expect(bar.reserved).toBeGreaterThanOrEqual(0.006);
      }),
    );
  });

  it('shows the little that is stored beside much that is reserved', () => {
    const { stored, reserved } = barOf({ stored: 1, reserved: 2 ** 50 - 2, limit: 2 ** 50 });
    expect(stored).toBeCloseTo(0.006);
    expect(reserved).toBeCloseTo(0.988);
  });

  it('is to scale', () => {
    expect(barOf({ stored: 50, reserved: 25, limit: 100 })).toEqual({
      stored: 0.5,
      reserved: 0.25,
      over: 0,
      limit: 1,
    });
    expect(barOf({ stored: 125, reserved: 0, limit: 100 })).toEqual({
      stored: 0.8,
      reserved: 0,
      over: 0.2,
      limit: 0.8,
    });
    expect(barOf({ stored: 0, reserved: 0, limit: 0 })).toEqual({
      stored: 0,
      reserved: 0,
      over: 0,
      limit: 1,
    });
  });
});

const repo = (
  name: string,
  storedBytes: number | null,
  objectCount: number | null,
  scannedAt: string | null,
) => ({
  repo: name,
  limitBytes: null,
  storedBytes,
  objectCount,
  scannedAt,
});

describe('the order of repos', () => {
  const repos = [
    repo('b', 2, 9, '2026-11-22T00:00:00Z'),
    repo('a', 2, 1, '2026-11-21T00:00:00Z'),
    repo('c', null, null, null),
    repo('d', 0, 0, '2026-11-23T00:00:00Z'),
  ];
  it.each<[Column, boolean, string]>([
    ['storedBytes', true, 'abdc'],
    ['storedBytes', false, 'cdab'],
    ['repo', false, 'abcd'],
    ['repo', true, 'dcba'],
    ['objectCount', true, 'badc'],
    ['scannedAt', true, 'dbac'],
  ])('by %s, down: %s', (column, isDown, expected) => {
    expect(
      sortRepos(repos, { column, isDown })
        .map((each) => each.repo)
        .join(''),
    ).toBe(expected);
  });
});

describe('the growth of a repo', () => {
  const nowMs = Date.parse('2026-11-23T05:00:00Z');
  const of = (storedBytes: number | null, before?: { day: string; storedBytes: number }) => {
    const { text, since } = growthText({ storedBytes, before }, nowMs);
    return plain(`${text} ${since}`).trim();
  };
  it('is said with its sign, and since when if that is not as long ago as it should be', () => {
    expect(of(3072, { day: '2026-10-24', storedBytes: 1024 })).toBe('+2 KiB');
    expect(of(1024, { day: '2026-10-20', storedBytes: 3072 })).toBe('−2 KiB');
    expect(of(1024, { day: '2026-10-24', storedBytes: 1024 })).toBe('0 B');
    expect(of(1024, { day: '2026-10-25', storedBytes: 0 })).toBe('+1 KiB since 25 Oct');
    expect(of(1024)).toBe('–');
    expect(of(null, { day: '2026-10-24', storedBytes: 1024 })).toBe('–');
  });
  it('is an order, in which what is not known comes last', () => {
    const at = '2026-11-22T00:00:00Z';
    const grown = (name: string, bytes: number) => ({
      ...repo(name, 50, 1, at),
      before: { day: '2026-10-24', storedBytes: 50 - bytes },
    });
    const repos = [repo('a', 9, 1, at), grown('b', -5), grown('c', 7), grown('d', 0)];
    const sorted = sortRepos(repos, { column: 'growth', isDown: true });
    expect(sorted.map((each) => each.repo).join('')).toBe('cdba');
  });
});

describe('the sum of the repos', () => {
  const at = '2026-11-22T00:00:00Z';
  const repos = [repo('a', 2048, 9, at), repo('b', 1024, 1, at)];
  it.each([
    ['all 2, together 3 KiB', repos, 3072, false],
    ['all 2, together 3 KiB', repos, null, false],
    ['all 2, together 3 KiB of 4 KiB in all: some scanned at another time', repos, 4096, false],
    ['all 2 of your token, together 3 KiB of 4 KiB in all', repos, 4096, true],
    [
      'all 3, together 3 KiB of 4 KiB in all: 1 not scanned yet',
      [...repos, repo('c', null, null, null)],
      4096,
      false,
    ],
    ['all 3, together 3 KiB', [...repos, repo('c', null, null, null)], 3072, false],
    ['all 0, together 0 B', [], 0, false],
  ])('is said: %s', (expected, of, totalBytes, isForSome) => {
    expect(plain(repoSumText(of, { totalBytes, isForSome, isTruncated: false }))).toBe(expected);
  });

  it.each([
    [false, 'largest 2, together 3 KiB'],
    [true, 'largest 2 of your token, together 3 KiB'],
  ])('says so if there are more (of some repos: %s)', (isForSome, expected) => {
    const textOf = (totalBytes: number | null) =>
      plain(repoSumText(repos, { totalBytes, isForSome, isTruncated: true }));
    expect([4096, 3072, null].map(textOf)).toEqual([`${expected} of 4 KiB in all`, expected, expected]);
  });
});

describe('the order of objects', () => {
  const object = (oid: string, sizeBytes: number, storedAt: string | null) => ({
    repo: 'r',
    oid,
    sizeBytes,
    storedAt,
  });
  const objects = [
    object('a', 5, '2026-11-22T00:00:00Z'),
    object('b', 9, '2026-11-23T00:00:00Z'),
    object('c', 5, '2026-11-21T00:00:00Z'),
    object('e', 5, null),
    object('d', 5, null),
    object('f', 6, '2026-11-21T00:00:00Z'),
  ];
  const names = (sorted: readonly { oid: string }[]) => sorted.map(({ oid }) => oid).join('');
  it('is by size, then by age; or by age, then by size, with those of no known age last', () => {
    expect(names(sortObjects(objects, 'largest'))).toBe('bfcade');
    expect(names(sortObjects(objects, 'oldest'))).toBe('fcabde');
  });
});

describe('reservations', () => {
  const of = (id: string, bytes: number, arrived: boolean, reservedUntil: string) => ({
    id,
    repo: 'r',
    state: 'issued' as const,
    objectCount: 1,
    bytes,
    arrived,
    madeBy: null,
    createdAt: '2026-11-23T05:00:00Z',
    expiresAt: '2026-11-23T05:30:00Z',
    reservedUntil,
  });
  it('come with the largest first that may still arrive, then with the one that ends first', () => {
    const sorted = sortReservations([
      of('a', 9, true, '2026-11-23T05:31:00Z'),
      of('b', 5, false, '2026-11-23T05:32:00Z'),
      of('c', 7, false, '2026-11-23T05:33:00Z'),
      of('d', 5, false, '2026-11-23T05:31:00Z'),
    ]);
    expect(sorted.map(({ id }) => id).join('')).toBe('cdba');
  });
  it('say what is going on', () => {
    expect(reservationText({ state: 'pending', arrived: false })).toBe('starting');
    expect(reservationText({ state: 'issued', arrived: false })).toBe('uploading');
    expect(reservationText({ state: 'issued', arrived: true })).toBe('arrived');
    expect(reservationText({ state: 'unconfirmed', arrived: false })).toBe('unconfirmed');
  });
});

const usage = (storedBytes: number, reservedBytes = 0) => ({
  storedBytes,
  objectCount: 1,
  reservedBytes,
  reservedUntil: null as string | null,
  committedBytes: storedBytes + reservedBytes,
  scannedAt: '2026-11-23T00:00:00Z',
  source: 'cache' as const,
});
const forecast = { fullOn: null, reason: 'not-growing' as const, bytesPerDay: 0 };
const account = { plan: null, downloadLimitBytes: null, reposMustExist: false };

describe('what is to be done about the limit', () => {
  it.each([
    ['fine', usage(899), 1000],
    ['near', usage(900), 1000],
    ['near', usage(800, 101), 1000],
    ['over', usage(1000), 1000],
    ['over', usage(800, 201), 1000],
    ['fine', usage(1000), null],
    ['fine', null, 1000],
    // Nothing fits, and there is nothing to be deleted.
    ['fine', usage(0), 0],
  ] as const)('is %s', (expected, of, limitBytes) => {
    const body = {
      ...account,
      tenant: 'acme',
      usage: of,
      limitBytes,
      forecast,
      repos: [],
      refreshing: false,
    };
    expect(stateOf(body)).toBe(expected);
  });
});

describe('tenants', () => {
  it('come with the fullest first, then those without a limit, then those never counted', () => {
    const of = (tenant: string, used: ReturnType<typeof usage> | null, limitBytes: number | null) => ({
      ...account,
      tenant,
      usage: used,
      limitBytes,
      createdAt: '2026-11-23T00:00:00Z',
    });
    const sorted = sortTenants([
      of('never', null, 10),
      of('free', usage(99), null),
      of('half', usage(4, 1), 10),
      of('over', usage(12), 10),
      of('other-half', usage(5), 10),
      of('nothing-of-nothing', usage(0), 0),
      of('some-of-nothing', usage(1), 0),
    ]);
    expect(sorted.map(({ tenant }) => tenant)).toEqual([
      'some-of-nothing',
      'over',
      'half',
      'other-half',
      'nothing-of-nothing',
      'free',
      'never',
    ]);
  });
});

describe('tenants that somebody may have to look at', () => {
  const nowMs = Date.parse('2026-11-24T02:00:00Z');
  const of = (used: ReturnType<typeof usage> | null, limitBytes: number | null, deleting?: true) => ({
    ...account,
    tenant: 'acme',
    usage: used,
    limitBytes,
    createdAt: '2026-11-23T00:00:00Z',
    deleting,
  });
  const now = (bytes: number) => ({ ...usage(bytes), scannedAt: '2026-11-24T01:00:00Z' });
  const old = (bytes: number) => ({ ...usage(bytes), scannedAt: '2026-10-20T01:00:00Z' });
  const ended = (reservedUntil: string) => ({ ...usage(3, 2), reservedUntil });
  it.each([
    ['all', of(now(5), 10)],
    ['all near', of(now(9.5), 10)],
    ['all over', of(now(10), 10)],
    ['all', of(now(10), null)],
    ['all uncounted', of(null, 10)],
    ['all deleting', of(null, 10, true)],
    // It is not counted any more.
    ['all deleting', of(old(12), 10, true)],
    ['all', of(usage(5), 10)],
    ['all old', of(old(5), 10)],
    ['all over old', of(old(12), 10)],
    ['all', of(ended('2026-11-24T01:00:00Z'), 10)],
    ['all old', of(ended('2026-11-24T00:59:59Z'), 10)],
  ])('are in %s', (expected, body) => {
    expect(tenantGroups.filter((group) => isInGroup(body, group, nowMs)).join(' ')).toBe(expected);
  });
});

describe('how far a count is', () => {
  const count = (repo: string, share: number | null, state: 'running' | 'paused' = 'running') => ({
    repo,
    kind: 'initial' as const,
    state,
    progress:
      share === null
        ? null
        : {
            share,
            objectCount: 1000 * share,
            listRequests: 1,
            objectsPerSecond: null,
            secondsLeft: null,
            beganAt: '2026-11-23T00:00:00Z',
            updatedAt: '2026-11-23T00:00:00Z',
          },
  });
  it('is that of the repos that tell it', () => {
    expect(progressOf([])).toBeUndefined();
    expect(progressOf([count('a', null)])).toBeUndefined();
    expect(progressOf([count('a', null), count('b', 0.5)])).toEqual({
      what: 'b',
      share: 0.5,
      objectCount: 500,
      isPaused: false,
    });
    expect(progressOf([count('a', 0.2, 'paused'), count('b', 0.4)])).toEqual({
      what: '2 repos',
      share: expect.closeTo(0.3),
      objectCount: 600,
      isPaused: false,
    });
    expect(progressOf([count('a', 0.2, 'paused')])?.isPaused).toBe(true);
  });
});

describe('text', () => {
  it('says when a tenant is full, or why not', () => {
    expect(forecastNote({ fullOn: '2027-02-03', reason: null, bytesPerDay: 1 })).toBe(
      'full on 3 Feb 2027 at this pace',
    );
    expect(forecastNote(forecast)).toBe('not filling up');
  });

  it('says a time of today by the clock alone', () => {
    const now = new Date(2026, 10, 23, 12, 0).getTime();
    expect(timeText(new Date(2026, 10, 23, 14, 41).toISOString(), now)).toBe('14:41');
    expect(timeText(new Date(2026, 10, 24, 9, 5).toISOString(), now)).toBe('24 Nov, 09:05');
  });

  it('says who has signed in', () => {
    const session = {
      kind: 'tenant' as const,
      tenant: 'acme',
      tokenId: '0f1e2d3c4b5a6978',
      scope: 'write' as const,
      label: null,
      user: null,
      repos: null,
      expiresAt: null,
      limitContactUrl: null,
    };
    expect(whoText(session)).toBe('token 0f1e… · read and write');
    expect(whoText({ ...session, user: 'ada' })).toBe('ada · read and write');
    expect(whoText({ ...session, user: 'ada', label: 'artists' })).toBe('artists · read and write');
    expect(whoText({ ...session, kind: 'operator' })).toBe('operator');
  });
});
