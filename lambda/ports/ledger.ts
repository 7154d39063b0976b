import type { Cleanup } from '../domain/cleanup/cleanup.ts';
import type { SeenNote, Watch } from '../domain/cleanup/watch.ts';
import type { Deletion, Removal } from '../domain/deletion.ts';
import type { Shard } from '../domain/giant/shard.ts';
import type { ShardLists } from '../domain/giant/shard-lists.ts';
import type { DueTenant, RefreshState } from '../domain/refresh-state.ts';
import type { Reservation } from '../domain/reservation.ts';
import type {
  Counted,
  CountedLimit,
  CountProgress,
  DeleteNote,
  LateLoad,
  RepoRecord,
  TenantRecord,
} from '../domain/tenant.ts';

/**
 * The ledger's items. docs/ledger.md explains the protocol.
 *
 * A write is atomic, and changes one item. It may land late or twice: conditions make a repeated write harmless.
 * A write that got no answer is repeated, the first attempt may land after the second, even after others, and a function
 * may be frozen before it writes. Landing once more, or late:
 *
 * - `createTenant`, `closeTenant`: only if it is not there yet, or open
 * - `updateTenant`: a limit or a plan; `setRepoLimit`; `steerCount`: only over the version of the settings
 *   that was read. If others have changed them, it is read and tried again, for as long as somebody waits.
 *   What is then as it was to be was most likely changed by the first attempt: the audit, the warnings and the
 *   recount take it so
 * - `addCommitted`: adds again: the counter is too high, never too low, until the next reconcile
 * - `beginReconcile`: while a lease lasts, refused. After it: an epoch that nobody uses, and a lease that has
 *   ended by then or in 15 s
 * - `setLease`, `commitTenant`: only in its epoch, the latter once: the lease may last 15 s longer. What an
 *   overtaken reconcile has listed is charged in the epoch that it finds
 * - `announceDelete`, `removeNote`: a note that comes back lowers the floor once more, and has its repo
 *   scanned, until the next reconcile after its deadline
 * - `putReservation`: pending: void a minute after its creation. Late, or a note: looked at again, and settled
 * - `issueReservation`: only if it is there. A batch issues none when its time is over: what a scan before did
 *   not know of is not issued after
 * - `keepLate`: claims that were settled are back, and due: they are asked for, and known to be counted for 10
 *   minutes (`recentMs`)
 * - `deleteReservation`, `voidReservation`: ids are random, so nobody else has this one
 * - `markDirty`: dirty once more. A known change never replaces an unknown one, which would be forgotten
 * - `clearDirty`, `openRepo`: only what it read: tokens are random, closings have times
 * - `createRepo`: a repo that was deleted is shown again, with nothing in it. Not while it is closed
 * - `removeRepo`: only the item that was read, with nothing in it. No reconcile that read it makes it again
 * - `endTidy`: only what it read: epochs are taken once
 * - `closeRepo`: not if this closing has ended
 * - `commitRepo`: only over an older epoch, with the dirty token that was read. The tenant remembers the
 *   newest epoch that may still write (`overtakenEpoch`)
 * - `beginGiant`: only if it is no giant, and was not counted since. Its shards are there, unscanned
 * - `noteProgress`: shows an older progress
 * - `putShard` over one that was read: once: each write has a new epoch
 * - `putShard` that creates one: not over a newer one. One that was removed is back, and *replaced* by its
 *   parts
 * - `removeShard`: only as it was read: no other write has this epoch
 * - `putDeletion`: if its record is there, refused. Once the repo was emptied and opened: void. A mark is kept
 *   for its hour
 * - `remark`: only over what it read: each mark of an object is due later than the one before
 * - `countDeletions`: counts again: wrong until the next run
 * - `putDeletion` of a clean-up: the same, and however late: void without its watch, and it deletes only what
 *   nobody has named since
 * - `openWatch`: not if a watch is open, nor if one has ended that was opened then or later
 * - `closeWatch`, `putCleanup`: only that watch, and only over the version that was read
 * - `noteSeen`, `noteGone`, `forgetGone`: the same item again. What is gone only says why an object is missing
 * - `unmark`, `claimDeletion`, `endDeletion`, `dropRemoval`, `removeDeletion`: only in the state, and with the
 *   due time, deadline or run, that it read
 *
 * Reads are strongly consistent, except `listTenants` and `dueTenants`, which find tenants by an index.
 *
 * @throws {LedgerUnavailableError} from every method, and from every page of the paged reads.
 * @throws {NewerFormatError} from every method that reads a tenant, begins a reconcile, or adds to the counter.
 */
