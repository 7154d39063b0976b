import { describe, expect, it, vi } from 'vitest';
import { commitTenant } from '../../../../../lambda/core/ledger/commit-reconcile.ts';
import type { Recomputed } from '../../../../../lambda/core/ledger/rules/reconciliation.ts';
import { RepoReservations } from '../../../../../lambda/core/ledger/rules/repo-reservations.ts';
import type { TenantRecord } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import type {
  LargeRepoOutcome,
  LargeReposOutcome,
} from '../../../../../lambda/core/ledger/scan-large-repos.ts';
import type { LedgerSnapshot } from '../../../../../lambda/core/ledger/snapshot.ts';
import { defaultSettings, type Settings } from '../../../../../lambda/core/rules/settings.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const minute = 60_000;
const day = 24 * 3_600_000;
const scannedAtMs = 100 * day;
const scanBeganMs = scannedAtMs + 10_000;
const { clockSkewMs } = defaultSettings;

/** A tenant of one object whose numbers were right a day ago. */
const known = tenantRecord({
  committedBytes: 30,
  scanned: { storedBytes: 30, objectCount: 1, scannedAtMs: scannedAtMs - day },
  dueAtMs: scannedAtMs + day / 2,
});
const found: Recomputed = {
  storedBytes: 30,
  objectCount: 1,
  totalBytes: 30,
  leastBytes: 30,
  leastUntilMs: 9e15,
  reservedUntilMs: null,
  newestUploadMs: null,
  entryCount: 0,
};

/** What is written for the tenant. */
async function commit(given: {
  before?: Partial<TenantRecord>;
  found?: Partial<Recomputed>;
  foundLimited?: ReadonlyMap<string, Partial<Recomputed>>;
  snapshot?: Partial<LedgerSnapshot>;
  isFull?: boolean;
  nowMs?: number;
  listedUntilMs?: number;
  largeRepos?: Partial<LargeReposOutcome>;
  settings?: Partial<Settings>;
}) {
  const ledger = new MemoryLedger();
  const write = vi.spyOn(ledger, 'commitTenant').mockResolvedValue({ kind: 'superseded' });
  await commitTenant(
    {
      ledger,
      clock: { nowMs: () => given.nowMs ?? 0, sleep: async () => undefined },
      settings: { ...defaultSettings, ...given.settings },
    },
    {
      epoch: 2,
      before: { ...known, ...given.before },
      isFull: given.isFull ?? false,
      snapshot: {
        scannedAtMs,
        scanBeganMs,
        repos: [],
        reservations: new Map(),
        hasAgedPending: false,
        ...given.snapshot,
      },
      recomputed: { ...found, ...given.found },
      recomputedLimited: new Map(
        [...(given.foundLimited ?? [])].map(([repo, part]) => [repo, { ...found, ...part }]),
      ),
      listedUntilMs: given.listedUntilMs ?? 0,
      largeRepos: { outcomes: [], shardsListedUntilMs: 0, nextDueAtMs: null, ...given.largeRepos },
      repoCount: 0,
    },
  );
  const [written] = write.mock.calls;
  if (!written) throw new Error('Nothing was written.');
  return written[0];
}

/** Of a large repo in which nothing is in doubt. */
const large = (more: Partial<LargeRepoOutcome> = {}): LargeRepoOutcome =>
  ({
    scan: { objectCount: 4 },
    scannedAtMs: 9e15,
    listedAtMs: 9e15,
    doubtBytes: 0,
    ...more,
  }) as Partial<LargeRepoOutcome> as LargeRepoOutcome;

