import type { Deletion } from '../domain/deletion.ts';
import type { Reservation } from '../domain/reservation.ts';
import type { Counted, DeleteNote, RepoRecord, TenantRecord } from '../domain/tenant.ts';

/**
 * The ledger's items. Every method is one request to the table (the paged reads: one a page), atomic on one
 * item, and may land twice or late: conditions make a repeated write harmless. Reads are strongly consistent.
 *
 * docs/ledger.md has the protocol these serve.
 */
export interface Ledger {
  readTenant(tenant: string): Promise<TenantRecord | undefined>;
  createTenant(tenant: NewTenant): Promise<'created' | 'exists'>;
  /** `limitBytes: null` lifts the limit. */
  updateTenant(
    tenant: string,
    change: { limitBytes?: number | null; plan?: string | null },
  ): Promise<TenantRecord | undefined>;

  /** Puts a reservation that does not exist yet. Its own retry finds it there and is no error. */
  putReservation(input: { tenant: string; reservation: Reservation }): Promise<void>;
  /**
   * Adds to the atomic counter, if it stays within the limit that was read and the tenant is open and was
   * counted. With `limitBytes: null` only the safe range of integers bounds it.
   *
   * `refused` carries the tenant as it was when refused (where the engine tells; otherwise as read after).
   * A throw means the outcome is unknown, and that the bytes must be taken as not counted.
   */
  addCommitted(input: { tenant: string; sumBytes: number; limitBytes: number | null }): Promise<AddOutcome>;
  /** pending → issued, with the claims that were admitted. `gone`: it was voided meanwhile. */
  issueReservation(input: {
    tenant: string;
    reservationId: string;
    claims: ReadonlyMap<string, number>;
  }): Promise<'issued' | 'gone'>;
  /** Deletes it in whatever state. */
  deleteReservation(input: { tenant: string; reservationId: string }): Promise<'deleted' | 'absent'>;
  /** Deletes it if it is still pending. `issued`: too late, it counts. */
  voidReservation(input: { tenant: string; reservationId: string }): Promise<'gone' | 'issued'>;
  readReservation(input: { tenant: string; reservationId: string }): Promise<Reservation | undefined>;
  reservations(tenant: string): AsyncIterable<readonly Reservation[]>;
  repos(tenant: string): AsyncIterable<readonly RepoRecord[]>;

  /**
   * Takes the next epoch and the lease. `busy` where another holds the lease.
   * `before` is the tenant as it was right before.
   */
  beginReconcile(input: {
    tenant: string;
    nowMs: number;
    leaseUntilMs: number;
  }): Promise<
    | { kind: 'begun'; epoch: number; before: TenantRecord }
    | { kind: 'busy'; leaseUntilMs: number }
    | { kind: 'absent' }
  >;
  /**
   * Extends (or, with 0, releases) the lease while the epoch is still ours; `listedUntilMs` where LIST requests
   * were made in vain.
   */
  setLease(input: {
    tenant: string;
    epoch: number;
    leaseUntilMs: number;
    listedUntilMs?: number;
  }): Promise<'ours' | 'superseded'>;
  /** One repo's scan, if no later scan was written and its dirty token is still the one that was read. */
  commitRepo(input: {
    tenant: string;
    repo: RepoCommit;
    dirtyTokenRead: string | null;
  }): Promise<'committed' | 'superseded'>;
  /** The tenant's recount, if the epoch is ours and was not applied yet. */
  commitTenant(
    input: TenantCommit,
  ): Promise<{ kind: 'committed'; tenant: TenantRecord } | { kind: 'superseded' }>;

  readRepo(path: { tenant: string; repo: string }): Promise<RepoRecord | undefined>;
  /**
   * The repo takes no more batches, and is emptied; its tenant is due until it is opened again. One that is
   * closed already keeps its time; one unknown so far is put.
   */
  closeRepo(input: { tenant: string; repo: string; closedAtMs: number }): Promise<void>;
  /** Opens a repo that was closed at `closedAtMs`. `refused`: it is open, or was closed anew. */
  openRepo(input: { tenant: string; repo: string; closedAtMs: number }): Promise<'opened' | 'refused'>;
  /**
   * The tenant takes no more batches, is due, and is emptied; it is never opened again. A reconcile that is
   * running is overtaken: its commit would say when the tenant is due next.
   */
  closeTenant(input: { tenant: string; closedAtMs: number }): Promise<TenantRecord | undefined>;

