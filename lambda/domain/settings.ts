/**
 * The constants of the protocol. All are settings: a stage may override them, tests shrink them, and what
 * they mean for correctness is written beside each.
 */
export interface Settings {
  /** How long a signed URL is good for, counted from the reservation's creation. */
  readonly urlLifetimeMs: number;
  /** How much longer than its URLs a reservation lives: no URL may outlive its reservation. */
  readonly reservationSlackMs: number;
  /** Longest PUT that was begun just before its URL expired: a fixed part … */
  readonly putGraceMs: number;
  /** … and the slowest rate at which it is assumed to send, in bytes a second. */
  readonly putMinBytesPerSecond: number;
  /** Assumed bound of the difference between two functions' clocks. */
  readonly clockSkewMs: number;
  /** Time limit of the batch function; nothing of a batch happens later than this after its start. */
  readonly batchTimeLimitMs: number;
  /** A pending reservation older than this has lost its batch function, and is voided. */
  readonly pendingVoidAfterMs: number;
  /** Time that a batch may spend on an inline reconcile before it answers 429. */
  readonly inlineReconcileBudgetMs: number;
  /** Retry-After of a 429, before jitter. */
  readonly retryAfterMs: number;
  /** A reconcile's lease, renewed while pages come. */
  readonly reconcileLeaseMs: number;
  /** Usage counted longer ago than this is a cache miss; a tenant in use is counted in full as often. */
  readonly maxAgeMs: number;
  /** Longest time between two full counts by the schedule, of a tenant in which nothing happens. */
  readonly idleRefreshMaxMs: number;
  /** Shortest time between the beginnings of two recounts of a tenant that nobody waits for. */
  readonly recountRestMs: number;
  /** LIST requests of one tenant's recounts in an hour: what is dearer comes less often. More than 0. */
  readonly listRequestsPerHour: number;
  /** How long getSubscription waits for a scan before it answers 202. */
  readonly scanWaitMs: number;
  /** Most LIST requests at once in one scan. */
  readonly scanConcurrency: number;
  /** Objects in one batch request. */
  readonly batchObjectsMax: number;
  /** Bytes of one request body. */
  readonly bodyBytesMax: number;
  /** Largest object that one PUT can carry (S3: 5 GiB). */
  readonly objectBytesMax: number;
  /** Grace between marking an object for deletion and deleting it. */
  readonly deleteGraceMs: number;
  /** Tenants that one refresh run hands to the queue. */
  readonly refreshTenantsMax: number;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** The defaults of a deployed stage. */
export const defaultSettings: Settings = {
  urlLifetimeMs: 30 * minute,
  reservationSlackMs: minute,
  putGraceMs: 5 * minute,
  putMinBytesPerSecond: 1_000_000,
  clockSkewMs: 5 * second,
  batchTimeLimitMs: 25 * second,
  pendingVoidAfterMs: minute,
  inlineReconcileBudgetMs: 15 * second,
  retryAfterMs: 2 * second,
  reconcileLeaseMs: 15 * second,
  maxAgeMs: 24 * hour,
  idleRefreshMaxMs: 30 * 24 * hour,
  recountRestMs: minute,
  listRequestsPerHour: 1200,
  scanWaitMs: 20 * second,
  scanConcurrency: 128,
  batchObjectsMax: 1000,
  bodyBytesMax: 1024 * 1024,
  objectBytesMax: 5 * 1024 ** 3,
  deleteGraceMs: hour,
  refreshTenantsMax: 2000,
};