export type Ledger = TenantLedger &
  RepoLedger &
  ReservationLedger &
  ReconcileLedger &
  ShardLedger &
  DeletionLedger &
  CleanupLedger &
  RefreshLedger;

/** What a method takes. */
export type Input<M extends keyof Ledger> = Parameters<Ledger[M]>[0];

/** What a method returns: a promise, or an `AsyncIterable` of pages. */
export type Output<M extends keyof Ledger> = ReturnType<Ledger[M]>;

/** What became of a change of a tenant's settings. */
export type SettingsOutcome =
  | { readonly kind: 'changed'; readonly tenant: TenantRecord }
  /** Somebody has changed them since they were read, or this very write had landed before. Here they are now. */
  | { readonly kind: 'superseded'; readonly tenant: TenantRecord }
  | { readonly kind: 'absent' };

/** Accounts, their limits and their counters. */
export interface TenantLedger {
  readTenant(tenant: string): Promise<TenantRecord | undefined>;
  createTenant(input: NewTenant): Promise<'created' | 'exists'>;
  /**
   * Changes the fields that are given, if nobody has changed any since they were read. `limitBytes: null` lifts the
   * limit.
   *
   * A new limit ends the floor, because what is late counts only beyond the limit. It takes the next epoch too, so that
   * a running reconcile cannot commit a floor that was computed with the old one.
   */
  updateTenant(input: {
    tenant: string;
    /** As it was read. */
    settingsVersion: number;
    limitBytes?: number | null;
    downloadLimitBytes?: number | null;
    plan?: string | null;
    reposMustExist?: boolean;
  }): Promise<SettingsOutcome>;
  /**
   * Limits one repo, or with null lifts its limit, in the same way. The repo counts as not counted from then on, and a
   * running reconcile cannot commit: a batch may have added bytes that no counter of the repo has.
   */
  setRepoLimit(
    input: RepoPath & { settingsVersion: number; limitBytes: number | null },
  ): Promise<SettingsOutcome>;
  /**
   * Closes a tenant for good: it takes no more batches, is due at once, and will be emptied. A tenant that is
   * closed already keeps its time. Takes the next epoch, so that a running reconcile cannot commit: its commit
   * would set when the tenant is due next.
   */
  closeTenant(input: { tenant: string; closedAtMs: number }): Promise<TenantRecord | undefined>;
  /**
   * Adds to the atomic counter if the sum stays within `limitBytes`, this still is the tenant's limit, and the
   * tenant is open and was counted before. With `limitBytes: null` the only bound is 2^53 − 1. It counts the reservation
   * and its claims too, up to `tenantClaimsMax`. If the repo has a limit, all of that holds for the repo too, in the same
   * write.
   *
   * `refused` carries the tenant as it was read right after the refusal.
   *
   * @throws {LedgerUnavailableError} The outcome is unknown: hand out no URL. If the bytes were added, the next
   * reconcile takes them off again.
   */
  addCommitted(input: {
    tenant: string;
    sumBytes: number;
    /** As it was read. `any`: what is added takes up nothing, so no limit matters, that of a repo neither. */
    limitBytes: number | null | 'any';
    /** The repo, and its limit as it was read. null: it has none. */
    repo: { readonly name: string; readonly limitBytes: number | null };
    /** The reservation and its claims. Default: 0. */
    claimCount?: number;
    /** Refused if the tenant had more of them then. Default: `tenantClaimsMax`. */
    claimsMax?: number;
    /** Refused if a counter holds more before. Default: no matter. Without a limit (`any`) neither counts. */
    beforeMax?: { readonly tenantBytes?: number; readonly repoBytes?: number };
    /** What is late of the tenant and of the repo, as it was read. Refused if there is more since. Default: no matter. */
    lateMax?: { readonly tenantBytes: number; readonly repoBytes: number };
  }): Promise<AddOutcome>;
  /** One page of tenants, in the order of their names. */
  listTenants(input: { after?: string; pageSize: number }): Promise<readonly TenantRecord[]>;
  /**
   * Tenants that are due for a full count (`full`), or that have a reservation to look at, a due deletion or a closed
   * repo. Those due longest come first. A reservation is to be looked at when it is dead, a late one at its
   * `lookAtMs`, and a pending one when its batch must be dead.
   *
   * @param input.afterMs only those that became due after this.
   * @param input.untilMs … and until then.
   * @param input.tenantsMax as many at most, besides others that became due in the same millisecond.
   */
  dueTenants(input: { afterMs?: number; untilMs: number; tenantsMax: number }): Promise<DueTenants>;
}

