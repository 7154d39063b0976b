import { uploadsToVerify } from '../lambda/ledger/rules/reservation.ts';
import { defaultSettings } from '../lambda/rules/settings.ts';
import {
  batchIn,
  type Cost,
  cloudPrices,
  costOf,
  type Operation,
  operations,
  pricesOf,
  recountOf,
  type StoreName,
  services,
} from './operations.ts';

/** What tenants do in a month of 30 days. */
export interface Workload {
  readonly tenants: number;
  /** Pushes of 20 new objects, per tenant. */
  readonly pushes: number;
  /** Fetches of 20 objects, per tenant. */
  readonly fetches: number;
  /** Objects stored per tenant, in four repos. */
  readonly objects: number;
  /** Size of an object, in MiB. */
  readonly objectMb: number;
  /** Whether the store sends an event for every upload. */
  readonly storeEvents: boolean;
}

export const defaultWorkload: Workload = {
  tenants: 1000,
  pushes: 60,
  fetches: 120,
  objects: 4000,
  objectMb: 1,
  storeEvents: false,
};

const objectsPerBatch = 20;
const repos = 4;
const readsOfUsage = 30;
const monthMinutes = 30 * 24 * 60;
const monthHours = monthMinutes / 60;
/** A count is due up to a tenth before its time. */
const dueEarly = 0.95;
/** A push of 30 s. storeEvents gathers events for 20 s. */
const eventRunsPerPush = 2.5;
/** An event is sent, received and deleted. */
const requestsPerEvent = 3;
/** Lambda polls a queue with five pollers, each of which waits for up to 20 s. */
const emptyReceives = 5 * 3 * monthMinutes;

/** What is billed whether it's used or not. `test/stack/cost.test.ts` counts it in the template. */
export const standing = {
  alarms: 36,
  alarmsOfStoreEvents: 3,
  /** Of recounts, exports and webhooks. */
  polledQueues: 3,
  metrics: 17,
  dashboards: 1,
  secrets: 1,
};

/** One item of the bill, for a month and all tenants. */
interface Line {
  readonly what: string;
  readonly times: number;
  readonly cost: Cost;
}

/**
 * Dollars a month in us-east-1, without the table's storage and backups, cold starts, data transfer from functions to a
 * store outside AWS, and free tiers. The simple rules, and what they differ from the product by:
 *
 * - *A push* has one recount that lists its repo, one that finds nothing more, one or two that are deferred, and one after its
 *   reservation is dead. Nearly right for pushes of up to a minute, an hour apart. A longer one has about one more each minute.
 * - *A tenant in use* is counted in full once a day, by the schedule. An idle one once a month. If nothing is
 *   pushed, the console's reads count instead, in a function with twice the memory: 0.3 % too little.
 * - *The schedule* looks in each run for what is still due, which is 3 cents too much, and sends each tenant by a request of its
 *   own instead of ten by one: 0.3 % too much of what grows with use.
 * - *A full count* lists each repo, though small ones are listed together: up to 6 % too much for tenants of 400 objects.
 * - *A giant* counts as any other repo until the budget of LISTs is used up. The product lists it once a week.
 */
export function monthOf(workload: Workload, store: StoreName): Line[] {
  const { tenants, objectMb, storeEvents } = workload;
  const pushes = tenants * workload.pushes;
  const fetches = tenants * workload.fetches;
  const isIdle = pushes + fetches === 0;
  const uploads = pushes * objectsPerBatch;
  const verifies = verifiesOf(objectMb);
  const deferrals = storeEvents || verifies > 1 ? 2 : 1;

  const objects = workload.objects / repos;
  const recount = recountOf(operations.recount, { count: 1, objects });
  const fullCount = recountOf(operations.fullCount, { count: repos, objects });
  const { maxAgeMs, idleRefreshMaxMs, listRequestsPerHour } = defaultSettings;
  const countHours = (dueEarly * (isIdle ? idleRefreshMaxMs : maxAgeMs)) / 3_600_000;
  const counts = (tenants * monthHours) / countHours;
  const lists = workload.pushes * recount.lists + (monthHours / countHours) * fullCount.lists;
  const affordable = Math.min(1, (monthHours * listRequestsPerHour) / lists);

  const prices = pricesOf(store);
  const gb = (objectMb * 1024 ** 2) / 1e9;
  const run = (what: string, times: number, operation: Operation) =>
    line(what, times, costOf(operation, store));
  const events = [
    line('store: event', uploads, { queue: requestsPerEvent * cloudPrices.queueRequest }),
    run('store: look up a tenant', pushes * eventRunsPerPush, operations.storeEvent),
  ];
  return [
    run('push: look for file locks', pushes, operations.lookForLocks),
    run('push: batch', pushes, batchIn(objects, operations.uploadBatch)),
    line('push: PUT by the client', uploads, { store: prices.putOrList }),
    run('push: verify', pushes * verifies, operations.verify),
    run('push: recount', pushes * affordable, recount),
    run('push: recount again', pushes, operations.recountAgain),
    run('push: recount deferred', pushes * deferrals, operations.recountDeferred),
    run('push: dead reservation', pushes, operations.recountDead),
    run('fetch: batch', fetches, batchIn(objects, operations.downloadBatch)),
    line('fetch: GET by the client', fetches * objectsPerBatch, { store: prices.getOrHead }),
    run('console: read', isIdle ? 0 : tenants * readsOfUsage, operations.readUsage),
    run('full count', counts * affordable, fullCount),
    line('schedule: message', pushes + counts, { queue: cloudPrices.fifoQueueRequest }),
    run('schedule: run', monthMinutes, operations.schedule),
    ...(storeEvents ? events : []),
    line('alarms, metrics, idle queues, …', 1, standingCost(storeEvents)),
    line('GB stored', tenants * workload.objects * gb, { bytes: prices.storedGbMonth }),
    line('GB fetched over the internet', fetches * objectsPerBatch * gb, { bytes: prices.gbToInternet }),
  ];
}

function line(what: string, times: number, once: Partial<Cost>): Line {
  const cost = services.map((service) => [service, times * (once[service] ?? 0)]);
  return { what, times, cost: Object.fromEntries(cost) as Cost };
}

/** What all lines cost together. */
export function sumOf(lines: readonly Line[]): Cost {
  const sums = services.map((service) => [service, lines.reduce((sum, { cost }) => sum + cost[service], 0)]);
  return Object.fromEntries(sums) as Cost;
}

/** Verifies that a push is asked for. */
function verifiesOf(objectMb: number): number {
  const uploads = Array.from({ length: objectsPerBatch }, (_, index): [string, number] => [
    String(index),
    objectMb * 1024 ** 2,
  ]);
  return uploadsToVerify(new Map(uploads), { objects: objectsPerBatch }).size;
}

function standingCost(storeEvents: boolean): Partial<Cost> {
  const alarms = standing.alarms + (storeEvents ? standing.alarmsOfStoreEvents : 0);
  // Only that of recounts is a FIFO queue.
  const others = standing.polledQueues - 1 + (storeEvents ? 1 : 0);
  const perReceive = cloudPrices.fifoQueueRequest + others * cloudPrices.queueRequest;
  return {
    queue: emptyReceives * perReceive,
    fixed:
      alarms * cloudPrices.alarmMonth +
      standing.metrics * cloudPrices.metricMonth +
      standing.dashboards * cloudPrices.dashboardMonth +
      standing.secrets * cloudPrices.secretMonth,
  };
}
