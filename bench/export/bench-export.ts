import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { formatNumber, formatTable } from '../../cost/command.ts';
import { ArchiveClient } from '../../lambda/exports/archive-client.ts';
import { type ExportStoreKind, exportStoreKinds } from '../../lambda/exports/rules/settings.ts';
import { S3ArchiveStore } from '../../lambda/exports/s3-archives.ts';
import { mapLimited } from '../../lambda/rules/async.ts';
import { challenge } from '../../test/support/object-sets.ts';
import { Random } from '../../test/support/random.ts';
import { bundle, Child } from '../processes.ts';
import { digits } from '../statistics.ts';
import { bucket, credentials, region, startStore, storeName } from '../store.ts';
import type { ExportApi, Exported } from './workers.ts';

/** A worker of 1 GB in Lambda, and what a request to S3, to DynamoDB and to SQS takes: assumed. */
const real = { bytesPerSecond: 75e6, requestMs: 100, recordMs: 10, queueMs: 20 };
const tenant = 'large';

/**
 * One export by several workers over versitygw, each with a bandwidth and waits of its own. A machine has fewer cores than
 * workers, so all of that is slowed down: then bandwidth and waits are what takes time, as in Lambda.
 *
 * Options: `--objects=N` (600) of 2 to 8 MB, `--workers=N,…` (8,4,2,1), `--slowdown=N` (10; 0: without the model, at full
 * speed), `--kind=s3|r2|grid|stream` (s3): how the store copies parts.
 */
export async function benchExport(
  print: (text: string) => void,
  options: readonly string[],
): Promise<unknown> {
  const { values } = parseArgs({
    args: [...options],
    options: {
      objects: { type: 'string', default: '600' },
      workers: { type: 'string', default: '8,4,2,1' },
      slowdown: { type: 'string', default: '10' },
      kind: { type: 'string', default: 's3' },
    },
  });
  const kind = exportStoreKinds.find((each) => each === values.kind);
  if (kind === undefined) throw new Error(`--kind takes ${exportStoreKinds.join(', ')}.`);
  const slowdown = Number(values.slowdown);
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-export-'));
  const store = await startStore(folder);
  try {
    const place = { endpoint: `http://127.0.0.1:${store.port}`, bucket, region };
    await putObjects(place, Number(values.objects));
    const program = await bundle(new URL('workers.ts', import.meta.url));
    const rows: (Exported & { workers: number })[] = [];
    for (const workers of values.workers.split(',').map(Number))
      rows.push({ workers, ...(await measure(program, { place, kind, workers, slowdown })) });
    print(`${formatNumber(Number(values.objects))} objects on ${storeName()}, ${kind}, slowdown ${slowdown}`);
    print(`${tableOf(rows, slowdown)}\n`);
    return { kind, slowdown, rows };
  } finally {
    await store.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Place {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
}

async function putObjects(place: Place, count: number): Promise<void> {
  const client = new ArchiveClient({ ...place, forcePathStyle: true, credentials: async () => credentials });
  const archives = new S3ArchiveStore({ client });
  const [random, filler] = [new Random(1), randomBytes(8_000_000)];
  const sizes = Array.from({ length: count }, () => challenge.sizeOf(random));
  await mapLimited([...sizes.entries()], 16, async ([index, sizeBytes]) => {
    const oid = createHash('sha256').update(String(index)).digest('hex');
    await archives.put(`${tenant}/app/${oid}`, filler.subarray(0, sizeBytes));
  });
  client.destroy();
}

async function measure(
  program: string,
  input: { place: Place; kind: ExportStoreKind; workers: number; slowdown: number },
): Promise<Exported> {
  const { place, slowdown, ...run } = input;
  const child = await Child.fork<ExportApi>(program);
  const network = {
    // JSON has no infinity.
    bytesPerSecond: slowdown === 0 ? 1e15 : real.bytesPerSecond / slowdown,
    requestMs: real.requestMs * slowdown,
    recordMs: real.recordMs * slowdown,
    queueMs: real.queueMs * slowdown,
  };
  const exported = await child.call('export', { ...run, store: place, credentials, tenant, network });
  await child.end();
  return exported;
}

function tableOf(rows: readonly (Exported & { workers: number })[], slowdown: number): string {
  const one = rows.find(({ workers }) => workers === 1);
  const cells = rows.map(({ workers, units, archiveBytes, throughBytes, seconds, cpuSeconds, peakMb }) => [
    String(workers),
    String(units),
    formatNumber(Math.round(archiveBytes / 1e6)),
    formatNumber(Math.round(throughBytes / 1e6)),
    digits(seconds),
    slowdown === 0 ? '' : digits(seconds / slowdown),
    one ? digits((seconds * workers) / one.seconds) : '',
    digits(cpuSeconds),
    formatNumber(Math.round(peakMb)),
  ]);
  const header = [
    'workers',
    'units',
    'MB',
    'through',
    's here',
    's',
    '÷ (one ÷ workers)',
    'CPU s',
    'peak MB',
  ];
  return formatTable(header, cells);
}