describe('a reconcile', () => {
  it('corrects the counter by the difference to what it recomputed', async () => {
    expect(await commit({ found: { totalBytes: 35 } })).toMatchObject({ correctionBytes: 5 });
    expect(await commit({ found: { totalBytes: 21 } })).toMatchObject({ correctionBytes: -9 });
  });

  it('writes the same for each repo that has a limit, by its own numbers', async () => {
    const scanned = { committedBytes: 12, storedBytes: 10, confirmedBaseBytes: 9, confirmedUntilMs: 1 };
    const written = await commit({
      before: {
        deletedBytes: 1000,
        repoLimits: new Map([
          ['app', { limitBytes: 50, scanned }],
          ['web', { limitBytes: 60, scanned: null }],
        ]),
        intents: new Map([
          ['n', { repo: 'app', bytes: 3, deadlineMs: scanBeganMs }],
          ['o', { repo: 'other', bytes: 90, deadlineMs: scanBeganMs }],
        ]),
      },
      foundLimited: new Map([
        ['app', { totalBytes: 17, leastBytes: 15, storedBytes: 14, leastUntilMs: 8 }],
        ['web', { totalBytes: 4, leastBytes: 4, storedBytes: 4, leastUntilMs: 9 }],
      ]),
      largeRepos: {
        outcomes: [large({ repo: 'web', doubtBytes: 2 }), large({ repo: 'other', doubtBytes: 7 })],
      },
    });
    const app = {
      limitBytes: 50,
      correctionBytes: 5,
      storedBytes: 14,
      confirmedBaseBytes: 12,
      confirmedUntilMs: 8,
    };
    const web = {
      limitBytes: 60,
      correctionBytes: 4,
      storedBytes: 4,
      confirmedBaseBytes: 2,
      confirmedUntilMs: 9,
    };
    expect(written.repoLimits).toEqual(
      new Map([
        ['app', app],
        ['web', web],
      ]),
    );
  });

  it('leaves limits of repos uncounted in a tenant that was never counted as a whole', async () => {
    const repoLimits = new Map([['app', { limitBytes: 50, scanned: null }]]);
    const foundLimited = new Map([['app', {}]]);
    const of = async (isFull: boolean) =>
      (await commit({ before: { repoLimits, scanned: null }, foundLimited, isFull })).repoLimits.size;
    expect([await of(false), await of(true)]).toEqual([0, 1]);
  });

  it('has a confirmed usage without the bytes of every delete that is noted, and takes off what was deleted before', async () => {
    const note = { repo: 'app', deadlineMs: scanBeganMs };
    const intents = new Map([
      ['n1', { ...note, bytes: 3 }],
      ['n2', { ...note, bytes: 4 }],
    ]);
    const before = { intents, deletedBytes: 100 };
    expect(await commit({ before, found: { leastBytes: 29, leastUntilMs: 77 } })).toMatchObject({
      confirmedBaseBytes: 29 - 7,
      deletedBytesRead: 100,
      confirmedUntilMs: 77,
    });
  });

  it('removes the notes whose delete had ended before its scan began, by every clock', async () => {
    const endMs = scanBeganMs - 2 * clockSkewMs;
    const note = { repo: 'app', bytes: 1 };
    const intents = new Map([
      ['over', { ...note, deadlineMs: endMs - 1 }],
      ['may run', { ...note, deadlineMs: endMs }],
    ]);
    expect(await commit({ before: { intents } })).toMatchObject({ expiredIntents: ['over'] });
  });

  it('is dated when it began, no more than 45 minutes before it commits, and never before the last one', async () => {
    // That is what it says of all that it found.
    expect(await commit({ nowMs: scannedAtMs + 45 * minute })).not.toHaveProperty('stepAtMs');
    expect(await commit({ nowMs: scannedAtMs + 45 * minute + 1 })).toMatchObject({
      stepAtMs: scannedAtMs + 1,
    });
    const oldShards = { outcomes: [large({ scannedAtMs: scannedAtMs - day })] };
    expect(await commit({ largeRepos: oldShards })).toMatchObject({ stepAtMs: scannedAtMs });
    const later = scannedAtMs + 1000;
    expect(await commit({ before: { stepAtMs: later } })).toMatchObject({ stepAtMs: later });
    const scanned = { storedBytes: 30, objectCount: 1, scannedAtMs: later };
    expect(await commit({ before: { scanned } })).toMatchObject({ stepAtMs: later });
  });

  it('is one of all repos only if it listed the whole tenant', async () => {
    expect(await commit({ isFull: true })).toMatchObject({ fullScannedAtMs: scannedAtMs });
    expect(await commit({ isFull: false })).toMatchObject({ fullScannedAtMs: null });
  });
});

