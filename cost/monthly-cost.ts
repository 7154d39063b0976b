import { defaultSettings } from '../lambda/domain/settings.ts';
import { cleanUpCost } from './clean-ups.ts';
import {
  addCosts,
  assumedDurations,
  type Cost,
  type CostBasis,
  noCost,
  operationCost,
  scaleCost,
} from './operation-cost.ts';
import {
  cachedSubscription,
  deferredRecount,
  downloadBatch,
  missedSubscription,
  type Operation,
  recount,
  refresh,
  tenantEvents,
  uploadBatch,
  verify,
  verifyLocks,
} from './operations.ts';
import { byPerson } from './people.ts';
import { type CloudPrices, cloudPrices, r2Prices, s3Prices } from './prices.ts';
import { type TableSizes, unitsOfCall } from './table-units.ts';
import { objectsOfRepo, occurrences, type Workload } from './workload.ts';

/** One item of the bill, for a month and all tenants. */
interface CostLine {
  readonly what: string;
  readonly timesPerMonth: number;
  readonly cost: Cost;
}

export interface MonthlyCost {
  readonly lines: readonly CostLine[];
  readonly total: Cost;
}

/** Resources that are billed whether they are used or not. `test/stack/cost.test.ts` counts them in the template. */
export const standing = {
  alarms: 40,
  alarmsOfStoreEvents: 3,
  metrics: 17,
  dashboards: 1,
  secrets: 1,
} as const;
const hoursPerMonth = 720;

/** Lambda polls a queue with five pollers, each of which waits for at most 20 s. */
const emptyReceivesPerMonth = 5 * 3 * 60 * 24 * 30;

function standingCost(cloud: CloudPrices, { storeEvents }: Workload): Cost {
  const alarms = standing.alarms + (storeEvents ? standing.alarmsOfStoreEvents : 0);
  // Recounts, exports, webhooks and, if the stage has them, events.
  const queuePrices = cloud.fifoQueueRequest + (storeEvents ? 3 : 2) * cloud.queueRequest;
  return {
    ...noCost,
    queue: emptyReceivesPerMonth * queuePrices,
    fixed:
      alarms * cloud.alarmMonth +
      standing.metrics * cloud.metricMonth +
      standing.dashboards * cloud.dashboardMonth +
      standing.secrets * cloud.secretMonth,
  };
}

/**
 * Dollars per month in us-east-1 for the requests of a workload.
 *
 * Not included: stored bytes, bytes to the internet, the table's storage and backups, cold starts, data transfer to a
 * store outside AWS, and any free tier.
 */
export function monthlyCost(
  workload: Workload,
  options: { store: 's3' | 'r2' } = { store: 's3' },
): MonthlyCost {
  const store = options.store === 's3' ? s3Prices : r2Prices;
  const basis: CostBasis = { cloud: cloudPrices, store, durations: assumedDurations };
  const lines = [
    ...pushLines(workload, basis),
    ...readLines(workload, basis),
    ...countLines(workload, basis),
    ...cleanUpLines(workload, basis),
    ...peopleLines(workload, basis),
    ...eventLines(workload, basis),
    {
      what: 'alarms, metrics, dashboard, secret, idle queue',
      timesPerMonth: 1,
      cost: standingCost(basis.cloud, workload),
    },
  ];
  return { lines, total: addCosts(lines.map((line) => line.cost)) };
}

/** What the operations of a workload find in the table: the reservations of one push at a time. */
function sizesOf(workload: Workload): TableSizes {
  const { pushBatches, duePerRun } = occurrences(workload);
  const claims = pushBatches.length > 0 ? workload.objectsPerPush / pushBatches.length : 0;
  const repos = workload.reposPerTenant;
  return { claims, reservations: pushBatches.length, repos, isFull: false, due: duePerRun };
}

function line(what: string, timesPerMonth: number, once: Cost): CostLine {
  return { what, timesPerMonth, cost: scaleCost(once, timesPerMonth) };
}

