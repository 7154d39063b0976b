import { createHash, randomBytes } from 'node:crypto';
import { exportStoreKinds } from '../../lambda/exports/rules/settings.ts';
import { mapLimited } from '../../lambda/rules/async.ts';
import { ArchiveClient } from '../../lambda/store/archive-client.ts';
import { createArchiveStore } from '../../lambda/store/s3-archives.ts';
import { challenge } from '../../test/support/object-sets.ts';
import { Random } from '../../test/support/random.ts';
import { bundle, inFolder, startChild } from '../processes.ts';
import { type Column, digits, numbersOf, optionsOf, tableOf } from '../statistics.ts';
import { bucketAt, startStore, storeName } from '../store.ts';
import type { ExportApi, Exported } from './workers.ts';

/** A worker of 1 GB in Lambda, and what a request to S3, to DynamoDB and to SQS takes: assumed. */
const real = { bytesPerSecond: 75e6, requestMs: 100, recordMs: 10, queueMs: 20 };
const tenant = 'large';

/**
 * One export by several workers over versitygw, each with a bandwidth and waits of its own. A machine has fewer cores than
 * workers, so all of that is slowed down: then bandwidth and waits are what takes time, as in Lambda.
 *
 * Options: `--objects=N` (600) of 2 to 8 MB, `--workers=N,…` (8,4,2,1), `--slowdown=N` (10; 0: without the model, at full
 * speed), `--kind=s3|r2|grid|stream` (s3): how the store copies parts, `--formats=tar,zip` (tar), `--runs=N` (1).
 */
export async function benchExport(print: (text: string) => void, options: readonly string[]): Promise<void> {
  const defaults = {
    objects: '600',
    workers: '8,4,2,1',
    slowdown: '10',
    kind: 's3',
    formats: 'tar',
    runs: '1',
  };
  const values = optionsOf(options, defaults);
  const kind = exportStoreKinds.find((each) => each === values.kind);
  if (kind === undefined) throw new Error(`--kind takes ${exportStoreKinds.join(', ')}.`);
  const [objects, slowdown] = [Number(values.objects), Number(values.slowdown)];
  const network = {
    // JSON has no infinity.
    bytesPerSecond: slowdown === 0 ? 1e15 : real.bytesPerSecond / slowdown,
    requestMs: real.requestMs * slowdown,
    recordMs: real.recordMs * slowdown,
    queueMs: real.queueMs * slowdown,
  };
  await inFolder(async (folder, cleanup) => {
    const store = await startStore(folder);
    cleanup.add(() => store.stop());
    const endpoint = `http://127.0.0.1:${store.port}`;
    await putObjects(endpoint, objects);
    const program = await bundle(new URL('workers.ts', import.meta.url));
    const rows: { name: string; samples: Exported[] }[] = [];
    for (const format of (['tar', 'zip'] as const).filter((name) => values.formats.split(',').includes(name)))
      for (const workers of numbersOf(values.workers)) {
        const samples: Exported[] = [];
        for (let run = 0; run < Number(values.runs); run += 1) {
          const child = await startChild<ExportApi>(program);
          const how = { kind, format, workers, network, timeoutFactor: Math.max(1, slowdown) };
          const exported = await child.call('export', { endpoint, tenant, ...how });
          samples.push({ ...exported, seconds: exported.seconds / Math.max(1, slowdown) });
          await child.end();
        }
        rows.push({ name: `${format} ${workers}`, samples });
      }
    print(
      `${digits(objects)} objects on ${storeName()}, ${kind}, by format and workers; seconds at slowdown ${slowdown}, divided by it`,
    );
    print(`${tableOf(columns, rows)}\n`);
  });
}

async function putObjects(endpoint: string, count: number): Promise<void> {
  const client = new ArchiveClient(bucketAt(endpoint));
  const archives = createArchiveStore({ client });
  const [random, filler] = [new Random(1), randomBytes(8_000_000)];
  const sizes = Array.from({ length: count }, () => challenge.sizeOf(random));
  await mapLimited([...sizes.entries()], 16, async ([index, sizeBytes]) => {
    const oid = createHash('sha256').update(String(index)).digest('hex');
    await archives.put(`${tenant}/app/${oid}`, filler.subarray(0, sizeBytes));
  });
  client.destroy();
}

const columns: Column<Exported>[] = [
  ['units', ({ units }) => units],
  ['MB', ({ archiveBytes }) => Math.round(archiveBytes / 1e6)],
  ['through', ({ throughBytes }) => Math.round(throughBytes / 1e6)],
  ['s', ({ seconds }) => seconds, 'spread'],
  ['CPU s', ({ cpuSeconds }) => cpuSeconds],
  ['peak MB', ({ peakMb }) => Math.round(peakMb)],
];