/** Some of the tenants that are due. */
export interface DueTenants {
  readonly due: readonly DueTenant[];
  /** Nobody else was found that became due until then. */
  readonly untilMs: number;
}

/** How far the schedule has come: the same for all tenants. */
export interface RefreshLedger {
  /** undefined: it never ran. */
  readRefreshState(): Promise<RefreshState | undefined>;
  /** Replaces it. A write that lands late takes the schedule back a little: some tenants are handed on twice. */
  putRefreshState(state: RefreshState): Promise<void>;
}

/** Repos. One that is not known yet is created when something is set on it. */
export interface RepoLedger {
  repos(tenant: string): AsyncIterable<readonly RepoRecord[]>;
  readRepo(input: RepoPath): Promise<RepoRecord | undefined>;
  /** Repos by name, a page at a time: the first `pageSize` after the name. */
  listRepos(input: { tenant: string; after?: string; pageSize: number }): Promise<readonly RepoRecord[]>;
  /**
   * Sets a new dirty token: what was scanned of the repo before is no longer relied on. `refused`: the token says that
   * records tell what changed, and the one that is there says that something unknown did. It stays, whenever this lands.
   */
  markDirty(input: RepoPath & { dirtyToken: string }): Promise<'marked' | 'refused'>;
  /**
   * Removes the item of a repo that nobody needs (`isDisposable`). `refused`: something has changed in it since it was read.
   */
  removeRepo(input: { tenant: string; before: RepoRecord }): Promise<'removed' | 'refused'>;
  /** Notes that somebody created a repo. One that was created already keeps its time. `closed`: it is being deleted. */
  createRepo(input: RepoPath & { createdAtMs: number }): Promise<'done' | 'closed'>;
  /**
   * Closes a repo: it takes no more batches, and will be emptied. Its tenant is due until the repo is opened
   * again. A repo that is closed already keeps its time. A closing that has ended changes nothing if it lands once more.
   *
   * @param input.isForGood its tenant is closed: the same closing may follow its end, because an upload arrived late.
   */
  closeRepo(input: RepoPath & { closedAtMs: number; isForGood?: boolean }): Promise<void>;
  /**
   * Opens a repo that was closed at `closedAtMs`. Nobody has created it then. `refused`: it is open, or was closed again
   * since.
   */
  openRepo(input: RepoPath & { closedAtMs: number }): Promise<'opened' | 'refused'>;
}

