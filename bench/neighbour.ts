import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { formatNumber, formatTable } from '../cost/tables.ts';

/** What one-object batches of a tenant take, alone and while a neighbour sends the largest batches. */
export interface NeighbourResult {
  readonly objects: number;
  /** Medians, in ms. */
  readonly aloneMs: number;
  readonly besideMs: number;
  /** Of a hundred, one takes longer. */
  readonly aloneP99Ms: number;
  readonly besideP99Ms: number;
  readonly largeBatchMs: number;
}

const adminToken = 'bench-admin-token-0123456789abcdef';
const largeBatches = 30;
const aloneBatches = 300;

/**
 * Two tenants of one `npm start`: one sends a one-object batch after another, at first alone, then beside another that
 * sends 30 batches of the most objects. All in one run, because only their ratio says much.
 */
export async function benchNeighbour(
  print: (text: string) => void,
  options: readonly string[],
): Promise<NeighbourResult> {
  const objects = Number(options.find((option) => option.startsWith('--objects='))?.slice(10) ?? 1000);
  const stack = await startStack();
  try {
    const [small, large] = await Promise.all([tenant(stack.url, 'small'), tenant(stack.url, 'large')]);
    await repeat(10, () => batch(small, 1));
    await batch(large, objects);
    const aloneMs = await repeat(aloneBatches, () => batch(small, 1));
    let ended = false;
    const others = repeat(largeBatches, () => batch(large, objects)).finally(() => {
      ended = true;
    });
    const besideMs: number[] = [];
    while (!ended) besideMs.push(await batch(small, 1));
    const result = {
      objects,
      aloneMs: median(aloneMs),
      besideMs: median(besideMs),
      aloneP99Ms: quantile(aloneMs, 0.99),
      besideP99Ms: quantile(besideMs, 0.99),
      largeBatchMs: median(await others),
    };
    const { aloneP99Ms, besideP99Ms } = result;
    const row = [result.aloneMs, result.besideMs, aloneP99Ms, besideP99Ms, result.largeBatchMs].map((ms) =>
      ms.toFixed(1),
    );
    const header = ['objects', 'alone', 'beside', 'p99 alone', 'p99 beside', 'large batch', '×', '× p99'];
    const ratios = [result.besideMs / result.aloneMs, besideP99Ms / aloneP99Ms].map((ratio) =>
      ratio.toFixed(1),
    );
    print(
      `One-object batches beside a tenant of large ones, ms\n${formatTable(header, [[formatNumber(objects), ...row, ...ratios]])}\n`,
    );
    return result;
  } finally {
    await stack.stop();
  }
}

interface Tenant {
  readonly url: string;
  readonly authorization: string;
}

async function startStack() {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-bench-'));
  const main = fileURLToPath(new URL('../local/main.ts', import.meta.url));
  const args = ['--import', 'tsx', main, '--port', '0', '--data', join(folder, 'data')];
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env['PATH'], LFS_QUOTA_ADMIN_TOKEN: adminToken },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += String(chunk);
  });
  const ended = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for (;;) {
    const url = /^ready (http:\S+)$/m.exec(out)?.[1];
    if (url !== undefined) return { url, stop };
    if (child.exitCode !== null) throw new Error(`The stack ended: ${out}`);
    await sleep(20);
  }
}

async function tenant(url: string, name: string): Promise<Tenant> {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
  const post = async (path: string, body: unknown) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { token: string };
  };
  await post('/v1/tenants', { tenant: name, limitBytes: 1024 ** 4 });
  const { token } = await post(`/v1/tenants/${name}/tokens`, { scope: 'write' });
  const authorization = `Basic ${Buffer.from(`any:${token}`).toString('base64')}`;
  return { url: `${url}/${name}/repo.git/info/lfs/objects/batch`, authorization };
}

let objectsSoFar = 0;

/** Sends a batch of new objects. @returns its time in ms. */
async function batch({ url, authorization }: Tenant, objects: number): Promise<number> {
  const wanted = Array.from({ length: objects }, () => {
    objectsSoFar += 1;
    return { oid: createHash('sha256').update(String(objectsSoFar)).digest('hex'), size: 17 };
  });
  const type = 'application/vnd.git-lfs+json';
  const body = JSON.stringify({ operation: 'upload', transfers: ['basic'], objects: wanted });
  const beganMs = performance.now();
  const headers = { authorization, accept: type, 'content-type': type };
  const response = await fetch(url, { method: 'POST', headers, body });
  const text = await response.text();
  const tookMs = performance.now() - beganMs;
  if (response.status !== 200 || !text.includes('"upload"'))
    throw new Error(`batch: ${response.status} ${text.slice(0, 300)}`);
  return tookMs;
}

async function repeat(times: number, run: () => Promise<number>): Promise<number[]> {
  const all: number[] = [];
  for (let time = 0; time < times; time += 1) all.push(await run());
  return all;
}

const median = (values: readonly number[]) => quantile(values, 0.5);

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}
