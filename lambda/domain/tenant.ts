/** What the ledger knows of a tenant and its repos. */

/** A true value that a scan found. */
export interface Counted {
  readonly storedBytes: number;
  readonly objectCount: number;
  readonly countedAtMs: number;
}

/** A delete under way: its bytes are out of the floor before they are out of the bucket. */
export interface DeleteNote {
  readonly repo: string;
  readonly bytes: number;
  /** The deleter touches no byte after this; a note beyond it belongs to a delete that died. */
  readonly deadlineMs: number;
}

/** The tenant's item: the only one that a batch writes to besides its own reservation. */
export interface TenantRecord {
  readonly tenant: string;
  readonly plan: string | null;
  /** null: unlimited. */
  readonly limitBytes: number | null;
  readonly createdAtMs: number;
  /** The atomic counter, never below what the tenant really takes up. */
  readonly committedBytes: number;
  /** Counts reconciles; the one that took the newest epoch is the one that may commit. */
  readonly epoch: number;
  readonly appliedEpoch: number;
  /** The floor in force is `floorBaseBytes − deletedBytes`, until `floorUntilMs`. */
  readonly floorBaseBytes: number;
  readonly floorUntilMs: number;
  /** Only grows: every byte that a delete has announced. */
  readonly deletedBytes: number;
  readonly notes: ReadonlyMap<string, DeleteNote>;
  /** null: never counted, which is not zero. */
  readonly counted: Counted | null;
  /** A reconcile is running, as far as is known, until then. */
  readonly leaseUntilMs: number;
  /** Until then its LIST requests so far have used up its budget: docs/ledger.md, "How often". */
  readonly listedUntilMs: number;
  /** When the schedule is to count it in full next. */
  readonly dueAtMs: number;
  /** Set when the tenant is being deleted: it takes no more batches. */
  readonly closedAtMs: number | null;
}

/** What the ledger knows of one repo. */
export interface RepoRecord extends Counted {
  readonly repo: string;
  /** Epoch of the scan that these values are of. */
  readonly epoch: number;
  /** Set when the stored bytes changed behind the last scan; a scan clears only the token it read. */
  readonly dirtyToken: string | null;
  /** Reservations of which the last scan saw every object, or which were dead before it began. */
  readonly covered: ReadonlySet<string>;
  /** Set while the repo is being deleted: it takes no batches until it is empty. */
  readonly closedAtMs: number | null;
}

/**
 * True once nothing of a deleted tenant is left, nor can come: a count that began after it was closed found
 * no object, and nothing is promised to anybody. Its item stays, so that its name stays taken.
 */
export function isGone(tenant: TenantRecord): boolean {
  const { closedAtMs, counted, committedBytes } = tenant;
  if (closedAtMs === null || counted === null) return false;
  return counted.countedAtMs > closedAtMs && counted.objectCount === 0 && committedBytes === 0;
}

/**
 * The floor in force, or undefined where none is: what the tenant takes up at least, so what a refusal can
 * be proven by.
 */
export function floorBytes(tenant: TenantRecord, nowMs: number): number | undefined {
  if (tenant.counted === null || nowMs >= tenant.floorUntilMs) return undefined;
  return Math.max(0, tenant.floorBaseBytes - tenant.deletedBytes);
}