/** Reservations: pending resolves once, to issued or to gone. */
export interface ReservationLedger {
  /** Writes a new reservation. If it exists already, this is a retry of our own, and nothing happens. */
  putReservation(input: {
    tenant: string;
    reservation: Reservation;
    /** Its tenant is due from then on. Default: its `lookAtMs` or else its death. */
    dueAtMs?: number;
  }): Promise<void>;
  /**
   * pending → issued, with the claims that were admitted. Its tenant is then due at its death. `gone`: it was voided
   * meanwhile.
   */
  issueReservation(
    input: ReservationKey & { claims: ReadonlyMap<string, number> },
  ): Promise<'issued' | 'gone'>;
  /** Deletes it in any state. */
  deleteReservation(input: ReservationKey): Promise<'deleted' | 'absent'>;
  /**
   * Keeps a dead reservation as late: with the claims that no scan saw, and the time at which its repo is to be listed
   * again. `gone`: another reconcile deleted it.
   */
  keepLate(
    input: ReservationKey & { claims: ReadonlyMap<string, number>; lookAtMs: number },
  ): Promise<'kept' | 'gone'>;
  /** Deletes it if it is still pending. `issued`: too late, its URLs may be in use. */
  voidReservation(input: ReservationKey): Promise<'gone' | 'issued'>;
  readReservation(input: ReservationKey): Promise<Reservation | undefined>;
  /** All of a tenant's, repo by repo. */
  reservations(tenant: string): AsyncIterable<readonly Reservation[]>;
  /**
   * Those of one repo. Its cost does not depend on other repos.
   *
   * @param input.ofUploads without those of deletes, whose ids begin with {@link onceMoreIdStart}: they are not read.
   */
  reservationsOf(input: RepoPath & { ofUploads?: true }): AsyncIterable<readonly Reservation[]>;
  /**
   * One page of a tenant's, or of those of one repo, in the order of {@link reservations}: at most `pageSize`, and no
   * more than one answer of the table, so a page can be shorter, or empty, without being the last.
   *
   * @param input.after key of a reservation that may be gone by now: `next` of the page before. With `repo` one of that
   * repo.
   */
  listReservations(input: {
    tenant: string;
    repo?: string;
    after?: Omit<ReservationKey, 'tenant'>;
    pageSize: number;
  }): Promise<ReservationPage>;
}

/** What a reconcile writes. Its epoch decides whether it still may. */
export interface ReconcileLedger {
  /**
   * Takes the next epoch and the lease. `busy`: another reconcile holds the lease. `before` is the tenant right
   * before this write. If our own write before got no answer, it is the tenant as it is found now: as if this one had
   * taken the epoch.
   *
   * @param input.holder random, to know the own lease by.
   */
  beginReconcile(input: {
    tenant: string;
    holder: string;
    nowMs: number;
    leaseUntilMs: number;
  }): Promise<
    | { kind: 'begun'; epoch: number; before: TenantRecord }
    | { kind: 'busy'; leaseUntilMs: number }
    | { kind: 'absent' }
  >;
  /**
   * Extends the lease, or releases it with `leaseUntilMs: 0`, while the epoch is still ours. The others are given by a
   * reconcile that gives up, to charge its LIST requests to the tenant's budget and to that of its shards. One that was
   * overtaken leaves the lease as it is, and charges them in the epoch that it finds.
   */
  setLease(input: {
    tenant: string;
    epoch: number;
    leaseUntilMs?: number;
    listedUntilMs?: number;
    shardsListedUntilMs?: number;
    shardLists?: ShardLists | undefined;
  }): Promise<'ours' | 'superseded'>;
  /**
   * Commits the scan of one repo, if no later scan was committed and its dirty token is still the one read.
   *
   * @param input.epochRead of the item that was read: one that was removed since is not made again. undefined: there was
   * none.
   */
  commitRepo(input: {
    tenant: string;
    repo: RepoCommit;
    dirtyTokenRead: string | null;
    epochRead?: number | undefined;
  }): Promise<'committed' | 'superseded'>;
  /** Commits the tenant's new numbers once, if the epoch is still ours. */
  commitTenant(
    input: TenantCommit,
  ): Promise<{ kind: 'committed'; tenant: TenantRecord } | { kind: 'superseded' }>;
}