describe('the schedule counts a tenant next', () => {
  /** Days from this count. */
  const dueIn = async (given: Parameters<typeof commit>[0]) =>
    ((await commit(given)).dueAtMs - scannedAtMs) / day;
  /** A due time comes up to a tenth of the interval early. */
  const expectAbout = (inDays: number, days: number) => {
    expect(inDays).toBeLessThanOrEqual(days);
    expect(inDays).toBeGreaterThan(0.9 * days);
  };

  it('when it was due before, after a count in part, but within a day', async () => {
    expect(await dueIn({})).toBe(1 / 2);
    expectAbout(await dueIn({ before: { dueAtMs: scannedAtMs + 3 * day } }), 1);
  });

  it('after twice the time in which nothing changed, if the count was full', async () => {
    expectAbout(await dueIn({ isFull: true }), 2);
    const scanned = { storedBytes: 30, objectCount: 1, scannedAtMs: scannedAtMs - 2 * day };
    expectAbout(await dueIn({ isFull: true, before: { scanned } }), 4);
  });

  it.each<[string, Parameters<typeof commit>[0]]>([
    ['it was never counted', { before: { scanned: null } }],
    ['the count found something else', { found: { storedBytes: 31 } }],
    ['the counter was wrong', { before: { committedBytes: 31 } }],
    ['an upload is under way', { snapshot: { reservations: new Map([['app', new RepoReservations()]]) } }],
  ])('after a day if %s', async (_, given) => {
    expectAbout(await dueIn({ ...given, isFull: true }), 1);
  });

  it('no earlier than its budget allows', async () => {
    expect(await dueIn({ isFull: true, listedUntilMs: scannedAtMs + 9 * day })).toBe(9);
    const before = { dueAtMs: scannedAtMs + 10 * day };
    expect(await dueIn({ before, listedUntilMs: scannedAtMs + 9 * day })).toBe(9);
  });

  it('at once while it is being deleted and not empty, whoever counted it in between', async () => {
    const before = { closedAtMs: scannedAtMs - 5, dueAtMs: scannedAtMs - 5 };
    for (const isFull of [true, false])
      expect(await commit({ before, isFull })).toMatchObject({ dueAtMs: before.dueAtMs });
    expectAbout(await dueIn({ before, isFull: true, found: { objectCount: 0, storedBytes: 0 } }), 1);
  });
});

describe('the schedule looks for uploads that were under way', () => {
  const minute = 60_000;
  /** Minutes from this count. */
  const looksIn = async (agoMinutes: number, given: Parameters<typeof commit>[0] = {}) => {
    const found = { newestUploadMs: scannedAtMs - agoMinutes * minute };
    const { lookAtMs } = await commit({ ...given, found });
    return ((lookAtMs ?? Number.NaN) - scannedAtMs) / minute;
  };

  it('never, if none were', async () => {
    expect(await commit({})).toMatchObject({ lookAtMs: null });
  });

  it('after a minute, and the later the longer ago the newest of them began', async () => {
    expect(await looksIn(0)).toBe(1);
    expect(await looksIn(2)).toBe(1);
    expect(await looksIn(3)).toBe(1.5);
    expect(await looksIn(20)).toBe(10);
  });

  it('later, if the count took so many LISTs that looking would use up more than a quarter of the budget', async () => {
    expect(await looksIn(0, { listedUntilMs: scannedAtMs + 30_000 })).toBe(2);
    expect(await looksIn(20, { listedUntilMs: scannedAtMs + 30_000 })).toBe(10);
  });

  it('no later because of LISTs before that count', async () => {
    const before = { listedUntilMs: scannedAtMs + 4 * minute };
    expect(await looksIn(0, { before, listedUntilMs: scannedAtMs + 4 * minute })).toBe(1);
    expect(await looksIn(0, { before, listedUntilMs: scannedAtMs + 4.5 * minute })).toBe(2);
  });

  it('not before the budget lets it begin', async () => {
    const before = { listedUntilMs: scannedAtMs + 30 * minute };
    expect(await looksIn(0, { before, listedUntilMs: scannedAtMs + 30 * minute })).toBe(25);
    expect(await looksIn(60, { before, listedUntilMs: scannedAtMs + 30 * minute })).toBe(30);
  });

  it('not in the past, if a clock was ahead', async () => {
    expect(await looksIn(-1)).toBe(1);
  });
});

