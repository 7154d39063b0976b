import { formatNumber, formatTable } from '../../cost/tables.ts';
import { bundleProcess, forkBundle } from '../child/bundle.ts';
import { Child } from '../child/child.ts';
import type { ListServerApi, ListServerProcess } from '../list-server/process.ts';
import { readNumbers } from './options.ts';
import { showProgress } from './progress.ts';
import type { Sample, ScanApi, ScanRun } from './scan-process.ts';

const prefix = 'acme/app/';
/** Requests above keys ÷ 1000 that a scan may take: a share of them, and some that it always takes. */
const extraRequestsMax = { share: 0.01, always: 25 };
const samplesShown = 8;

/**
 * Scans as many keys as one wants, in one run: the list server computes them. Fails if the count is not exact, or
 * took too many requests.
 */
export async function benchGiant(
  print: (text: string) => void,
  options: readonly string[],
): Promise<unknown> {
  const { keys } = readNumbers(options, { keys: 1e8 });
  const server = await startServer();
  const bytes = await server.call('prepareVast', keys);
  await server.call('behave', {});
  const bundle = await bundleProcess(new URL('scan-process.ts', import.meta.url));
  const scanner = await Child.of<ScanApi>(forkBundle(bundle, [server.ready, `v${keys}`]));
  const before = await server.call('stats');
  const progress = showProgress(server, keys);
  const strategy = { kind: 'hint', objects: keys } as const;
  const run = await scanner.call('scan', { prefix, strategy }, 500);
  await progress.end();
  const after = await server.call('stats');
  await scanner.end();
  await server.end();
  if (run.objects !== keys || run.bytes !== bytes)
    throw new Error(`It counted ${run.objects} of ${keys} keys.`);
  const pages = Math.ceil(keys / 1000);
  if (run.requests > pages * (1 + extraRequestsMax.share) + extraRequestsMax.always)
    throw new Error(`It took ${run.requests} requests for ${pages} pages.`);
  const serverCpuMs = after.cpuMs - before.cpuMs;
  print(resultTable(run, { keys, serverCpuMs }));
  print(`Memory over time\n${memoryTable(run.samples, keys)}\n`);
  return { keys, serverCpuMs, ...run };
}

/** The list server, as fast as it can be. */
export async function startServer(): Promise<ListServerProcess> {
  const bundle = await bundleProcess(new URL('../list-server/process.ts', import.meta.url));
  return Child.of<ListServerApi, string>(forkBundle(bundle, []));
}

function resultTable(run: ScanRun, { keys, serverCpuMs }: { keys: number; serverCpuMs: number }): string {
  const perMillion = (ms: number) => (ms / 1000 / (keys / 1e6)).toFixed(2);
  const rows = [
    ['keys', formatNumber(keys)],
    ['seconds', (run.wallMs / 1000).toFixed(1)],
    ['keys a second', formatNumber(Math.round(keys / (run.wallMs / 1000)))],
    ['CPU seconds a million keys', perMillion(run.cpuMs)],
    ['… of the list server', perMillion(serverCpuMs)],
    ['LIST requests', formatNumber(run.requests)],
    ['… more than pages', `${((run.requests / (keys / 1000) - 1) * 100).toFixed(2)} %`],
    ['peak memory, MB', formatNumber(Math.round(run.peakMb))],
  ];
  return `One scan of a path\n${formatTable(['', ''], rows)}\n`;
}

function memoryTable(samples: readonly Sample[], keys: number): string {
  const step = Math.max(1, Math.floor(samples.length / samplesShown));
  const shown = samples.filter((_, index) => index % step === step - 1);
  const rows = shown.map(({ atMs, keys: listed, residentMb }) => [
    (atMs / 1000).toFixed(0),
    `${((listed / keys) * 100).toFixed(0)} %`,
    residentMb.toFixed(0),
  ]);
  return formatTable(['seconds', 'keys', 'MB'], rows);
}