function pushLines(workload: Workload, basis: CostBasis): CostLine[] {
  const { pushBatches, verifiesPerPush } = occurrences(workload);
  const pushes = workload.tenants * workload.pushesPerTenant;
  const sizes = sizesOf(workload);
  const uploads = pushes * workload.objectsPerPush;
  const repoObjects = workload.objectsPerTenant / workload.reposPerTenant;
  return [
    line('push: look for file locks', pushes, operationCost(verifyLocks(), sizes, basis)),
    ...sameSized(pushBatches).map(({ objects, count }) =>
      line(
        `push: batch of ${objects}`,
        pushes * count,
        operationCost(uploadBatch(objects, repoObjects), { ...sizes, claims: objects }, basis),
      ),
    ),
    line('push: PUT of an object by the client', uploads, { ...noCost, store: basis.store.putOrList }),
    line('push: verify', pushes * verifiesPerPush, operationCost(verify(), sizes, basis)),
  ];
}

function readLines(workload: Workload, basis: CostBasis): CostLine[] {
  const { fetchBatches, cachedReads } = occurrences(workload);
  const { tenants } = workload;
  const fetches = tenants * workload.fetchesPerTenant;
  const uses = workload.pushesPerTenant + workload.fetchesPerTenant + workload.readsPerTenant;
  const repoObjects = workload.objectsPerTenant / workload.reposPerTenant;
  const sizes = sizesOf(workload);
  return [
    ...sameSized(fetchBatches).map(({ objects, count }) =>
      line(
        `fetch: batch of ${objects}`,
        fetches * count,
        operationCost(downloadBatch(objects, repoObjects), sizes, basis),
      ),
    ),
    line('fetch: GET of an object by the client', fetches * workload.objectsPerFetch, {
      ...noCost,
      store: basis.store.getOrHead,
    }),
    line('console: cached', tenants * cachedReads, operationCost(cachedSubscription(), sizes, basis)),
    // Each in an hour of its own, which is the most that it can cost.
    line('last use of a token', tenants * Math.min(hoursPerMonth, uses), {
      ...noCost,
      table: basis.cloud.tableWriteUnit,
    }),
  ];
}

/** Everything that counts what is stored. */
function countLines(workload: Workload, basis: CostBasis): CostLine[] {
  const happens = occurrences(workload);
  const { tenants, reposPerTenant } = workload;
  const sizes = sizesOf(workload);
  const repos = Array.from({ length: reposPerTenant }, () => objectsOfRepo(workload));
  const dead = happens.pushBatches.length;
  const counted = (what: string, times: number, operation: Operation, isFull = false) =>
    line(what, tenants * times, operationCost(operation, { ...sizes, isFull }, basis));
  const one = { repos: [objectsOfRepo(workload)], isFull: false, dead: 0 };
  const removal = unitsOfCall('deleteReservation', sizes);
  const none = { repos: [], isFull: false, dead: 0 };
  return [
    counted('recount that scans a repo', happens.recountsThatScan, recount(one)),
    counted('recount that finds nothing to scan', happens.recountsThatDoNot, recount(none)),
    counted('recount deferred', happens.recountsDeferred, deferredRecount()),
    counted('schedule: dead reservations', happens.cleanups, recount({ ...none, dead })),
    line('recount: dead reservations of an earlier push', tenants * happens.clearedLater, {
      ...noCost,
      table: dead * (removal.writes + removal.indexWrites) * basis.cloud.tableWriteUnit,
    }),
    counted('schedule: full count', happens.fullCounts, recount({ repos, isFull: true, dead: 0 }), true),
    counted('console: missed, full count', happens.missedReads, missedSubscription({ repos, dead: 0 }), true),
    line(
      'schedule: run',
      happens.refreshRuns - happens.lookRounds,
      operationCost(refresh(happens.duePerRun), sizes, basis),
    ),
    // Hardly anybody is still due when it looks.
    line(
      'schedule: run that looks again',
      happens.lookRounds,
      operationCost(refresh(happens.duePerRun, 0), sizes, basis),
    ),
  ];
}

