/** What tenants do in a month of 30 days, and how the stage is set up. */
export interface Workload {
  readonly tenants: number;
  readonly pushesPerTenant: number;
  readonly objectsPerPush: number;
  /** From a push's first request to its last: how many recounts it asks for follows from it. */
  readonly pushSeconds: number;
  readonly fetchesPerTenant: number;
  readonly objectsPerFetch: number;
  readonly objectsPerTenant: number;
  readonly reposPerTenant: number;
  /** The console's reads of a tenant's usage. */
  readonly readsPerTenant: number;
  readonly refresh: RefreshPolicy;
}

export interface RefreshPolicy {
  /** How often the schedule looks for what is due. */
  readonly everyMinutes: number;
  /** Every tenant is counted in full once in that time. */
  readonly maxAgeHours: number;
  /** Tenants that one run hands to the queue. */
  readonly tenantsPerRunMax: number;
}

export const defaultWorkload: Workload = {
  tenants: 1000,
  pushesPerTenant: 60,
  objectsPerPush: 20,
  pushSeconds: 30,
  fetchesPerTenant: 120,
  objectsPerFetch: 20,
  objectsPerTenant: 4000,
  reposPerTenant: 4,
  readsPerTenant: 30,
  refresh: { everyMinutes: 15, maxAgeHours: 24, tenantsPerRunMax: 100 },
};

const minutesPerMonth = 30 * 24 * 60;
/** Triggers of the same so many seconds are one message, which is handled so many seconds later. */
const collapseSeconds = 30;
const delaySeconds = 35;
/** Objects in one batch request of git-lfs. */
const clientBatchObjects = 100;

/** What a workload comes to: how often each operation happens to one tenant in a month. */
export interface Occurrences {
  /** Objects of each upload batch of a push. */
  readonly pushBatches: readonly number[];
  readonly fetchBatches: readonly number[];
  readonly recountsThatScan: number;
  readonly recountsThatDoNot: number;
  /** Visits of the schedule, to clear away dead reservations. */
  readonly cleanups: number;
  /** Pushes whose dead reservations a later push's recount clears away. */
  readonly clearedLater: number;
  readonly fullCounts: number;
  readonly cachedReads: number;
  readonly missedReads: number;
  /** Of the whole stage. */
  readonly refreshRuns: number;
  /** Tenants that a run of the schedule finds and hands on. */
  readonly duePerRun: number;
}

/** How a number of objects is split into batch requests. */
function batchesOf(objects: number): number[] {
  const whole = Math.floor(objects / clientBatchObjects);
  const rest = objects % clientBatchObjects;
  return [...Array.from({ length: whole }, () => clientBatchObjects), ...(rest > 0 ? [rest] : [])];
}

/**
 * - A push that lasts d seconds touches 1 + d/30 windows of triggers on average, and each is a recount.
 *   Those before its end find uploads missing and scan again; of those after it only the first scans.
 * - Pushes are taken to be an hour apart, so that the schedule visits after each to clear its reservations
 *   away: the most that it can come to.
 * - The schedule takes so many tenants a run. What it does not come to is cleared with a later push's recount,
 *   and counted in full when the console reads, if it does.
 */
export function occurrences(workload: Workload): Occurrences {
  const { pushesPerTenant, pushSeconds, tenants, readsPerTenant, refresh } = workload;
  const pushes = workload.objectsPerPush > 0 ? pushesPerTenant : 0;
  const recounts = pushes * (1 + pushSeconds / collapseSeconds);
  const scansPerPush = 1 + Math.max(0, Math.ceil((pushSeconds - delaySeconds) / collapseSeconds));
  const recountsThatScan = Math.min(recounts, pushes * scansPerPush);

  const refreshRuns = minutesPerMonth / refresh.everyMinutes;
  const fullCountsWanted = minutesPerMonth / 60 / refresh.maxAgeHours;
  const wantedPerRun = (tenants * (pushes + fullCountsWanted)) / refreshRuns;
  const duePerRun = Math.min(wantedPerRun, refresh.tenantsPerRunMax);
  const served = wantedPerRun > 0 ? duePerRun / wantedPerRun : 1;
  const missedReads = Math.min(readsPerTenant, fullCountsWanted * (1 - served));
  return {
    pushBatches: batchesOf(workload.objectsPerPush),
    fetchBatches: batchesOf(workload.objectsPerFetch),
    recountsThatScan,
    recountsThatDoNot: recounts - recountsThatScan,
    cleanups: pushes * served,
    clearedLater: pushes * (1 - served),
    fullCounts: fullCountsWanted * served,
    cachedReads: readsPerTenant - missedReads,
    missedReads,
    refreshRuns,
    duePerRun,
  };
}
