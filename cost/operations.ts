import { uploadsToVerify } from '../lambda/core/ledger/rules/reservation.ts';
import { defaultSettings } from '../lambda/core/rules/settings.ts';
import { listsToAsk } from '../lambda/core/scan/rules/known-objects.ts';
import type { FunctionName } from '../lambda/routes.ts';
import type { DeploymentSettings } from '../lib/settings/deployment-settings.ts';
import { parseDeploymentSettings } from '../lib/settings/stages.ts';
import type { ClientRequests, Operation } from './operation.ts';
import * as subjects from './subjects.ts';

/**
 * Prices in US dollars: on demand, without what is free each month. Bytes have their tiers; no other amount here reaches a
 * second one, such as 10 TB of logs. Copied from public price lists on the day of {@link pricesAsOf}. Recheck them before quoting.
 */
export const pricesAsOf = '2026-11-21';

const perMillion = (dollars: number) => dollars / 1e6;

/** A GB as AWS bills it: 2³⁰ bytes. Its TB has 1,024 of them. */
const GiB = 1024 ** 3;

/** The price of a GB, up to each of some TB, and behind the last. */
type Tiers = { readonly tb: readonly number[]; readonly perGb: readonly number[] };

/** Dollars for GB, each at the price of its tier. */
const tiered = (gb: number, { tb, perGb }: Tiers): number =>
  perGb.reduce((sum, price, tier) => {
    const [from, to] = [1024 * (tb[tier - 1] ?? 0), 1024 * (tb[tier] ?? Number.POSITIVE_INFINITY)];
    return sum + price * Math.max(0, Math.min(gb, to) - from);
  }, 0);

/** Prices of an object store, per request and per byte. Deletes and bytes in are free on both. */
interface StorePrices {
  /** PUT and LIST. R2 calls them class A. */
  readonly putOrList: number;
  /** GET and HEAD. R2 calls them class B. */
  readonly getOrHead: number;
  readonly bytesOfGb: number;
  /** A GB stored for a month, in the class for frequent access. */
  readonly storedGbMonth: Tiers;
  /** A GB that clients on the internet get. */
  readonly gbToInternet: Tiers;
}

export const s3Prices: StorePrices = {
  putOrList: perMillion(5),
  getOrHead: perMillion(0.4),
  bytesOfGb: GiB,
  storedGbMonth: { tb: [50, 500], perGb: [0.023, 0.022, 0.021] },
  gbToInternet: { tb: [10, 50, 150], perGb: [0.09, 0.085, 0.07, 0.05] },
};
export const r2Prices: StorePrices = {
  putOrList: perMillion(4.5),
  getOrHead: perMillion(0.36),
  // Assumed, as its price list doesn't define a GB. With 2³⁰ bytes, what is stored costs 7 % less.
  bytesOfGb: 1e9,
  storedGbMonth: { tb: [], perGb: [0.015] },
  gbToInternet: { tb: [], perGb: [0] },
};

/**
 * CloudFront in the US. Unconfirmed: on 2026-11-27, of a copy of its price list without a date. What is free in each month is
 * subtracted, because that doesn't end after a year. What it gets from S3 is free.
 */
const cdnPrices = {
  gbToInternet: {
    tb: [1, 10, 50, 150, 500, 1024, 5120],
    perGb: [0, 0.085, 0.08, 0.06, 0.04, 0.03, 0.025, 0.02],
  },
  httpsRequest: perMillion(1),
  freeRequests: 10e6,
};

/** Prices of AWS in us-east-1. */
export const cloudPrices = {
  lambdaGbSecondArm64: 0.0000133334,
  lambdaGbSecondX86: 0.0000166667,
  lambdaRequest: perMillion(0.2),
  /** A write of up to 1 KB. */
  tableWriteUnit: perMillion(0.625),
  /** A strongly consistent read of up to 4 KB. An eventually consistent one is half a unit. */
  tableReadUnit: perMillion(0.125),
  httpApiRequest: perMillion(1),
  /** A send, receive or delete of up to 64 KB. Deduplicated sends and empty receives count, too. */
  fifoQueueRequest: perMillion(0.5),
  /** The same for a standard queue. */
  queueRequest: perMillion(0.4),
  schedulerInvocation: perMillion(1),
  logGb: 0.5,
  /** An alarm on one metric at standard resolution. */
  alarmMonth: 0.1,
  /** A custom metric that is sent in each hour. AWS's own are free. */
  metricMonth: 0.3,
  dashboardMonth: 3,
  secretMonth: 0.4,
  secretRequest: perMillion(5),
};

export type StoreName = 's3' | 'r2';

export const pricesOf = (store: StoreName) => (store === 's3' ? s3Prices : r2Prices);

