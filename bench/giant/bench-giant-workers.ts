import { formatNumber, formatTable } from '../../cost/tables.ts';
import { FunctionInvoker } from '../../lambda/adapters/lambda-scan/invoker.ts';
import { createLambdaScan } from '../../lambda/adapters/lambda-scan/lambda-scan.ts';
import { BucketClient } from '../../lambda/adapters/s3/client.ts';
import { ScanListing } from '../../lambda/adapters/s3-scan/listing.ts';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import { type KeyRange, keySpaceSize, nameAt } from '../../lambda/domain/scan/key-space.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import type { PathScan, PathScanInput } from '../../lambda/ports/path-scan.ts';
import { mapLimited } from '../../lambda/use-cases/map-limited.ts';
import { createPathScan } from '../../lambda/use-cases/scan/path-scan.ts';
import { Random } from '../../test/support/random.ts';
import { bundleProcess, forkBundle } from '../child/bundle.ts';
import type { ListServerProcess } from '../list-server/process.ts';
import { startServer } from './bench-giant.ts';
import { readNumbers } from './options.ts';
import { WorkerPool } from './worker-pool.ts';

const prefix = 'acme/app/';
const credentials = () => ({ accessKeyId: 'bench', secretAccessKey: 'bench-secret' });
/** Requests above keys ÷ 1000 that the work which counts may take. */
const extraRequestsMax = 0.03;
/** Shards that a process scans at a time without functions. */
const alone = 4;

interface Case {
  /** 0: this process alone. */
  readonly workers: number;
  readonly latencyMs: number;
  readonly failing: number;
}

interface Outcome extends Case {
  readonly seconds: number;
  readonly reconciles: number;
  readonly invocations: number;
  readonly killed: number;
  readonly errors: number;
  readonly silent: number;
  /** Shards that this process scanned. */
  readonly here: number;
  /** LIST requests of what was counted, and all that were made. */
  readonly committed: number;
  readonly served: number;
}

/**
 * The shards of a giant repo, scanned by processes behind the adapter that invokes functions, first without faults, then
 * with a third of the invocations killed, failing or silent. What is not scanned by the end of a reconcile is left to
 * the next one. Fails if the sum is not exact, or the work that counts took too many requests.
 *
 * `npm run bench -- giant-workers [--keys N] [--shards N] [--latency MS] [--failing SHARE] [--seconds S] [--seed N]`
 */
export async function benchGiantWorkers(
  print: (text: string) => void,
  options: readonly string[],
): Promise<unknown> {
  const numbers = readNumbers(options, {
    keys: 9.6e6,
    shards: 32,
    latency: 100,
    failing: 1 / 3,
    seconds: 60,
    seed: 1,
  });
  const { keys, shards, latency: latencyMs, failing } = numbers;
  const server = await startServer();
  const bytes = await server.call('prepareVast', keys);
  const bundle = await bundleProcess(new URL('worker-process.ts', import.meta.url));
  const start = () => forkBundle(bundle, [server.ready, `v${keys}`]);
  const cases: Case[] = [
    ...[0, 1, 4, 16].map((workers) => ({ workers, latencyMs, failing: 0 })),
    ...[4, 16].map((workers) => ({ workers, latencyMs, failing })),
  ];
  const outcomes: Outcome[] = [];
  for (const each of cases) {
    const outcome = await runCase({ ...each, ...numbers, failing: each.failing, server, start, bytes });
    process.stderr.write(`${JSON.stringify(outcome)}\n`);
    outcomes.push(outcome);
  }
  await server.end();
  print(`${formatNumber(keys)} keys in ${shards} shards: every count is exact`);
  print(resultTable(outcomes, keys));
  return { ...numbers, outcomes };
}

