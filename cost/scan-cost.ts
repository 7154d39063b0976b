import { pageKeysMax } from '../lambda/domain/scan/page-size.ts';
import { secondPrice } from './listing-cost.ts';
import { type CloudPrices, cloudPrices, r2Prices, s3InventoryObject, s3Prices } from './prices.ts';

/** What it takes to count a giant path once, shard by shard: requests, time, CPU and dollars. */

/** How a giant is counted. docs/scale.md says which of the defaults were measured. */
export interface GiantScan {
  readonly objects: number;
  readonly store: 's3' | 'r2';
  /** LIST requests that the store answers, or that the operator allows, in a second. */
  readonly listsPerSecond: number;
  /** Functions at a time. null: as many as `listsPerSecond` keeps busy. */
  readonly workers: number | null;
  /** Pages that a worker requests at a time. */
  readonly pagesAtOnce: number;
  readonly pageKeys: number;
  /** From a page's request to its last byte. */
  readonly pageSeconds: number;
  /** CPU time to request and read a million keys. */
  readonly cpuSecondsPerMillion: number;
  readonly keysPerShard: number;
  /** Memory of a worker. It gets CPU in proportion. */
  readonly memoryMb: number;
}

export const defaultGiantScan: Omit<GiantScan, 'objects'> = {
  store: 's3',
  listsPerSecond: 3500,
  workers: null,
  pagesAtOnce: 16,
  pageKeys: pageKeysMax,
  pageSeconds: 0.1,
  cpuSecondsPerMillion: 2,
  keysPerShard: 300_000,
  memoryMb: 512,
};

export interface GiantScanCost {
  readonly shards: number;
  readonly requests: number;
  readonly seconds: number;
  /** Workers that are busy. */
  readonly workers: number;
  /** What the time hangs on. */
  readonly limit: 'the store' | 'the workers' | 'the number of shards';
  /** Cores that are busy meanwhile. */
  readonly vcpu: number;
  readonly gigabitsPerSecond: number;
  readonly gbSeconds: number;
  readonly dollars: GiantDollars;
}

/** Dollars of one count. The three ways to run it, besides LISTs and table, exclude each other. */
export interface GiantDollars {
  readonly lists: number;
  readonly table: number;
  /** Time and runs of the functions. */
  readonly functions: number;
  /** Their messages, if shards wait in the FIFO queue. */
  readonly queue: number;
  /** The transitions of a Step Functions Distributed Map instead of the queue. */
  readonly map: number;
  /** Machines instead of functions and their queue, for the time of the count. */
  readonly machines: number;
  /** The same objects in a report of S3 Inventory instead of a count. undefined: the store has none. */
  readonly inventory: number | undefined;
}

/** Memory with which a function gets one core. */
const coreMb = 1769;
/** Pages that a scan of a shard takes beyond full ones: `test/unit/cost/scan-cost.test.ts` compares it with the planner. */
const requestsPerPage = 1.02;
/** Bytes of a key in a page, as `npm run bench -- scan` has it: 356 kB a thousand. */
const bytesPerKey = 356;
/**
 * Write units of a shard's scan: its item is put and gets its result; the fold, a transaction, takes two for each of
 * shard and scan. What is read is the same two items, before it and with it.
 */
const tableUnits = { writes: 6, reads: 4 };
/** A message is sent, received and deleted. */
const requestsPerMessage = 3;
/** The map starts a child, which begins, and runs its one task. */
const transitionsPerShard = 3;
const machineCores = 4;

/**
 * Shards of a path: slices by the first bits of the name, so a power of two. Each is expected to hold 0.7 to 1.4 times
 * `keysPerShard`.
 */
export function shardsOf(input: { objects: number; keysPerShard: number }): number {
  return 2 ** Math.max(0, Math.round(Math.log2(input.objects / input.keysPerShard)));
}