/** Not measured on AWS. */
export const assumedMs = {
  /** A request to table or queue. */
  table: 10,
  head: 30,
  /** A page of a listing. */
  list: 500,
  /** What a run of a function takes besides. */
  run: 10,
  /**
   * For each object of a batch: URL, JSON, its HEAD. All of it is computing, of which a batch of 100 took 0.49 to 0.77 ms of
   * CPU on a busy x86 core. lfsBatch has 0.58 of one.
   */
  object: 1.5,
};

const none = { reads: 0, writes: 0, heads: 0, lists: 0, sends: 0, waitMs: 0, objects: 0 };
const of = (name: FunctionName, takes: Partial<Operation>): Operation => {
  return { ...none, function: name, ...takes };
};

export const operations = {
  /** After a push: lists the repo. */
  reconcile: of('reconcile', { reads: 8, writes: 4, lists: 1, waitMs: 600 }),
  /** The next one. It finds nothing to list. */
  reconcileAgain: of('reconcile', { reads: 7, writes: 3, waitMs: 90 }),
  /** Sent again, because the tenant was counted a moment ago. */
  reconcileDeferred: of('reconcile', { reads: 4, sends: 1, waitMs: 50 }),
  /** Removes a push's reservation once it's dead. */
  reconcileDead: of('reconcile', { reads: 7, writes: 6, waitMs: 90 }),
  /** The console's read of usage, with a forecast from 100 days. */
  readUsage: of('getSubscription', { reads: 6, writes: 1, waitMs: 20 }),
  /** Lists the folders, then each repo. */
  fullCount: of('reconcile', { reads: 9, writes: 6, lists: 5, waitMs: 1110 }),
  /** A run of the schedule looks for what is due, and for what is still due. */
  schedule: of('refresh', { reads: 13, writes: 1, waitMs: 40 }),
  /** A run of storeEvents looks up the tenant of an upload. */
  storeEvent: of('storeEvents', { reads: 3, sends: 1, waitMs: 40 }),
};

export const clientRequests = Object.values<ClientRequests>(subjects).flatMap((all) =>
  Object.entries(all).map(([what, { per = what.split(':')[0], of: name, ...takes }]) => ({
    what,
    per,
    operation: of(name, takes),
  })),
);

/** Requests for a listing of hashes, and how many pages are waited for in a row. The number of keys is known. */
export function listingOf(objects: number): { lists: number; rounds: number } {
  const pages = Math.max(1, Math.ceil(objects / 1000));
  if (pages === 1) return { lists: 1, rounds: 1 };
  // Ranges leave some space for chance.
  const lists = Math.ceil(1.07 * pages);
  return { lists, rounds: pages <= 18 ? 1 : Math.ceil(lists / defaultSettings.scanConcurrency) + 2 };
}

/** A batch in a repo that may be small. Then it asks by one LIST instead of a HEAD for each object. */
export function batchIn(repoObjects: number, batch: Operation): Operation {
  if (listsToAsk(defaultSettings, { objectCount: batch.objects, repoObjects }) === 0) return batch;
  return { ...batch, heads: 0, lists: 1, waitMs: batch.waitMs - assumedMs.head + assumedMs.list };
}

/** A reconcile that lists repos with so many objects each. */
function reconcileOf(operation: Operation, repos: { count: number; objects: number }): Operation {
  const { lists, rounds } = listingOf(repos.objects);
  return {
    ...operation,
    lists: operation.lists + repos.count * (lists - 1),
    waitMs: operation.waitMs + (rounds - 1) * assumedMs.list,
  };
}

/** Shards hold about as many objects. A shard is a slice of the names by their first bits. */
const shardObjects = 300_000;
/** Assumed of a function of 512 MB, which is also what it's billed for. Without TLS its share of a core read 145. */
const listsPerSecond = 100;
/** Assumed: the shard's item and that of its scan are each read twice, and written three times. */
const shardUnits = { reads: 4, writes: 6 };

/** One count of a large repo: a repo of 100,000 objects or more, which is listed shard by shard (docs/measured.md). */
export function largeRepoOf(objects: number, store: StoreName) {
  const shards = 2 ** Math.max(0, Math.round(Math.log2(objects / shardObjects)));
  // Ranges leave less space for chance than in a small repo.
  const lists = shards * Math.ceil(1.02 * Math.ceil(objects / shards / 1000));
  const { tableReadUnit, tableWriteUnit, lambdaGbSecondArm64 } = cloudPrices;
  const perList = pricesOf(store).putOrList + (0.5 / listsPerSecond) * lambdaGbSecondArm64;
  const perShard = shardUnits.reads * tableReadUnit + shardUnits.writes * tableWriteUnit;
  return { shards, lists, dollars: lists * perList + shards * perShard };
}

