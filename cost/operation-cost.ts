import type { FunctionName } from '../lambda/routes.ts';
import { secondPrice } from './listing-cost.ts';
import type { Operation, PortCall, TableCall } from './operations.ts';
import type { CloudPrices, StorePrices } from './prices.ts';
import { type TableSizes, unitsOfCall } from './table-units.ts';

/** Dollars by service. */
export interface Cost {
  readonly store: number;
  readonly table: number;
  readonly functions: number;
  readonly api: number;
  readonly queue: number;
  readonly logs: number;
  readonly fixed: number;
}

export const noCost: Cost = { store: 0, table: 0, functions: 0, api: 0, queue: 0, logs: 0, fixed: 0 };

export function addCosts(costs: readonly Cost[]): Cost {
  return costs.reduce(
    (sum, cost) => ({
      store: sum.store + cost.store,
      table: sum.table + cost.table,
      functions: sum.functions + cost.functions,
      api: sum.api + cost.api,
      queue: sum.queue + cost.queue,
      logs: sum.logs + cost.logs,
      fixed: sum.fixed + cost.fixed,
    }),
    noCost,
  );
}

export function scaleCost(cost: Cost, factor: number): Cost {
  return {
    store: cost.store * factor,
    table: cost.table * factor,
    functions: cost.functions * factor,
    api: cost.api * factor,
    queue: cost.queue * factor,
    logs: cost.logs * factor,
    fixed: cost.fixed * factor,
  };
}

export function totalOf(cost: Cost): number {
  return Object.values(cost).reduce((sum: number, dollars: number) => sum + dollars, 0);
}

/** Not measured on AWS. The billed time of a function follows from its round trips. */
export interface Durations {
  readonly tableRoundMs: number;
  readonly headMs: number;
  readonly listPageMs: number;
  /** A git host answers. */
  readonly hostMs: number;
  /**
   * Per object of a batch: HEAD or its part of a LIST, URL, JSON. All of it is computing, of which a batch of 100 by HEAD
   * took 0.49 to 0.55 ms of CPU for a download and 0.74 to 0.77 for an upload, on a busy x86 core. lfsBatch has 0.58 of one.
   */
  readonly perObjectMs: number;
  readonly baseMs: number;
}

export const assumedDurations: Durations = {
  tableRoundMs: 10,
  headMs: 30,
  listPageMs: 500,
  hostMs: 300,
  perObjectMs: 1.5,
  baseMs: 10,
};

/** The defaults of `lib/settings/stage-settings.ts`. */
export const memoryMb: Readonly<Record<FunctionName, number>> = {
  console: 256,
  health: 128,
  openapi: 256,
  lfsBatch: 1_024,
  lfsVerify: 512,
  lfsLocks: 512,
  getSubscription: 1_024,
  exchangeToken: 512,
  management: 512,
  notFound: 128,
  reconcile: 512,
  scanShard: 1_024,
  refresh: 256,
  sendWebhook: 256,
  exportArchive: 2_048,
  storeEvents: 256,
};

const background: ReadonlySet<FunctionName> = new Set([
  'reconcile',
  'scanShard',
  'refresh',
  'sendWebhook',
  'exportArchive',
  'storeEvents',
]);

/** Assumed: what Lambda, the function and the API log for one run. */
const logBytesPerRun = 1200;

export interface CostBasis {
  readonly cloud: CloudPrices;
  readonly store: StorePrices;
  readonly durations: Durations;
}

/** The billed duration of one run. */
function billedMs(operation: Operation, durations: Durations): number {
  return (
    durations.baseMs +
    operation.tableRounds * durations.tableRoundMs +
    operation.headRounds * durations.headMs +
    operation.listRounds * durations.listPageMs +
    (operation.hostRounds ?? 0) * durations.hostMs +
    (operation.objects ?? 0) * durations.perObjectMs
  );
}

const notOfTheTable: ReadonlySet<PortCall> = new Set(['HEAD', 'GET', 'PUT', 'DELETE', 'LIST', 'SEND']);
const isTableCall = (call: PortCall): call is TableCall => !notOfTheTable.has(call);

/** Units of all table calls of an operation. The writes include those of the indexes. */
function tableUnits(operation: Operation, sizes: TableSizes): { reads: number; writes: number } {
  let [reads, writes] = [0, 0];
  for (const [name, count] of Object.entries(operation.calls)) {
    const call = name as PortCall;
    if (!isTableCall(call)) continue;
    const units = unitsOfCall(call, sizes);
    reads += count * units.reads;
    writes += count * (units.writes + units.indexWrites);
  }
  return { reads, writes };
}

/** Requests to the queue per message, besides its send: the pollers receive and delete it. */
const requestsPerMessage = 2;

/** The cost of one operation. */
export function operationCost(operation: Operation, sizes: TableSizes, basis: CostBasis): Cost {
  const { cloud, store, durations } = basis;
  const { calls, function: name } = operation;
  const units = tableUnits(operation, sizes);
  const second = secondPrice({ memoryMb: memoryMb[name], gbSecond: cloud.lambdaGbSecondArm64 });
  const isOfQueue = name === 'reconcile';
  const isOfApi = !background.has(name);
  return {
    // A DELETE costs nothing.
    store:
      ((calls.HEAD ?? 0) + (calls.GET ?? 0)) * store.getOrHead +
      ((calls.LIST ?? 0) + (calls.PUT ?? 0)) * store.putOrList,
    table: units.reads * cloud.tableReadUnit + units.writes * cloud.tableWriteUnit,
    functions: cloud.lambdaRequest + (billedMs(operation, durations) / 1000) * second,
    api: isOfApi ? cloud.httpApiRequest : 0,
    queue: ((calls.SEND ?? 0) + (isOfQueue ? requestsPerMessage : 0)) * cloud.fifoQueueRequest,
    logs: (logBytesPerRun / 1e9) * cloud.logGb,
    fixed: name === 'refresh' ? cloud.schedulerInvocation : 0,
  };
}
