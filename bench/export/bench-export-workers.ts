import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { formatNumber, formatTable } from '../../cost/tables.ts';
import { ArchiveClient } from '../../lambda/adapters/s3-archive/archive-client.ts';
import { S3ArchiveStore } from '../../lambda/adapters/s3-archive/archive-store.ts';
import { newExportJob } from '../../lambda/domain/export/export-job.ts';
import { type ExportStoreKind, exportSettingsFor } from '../../lambda/domain/export/export-settings.ts';
import { mapLimited } from '../../lambda/use-cases/map-limited.ts';
import { wholeTenant as request } from '../../test/support/export-request.ts';
import { Random } from '../../test/support/random.ts';
import { bundleProcess, forkBundle } from '../child/bundle.ts';
import { Child } from '../child/child.ts';
import { chooseStore } from '../push/store.ts';
import { bucket, credentials, region } from '../push/world.ts';
import type { ExportWorkerApi, WorkerInput } from './export-worker-process.ts';
import { challenge } from './object-sets.ts';
import { SharedWork } from './shared-work.ts';

type Print = (text: string) => void;

/** A worker of 1 GB in Lambda, S3, DynamoDB and SQS: what the plan assumes, and what requests take. */
const real = { bytesPerSecond: 75e6, requestMs: 100, recordMs: 10, queueMs: 20 };

interface Run {
  readonly title: string;
  readonly tenant: string;
  readonly kind: ExportStoreKind;
  readonly workers: number;
  readonly slowdown: number;
}

/**
 * One export by several worker processes, each with a bandwidth and waits of its own. A machine has not as many cores as
 * there are workers, so that all is slowed down: then bandwidth and waits are what takes time, as in Lambda.
 */
export async function benchExportWorkers(print: Print, options: readonly string[]): Promise<unknown> {
  const { values } = parseArgs({
    args: [...options],
    options: {
      objects: { type: 'string', default: '600' },
      small: { type: 'string', default: '100000' },
      slowdown: { type: 'string', default: '10' },
      workers: { type: 'string', default: '8,4,2,1' },
      // `speed` or `memory`: that part alone.
      part: { type: 'string' },
    },
  });
  const slowdown = Number(values.slowdown);
  const folder = mkdtempSync(path.join(tmpdir(), 'lfs-quota-export-'));
  const chosen = chooseStore();
  const store = await chosen.start(folder);
  try {
    const place = { endpoint: `http://127.0.0.1:${store.port}`, bucket, region };
    const archives = new S3ArchiveStore({
      client: new ArchiveClient({ ...place, forcePathStyle: true, credentials: async () => credentials }),
    });
    const random = new Random(1);
    const sizes = Array.from({ length: Number(values.objects) }, () => challenge.sizeOf(random));
    await putObjects(archives, 'large', sizes);
    const bundle = await bundleProcess(new URL('export-worker-process.ts', import.meta.url));
    print(
      `${formatNumber(sizes.length)} objects of 2 to 8 MB on ${chosen.name}, slowed down ${slowdown} times`,
    );
    const large = { title: 'copied', tenant: 'large', kind: 's3', slowdown } as const;
    const measured: (Run & Awaited<ReturnType<typeof measure>>)[] = [];
    const add = async (run: Run) => {
      measured.push({ ...run, ...(await measure(run, { bundle, place, archives })) });
      const last = measured.at(-1);
      if (last)
        print(
          `${run.title}, ${run.workers} workers: ${last.seconds.toFixed(1)} s, ${last.peakMb.toFixed(0)} MB`,
        );
    };
    const workerCounts = values.part === 'memory' ? [] : values.workers.split(',').map(Number);
    for (const workers of workerCounts) await add({ ...large, workers });
    if (values.part !== 'speed') {
      // The memory of a worker is that of full speed.
      await add({ ...large, title: 'streamed in parts of 64 MiB', kind: 'stream', workers: 1, slowdown: 0 });
      await putObjects(
        archives,
        'small',
        Array.from({ length: Number(values.small) }, () => random.int(1, 2000)),
      );
      await add({ title: 'small objects', tenant: 'small', kind: 's3', workers: 1, slowdown: 0 });
    }
    printRuns(print, measured);
    return { store: chosen.name, measured };
  } finally {
    await store.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function putObjects(archives: S3ArchiveStore, tenant: string, sizes: readonly number[]): Promise<void> {
  const filler = randomBytes(8_000_000);
  await mapLimited([...sizes.entries()], 16, async ([index, sizeBytes]) => {
    const oid = createHash('sha256').update(`${tenant}/${index}`).digest('hex');
    await archives.put(`${tenant}/app/${oid}`, filler.subarray(0, sizeBytes));
  });
}

async function measure(
  run: Run,
  world: { bundle: string; place: WorkerInput['store']; archives: S3ArchiveStore },
) {
  const { tenant, kind, workers, slowdown } = run;
  const settings = exportSettingsFor(kind, { workers });
  const work = new SharedWork();
  const workUrl = await work.listen();
  const exportId = randomBytes(6).toString('hex');
  const job = newExportJob({ tenant, exportId, request, nowMs: Date.now(), limitMs: settings.limitMs });
  const children = await Promise.all(
    Array.from({ length: workers }, () => Child.of<ExportWorkerApi>(forkBundle(world.bundle, []))),
  );
  const input: WorkerInput = {
    workUrl,
    store: world.place,
    credentials,
    settings,
    // JSON knows no infinity.
    bytesPerSecond: slowdown === 0 ? 1e15 : real.bytesPerSecond / slowdown,
    requestMs: real.requestMs * slowdown,
    recordMs: real.recordMs * slowdown,
    queueMs: real.queueMs * slowdown,
  };
  const beganAtMs = performance.now();
  await work.begin(job);
  const done = await Promise.all(children.map((child) => child.call('work', input)));
  const ended = await work.read(job);
  if (ended?.state !== 'done' || work.doneAtMs === undefined)
    throw new Error(`The export is ${ended?.state}.`);
  await Promise.all(children.map((child) => child.end()));
  await work.close();
  const { units = 0, figures, volumes = [] } = ended.planned ?? {};
  await world.archives.delete(volumes.map(({ key }) => key));
  return {
    seconds: (work.doneAtMs - beganAtMs) / 1000,
    units,
    throughBytes: figures?.throughBytes ?? 0,
    archiveBytes: figures?.archiveBytes ?? 0,
    peakMb: Math.max(...done.map(({ peakMb }) => peakMb)),
    cpuSeconds: done.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
  };
}

function printRuns(print: Print, runs: readonly (Run & Awaited<ReturnType<typeof measure>>)[]): void {
  const one = runs.find(({ workers, slowdown }) => workers === 1 && slowdown > 0);
  const rows = runs.map((run) => [
    run.title,
    String(run.workers),
    String(run.units),
    (run.archiveBytes / 1e6).toFixed(0),
    (run.throughBytes / 1e6).toFixed(0),
    run.seconds.toFixed(1),
    run.slowdown === 0 ? '' : (run.seconds / run.slowdown).toFixed(1),
    run.slowdown === 0 || !one ? '' : ((run.seconds * run.workers) / one.seconds).toFixed(2),
    run.cpuSeconds.toFixed(1),
    run.peakMb.toFixed(0),
  ]);
  const header = [
    'export',
    'workers',
    'units',
    'MB',
    'through',
    's here',
    's',
    'wall ÷ (one ÷ k)',
    'CPU s',
    'peak MB',
  ];
  print(`${formatTable(header, rows)}\n`);
}