export const services = ['store', 'table', 'functions', 'api', 'queue', 'logs', 'fixed', 'bytes'] as const;

/** Dollars by what they are for. `bytes`: at rest, and to the internet. */
export type Cost = Readonly<Record<(typeof services)[number], number>>;

/** The memory of each function, by default. */
export const { memoryMb } = parseDeploymentSettings('prod', {});
/** Assumed: what Lambda, the function and the API log for one run. */
const logGb = 1200 / GiB;

const runMs = ({ waitMs, objects }: Operation) => assumedMs.run + waitMs + objects * assumedMs.object;

/** Dollars for one operation. */
export function costOf(operation: Operation, store: StoreName): Cost {
  const { function: name, reads, writes, heads, lists, sends } = operation;
  const gbSeconds = (memoryMb[name] / 1024) * (runMs(operation) / 1000);
  const isScheduled = name === 'refresh';
  const isQueued = name === 'reconcile';
  const isOfApi = !isScheduled && !isQueued && name !== 'storeEvents';
  const { getOrHead, putOrList } = pricesOf(store);
  return {
    store: heads * getOrHead + lists * putOrList,
    table: reads * cloudPrices.tableReadUnit + writes * cloudPrices.tableWriteUnit,
    functions: cloudPrices.lambdaRequest + gbSeconds * cloudPrices.lambdaGbSecondArm64,
    api: isOfApi ? cloudPrices.httpApiRequest : 0,
    // A message that makes it run is received and deleted.
    queue: (sends + (isQueued ? 2 : 0)) * cloudPrices.fifoQueueRequest,
    logs: logGb * cloudPrices.logGb,
    fixed: isScheduled ? cloudPrices.schedulerInvocation : 0,
    bytes: 0,
  };
}

export const totalOf = (cost: Cost): number => services.reduce((sum, service) => sum + cost[service], 0);

type Monitoring = DeploymentSettings['monitoring'];

/** What tenants do in a month of 30 days. */
export const defaultWorkload = {
  tenants: 1000,
  /** Pushes of 20 new objects, per tenant. */
  pushes: 60,
  /** Fetches of 20 objects, per tenant. */
  fetches: 120,
  /** Objects stored per tenant, in four repos. */
  objects: 4000,
  /** Size of an object, in MiB. */
  objectMb: 1,
  /** Whether the store sends an event for every upload. */
  storeEvents: false,
  /** Whether downloads from S3 pass CloudFront. */
  cdn: false,
  monitoring: 'full' as Monitoring,
};
export type Workload = Readonly<typeof defaultWorkload>;

const objectsPerBatch = 20;
const repos = 4;
const readsOfUsage = 30;
const monthMinutes = 30 * 24 * 60;
const monthHours = monthMinutes / 60;
/** Assumed: ten functions stay warm. Each reads the secret of an external store once in five minutes, if it runs. */
const secretReadsMax = (10 * monthMinutes) / 5;
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
  alarms: { none: 0, basic: 10, full: 57 },
  alarmsOfStoreEvents: { none: 0, basic: 0, full: 4 },
  dashboards: { none: 0, basic: 0, full: 1 },
  /** Of reconciles, exports, chunks and webhooks. */
  polledQueues: 4,
  metrics: 17,
  /** That of the schedule. A metric is billed for the hours in which it's sent. */
  metricsWhileIdle: 1,
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
 * store outside AWS, and what is free each month, such as AWS's first 100 GB to the internet. The simple rules, and what they
 * differ from the product by:
 *
 * - *A push* has one reconcile that lists its repo, one that finds nothing more, one or two that are deferred, and one after its
 *   reservation is dead. Nearly right for pushes of up to a minute, an hour apart. A longer one has about one more each minute.
 * - *A tenant in use* is counted in full once a day, by the schedule. An idle one once a month. If nothing is
 *   pushed, the console's reads count instead, in a function with twice the memory: 0.3 % too little.
 * - *The schedule* looks in each run for what is still due, which is 3 cents too much, and sends each tenant by a request of its
 *   own instead of ten by one: 0.3 % too much of what grows with use.
 * - *A full count* lists each repo, though small ones are listed together: up to 6 % too much for tenants of 400 objects.
 * - *A large repo* counts as any other repo until the budget of LISTs is used up. The product lists it once a week.
 */
