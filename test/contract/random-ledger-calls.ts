import { newCleanup } from '../../lambda/domain/cleanup/cleanup.ts';
import type { Watch } from '../../lambda/domain/cleanup/watch.ts';
import type { Deletion } from '../../lambda/domain/deletion.ts';
import type { Shard } from '../../lambda/domain/giant/shard.ts';
import { type RepoRecord, type TenantRecord, unknownRepo } from '../../lambda/domain/tenant.ts';
import type { Ledger } from '../../lambda/ports/ledger.ts';
import type { Random } from '../support/random.ts';

/** One call of a method that writes, as it can be made on any ledger. */
export interface LedgerCall {
  readonly name: keyof Ledger;
  readonly input: unknown;
  run(ledger: Ledger): Promise<unknown>;
}

/** What a caller may have read before it calls. Some of it is out of date by then. */
export interface KnownState {
  readonly epoch: number;
  readonly settingsVersion: number;
  readonly limitBytes: number | null;
  readonly repoLimits: TenantRecord['repoLimits'];
  readonly deletions: readonly Deletion[];
  readonly repos: readonly RepoRecord[];
}

const repos = ['', 'app', 'app#1', 'web'];
const oids = ['a', 'b', 'c', 'd'];

/**
 * A call with a random input. Names, times and epochs come from few values, so that calls meet each other: the same
 * reservation is issued, voided and deleted, and a commit comes from this epoch, from the last or from the next.
 */