/** One count of everything. */
export function giantScanCost(scan: GiantScan, cloud: CloudPrices = cloudPrices): GiantScanCost {
  const shards = shardsOf(scan);
  const pagesOfShard = Math.max(1, Math.ceil(scan.objects / shards / scan.pageKeys));
  const requestsOfShard = pagesOfShard === 1 ? 1 : Math.ceil(requestsPerPage * pagesOfShard);
  const requests = shards * requestsOfShard;

  const ableTo = workerListsPerSecond(scan);
  const wanted = scan.workers ?? Math.max(1, Math.ceil(scan.listsPerSecond / ableTo));
  const workers = Math.min(wanted, shards);
  const each = Math.min(ableTo, scan.listsPerSecond / workers);
  const secondsOfShard = requestsOfShard / each;
  const seconds = Math.ceil(shards / workers) * secondsOfShard;

  const vcpu = ((scan.objects / seconds) * scan.cpuSecondsPerMillion) / 1e6;
  const gbSeconds = (shards * secondsOfShard * scan.memoryMb) / 1024;
  const second = secondPrice({ memoryMb: scan.memoryMb, gbSecond: cloud.lambdaGbSecondArm64 });
  const list = (scan.store === 's3' ? s3Prices : r2Prices).putOrList;
  return {
    shards,
    requests,
    seconds,
    workers,
    limit: each < ableTo ? 'the store' : workers < wanted ? 'the number of shards' : 'the workers',
    vcpu,
    gigabitsPerSecond: ((scan.objects / seconds) * bytesPerKey * 8) / 1e9,
    gbSeconds,
    dollars: {
      lists: requests * list,
      table: shards * (tableUnits.writes * cloud.tableWriteUnit + tableUnits.reads * cloud.tableReadUnit),
      functions: shards * (secondsOfShard * second + cloud.lambdaRequest),
      queue: shards * requestsPerMessage * cloud.fifoQueueRequest,
      map: shards * transitionsPerShard * cloud.stateTransition,
      machines: Math.ceil(vcpu / machineCores) * (seconds / 3600) * cloud.machineHour,
      inventory: scan.store === 's3' ? scan.objects * s3InventoryObject : undefined,
    },
  };
}

/** LISTs a second that one worker can make: it waits for pages, or computes. */
function workerListsPerSecond(scan: GiantScan): number {
  const cpuSecondsOfPage = (scan.cpuSecondsPerMillion * scan.pageKeys) / 1e6;
  const cores = scan.memoryMb / coreMb;
  return Math.min(scan.pagesAtOnce / scan.pageSeconds, cores / cpuSecondsOfPage);
}

/** What a count costs that runs through the queue: LISTs, table, functions, messages. */
export function queuedDollars({ lists, table, functions, queue }: GiantDollars): number {
  return lists + table + functions + queue;
}

/** Rolling scans: the shards one after the other, round after round. */
export interface Rolling {
  /** From a shard's scan to its next. No count shown is made of older scans. */
  readonly roundDays: number;
  readonly listsPerSecond: number;
  readonly listsPerMonth: number;
  readonly dollarsPerMonth: number;
}

const daySeconds = 86_400;
const monthDays = 30;

/** What it takes to come round in so many days. The schedule spreads shards over time; none waits while it is scanned. */
export function rollingIn(scan: GiantScan, roundDays: number): Rolling {
  const unhurried = { ...scan, workers: 1, listsPerSecond: workerListsPerSecond(scan) };
  const { requests, dollars } = giantScanCost(unhurried);
  const rounds = monthDays / roundDays;
  return {
    roundDays,
    listsPerSecond: requests / (roundDays * daySeconds),
    listsPerMonth: rounds * requests,
    dollarsPerMonth: rounds * queuedDollars(dollars),
  };
}

/** How long a round takes with a rate and a ceiling a month: whichever allows less. */
export function rollingWithin(
  scan: GiantScan,
  allowed: { listsPerSecond: number; listsPerMonth: number },
): Rolling {
  const perDay = Math.min(allowed.listsPerSecond * daySeconds, allowed.listsPerMonth / monthDays);
  return rollingIn(scan, giantScanCost(scan).requests / perDay);
}