async function runCase(
  input: Case & {
    keys: number;
    bytes: number;
    shards: number;
    seconds: number;
    seed: number;
    server: ListServerProcess;
    start: ConstructorParameters<typeof WorkerPool>[0]['start'];
  },
): Promise<Outcome> {
  const { workers, latencyMs, failing, keys, server, start, seed } = input;
  await server.call('behave', { latencyMs });
  const pool = new WorkerPool({ start, workers, failing, random: new Random(seed) });
  const endpoint = await pool.listen();
  const store = { bucket: `v${keys}`, region: 'us-east-1', endpoint: server.ready, forcePathStyle: true };
  const client = new BucketClient({ ...store, credentials: async () => credentials() });
  const listing = new ScanListing({ client });
  const own = { requests: 0, shards: 0 };
  const inProcess = createPathScan({ listing, clock: systemClock, settings: defaultSettings });
  const local: PathScan = {
    scan: async (shard) => {
      const outcome = await inProcess.scan(shard);
      if (outcome.kind === 'done') own.requests += outcome.requests;
      if (outcome.kind === 'done') own.shards += 1;
      return outcome;
    },
  };
  const place = { region: 'us-east-1', endpoint, credentials: credentials() };
  const invoker = new FunctionInvoker('scanShard', place);
  const log = { warn: () => {} };
  const deps = { local, invoker, clock: systemClock, log, settings: defaultSettings };
  const invocations = { current: () => ({}) };
  const scan = workers === 0 ? local : createLambdaScan({ ...deps, invocations }, { workers });
  const startedMs = performance.now();
  const found = await countAll(scan, input);
  const seconds = (performance.now() - startedMs) / 1000;
  const { requests: served } = await server.call('stats');
  await pool.end();
  invoker.destroy();
  client.destroy();
  if (found.objects !== keys || found.bytes !== input.bytes)
    throw new Error(`The shards counted ${found.objects} of ${keys} keys.`);
  const committed = pool.requests + own.requests;
  if (committed > (keys / 1000) * (1 + extraRequestsMax))
    throw new Error(`The work that counts took ${committed} requests for ${keys / 1000} pages.`);
  const { invocations: invoked, killed, errors, silent } = pool;
  return {
    workers,
    latencyMs,
    failing,
    seconds,
    reconciles: found.reconciles,
    invocations: invoked,
    killed,
    errors,
    silent,
    here: own.shards,
    committed,
    served,
  };
}

/** Reconciles of some seconds, one after the other, until all shards are scanned. */
async function countAll(
  scan: PathScan,
  { keys, shards, seconds }: { keys: number; shards: number; seconds: number },
) {
  let open = slices(shards);
  const found = { objects: 0, bytes: 0, reconciles: 0 };
  while (open.length > 0) {
    const deadlineMs = systemClock.nowMs() + seconds * 1000;
    const left: KeyRange[] = [];
    await mapLimited(open, scan.parallelScans ?? alone, async (shard) => {
      const isLate = systemClock.nowMs() >= deadlineMs;
      const outcome = isLate ? undefined : await scan.scan(inputOf(shard, { keys, deadlineMs }));
      if (outcome?.kind !== 'done') {
        left.push(shard);
        return;
      }
      found.objects += outcome.objectCount;
      found.bytes += outcome.storedBytes;
    });
    open = left;
    found.reconciles += 1;
  }
  return found;
}

/** Equal parts of the key space, each as large as a shard. */
function slices(count: number): KeyRange[] {
  const cut = (index: number) => nameAt(Math.floor((keySpaceSize / count) * index));
  return Array.from({ length: count }, (_, index) => ({
    after: index === 0 ? null : cut(index),
    last: index === count - 1 ? null : cut(index + 1),
  }));
}

function inputOf(range: KeyRange, { keys, deadlineMs }: { keys: number; deadlineMs: number }): PathScanInput {
  const counted = { storedBytes: 0, objectCount: 0, seen: [], requests: 0 };
  return {
    prefix,
    resume: { prefix, ranges: [range], ...counted, isSequential: false, objectsExpected: keys },
    lookFor: new Set(),
    concurrency: 32,
    recentSinceMs: systemClock.nowMs(),
    deadlineMs,
  };
}

function resultTable(outcomes: readonly Outcome[], keys: number): string {
  const pages = keys / 1000;
  const more = (requests: number) => `${((requests / pages - 1) * 100).toFixed(1)} %`;
  const rows = outcomes.map((each) => [
    `${each.latencyMs}`,
    each.workers === 0 ? 'none' : `${each.workers}`,
    `${each.killed}/${each.errors}/${each.silent} of ${each.invocations}`,
    `${each.here}`,
    `${each.reconciles}`,
    each.seconds.toFixed(1),
    more(each.committed),
    more(each.served),
  ]);
  const head = [
    'ms a page',
    'functions',
    'killed/failed/silent',
    'here',
    'reconciles',
    'seconds',
    'LISTs',
    'served',
  ];
  return `${formatTable(head, rows)}\n`;
}
