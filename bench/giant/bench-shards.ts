import type { ChildProcess } from 'node:child_process';
import { formatNumber, formatTable } from '../../cost/tables.ts';
import { keySpaceSize, nameAt } from '../../lambda/domain/scan/key-space.ts';
import type { PathScanInput } from '../../lambda/ports/path-scan.ts';
import { Random } from '../../test/support/random.ts';
import { bundleProcess, forkBundle } from '../child/bundle.ts';
import { Child, ChildEndedError } from '../child/child.ts';
import { startServer } from './bench-giant.ts';
import { readNumbers } from './options.ts';
import { showProgress } from './progress.ts';
import type { ScanApi, ScanRun } from './scan-process.ts';

type Rest = NonNullable<ScanRun['rest']>;

const prefix = 'acme/app/';
/** Requests above keys ÷ 1000 that the work which counts may take. */
const extraRequestsMax = 0.03;

/** A shard, and how far it is. */
interface Shard {
  readonly rest: Rest;
}

interface Tally {
  objects: number;
  bytes: number;
  /** Requests of tries that were not killed before their checkpoint. */
  committed: number;
  tries: number;
  killed: number;
  cpuMs: number;
  peakMb: number;
  /** How long the latest shard took that was not killed. */
  shardMs: number;
}

/**
 * Scans slices of a key space in several processes, and kills a third of them at any time. A killed shard goes on from
 * its last checkpoint. Fails if the sum is not exact, or the committed work took too many requests.
 */
export async function benchShards(
  print: (text: string) => void,
  options: readonly string[],
): Promise<unknown> {
  const numbers = readNumbers(options, {
    keys: 2e7,
    shards: 64,
    workers: 3,
    killed: 1 / 3,
    pages: 200,
    atOnce: 16,
    seed: 1,
  });
  const { keys } = numbers;
  const server = await startServer();
  const bytes = await server.call('prepareVast', keys);
  await server.call('behave', {});
  const bundle = await bundleProcess(new URL('scan-process.ts', import.meta.url));
  const start = () => forkBundle(bundle, [server.ready, `v${keys}`]);
  const open = shardsOf(numbers);
  const tally: Tally = {
    objects: 0,
    bytes: 0,
    committed: 0,
    tries: 0,
    killed: 0,
    cpuMs: 0,
    peakMb: 0,
    shardMs: 1_000,
  };
  const random = new Random(numbers.seed);
  const progress = showProgress(server, keys);
  const startedMs = performance.now();
  const work = Array.from({ length: numbers.workers }, () =>
    pump({ open, start, tally, random, ...numbers }),
  );
  await Promise.all(work);
  const wallMs = performance.now() - startedMs;
  await progress.end();
  const { requests: served } = await server.call('stats');
  await server.end();
  if (tally.objects !== keys || tally.bytes !== bytes)
    throw new Error(`The shards counted ${tally.objects} of ${keys} keys.`);
  if (tally.committed > (keys / 1000) * (1 + extraRequestsMax))
    throw new Error(`The committed work took ${tally.committed} requests for ${keys / 1000} pages.`);
  print(resultTable(tally, { ...numbers, served, wallMs }));
  return { ...numbers, ...tally, served, wallMs };
}

/** Equal slices by position: names of hashes need nothing else. */
function shardsOf({ shards, keys }: { shards: number; keys: number }): Shard[] {
  const cut = (index: number) => nameAt(Math.floor((keySpaceSize / shards) * index));
  return Array.from({ length: shards }, (_, index): Shard => {
    const range = {
      after: index === 0 ? null : cut(index),
      last: index === shards - 1 ? null : cut(index + 1),
    };
    const counted = { storedBytes: 0, objectCount: 0, seen: [], requests: 0 };
    return { rest: { prefix, ranges: [range], ...counted, isSequential: false, objectsExpected: keys } };
  });
}

/** A worker: takes shards until there are none. Its process is killed at random, and another one goes on. */
async function pump(world: {
  open: Shard[];
  start: () => ChildProcess;
  tally: Tally;
  random: Random;
  killed: number;
  pages: number;
  atOnce: number;
}): Promise<void> {
  const { open, tally, random, pages, atOnce } = world;
  for (let shard = open.shift(); shard; shard = open.shift()) {
    const child = world.start();
    const isDoomed = random.chance(world.killed);
    tally.tries += 1;
    let { rest }: { rest: Rest | undefined } = shard;
    let timer: NodeJS.Timeout | undefined;
    try {
      const worker = await Child.of<ScanApi>(child);
      const startedMs = performance.now();
      // At any time of the work, by how long it took before.
      const killAfterMs = random.next() * tally.shardMs;
      if (isDoomed) timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs);
      while (rest !== undefined) {
        const input: PathScanInput = { prefix, resume: rest, requestsMax: pages, concurrency: atOnce };
        const run: ScanRun = await worker.call('scan', input, 0);
        tally.committed += run.requests;
        tally.cpuMs += run.cpuMs;
        tally.peakMb = Math.max(tally.peakMb, run.peakMb);
        if (run.rest === undefined) {
          tally.objects += run.objects;
          tally.bytes += run.bytes;
        }
        rest = run.rest;
      }
      clearTimeout(timer);
      tally.shardMs = performance.now() - startedMs;
      await worker.end();
    } catch (error) {
      if (!isDoomed || !(error instanceof ChildEndedError)) throw error;
      tally.killed += 1;
      if (rest !== undefined) open.push({ rest });
    }
  }
}

function resultTable(
  tally: Tally,
  run: { keys: number; shards: number; workers: number; served: number; wallMs: number },
): string {
  const pages = run.keys / 1000;
  const share = (requests: number) =>
    `${formatNumber(requests)} (${((requests / pages - 1) * 100).toFixed(1)} %)`;
  const rows = [
    ['keys', formatNumber(run.keys)],
    ['shards, processes at a time', `${run.shards}, ${run.workers}`],
    ['tries, killed', `${tally.tries}, ${tally.killed}`],
    ['seconds', (run.wallMs / 1000).toFixed(1)],
    ['CPU seconds a million keys, committed', (tally.cpuMs / 1000 / (run.keys / 1e6)).toFixed(2)],
    ['LIST requests committed (more than pages)', share(tally.committed)],
    ['… served', share(run.served)],
    ['peak memory of a process, MB', formatNumber(Math.round(tally.peakMb))],
  ];
  return `A path in shards, with processes killed at random: the count is exact\n${formatTable(['', ''], rows)}\n`;
}
