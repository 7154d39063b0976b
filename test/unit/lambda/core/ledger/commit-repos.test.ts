import { beforeEach, describe, expect, it, vi } from 'vitest';
import { commitRepos, commitShards, tidyShards } from '../../../../../lambda/core/ledger/commit-reconcile.ts';
import { LargeRepoScan } from '../../../../../lambda/core/ledger/rules/large-repo-scan.ts';
import {
  RepoReservations,
  type RepoScan,
} from '../../../../../lambda/core/ledger/rules/repo-reservations.ts';
import type { Reservation } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import type { Shard } from '../../../../../lambda/core/ledger/rules/shard.ts';
import { type RepoRecord, unknownRepo } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import type { LargeRepoOutcome } from '../../../../../lambda/core/ledger/scan-large-repos.ts';
import { SupersededError } from '../../../../../lambda/core/ledger/snapshot.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { MemoryStack } from '../../../../support/memory/stack.ts';
import { shardRecord } from '../../../../support/shard-record.ts';

describe('commit repos', () => {
  const tenant = 'acme';
  const [scannedAtMs, scanBeganMs] = [1000, 1010];
  const [epoch, overtakenEpoch] = [7, 3];

  const scan = (more: Partial<RepoScan> = {}): RepoScan => ({
    storedBytes: 10,
    objectCount: 1,
    seen: new Set(),
    ...more,
  });
  const day = 86_400_000;
  const empty = scan({ storedBytes: 0, objectCount: 0 });

  /** As the scan finds it. */
  const record = (more: Partial<RepoRecord> = {}): RepoRecord => ({
    repo: 'app',
    storedBytes: 10,
    objectCount: 1,
    scannedAtMs: 500,
    epoch: overtakenEpoch,
    dirtyToken: null,
    covered: new Set(),
    putsUntilMs: 0,
    closedAtMs: null,
    ...more,
  });

  /** The reservations of a repo, by id. Each claims the object of that name. */
  function claimed(...ids: string[]): RepoReservations {
    const reservations = new RepoReservations();
    for (const id of ids) {
      const times = { createdAtMs: 0, expiresAtMs: 9e15, lapsedAtMs: 9e15, lookAtMs: null };
      const reservation: Reservation = {
        id,
        repo: 'app',
        state: 'issued',
        entries: new Map([[id, 1]]),
        ...times,
      };
      reservations.add(reservation);
    }
    return reservations;
  }

  /** Commits to a ledger that answers as given. */
  async function commit(given: {
    scans: Record<string, RepoScan>;
    records?: readonly RepoRecord[];
    reservations?: Record<string, RepoReservations>;
    due?: string[];
    overtakenEpoch?: number;
    largeRepos?: Record<string, Pick<LargeRepoOutcome, 'large' | 'scannedAtMs'>>;
    renewed?: 'ours' | 'superseded';
    written?: 'committed' | 'superseded';
  }) {
    const ledger = new MemoryLedger();
    const write = vi.spyOn(ledger, 'commitRepo').mockResolvedValue(given.written ?? 'committed');
    const { listeners, log } = new MemoryStack().deps;
    const outcome = await commitRepos(
      { ledger, listeners, log },
      {
        tenant,
        epoch,
        overtakenEpoch: given.overtakenEpoch ?? overtakenEpoch,
        snapshot: {
          scannedAtMs,
          scanBeganMs,
          repos: given.records ?? [],
          reservations: new Map(Object.entries(given.reservations ?? {})),
          hasAgedPending: false,
        },
        due: new Set(given.due),
        scans: new Map(Object.entries(given.scans)),
        largeRepos: new Map(Object.entries(given.largeRepos ?? {})) as Map<string, LargeRepoOutcome>,
        lease: { renew: async () => given.renewed ?? 'ours' },
      },
    );
    const writes = write.mock.calls.map(([input]) => input);
    return { outcome, repos: outcome.kind === 'committed' ? outcome.repos : undefined, writes };
  }

  describe('what a scan found in a repo', () => {
    it('is written for the token that was read, and told', async () => {
      const before = record({ storedBytes: 4, dirtyToken: 'x', closedAtMs: 600 });
      const { repos, writes } = await commit({
        scans: { app: scan({ seen: new Set(['r1']) }) },
        records: [before],
        reservations: { app: claimed('r1', 'r2') },
        due: ['app'],
      });
      const found = {
        repo: 'app',
        storedBytes: 10,
        objectCount: 1,
        scannedAtMs,
        epoch,
        covered: new Set(['r1']),
        putsUntilMs: 9e15 + day,
      };
      expect(writes).toEqual([{ tenant, repo: found, dirtyTokenRead: 'x', epochRead: before.epoch }]);
      expect(repos).toEqual([{ ...found, dirtyToken: null, closedAtMs: 600 }]);
    });

    it('is written for a repo that the ledger does not know', async () => {
      const { repos, writes } = await commit({ scans: { app: scan() } });
      const counted = { storedBytes: 10, objectCount: 1, scannedAtMs };
      const found = { repo: 'app', ...counted, epoch, covered: new Set(), putsUntilMs: 0 };
      expect(writes).toEqual([{ tenant, repo: found, dirtyTokenRead: null }]);
      expect(repos).toEqual([{ ...found, dirtyToken: null, closedAtMs: null }]);
    });

    it('is written with what was stored on the last day on which it was counted, unless it never was', async () => {
      const points = [{ day: '1969-12-20', storedBytes: 3 }];
      const before = record({ storedBytes: 4, scannedAtMs: -1, points });
      const { repos, writes } = await commit({ scans: { app: scan() }, records: [before], due: ['app'] });
      const expected = [...points, { day: '1969-12-31', storedBytes: 4 }];
      expect(writes[0]?.repo.points).toEqual(expected);
      expect(repos?.[0]?.points).toEqual(expected);
      const never = record({ storedBytes: 0, epoch: 0, scannedAtMs: -1 });
      const first = await commit({ scans: { app: scan() }, records: [never], due: ['app'] });
      expect(first.writes[0]?.repo).not.toHaveProperty('points');
    });

    it('is written with the end of the last PUT, also if its reservation is gone since', async () => {
      const reservations = { app: claimed('r1') };
      const { writes } = await commit({
        scans: { app: scan() },
        records: [record()],
        reservations,
        due: ['app'],
      });
      expect(writes[0]?.repo.putsUntilMs).toBe(9e15 + day);
      const before = record({ putsUntilMs: 700 });
      const later = await commit({ scans: { app: scan() }, records: [before], due: ['app'] });
      expect(later.writes[0]?.repo.putsUntilMs).toBe(700);
    });

    it('needs no record if that is nothing and there is none', async () => {
      expect(await commit({ scans: { app: empty }, due: ['app'] })).toMatchObject({ repos: [], writes: [] });
    });

    it.each([
      ['bytes of none', { scans: { app: scan({ storedBytes: 0 }) } }],
      ['a record', { scans: { app: empty }, records: [record()] }],
      [
        'reservations, which the scan may cover',
        { scans: { app: empty }, reservations: { app: claimed('r1') } },
      ],
    ])('is written if there is nothing but %s', async (_, given) => {
      const { repos, writes } = await commit({ ...given, due: ['app'] });
      expect(writes).toHaveLength(1);
      expect(repos).toHaveLength(1);
    });

    it('is told of all repos by name, those among them that were not scanned', async () => {
      const records = ['c', 'a', 'd'].map((repo) => record({ repo }));
      const { repos, writes } = await commit({ scans: { b: scan(), d: scan() }, records, due: ['d'] });
      expect(repos?.map(({ repo, epoch: of }) => [repo, of])).toEqual([
        ['a', overtakenEpoch],
        ['b', epoch],
        ['c', overtakenEpoch],
        ['d', epoch],
      ]);
      expect(writes.map(({ repo }) => repo.repo).sort()).toEqual(['b', 'd']);
    });

    it.each([
      ['another reconcile took the lease', { renewed: 'superseded' }, 0],
      ['a delete or a later scan overtook one of them', { written: 'superseded' }, 2],
    ] as const)('is superseded if %s', async (_, more, written) => {
      const { outcome, writes } = await commit({ scans: { a: scan(), b: scan() }, ...more });
      expect(outcome).toEqual({ kind: 'superseded' });
      expect(writes).toHaveLength(written);
    });
  });

  describe('a repo of which nothing was due', () => {
    const covered = new Set(['r1', 'r2']);
    const putsUntilMs = 9e15 + day;
    const seen = { scans: { app: scan({ seen: covered }) }, reservations: { app: claimed('r1', 'r2') } };

    it('is not written if its item says what the scan found', async () => {
      expect(await commit({ ...seen, records: [record({ covered, putsUntilMs })] })).toMatchObject({
        repos: [record({ covered, putsUntilMs })],
        writes: [],
      });
    });

    it.each<[string, Partial<RepoRecord>, number?]>([
      ['is of an epoch whose later one may still write', { epoch: overtakenEpoch - 1 }],
      ['was never scanned', { epoch: 0 }, 0],
      ['is dirty', { dirtyToken: 'x' }],
      ['has other bytes', { storedBytes: 9 }],
      ['has other objects', { objectCount: 2 }],
      ['covers less', { covered: new Set(['r1']) }],
      ['covers more', { covered: new Set(['r1', 'r2', 'r3']) }],
      ['covers others', { covered: new Set(['r1', 'r3']) }],
      ['knows of no later PUT', { putsUntilMs: putsUntilMs - 1 }],
    ])('is written if its item %s', async (_, more, overtaken = overtakenEpoch) => {
      const before = record({ covered, putsUntilMs, ...more });
      const { writes } = await commit({ ...seen, records: [before], overtakenEpoch: overtaken });
      expect(writes).toHaveLength(1);
    });

    it('is written if it was due after all', async () => {
      const records = [record({ covered, putsUntilMs })];
      expect((await commit({ ...seen, records, due: ['app'] })).writes).toHaveLength(1);
    });
  });

  describe('a large repo', () => {
    const large = { sinceEpoch: 2, rescanFromMs: 50 };
    const largeRepos = { app: { large, scannedAtMs: 600 } };
    const scans = { app: scan() };

    it('is written with what its shards are counted by, and is as old as they are', async () => {
      const { writes, repos } = await commit({ scans, largeRepos });
      expect(writes).toMatchObject([{ repo: { large, scannedAtMs: 600 } }]);
      expect(repos).toMatchObject([{ large, scannedAtMs: 600 }]);
    });

    it('is an ordinary repo again once it is listed as a whole', async () => {
      const { writes } = await commit({ scans, records: [record({ large })] });
      expect(writes).toHaveLength(1);
      expect(writes[0]?.repo).not.toHaveProperty('large');
    });

    it('of which nothing was due is written only if its item says something else', async () => {
      const written = async (before: Partial<RepoRecord>) =>
        (await commit({ scans, largeRepos, records: [record(before)] })).writes.length;
      expect(await written({ large })).toBe(0);
      expect(await written({})).toBe(1);
      expect(await written({ large: { ...large, sinceEpoch: 1 } })).toBe(1);
      expect(await written({ large: { ...large, rescanFromMs: 0 } })).toBe(1);
    });
  });
});