/** The shards of giant repos. Only a reconcile writes them, and only over what it has read. */
export interface ShardLedger {
  /**
   * Marks a repo as a giant whose first count begins: the epoch is its `sinceEpoch`. A repo that the ledger does not know
   * gets an item. `superseded`: it was counted in this epoch or a later one, or is a giant already.
   */
  beginGiant(input: RepoPath & { epoch: number }): Promise<'begun' | 'superseded'>;
  /** Says how far a first count is, unless it has ended. */
  noteProgress(input: RepoPath & { sinceEpoch: number; progress: CountProgress }): Promise<void>;
  /** Removes a dirty token, if it is the one that was read: the shards know of the change. */
  clearDirty(input: RepoPath & { dirtyToken: string }): Promise<void>;
  /**
   * Pauses the scans of a giant's shards, resumes them (null), or gives up a recount. `refused`: it is no giant, or
   * somebody has done so since it was read (`steeringVersion`, 0 if it has none).
   */
  steerCount(
    input: RepoPath & { steeringVersion: number } & (
        | { pausedAtMs: number | null }
        | { cancelledAtMs: number }
      ),
  ): Promise<'done' | 'refused'>;
  /** Notes that the shards of a repo that is a giant no longer are removed, if it says so as it was read. */
  endTidy(input: RepoPath & { tidyBelowEpoch: number }): Promise<void>;
  /** All items, in the order of their prefixes, also those that are not in force. */
  shards(path: RepoPath): AsyncIterable<readonly Shard[]>;
  /**
   * Writes a shard over the one of epoch `epochRead`. null: over none, or over one of an older epoch. Such a write can
   * bring back a shard that was removed since, if it lands once more: its parts tell (`shardsInForce`).
   *
   * `superseded`: it has changed since it was read.
   */
  putShard(input: RepoPath & { shard: Shard; epochRead: number | null }): Promise<'put' | 'superseded'>;
  /** Removes a shard that is as it was read. `superseded`: it has changed, or is gone. */
  removeShard(input: RepoPath & { prefix: string; epochRead: number }): Promise<'removed' | 'superseded'>;
}

