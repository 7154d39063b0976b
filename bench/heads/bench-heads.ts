import { createHash } from 'node:crypto';
import { HeadObjectCommand, NotFound, S3Client } from '@aws-sdk/client-s3';
import { formatNumber, formatTable } from '../../cost/tables.ts';
import { BucketClient } from '../../lambda/adapters/s3/client.ts';
import { S3ObjectStore } from '../../lambda/adapters/s3/object-store.ts';
import { Child } from '../child/child.ts';
import { median } from '../statistics.ts';
import type { HeadServerProcess } from './head-server.ts';

const objects = 100;
const rounds = 25;
const warmUpRounds = 5;

/** What it costs to ask a store for 100 objects, of which it has half. */
export interface HeadCost {
  readonly way: string;
  /** The first batch of the process. */
  readonly firstCpuMs: number;
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** Asks for batches of 100 objects, with the SDK and with the client of the functions, in turns. */
export async function benchHeads(print: (text: string) => void): Promise<HeadCost[]> {
  const server: HeadServerProcess = await Child.fork(new URL('head-server.ts', import.meta.url));
  const where = { region: 'us-east-1', endpoint: `http://127.0.0.1:${server.ready}`, forcePathStyle: true };
  const credentials = {
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'secret',
    sessionToken: 'token'.repeat(160),
  };
  const sdk = new S3Client({ ...where, credentials, requestHandler: { httpAgent: { maxSockets: 128 } } });
  const client = new BucketClient({ ...where, bucket: 'bucket', credentials: async () => credentials });
  const store = new S3ObjectStore({ client, clock: { nowMs: Date.now } });
  const ways: Readonly<Record<string, (key: string) => Promise<boolean>>> = {
    'SDK HeadObject': (Key) =>
      sdk
        .send(new HeadObjectCommand({ Bucket: 'bucket', Key, ChecksumMode: 'ENABLED' }))
        .then(({ ContentLength }) => ContentLength === 1000)
        .catch((error: unknown) => {
          if (error instanceof NotFound) return false;
          throw error;
        }),
    S3ObjectStore: async (key) => (await store.head(key))?.sizeBytes === 1000,
  };
  try {
    const samples = new Map<string, { cpuMs: number; wallMs: number }[]>();
    // The ways alternate, so that other load on the machine affects both alike.
    for (let round = 0; round < warmUpRounds + rounds; round += 1) {
      for (const [way, ask] of Object.entries(ways))
        samples.set(way, [...(samples.get(way) ?? []), await measure(ask)]);
    }
    const costs = [...samples].map(([way, taken]) => costOf(way, taken));
    printCosts(print, costs);
    return costs;
  } finally {
    sdk.destroy();
    client.destroy();
    await server.end();
  }
}

const keys = Array.from({ length: objects }, (_, index) => {
  const hash = createHash('sha256').update(String(index)).digest('hex');
  return `acme/app/${hash.slice(0, -1)}${index % 10}`;
});

async function measure(ask: (key: string) => Promise<boolean>): Promise<{ cpuMs: number; wallMs: number }> {
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  const found = await Promise.all(keys.map(ask));
  const wallMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpu);
  if (found.some((isFound, index) => isFound !== (index % 2 === 0))) throw new Error('A wrong answer.');
  return { cpuMs: (user + system) / 1000, wallMs };
}

function costOf(way: string, taken: readonly { cpuMs: number; wallMs: number }[]): HeadCost {
  const warm = taken.slice(warmUpRounds);
  return {
    way,
    firstCpuMs: taken[0]?.cpuMs ?? Number.NaN,
    cpuMs: median(warm.map(({ cpuMs }) => cpuMs)),
    wallMs: median(warm.map(({ wallMs }) => wallMs)),
  };
}

function printCosts(print: (text: string) => void, costs: readonly HeadCost[]): void {
  const base = costs[0]?.cpuMs ?? Number.NaN;
  const rows = costs.map(({ way, firstCpuMs, cpuMs, wallMs }) => [
    way,
    ...[firstCpuMs, cpuMs, wallMs].map((ms) => ms.toFixed(1)),
    formatNumber(base / cpuMs),
  ]);
  const header = [`HEAD of ${objects}`, 'first CPU ms', 'CPU ms', 'wall ms', '× less CPU'];
  print(`${formatTable(header, rows)}\n`);
}