/** The command line asks every two seconds, and a run of some thousand objects is done by then. */
const cleanUpPolls = 15;

/** Clean-ups, each of one repo. */
function cleanUpLines(workload: Workload, basis: CostBasis): CostLine[] {
  const { tenants, cleanUpsPerTenant, objectsPerCleanUp, pushesPerTenant, reposPerTenant } = workload;
  const { pushBatches } = occurrences(workload);
  const sizes = sizesOf(workload);
  const repoObjects = objectsOfRepo(workload);
  const shape = { repoObjects, gone: Math.min(repoObjects, objectsPerCleanUp) };
  const once = cleanUpCost(shape, { polls: cleanUpPolls, sizes, basis });
  const times = tenants * cleanUpsPerTenant;
  // Batches of the repo, from when the watch is opened to its run.
  const watchedShare = defaultSettings.cleanupWatchMs / (hoursPerMonth * 3_600_000);
  const named = (watchedShare * pushesPerTenant * pushBatches.length) / reposPerTenant;
  const note = unitsOfCall('noteSeen', sizes).writes * basis.cloud.tableWriteUnit;
  return [
    line('clean-up: asked for', times, once.asked),
    line('clean-up: lists, deletes and counts', times, once.run),
    line('clean-up: a batch notes what it names', times * named, { ...noCost, table: note }),
  ];
}

/** What tokens for git hosts cost more than ours. Pushes and fetches are an hour apart: the host is asked for each. */
function peopleLines(workload: Workload, basis: CostBasis): CostLine[] {
  const { tenants, byPeoplePercent, pushesPerTenant, fetchesPerTenant, pushSeconds } = workload;
  const { pushBatches, fetchBatches } = occurrences(workload);
  const sizes = sizesOf(workload);
  const by = (tenants * byPeoplePercent) / 100;
  const [ours, kept, asked] = [
    verifyLocks(),
    byPerson(verifyLocks()),
    byPerson(verifyLocks(), { isAsked: true }),
  ].map((each) => operationCost(each, sizes, basis)) as [Cost, Cost, Cost];
  const less = (of: Cost) => scaleCost(of, -1);
  const asksPerPush = 1 + Math.floor((pushSeconds * 1000) / defaultSettings.personKeptMs);
  const requests = pushesPerTenant * (1 + pushBatches.length) + fetchesPerTenant * fetchBatches.length;
  return [
    line('people: read what a git host said', by * requests, addCosts([kept, less(ours)])),
    line(
      'people: ask a git host',
      by * (pushesPerTenant * asksPerPush + fetchesPerTenant),
      addCosts([asked, less(kept)]),
    ),
  ];
}

/** Sent by the store, received, deleted. At most, because pollers receive several at once if they can. */
const requestsPerEvent = 3;

/** The events that the store sends for uploads. A reservation expects each of them. */
function eventLines(workload: Workload, basis: CostBasis): CostLine[] {
  if (!workload.storeEvents) return [];
  const { tenants } = workload;
  const events = tenants * workload.pushesPerTenant * workload.objectsPerPush;
  const looks = tenants * occurrences(workload).eventRuns;
  return [
    line('store: event of an upload', events, {
      ...noCost,
      queue: requestsPerEvent * basis.cloud.queueRequest,
    }),
    line(
      'store: look up a tenant',
      looks,
      operationCost(tenantEvents({ expected: 1, recorded: 0 }), sizesOf(workload), basis),
    ),
  ];
}

function sameSized(batches: readonly number[]): { objects: number; count: number }[] {
  const counts = new Map<number, number>();
  for (const objects of batches) counts.set(objects, (counts.get(objects) ?? 0) + 1);
  return [...counts].map(([objects, count]) => ({ objects, count }));
}