/** Deletions, and the notes on the tenant that take their bytes off the floor. */
export interface DeletionLedger {
  /** Writes a new deletion. If it exists already, this is a retry of our own, and nothing happens. */
  putDeletion(input: { tenant: string; deletion: Deletion }): Promise<void>;
  /** All of a tenant's, repo by repo. */
  deletions(tenant: string): AsyncIterable<readonly Deletion[]>;
  /**
   * Marks again what is not to be deleted any more, or is gone: the item of `before` becomes `deletion`, of the same id.
   * It keeps what its last run removed. `superseded`: it has changed since it was read.
   */
  remark(input: { tenant: string; before: Deletion; deletion: Deletion }): Promise<'marked' | 'superseded'>;
  /** Those of one repo. Its cost does not depend on other repos. */
  deletionsOf(path: RepoPath): AsyncIterable<readonly Deletion[]>;
  /**
   * Those of one repo, in any order, without the ones of other single objects than these (`singleDeletionId`). So its
   * cost does not depend on how many objects are marked.
   */
  deletionsNaming(input: RepoPath & { oids: Iterable<string> }): Promise<readonly Deletion[]>;
  /**
   * One page of a tenant's, or of those of one repo, in the order of {@link deletions}, in any state: at most `pageSize`,
   * and no more than one answer of the table, so a page can be shorter, or empty, without being the last.
   *
   * @param input.after key of a deletion that may be gone by now: `next` of the page before. With `repo` one of that repo.
   */
  listDeletions(input: {
    tenant: string;
    repo?: string;
    after?: Omit<DeletionKey, 'tenant'>;
    pageSize: number;
  }): Promise<DeletionPage>;
  /**
   * Takes at most `unmarkedObjectsMax` objects out of a deletion while it is only marked, and due as it was read.
   * `refused`: it is deleting, or gone, or was marked again.
   */
  unmark(input: DeletionKey & { dueAtMs: number; names: readonly string[] }): Promise<'unmarked' | 'refused'>;
  /**
   * marked → deleting, or takes it over from a deleter that died. The deadline identifies the deleter.
   * `before` is the deletion as the caller read it. `refused`: it has changed since.
   *
   * @param input.dueAtMs given if it is claimed before it is due: it is due since then.
   */
  claimDeletion(input: {
    tenant: string;
    before: Deletion;
    deadlineMs: number;
    dueAtMs?: number;
  }): Promise<{ kind: 'claimed'; deletion: Deletion } | { kind: 'refused' }>;
  /**
   * Ends a run, if the deletion still belongs to the deleter with this deadline. Objects that are `left` are
   * marked again, due at `dueAtMs`, with the deadline of this run: whoever read them before it cannot claim them. Nothing
   * tells then of what is gone beside them. If none is left, the deletion is gone: its record is kept until `keptUntilMs`,
   * or with null removed at once. With a `removal` it is kept in any case, and then names oids only. With `prefixes` it has
   * these instead of names.
   */
  endDeletion(
    input: DeletionKey & {
      deadlineMs: number;
      left: ReadonlyMap<string, number>;
      dueAtMs: number;
      keptUntilMs: number | null;
      removal?: Removal;
      prefixes?: string;
    },
  ): Promise<void>;
  /** Drops the removal of this run: it is taken off the count. */
  dropRemoval(input: DeletionKey & { runMs: number }): Promise<void>;
  /** Removes the record of a deletion that is gone, kept until this deadline, and has no removal. Any other stays. */
  removeDeletion(input: DeletionKey & { deadlineMs: number }): Promise<void>;
  /**
   * Adds to the tenant's `deletionCount`. `refused`: it would then be more than `atMost`.
   *
   * It may land twice: the count is right again after the next run.
   */
  countDeletions(input: {
    tenant: string;
    difference: number;
    /** Default: any. */
    atMost?: number;
  }): Promise<'counted' | 'refused'>;
  /**
   * One write: takes the bytes off the floor, and notes that they are about to leave the bucket. It counts the late
   * reservation that is made of them, and its claims.
   */
  announceDelete(input: {
    tenant: string;
    noteId: string;
    note: DeleteNote;
    /** Default: 0. */
    claimCount?: number;
  }): Promise<void>;
  removeNote(input: { tenant: string; noteId: string }): Promise<void>;
}

/** Clean-ups of what no ref needs: docs/gc.md. */
export interface CleanupLedger {
  /**
   * Opens a repo's watch, unless one is open. One whose time is over by `nowMs` is replaced.
   *
   * @returns the watch that is open then, this one or another. `refused`: one that ended was opened at that time or later.
   */
  openWatch(
    input: RepoPath & { watch: Watch; nowMs: number },
  ): Promise<{ kind: 'open'; watch: Watch } | { kind: 'refused' }>;
  /** Ends this watch, for good. If it is not the one that is open, nothing happens. */
  closeWatch(input: RepoPath & { watch: Watch }): Promise<void>;
  /** Notes what a batch names. @param input.noteId the batch's own. */
  noteSeen(input: { tenant: string; watch: Watch; noteId: string; note: SeenNote }): Promise<void>;
  /** What batches have noted in a watch, of those that began at `fromMs` or later, by their clocks. */
  seen(input: { tenant: string; watchId: string; fromMs: number }): AsyncIterable<readonly SeenNote[]>;
  readCleanup(path: RepoPath): Promise<Cleanup | undefined>;
  /**
   * Writes a clean-up over the version that was read, and counts its version. Its tenant is due at its `dueAtMs`.
   *
   * @param input.versionRead null: there is none yet. The repo's last one is replaced by the next.
   * @returns undefined if it has changed since.
   */
  putCleanup(input: {
    tenant: string;
    cleanup: Cleanup;
    versionRead: number | null;
    /** Random: the same one again is our own retry, and answers the same. */
    writeId: string;
  }): Promise<Cleanup | undefined>;
  /** Notes that a clean-up has deleted objects, or with `emptiedName` that a repo was emptied. */
  noteGone(input: RepoPath & { oids: readonly string[]; atMs: number }): Promise<void>;
  /** Forgets that a clean-up has deleted an object. */
  forgetGone(input: RepoPath & { oid: string }): Promise<void>;
  /** Which of these objects clean-ups have deleted, and when for the last time. Some weeks later that is forgotten. */
  goneOf(input: RepoPath & { oids: readonly string[] }): Promise<ReadonlyMap<string, number>>;
}