export function randomCall(random: Random, tenant: string, known: KnownState): LedgerCall {
  const call = <M extends keyof Writes>(name: M, input: Parameters<Ledger[M]>[0]): LedgerCall => ({
    name,
    input,
    run: (ledger) => (ledger[name] as (given: typeof input) => Promise<unknown>)(input),
  });
  /** Usually as it is. */
  const settingsVersion = () =>
    random.chance(0.8) ? known.settingsVersion : Math.max(0, known.settingsVersion - random.int(0, 2));
  const calls: Writes = {
    createTenant: () => call('createTenant', { ...newTenant(tenant), limitBytes: random.pick([null, 100]) }),
    updateTenant: () =>
      call('updateTenant', {
        tenant,
        settingsVersion: settingsVersion(),
        ...(random.chance(0.5) && { limitBytes: random.pick([null, 50, 100, 1000]) }),
        ...(random.chance(0.5) && { plan: random.pick([null, 'team']) }),
        ...(random.chance(0.2) && { reposMustExist: random.chance(0.5) }),
        ...(random.chance(0.2) && { downloadLimitBytes: random.pick([null, 70]) }),
      }),
    setRepoLimit: () =>
      call('setRepoLimit', {
        ...path(),
        settingsVersion: settingsVersion(),
        limitBytes: random.pick([null, 50, 80]),
      }),
    removeRepo: () => {
      const before = { ...unknownRepo(random.pick(repos)), epoch: epoch() };
      const read = random.chance(0.9) && known.repos.length > 0 ? random.pick(known.repos) : before;
      return call('removeRepo', { tenant, before: read });
    },
    createRepo: () => call('createRepo', { ...path(), createdAtMs: time() }),
    closeTenant: () => call('closeTenant', { tenant, closedAtMs: time() }),
    addCommitted: () =>
      call('addCommitted', {
        tenant,
        sumBytes: random.int(0, 40),
        limitBytes: random.chance(0.8) ? known.limitBytes : random.pick([null, 100, 'any' as const]),
        repo: repoAsRead(),
        ...(random.chance(0.7) && { claimCount: random.pick([2, 5, 999_995]) }),
      }),
    beginGiant: () => call('beginGiant', { ...path(), epoch: epoch() }),
    noteProgress: () =>
      call('noteProgress', {
        ...path(),
        sinceEpoch: epoch(),
        progress: { beganMs: time(), atMs: time(), share: 0.5, objectCount: 3, listRequests: 2 },
      }),
    steerCount: () =>
      call(
        'steerCount',
        random.chance(0.5)
          ? { ...path(), steeringVersion: random.int(0, 3), pausedAtMs: random.pick([null, time()]) }
          : { ...path(), steeringVersion: random.int(0, 3), cancelledAtMs: time() },
      ),
    clearDirty: () => call('clearDirty', { ...path(), dirtyToken: token() }),
    markDirty: () => call('markDirty', { ...path(), dirtyToken: token() }),
    closeRepo: () => call('closeRepo', { ...path(), closedAtMs: time(), isForGood: random.chance(0.2) }),
    openRepo: () => call('openRepo', { ...path(), closedAtMs: time() }),
    putReservation: () => call('putReservation', { tenant, reservation: reservation() }),
    issueReservation: () => call('issueReservation', { ...reservationKey(), claims: sizes() }),
    deleteReservation: () => call('deleteReservation', reservationKey()),
    voidReservation: () => call('voidReservation', reservationKey()),
    keepLate: () => call('keepLate', { ...reservationKey(), claims: sizes(), lookAtMs: time() }),
    beginReconcile: () =>
      call('beginReconcile', {
        tenant,
        holder: random.pick(['h0', 'h1']),
        nowMs: time(),
        leaseUntilMs: time(),
      }),
    setLease: () =>
      call('setLease', {
        tenant,
        epoch: epoch(),
        leaseUntilMs: random.pick([0, time()]),
        ...(random.chance(0.3) && { listedUntilMs: time() }),
      }),
    commitRepo: () =>
      call('commitRepo', {
        tenant,
        repo: {
          ...counted(),
          ...(random.chance(0.5) && { storedBytes: 0, objectCount: 0 }),
          repo: random.pick(repos),
          epoch: epoch(),
          covered: new Set(some(['r0', 'r1'])),
          putsUntilMs: random.pick([0, time()]),
          ...(random.chance(0.3) && { tidyBelowEpoch: epoch() }),
          ...(random.chance(0.3) && { giant: { sinceEpoch: epoch(), recountFromMs: time() } }),
        },
        dirtyTokenRead: random.pick([null, null, token()]),
        ...(random.chance(0.5) && { epochRead: epoch() }),
      }),
    commitTenant: () =>
      call('commitTenant', {
        tenant,
        epoch: epoch(),
        correctionBytes: random.int(-30, 30),
        floorBaseBytes: random.int(0, 100),
        deletedBytesRead: 3,
        floorUntilMs: time(),
        counted: counted(),
        listedUntilMs: time(),
        ...(random.chance(0.3) && { shardsListedUntilMs: time() }),
        ...(random.chance(0.3) && { shardLists: { month: '2026-11', requests: random.int(0, 9) } }),
        claimCorrection: random.int(-3, 9),
        overtakenEpoch: random.int(0, 3),
        repoCount: random.int(0, 3),
        fullCountedAtMs: random.pick([null, time()]),
        reservedUntilMs: random.pick([null, time()]),
        repoLimits: new Map(some(repos).map((name) => [name, limitFound()])),
        expiredNotes: some(['n0', 'n1', 'n2']),
        dueAtMs: time(),
        lookAtMs: random.pick([null, time()]),
      }),
    endTidy: () => call('endTidy', { ...path(), tidyBelowEpoch: epoch() }),
    putShard: () => call('putShard', { ...path(), shard: shard(), epochRead: random.pick([null, epoch()]) }),
    removeShard: () =>
      call('removeShard', { ...path(), prefix: random.pick(['', '0', '0f']), epochRead: epoch() }),
    openWatch: () => call('openWatch', { ...path(), watch: watch(), nowMs: time() }),
    closeWatch: () => call('closeWatch', { ...path(), watch: watch() }),
    noteSeen: () =>
      call('noteSeen', {
        tenant,
        watch: watch(),
        noteId: random.pick(['n0', 'n1']),
        note: { beganMs: time(), prefixes: 'AAAAAAAAAAA=' },
      }),
    putCleanup: () =>
      call('putCleanup', {
        tenant,
        cleanup: {
          ...newCleanup({ repo: random.pick(repos), watch: watch() }),
          dueAtMs: random.pick([null, time()]),
        },
        versionRead: random.pick([null, 1, 2]),
        writeId: random.pick(['i0', 'i1', 'i2', 'i3']),
      }),
    noteGone: () => call('noteGone', { ...path(), oids: some(oids), atMs: time() }),
    forgetGone: () => call('forgetGone', { ...path(), oid: random.pick(oids) }),
    putDeletion: () => call('putDeletion', { tenant, deletion: deletion() }),
    remark: () => {
      const before = random.pick([...known.deletions, deletion()]);
      const { id, repo } = before;
      return call('remark', { tenant, before, deletion: { ...deletion(), id, repo } });
    },
    countDeletions: () =>
      call('countDeletions', {
        tenant,
        difference: random.int(-1, 3),
        ...(random.chance(0.7) && { atMost: random.int(4, 9) }),
      }),
    unmark: () => call('unmark', { ...deletionAsRead(), names: some(oids) }),
    claimDeletion: () =>
      call('claimDeletion', {
        tenant,
        before: random.pick([...known.deletions, deletion()]),
        deadlineMs: time(),
        ...(random.chance(0.3) && { dueAtMs: time() }),
      }),
    endDeletion: () =>
      call('endDeletion', {
        ...deletionKey(),
        deadlineMs: random.pick([time(), ...known.deletions.map(({ deadlineMs }) => deadlineMs)]),
        left: random.chance(0.5) ? new Map() : sizes(),
        dueAtMs: time(),
        keptUntilMs: random.pick([null, time()]),
        ...(random.chance(0.4) && { removal: removal() }),
      }),
    dropRemoval: () => call('dropRemoval', { ...deletionKey(), runMs: time() }),
    removeDeletion: () => call('removeDeletion', deletionAsRead()),
    announceDelete: () =>
      call('announceDelete', {
        tenant,
        noteId: random.pick(['n0', 'n1', 'n2']),
        note: { repo: random.pick(repos), bytes: random.int(0, 20), deadlineMs: time() },
        ...(random.chance(0.5) && { claimCount: random.int(0, 9) }),
      }),
    removeNote: () => call('removeNote', { tenant, noteId: random.pick(['n0', 'n1', 'n2']) }),
  };

  const time = () => random.int(1, 8) * 100;
  const token = () => random.pick(['x', 'y', 'removed-x']);
  const epoch = () => Math.max(0, known.epoch + random.pick([0, 0, 0, -1, 1]));
  const some = (names: readonly string[]) => names.filter(() => random.chance(0.5));
  const path = () => ({ tenant, repo: random.pick(repos) });
  const repoAsRead = () => {
    const name = random.pick([...known.repoLimits.keys(), ...repos]);
    const limitBytes = known.repoLimits.get(name)?.limitBytes ?? null;
    return { name, limitBytes: random.chance(0.8) ? limitBytes : random.pick([null, 50]) };
  };
  const limitFound = () => ({
    limitBytes: 50,
    correctionBytes: random.int(-10, 10),
    storedBytes: random.int(0, 40),
    floorBaseBytes: random.int(0, 40),
    floorUntilMs: time(),
  });
  const sizes = () => new Map(some(oids).map((oid) => [oid, random.int(0, 20)]));
  const counted = () => ({
    storedBytes: random.int(0, 50),
    objectCount: random.int(0, 5),
    countedAtMs: time(),
  });
  const reservationKey = () => ({ ...path(), reservationId: random.pick(['r0', 'r1']) });
  const deletionKey = () => {
    const read = random.chance(0.8) ? known.deletions : [];
    const { repo, id } = read.length > 0 ? random.pick(read) : deletion();
    return { tenant, repo, deletionId: id };
  };
  const deletionAsRead = () => {
    const { repo, id, dueAtMs, deadlineMs } = random.pick([...known.deletions, deletion()]);
    return { tenant, repo, deletionId: id, dueAtMs, deadlineMs };
  };
  const reservation = () => {
    const state = random.pick(['pending', 'pending', 'issued'] as const);
    return {
      id: random.pick(['r0', 'r1']),
      repo: random.pick(repos),
      state,
      claims: sizes(),
      createdAtMs: time(),
      expiresAtMs: time(),
      deadAtMs: time(),
      // None that is late was pending.
      lookAtMs: state === 'pending' ? null : random.pick([null, time()]),
      ...(random.chance(0.3) && { deletedByMs: time() }),
    };
  };
  const removal = () => ({
    runMs: time(),
    beganMs: time(),
    endedMs: time(),
    objects: new Map([
      ['a'.repeat(64), { sizeBytes: random.int(0, 20), lastModifiedMs: random.pick([null, time()]) }],
      ['notes.txt', { sizeBytes: random.int(0, 20), lastModifiedMs: time() }],
    ]),
  });
  const shard = (): Shard => ({
    prefix: random.pick(['', '0', '0f']),
    epoch: Math.max(1, epoch()),
    partOf: random.pick([null, { prefix: '0', epoch: epoch() }]),
    storedBytes: random.int(0, 50),
    objectCount: random.int(0, 5),
    sinceBytes: random.int(-20, 20),
    sinceCount: random.int(-2, 2),
    countedAtMs: time(),
    scanEndedMs: time(),
    stale: random.pick([null, { fromMs: time(), untilMs: time(), doubtBytes: random.int(0, 9) }]),
    counted: new Map(some(oids).map((oid) => [oid.repeat(64), time()])),
    appliedRuns: new Set(some(['d0:100', 'd1:200'])),
  });
  const deletion = (): Deletion => ({
    id: random.pick(['d0', 'd1', '~a']),
    repo: random.pick(repos),
    state: 'marked',
    objects: sizes(),
    dueAtMs: time(),
    deadlineMs: 0,
    ...(random.chance(0.3) && { closedAtMs: time() }),
    ...(random.chance(0.3) && { sweep: { watchId: 'w100', seenFromMs: time() } }),
  });
  const watch = (): Watch => {
    const openedAtMs = time();
    return { id: `w${openedAtMs}`, openedAtMs, untilMs: openedAtMs + 100 };
  };

  const often = ['putReservation', 'putDeletion', 'claimDeletion', 'endDeletion', 'beginReconcile'] as const;
  const names = [
    ...(Object.keys(calls) as (keyof Writes)[]).filter((name) => name !== 'closeTenant'),
    ...often,
  ];
  // A closed tenant takes no more bytes, so it is closed rarely.
  return random.chance(0.01) ? calls.closeTenant() : calls[random.pick(names)]();
}

type Reads =
  | 'readTenant'
  | 'listTenants'
  | 'dueTenants'
  | 'repos'
  | 'readRepo'
  | 'listRepos'
  | 'readReservation'
  | 'reservations'
  | 'reservationsOf'
  | 'listReservations'
  | 'deletions'
  | 'deletionsOf'
  | 'deletionsNaming'
  | 'listDeletions'
  | 'shards'
  | 'seen'
  | 'readCleanup'
  | 'goneOf';

/** Of no tenant. */
type Schedule = 'readRefreshState' | 'putRefreshState';

/** Every method that writes: the compiler asks for a new one here. */
type Writes = Record<Exclude<keyof Ledger, Reads | Schedule>, () => LedgerCall>;

export const pathsOf = (tenant: string) => repos.map((repo) => ({ tenant, repo }));

export const newTenant = (tenant: string) => ({
  tenant,
  plan: null,
  limitBytes: 100,
  createdAtMs: 1,
  counted: { storedBytes: 0, objectCount: 0, countedAtMs: 1 },
  dueAtMs: 500,
});