export function monthOf(workload: Workload, store: StoreName): Line[] {
  const { tenants, objectMb, storeEvents } = workload;
  const pushes = tenants * workload.pushes;
  const fetches = tenants * workload.fetches;
  const isIdle = pushes + fetches === 0;
  const uploads = pushes * objectsPerBatch;
  const gets = fetches * objectsPerBatch;
  const verifies = verifiesOf(objectMb);
  const deferrals = storeEvents || verifies > 1 ? 2 : 1;

  const objects = workload.objects / repos;
  const reconcile = reconcileOf(operations.reconcile, { count: 1, objects });
  const fullCount = reconcileOf(operations.fullCount, { count: repos, objects });
  const { maxAgeMs, idleRefreshMaxMs, listRequestsPerHour } = defaultSettings;
  const countHours = (dueEarly * (isIdle ? idleRefreshMaxMs : maxAgeMs)) / 3_600_000;
  const counts = (tenants * monthHours) / countHours;
  const lists = workload.pushes * reconcile.lists + (monthHours / countHours) * fullCount.lists;
  const affordable = Math.min(1, (monthHours * listRequestsPerHour) / lists);

  const prices = pricesOf(store);
  const objectGb = (objectMb * 1024 ** 2) / prices.bytesOfGb;
  const bytes = (what: string, gb: number, tiers: Tiers) =>
    line(what, gb, { bytes: gb === 0 ? 0 : tiered(gb, tiers) / gb });
  const storeRuns = pushes * (1 + verifies + affordable) + fetches + counts * affordable;
  const secret = Math.min(storeRuns, secretReadsMax) * cloudPrices.secretRequest + cloudPrices.secretMonth;
  const run = (what: string, times: number, operation: Operation) =>
    line(what, times, costOf(operation, store));
  const asked = (per: string, times: number) =>
    clientRequests
      .filter((each) => each.per === per)
      .map(({ what, operation }) => run(what, times, batchIn(objects, operation)));
  const events = [
    line('store: event', uploads, { queue: requestsPerEvent * cloudPrices.queueRequest }),
    run('store: look up a tenant', pushes * eventRunsPerPush, operations.storeEvent),
  ];
  return [
    ...asked('push', pushes),
    line('push: PUT by the client', uploads, { store: prices.putOrList }),
    ...asked('verify', pushes * verifies),
    run('push: reconcile', pushes * affordable, reconcile),
    run('push: reconcile again', pushes, operations.reconcileAgain),
    run('push: reconcile deferred', pushes * deferrals, operations.reconcileDeferred),
    run('push: dead reservation', pushes, operations.reconcileDead),
    ...asked('fetch', fetches),
    line('fetch: GET by the client', gets, { store: prices.getOrHead }),
    run('console: read', isIdle ? 0 : tenants * readsOfUsage, operations.readUsage),
    run('full count', counts * affordable, fullCount),
    line('schedule: message', pushes + counts, { queue: cloudPrices.fifoQueueRequest }),
    run('schedule: run', monthMinutes, operations.schedule),
    ...(storeEvents ? events : []),
    line('alarms, metrics, idle queues, …', 1, standingCost(workload, isIdle)),
    ...(store === 's3' ? [] : [line('store: its secret', 1, { fixed: secret })]),
    bytes('GB stored', tenants * workload.objects * objectGb, prices.storedGbMonth),
    ...(workload.cdn && store === 's3'
      ? [...cdnLines(gets), bytes('CloudFront: GB, 1,024 are free', gets * objectGb, cdnPrices.gbToInternet)]
      : [bytes('GB fetched over the internet', gets * objectGb, prices.gbToInternet)]),
  ];
}

/** CloudFront and its key. It asks S3 for each object, as if it kept none. */
function cdnLines(gets: number): Line[] {
  const { httpsRequest, freeRequests } = cdnPrices;
  return [
    line('CloudFront: GETs above 10 million', Math.max(0, gets - freeRequests), { bytes: httpsRequest }),
    line('CloudFront: key', 1, { fixed: cloudPrices.secretMonth }),
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
  const sizeBytes = objectMb * 1024 ** 2;
  const uploads = Array.from({ length: objectsPerBatch }, (_, index) => [`${index}`, sizeBytes] as const);
  return uploadsToVerify(new Map(uploads), { objects: objectsPerBatch }).size;
}

/** Metrics of a deployment that's used count as sent in every hour. */
function standingCost({ storeEvents, monitoring }: Workload, isIdle: boolean): Partial<Cost> {
  const alarms = standing.alarms[monitoring] + (storeEvents ? standing.alarmsOfStoreEvents[monitoring] : 0);
  // Only that of reconciles is a FIFO queue.
  const others = standing.polledQueues - 1 + (storeEvents ? 1 : 0);
  const perReceive = cloudPrices.fifoQueueRequest + others * cloudPrices.queueRequest;
  return {
    queue: emptyReceives * perReceive,
    fixed:
      alarms * cloudPrices.alarmMonth +
      (isIdle ? standing.metricsWhileIdle : standing.metrics) * cloudPrices.metricMonth +
      standing.dashboards[monitoring] * cloudPrices.dashboardMonth +
      standing.secrets * cloudPrices.secretMonth,
  };
}