  putDeletion(input: { tenant: string; deletion: Deletion }): Promise<void>;
  deletions(tenant: string): AsyncIterable<readonly Deletion[]>;
  /** Takes objects out of a deletion while it is only marked. `refused`: it is deleting, or gone. */
  unmark(input: DeletionKey & { names: readonly string[] }): Promise<'unmarked' | 'refused'>;
  /**
   * marked → deleting, or taken over from a deleter that died; the deadline tells which deleter it is.
   * `before` is the deletion as the caller read it: a change since then refuses the claim.
   */
  claimDeletion(input: {
    tenant: string;
    before: Deletion;
    deadlineMs: number;
  }): Promise<{ kind: 'claimed'; deletion: Deletion } | { kind: 'refused' }>;
  /**
   * Ends a run, if it still is this deleter's. What is left is marked again, due at `dueAtMs`; with nothing left
   * it is gone, and due for removal at `keptUntilMs`, or with null removed at once.
   */
  endDeletion(
    input: DeletionKey & {
      deadlineMs: number;
      left: ReadonlyMap<string, number>;
      dueAtMs: number;
      keptUntilMs: number | null;
    },
  ): Promise<void>;
  /** Removes the record of what is gone; any other stays. */
  removeDeletion(input: DeletionKey): Promise<void>;
  /** One write: the bytes leave the floor, and the note tells that they are about to leave the bucket. */
  announceDelete(input: { tenant: string; noteId: string; note: DeleteNote }): Promise<void>;
  removeNote(input: { tenant: string; noteId: string }): Promise<void>;
  /** Sets a new dirty token: what was scanned of the repo before is no longer to be relied on. */
  markDirty(input: { tenant: string; repo: string; dirtyToken: string }): Promise<void>;

  /** Tenants in the order of their names, a page at a time. */
  listTenants(input: { after?: string; pageSize: number }): Promise<readonly TenantRecord[]>;
  /**
   * Tenants whose last full count is too old (`full`), or with a dead reservation, a due deletion or a closed
   * repo; the longest due first.
   */
  dueTenants(input: {
    nowMs: number;
    tenantsMax: number;
  }): Promise<readonly { tenant: string; full: boolean }[]>;
}

export interface NewTenant {
  readonly tenant: string;
  readonly plan: string | null;
  readonly limitBytes: number | null;
  readonly createdAtMs: number;
  /** Known only where the path was listed and found empty. */
  readonly counted: Counted | null;
  /** When the schedule is to look at it next. */
  readonly dueAtMs: number;
}

export type AddOutcome =
  | { readonly kind: 'added' }
  | { readonly kind: 'refused'; readonly tenant: TenantRecord }
  | { readonly kind: 'absent' };

/** What a scan found of a repo. Clears the dirty token. */
export type RepoCommit = Omit<RepoRecord, 'dirtyToken' | 'closedAtMs'>;

export interface DeletionKey {
  readonly tenant: string;
  readonly repo: string;
  readonly deletionId: string;
}

export interface TenantCommit {
  readonly tenant: string;
  readonly epoch: number;
  /** Added to the counter: the recomputed value less the counter as the reconcile found it. */
  readonly correctionBytes: number;
  readonly floorBaseBytes: number;
  readonly floorUntilMs: number;
  readonly counted: Counted;
  readonly listedUntilMs: number;
  readonly expiredNotes: readonly string[];
  /** When the schedule is to count it in full next; null leaves that as it is. */
  readonly dueAtMs: number | null;
}

/** The table did not answer, or throttled beyond the retries. What was asked may or may not have happened. */
export class LedgerUnavailableError extends Error {
  override readonly name = 'LedgerUnavailableError';
}