export interface RepoPath {
  readonly tenant: string;
  readonly repo: string;
}

export interface ReservationKey {
  readonly tenant: string;
  readonly repo: string;
  readonly reservationId: string;
}

export interface ReservationPage {
  readonly reservations: readonly Reservation[];
  /** null: this is the last page. */
  readonly next: Omit<ReservationKey, 'tenant'> | null;
}

export interface DeletionKey {
  readonly tenant: string;
  readonly repo: string;
  readonly deletionId: string;
}

export interface DeletionPage {
  readonly deletions: readonly Deletion[];
  /** null: this is the last page. */
  readonly next: Omit<DeletionKey, 'tenant'> | null;
}

export interface NewTenant {
  readonly tenant: string;
  readonly plan: string | null;
  readonly limitBytes: number | null;
  readonly createdAtMs: number;
  /** Known only if the path was listed and found empty. */
  readonly counted: Counted | null;
  /** When the schedule should look at it next. */
  readonly dueAtMs: number;
}

export type AddOutcome =
  | { readonly kind: 'added' }
  | { readonly kind: 'refused'; readonly tenant: TenantRecord }
  | { readonly kind: 'absent' };

/** What a scan found of a repo. Committing it clears the dirty token. */
export type RepoCommit = Omit<
  RepoRecord,
  | 'dirtyToken'
  | 'closedAtMs'
  | 'createdAtMs'
  | 'countPausedAtMs'
  | 'countCancelledAtMs'
  | 'steeringVersion'
  | 'watch'
  | 'endedWatchMs'
>;

/** What a reconcile found for a repo that has a limit. */
export interface LimitCommit extends Omit<CountedLimit, 'committedBytes'> {
  /** As the reconcile found it. */
  readonly limitBytes: number;
  /** Added to the repo's counter: the recomputed value minus the counter as the reconcile found it, or 0. */
  readonly correctionBytes: number;
}

/** What a reconcile found for a tenant. */
export interface TenantCommit {
  readonly tenant: string;
  readonly epoch: number;
  /** Added to the counter: the recomputed value minus the counter as the reconcile found it. */
  readonly correctionBytes: number;
  readonly floorBaseBytes: number;
  /** Taken off the tenant's deleted bytes: what the reconcile found there, which its floors no longer hold. */
  readonly deletedBytesRead: number;
  readonly floorUntilMs: number;
  /** Repo → what was found, of those that have a limit. */
  readonly repoLimits: ReadonlyMap<string, LimitCommit>;
  /** null: the tenant was never counted as a whole, and was not now. */
  readonly counted: Counted | null;
  readonly listedUntilMs: number;
  readonly shardsListedUntilMs?: number;
  readonly shardLists?: ShardLists;
  readonly listedObjectCount?: number;
  /** Added to the number of reservations and claims: those that were read minus the number as found. */
  readonly claimCorrection: number;
  /** Those that were read. */
  readonly claimsCounted?: number;
  /** Replaces what the tenant has. */
  readonly late?: LateLoad;
  readonly overtakenEpoch: number;
  /** Items of repos. */
  readonly repoCount: number;
  /** null: not every repo was listed. */
  readonly fullCountedAtMs: number | null;
  readonly reservedUntilMs: number | null;
  /** Ids of notes to remove: their deleters died. */
  readonly expiredNotes: readonly string[];
  /** When the tenant is due for the next full count. */
  readonly dueAtMs: number;
  /** When it is due for a count of what may have changed. null: at no time of its own. */
  readonly lookAtMs: number | null;
}
