import { splitListing } from './listing-cost.ts';
import { fullCountsOf, type RecountPolicy, recountsOfPush } from './recount-times.ts';

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
  /** The store tells of every object that comes. */
  readonly storeEvents: boolean;
}

interface RefreshPolicy extends RecountPolicy {
  /** How often the schedule looks for what is due. */
  readonly everyMinutes: number;
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
  refresh: {
    everyMinutes: 15,
    tenantsPerRunMax: 2000,
    maxAgeHours: 24,
    idleMaxHours: 30 * 24,
    restSeconds: 60,
    listRequestsPerHour: 1200,
  },
  storeEvents: false,
};

const hoursPerMonth = 30 * 24;
/** Events of the store are gathered for so long. */
const gatherSeconds = 20;
/** Objects in one batch request of git-lfs. */
const clientBatchObjects = 100;

/** What a workload comes to: how often each operation happens to one tenant in a month. */
export interface Occurrences {
  /** Objects of each upload batch of a push. */
  readonly pushBatches: readonly number[];
  readonly fetchBatches: readonly number[];
  readonly recountsThatScan: number;
  readonly recountsThatDoNot: number;
  /** Runs that look the tenant up because the store told of it. */
  readonly eventRuns: number;
  /** Messages whose recount has to wait, and that are sent again. */
  readonly recountsDeferred: number;
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

/** LIST requests of the scan of one repo that a recount finds changed. */
export function scanOf(workload: Workload) {
  return splitListing(workload.objectsPerTenant / workload.reposPerTenant, { hasHint: true });
}

/**
 * - How often a push is recounted follows from the policy: {@link recountsOfPush}. Recounts before its end find
 *   uploads missing and scan again; of those after it only the first scans. No more scan than the budget allows.
 * - Pushes are taken to be an hour apart, so that the schedule visits after each to clear its reservations
 *   away: the most that it can come to.
 * - The schedule takes so many tenants a run. What it does not come to is cleared with a later push's recount,
 *   and counted in full when the console reads, if it does.
 */
export function occurrences(workload: Workload): Occurrences {
  const { pushesPerTenant, pushSeconds, tenants, readsPerTenant, refresh, storeEvents } = workload;
  const pushes = workload.objectsPerPush > 0 ? pushesPerTenant : 0;
  const scanRequests = scanOf(workload).requests;
  const triggerSeconds = pushSeconds + (storeEvents ? gatherSeconds : 0);
  const each = recountsOfPush({ pushSeconds, triggerSeconds, scanRequests, policy: refresh });
  const scansAffordable = (hoursPerMonth * refresh.listRequestsPerHour) / scanRequests;

  const refreshRuns = (hoursPerMonth * 60) / refresh.everyMinutes;
  const full = fullCountsOf({ activeTimes: pushes, monthHours: hoursPerMonth, policy: refresh });
  const wantedPerRun = (tenants * (pushes + full.perMonth)) / refreshRuns;
  const duePerRun = Math.min(wantedPerRun, refresh.tenantsPerRunMax);
  const served = wantedPerRun > 0 ? duePerRun / wantedPerRun : 1;
  // Somebody who asks has it counted, and finds it young for the largest age.
  const staleReads = full.staleShare * Math.min(readsPerTenant, hoursPerMonth / refresh.maxAgeHours);
  const missedReads = Math.min(readsPerTenant, staleReads + full.perMonth * (1 - served));
  return {
    pushBatches: batchesOf(workload.objectsPerPush),
    fetchBatches: batchesOf(workload.objectsPerFetch),
    recountsThatScan: Math.min(pushes * each.thatScan, scansAffordable),
    recountsThatDoNot: pushes * each.thatDoNot,
    recountsDeferred: pushes * each.deferred,
    eventRuns: storeEvents ? pushes * (1 + pushSeconds / gatherSeconds) : 0,
    cleanups: pushes * served,
    clearedLater: pushes * (1 - served),
    fullCounts: full.perMonth * served,
    cachedReads: readsPerTenant - missedReads,
    missedReads,
    refreshRuns,
    duePerRun,
  };
}