describe('commit shards', () => {
  const tenant = 'acme';
  const epoch = 9;
  const scan = {
    storedBytes: 1,
    objectCount: 1,
    scannedAtMs: 2000,
    scanEndedMs: 2100,
    seen: new Set<string>(),
  };

  let ledger: MemoryLedger;
  /** What was written, in order. */
  let writes: string[];

  beforeEach(async () => {
    ledger = new MemoryLedger();
    await ledger.createTenant({
      tenant,
      plan: null,
      limitBytes: null,
      createdAtMs: 0,
      scanned: null,
      dueAtMs: 0,
    });
    writes = [];
    const { putShard, removeShard } = ledger;
    vi.spyOn(ledger, 'putShard').mockImplementation(async (input) => {
      writes.push(`put ${input.repo} ${input.shard.prefix}`);
      return putShard.call(ledger, input);
    });
    vi.spyOn(ledger, 'removeShard').mockImplementation(async (input) => {
      writes.push(`remove ${input.repo} ${input.prefix}`);
      return removeShard.call(ledger, input);
    });
  });

  async function store(repo: string, ...shards: Shard[]): Promise<void> {
    for (const shard of shards) await ledger.putShard({ tenant, repo, shard, epochRead: null });
    writes.length = 0;
  }
  const prefixes = async (repo: string) => {
    const all: string[] = [];
    for await (const page of ledger.shards({ tenant, repo })) all.push(...page.map(({ prefix }) => prefix));
    return all;
  };

  /** Of a large repo with two shards. */
  function outcomeOf(repo: string, change: (count: LargeRepoScan) => void = () => {}): LargeRepoOutcome {
    const shards = [shardRecord('0'), shardRecord('8')];
    const count = new LargeRepoScan({ epoch, shards, runs: [], settings: { clockSkewMs: 1 } });
    change(count);
    const large = { sinceEpoch: 1, rescanFromMs: 0 };
    return {
      repo,
      count,
      large,
      runs: [],
      dirtyTokenTaken: null,
    } as Partial<LargeRepoOutcome> as LargeRepoOutcome;
  }
  const scanned = (count: LargeRepoScan) => count.scanned('8', [scan]);
  const split = (count: LargeRepoScan) => count.scanned('0', Array(16).fill(scan));
  const commit = (outcomes: LargeRepoOutcome[], renewed: 'ours' | 'superseded' = 'ours') =>
    commitShards({ ledger }, { tenant, outcomes, lease: { renew: async () => renewed } });

  describe('the shards of a reconcile', () => {
    beforeEach(async () => {
      for (const repo of ['app', 'web']) await store(repo, shardRecord('0'), shardRecord('8'));
    });

    it('tell how far an initial scan is, and take the token of a change that they know of', async () => {
      const progress = { beganMs: 1, atMs: 2, share: 0.5, objectCount: 3, listRequests: 4 };
      const large = { sinceEpoch: 7, rescanFromMs: 0 };
      const noted = vi.spyOn(ledger, 'noteProgress').mockResolvedValue();
      const cleared = vi.spyOn(ledger, 'clearDirty').mockResolvedValue();
      const outcome = outcomeOf('app');
      const scan = { storedBytes: 0, objectCount: 0, seen: new Set<string>() };
      await commit([
        { ...outcome, large: { ...large, progress }, scan },
        { ...outcome, large, scan: undefined },
      ]);
      expect([noted.mock.calls, cleared.mock.calls]).toEqual([[], []]);
      await commit([{ ...outcome, large: { ...large, progress }, scan: undefined, dirtyTokenTaken: 'x' }]);
      expect(noted.mock.calls).toEqual([[{ tenant, repo: 'app', sinceEpoch: 7, progress }]]);
      expect(cleared.mock.calls).toEqual([[{ tenant, repo: 'app', dirtyToken: 'x' }]]);
    });

    it('are written if they have changed', async () => {
      expect(await commit([outcomeOf('app', scanned), outcomeOf('web')])).toBe('committed');
      expect(writes).toEqual(['put app 8']);
    });

    it('are written before the shard above them is removed', async () => {
      expect(await commit([outcomeOf('app', split)])).toBe('committed');
      expect(writes).toHaveLength(17);
      expect([writes[0], writes.at(-1)]).toEqual(['put app 00', 'remove app 0']);
      expect(await prefixes('app')).toHaveLength(17);
      expect(await prefixes('app')).not.toContain('0');
    });

    it('are not written over what another reconcile has written, and the shard above them stays', async () => {
      await store('app', shardRecord('00', { epoch: epoch + 1 }));
      expect(await commit([outcomeOf('app', split), outcomeOf('web', scanned)])).toBe('superseded');
      expect(writes.filter((write) => !write.startsWith('put app'))).toEqual([]);
      expect(await prefixes('app')).toContain('0');
    });

    it('are those of another reconcile if it has changed the shard that was split', async () => {
      vi.mocked(ledger.removeShard).mockResolvedValueOnce('superseded');
      expect(await commit([outcomeOf('app', split), outcomeOf('web', scanned)])).toBe('superseded');
      expect(writes.filter((write) => write.startsWith('put web'))).toEqual([]);
    });

    it('are not written once another reconcile has the lease', async () => {
      await expect(commit([outcomeOf('app', scanned)], 'superseded')).rejects.toThrow(SupersededError);
      expect(writes).toEqual([]);
    });
  });

  describe('what is dropped after a reconcile', () => {
    it('is the record of each delete that was taken off the count', async () => {
      const dropped = vi.spyOn(ledger, 'dropRemoval').mockResolvedValue(undefined);
      const runs = [
        { deletionId: 'd1', runMs: 1 },
        { deletionId: 'd2', runMs: 2 },
      ];
      const outcomes = [{ ...outcomeOf('app'), runs }, outcomeOf('web')];
      await tidyShards({ ledger }, { tenant, epoch, outcomes, formerLargeRepos: [], repos: [] });
      expect(dropped.mock.calls.flat()).toEqual(runs.map((run) => ({ tenant, repo: 'app', ...run })));
    });

    it('is each shard of a large repo that is none any more, but not if it has become one again', async () => {
      await store('app', shardRecord('0', { epoch: epoch - 1 }), shardRecord('8', { epoch }));
      await store('web', shardRecord('0'));
      await tidyShards({ ledger }, { tenant, epoch, outcomes: [], formerLargeRepos: ['app'], repos: [] });
      expect(writes).toEqual(['remove app 0']);
      expect([await prefixes('app'), await prefixes('web')]).toEqual([['8'], ['0']]);
    });

    it('is what a reconcile that died has left of such a large repo, once', async () => {
      await store('app', shardRecord('0', { epoch: epoch - 1 }), shardRecord('8', { epoch }));
      const ended = vi.spyOn(ledger, 'endTidy').mockResolvedValue(undefined);
      const repos = [{ ...unknownRepo('app'), tidyBelowEpoch: epoch }, unknownRepo('web')];
      await tidyShards({ ledger }, { tenant, epoch: epoch + 5, outcomes: [], formerLargeRepos: [], repos });
      expect([await prefixes('app'), writes]).toEqual([['8'], ['remove app 0']]);
      expect(ended.mock.calls).toEqual([[{ tenant, repo: 'app', tidyBelowEpoch: epoch }]]);
    });
  });
});
