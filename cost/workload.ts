import { lookAgainMs } from '../lambda/domain/refresh-state.ts';
import { uploadsToVerify } from '../lambda/domain/verified-uploads.ts';
import { splitListing } from './listing-cost.ts';
import { fullCountsOf, type RecountPolicy, recountsOfPush } from './recount-times.ts';

/** What tenants do in a month of 30 days, and how the stage is set up. */
export interface Workload {
  readonly tenants: number;
  readonly pushesPerTenant: number;
  readonly objectsPerPush: number;
  /** Size of an object, in MiB. */
  readonly objectMb: number;
  /** From a push's first request to its last. It decides how many recounts a push causes. */
  readonly pushSeconds: number;
  readonly fetchesPerTenant: number;
  readonly objectsPerFetch: number;
  readonly objectsPerTenant: number;
  readonly reposPerTenant: number;
  /** The console's reads of a tenant's usage. */
  readonly readsPerTenant: number;
  /** Clean-ups that delete something, and how much each deletes. */
  readonly cleanUpsPerTenant: number;
  readonly objectsPerCleanUp: number;
  /** Of 100 pushes and fetches: by people with a token for a git host. */
  readonly byPeoplePercent: number;
  readonly refresh: RefreshPolicy;
  /** Whether the store sends an event for every new object. */
  readonly storeEvents: boolean;
}

interface RefreshPolicy extends RecountPolicy {
  /** How often the schedule looks for tenants that are due. */
  readonly everyMinutes: number;
  /** Tenants that one run queues. */
  readonly tenantsPerRunMax: number;
}

export const defaultWorkload: Workload = {
  tenants: 1000,
  pushesPerTenant: 60,
  objectsPerPush: 20,
  objectMb: 1,
  pushSeconds: 30,
  fetchesPerTenant: 120,
  objectsPerFetch: 20,
  objectsPerTenant: 4000,
  reposPerTenant: 4,
  readsPerTenant: 30,
  cleanUpsPerTenant: 0,
  objectsPerCleanUp: 200,
  byPeoplePercent: 0,
  refresh: {
    everyMinutes: 1,
    tenantsPerRunMax: 300,
    maxAgeHours: 24,
    idleMaxHours: 30 * 24,
    restSeconds: 60,
    listRequestsPerHour: 1200,
  },
  storeEvents: false,
};

const hoursPerMonth = 30 * 24;
/** How long Lambda gathers events of the store. */
const gatherSeconds = 20;
/** Objects in one batch request of git-lfs. */
const clientBatchObjects = 100;

/** How often each operation happens to one tenant in a month. */
export interface Occurrences {
  /** Objects of each upload batch of a push. */
  readonly pushBatches: readonly number[];
  readonly fetchBatches: readonly number[];
  /** Verifies in a push. */
  readonly verifiesPerPush: number;
  readonly recountsThatScan: number;
  readonly recountsThatDoNot: number;
  /** Runs of storeEvents that look the tenant up. */
  readonly eventRuns: number;
  /** Messages whose recount is deferred, and that are sent again. */
  readonly recountsDeferred: number;
  /** Recounts by the schedule to delete dead reservations. */
  readonly cleanups: number;
  /** Pushes whose dead reservations are deleted by the recount of a later push. */
  readonly clearedLater: number;
  readonly fullCounts: number;
  readonly cachedReads: number;
  readonly missedReads: number;
  /** Runs of the schedule, for all tenants. */
  readonly refreshRuns: number;
  /** Those that begin a round through what is still due. */
  readonly lookRounds: number;
  /** Tenants that one run of the schedule finds and queues. */
  readonly duePerRun: number;
}

/** How a number of objects is split into batch requests. */
function batchesOf(objects: number): number[] {
  const whole = Math.floor(objects / clientBatchObjects);
  const rest = objects % clientBatchObjects;
  return [...Array.from({ length: whole }, () => clientBatchObjects), ...(rest > 0 ? [rest] : [])];
}

/** Verifies that a push is asked for: as by `uploadsToVerify`. */
function verifiesOf({ objectMb }: Workload, pushBatches: readonly number[]): number {
  const bytes = objectMb * 1024 ** 2;
  return pushBatches.reduce((count, objects) => {
    const uploads = new Map(Array.from({ length: objects }, (_, index) => [String(index), bytes]));
    return count + uploadsToVerify(uploads, { objects }).size;
  }, 0);
}

/** The beginnings of `count` equal parts of some time. */
function evenly(count: number, seconds: number): number[] {
  return Array.from({ length: count }, (_, index) => (index * seconds) / count);
}

/** The scan of one repo that has changed. */
function scanOf(workload: Workload) {
  return splitListing(objectsOfRepo(workload), { hasHint: true });
}

/** Objects in one repo. */
export function objectsOfRepo(workload: Workload): number {
  return workload.objectsPerTenant / workload.reposPerTenant;
}

/**
 * - The policy decides how often a push is recounted: {@link recountsOfPush}. Recounts before its end miss uploads and
 *   scan again. After its end only the first one scans. The budget limits the scans.
 * - Pushes are assumed to be an hour apart, so the schedule deletes the reservations of each: the largest cost possible.
 * - The schedule takes a limited number of tenants per run. The recount of a later push deletes what it leaves, and the
 *   console's next read, if any, counts in full.
 */
export function occurrences(workload: Workload): Occurrences {
  const { pushesPerTenant, pushSeconds, tenants, readsPerTenant, refresh, storeEvents } = workload;
  const pushes = workload.objectsPerPush > 0 ? pushesPerTenant : 0;
  const scanRequests = scanOf(workload).requests;
  const pushBatches = batchesOf(workload.objectsPerPush);
  const verifiesPerPush = verifiesOf(workload, pushBatches);
  const each = recountsOfPush({
    pushSeconds,
    triggers: [
      ...evenly(pushBatches.length, pushSeconds),
      ...evenly(verifiesPerPush, pushSeconds).map((second) => second + pushSeconds / verifiesPerPush),
      ...(storeEvents ? evenly(Math.ceil(pushSeconds / gatherSeconds) + 1, pushSeconds + gatherSeconds) : []),
    ],
    scanRequests,
    policy: refresh,
  });
  const scansAffordable = (hoursPerMonth * refresh.listRequestsPerHour) / scanRequests;

  const refreshRuns = (hoursPerMonth * 60) / refresh.everyMinutes;
  const full = fullCountsOf({ activeTimes: pushes, monthHours: hoursPerMonth, policy: refresh });
  const wantedPerRun = (tenants * (pushes + full.perMonth)) / refreshRuns;
  const duePerRun = Math.min(wantedPerRun, refresh.tenantsPerRunMax);
  const served = wantedPerRun > 0 ? duePerRun / wantedPerRun : 1;
  // A read that recounts a tenant keeps its count fresh for the largest age.
  const staleReads = full.staleShare * Math.min(readsPerTenant, hoursPerMonth / refresh.maxAgeHours);
  const missedReads = Math.min(readsPerTenant, staleReads + full.perMonth * (1 - served));
  return {
    pushBatches,
    verifiesPerPush,
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
    lookRounds: Math.min(refreshRuns, (hoursPerMonth * 3_600_000) / lookAgainMs),
    duePerRun,
  };
}