describe('a tenant with large repos', () => {
  const minute = 60_000;

  it('is looked at when shards are to be scanned, but not at once: the schedule takes what becomes due', async () => {
    const at = async (nextDueAtMs: number, newestUploadMs: number | null = null) =>
      (await commit({ largeRepos: { nextDueAtMs }, found: { newestUploadMs } })).lookAtMs;
    expect(await at(scanBeganMs + 5 * minute)).toBe(scanBeganMs + 5 * minute);
    expect(await at(0)).toBe(scanBeganMs + minute);
    // Uploads are looked for sooner.
    expect(await at(scanBeganMs + 5 * minute, scannedAtMs)).toBe(scannedAtMs + minute);
  });

  it('has its shards scanned no sooner than it may be reconciled', async () => {
    const at = async (reconcileRestMs: number) =>
      (await commit({ largeRepos: { nextDueAtMs: 0 }, settings: { reconcileRestMs } })).lookAtMs;
    expect(await at(2 * minute)).toBe(scanBeganMs + 2 * minute);
    expect(await at(0)).toBe(scanBeganMs + minute);
  });

  it('is as old as the oldest doubt in one of them, and its full count as the oldest shard', async () => {
    const older = { scannedAtMs: scannedAtMs - 5, listedAtMs: scannedAtMs - 6 };
    const outcomes = [
      large({ scannedAtMs: scannedAtMs - 2 }),
      large(older),
      large({ listedAtMs: scannedAtMs - 3 }),
    ];
    expect(await commit({ largeRepos: { outcomes }, isFull: true })).toMatchObject({
      scanned: { scannedAtMs: scannedAtMs - 5 },
      fullScannedAtMs: scannedAtMs - 6,
    });
    expect(await commit({ largeRepos: { outcomes: [large()] }, isFull: true })).toMatchObject({
      scanned: { scannedAtMs },
      fullScannedAtMs: scannedAtMs,
    });
  });

  it('has a confirmed usage without what may be deleted already', async () => {
    const outcomes = [large({ doubtBytes: 3 }), large({ doubtBytes: 4 })];
    expect(await commit({ largeRepos: { outcomes } })).toMatchObject({ confirmedBaseBytes: 30 - 7 });
  });

  it('keeps what its shards have cost, and how many of its objects a reconcile lists', async () => {
    const largeRepos = { outcomes: [large(), large()], shardsListedUntilMs: 77 };
    expect(await commit({ largeRepos, found: { objectCount: 10 } })).toMatchObject({
      shardsListedUntilMs: 77,
      listedObjectCount: 2,
    });
    const none = { outcomes: [], shardsListedUntilMs: 77 };
    expect(await commit({ largeRepos: none, before: { listedObjectCount: 2 } })).toMatchObject({
      shardsListedUntilMs: 77,
      listedObjectCount: 1,
    });
    const written = await commit({ largeRepos: none });
    expect(written).not.toHaveProperty('shardsListedUntilMs');
    expect(written).not.toHaveProperty('listedObjectCount');
  });
});
