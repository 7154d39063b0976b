import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { plainEnvironment } from '../test/support/process.ts';
import { cpuMsOfTree, type StartedProcess, startProcess } from './processes.ts';
import { type Column, optionsOf, orderOfRound, tableOf } from './statistics.ts';

/** What one stack did in a round. */
interface Round {
  readonly perSecond: number;
  /** Of a batch, as its client saw it. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the stack's process only, for each batch. */
  readonly cpuMs: number;
  readonly residentMb: number;
}

/**
 * Many clients of one `npm start`, each of which sends one batch after another.
 *
 * Options: `--clients=N` (50), `--objects=N` in a batch (10), `--seconds=N` a round (5), `--rounds=N` (3),
 * `--before=FOLDER`: another checkout, with its packages, whose stack takes turns with this one.
 */
export async function benchCrowd(print: (text: string) => void, options: readonly string[]): Promise<void> {
  const defaults = { clients: '50', objects: '10', seconds: '5', rounds: '3', before: '' };
  const values = optionsOf(options, defaults);
  const [clients, objects] = [Number(values.clients), Number(values.objects)];
  const stacks: { name: string; root: string; rounds: Round[] }[] = [
    { name: 'this', root: fileURLToPath(new URL('../', import.meta.url)), rounds: [] },
  ];
  if (values.before !== '') stacks.push({ name: 'before', root: values.before, rounds: [] });
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const { root, rounds } of orderOfRound(stacks, round)) {
      const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-bench-'));
      const stack = await startStack(root, folder);
      rounds.push(await measure(stack, { clients, objects, ms: Number(values.seconds) * 1000 }));
      await stack.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  }
  const columns: Column<Round>[] = [
    ['median', ({ perSecond }) => perSecond],
    ['this ×', ({ perSecond }) => 1 / perSecond, 'ratio'],
    ['p50 ms', ({ p50Ms }) => p50Ms],
    ['p99 ms', ({ p99Ms }) => p99Ms],
    ['CPU ms each', ({ cpuMs }) => cpuMs],
    ['RSS MB', ({ residentMb }) => residentMb],
    ['rounds', ({ perSecond }) => perSecond, 'all'],
  ];
  const rows = stacks.map(({ name, rounds: samples }) => ({ name, samples, base: stacks[0]?.rounds }));
  print(`Batches of ${objects} new objects a second, from ${clients} clients\n${tableOf(columns, rows)}\n`);
}

async function measure(
  { pid, port }: StartedProcess,
  { clients, objects, ms }: { clients: number; objects: number; ms: number },
): Promise<Round> {
  const tenants: Tenant[] = [];
  for (let client = 0; client < clients; client += 1)
    tenants.push(await createTenant(`http://127.0.0.1:${port}`, `client-${client}`));
  const run = async (untilMs: number) => {
    const took: number[] = [];
    const send = async (tenant: Tenant) => {
      while (performance.now() < untilMs) took.push(await batch(tenant, objects));
    };
    await Promise.all(tenants.map(send));
    return took.sort((a, b) => a - b);
  };
  // The compiler has seen the code afterwards.
  await run(performance.now() + ms / 2);
  const [startedMs, cpuBeforeMs] = [performance.now(), cpuMsOfTree(pid)];
  const took = await run(startedMs + ms);
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    perSecond: took.length / ((performance.now() - startedMs) / 1000),
    p50Ms: took[Math.floor(took.length / 2)] ?? Number.NaN,
    p99Ms: took[Math.floor(took.length * 0.99)] ?? Number.NaN,
    cpuMs: (cpuMsOfTree(pid) - cpuBeforeMs) / took.length,
    residentMb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1000,
  };
}

const adminToken = 'bench-admin-token-0123456789abcdef';

/** A stack as `npm start` runs it. @param root the folder of a checkout: of this one, or of an older one. */
function startStack(root: string, folder: string) {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const [, ...program] = String(scripts.start).split(' ');
  return startProcess({
    command: process.execPath,
    args: (port) => [...program, '--port', String(port), '--data', join(folder, 'data')],
    env: { ...plainEnvironment(), LFS_QUOTA_ADMIN_TOKEN: adminToken },
    folder,
    cwd: root,
  });
}

/** Where a tenant's batches go, and with which credentials. */
interface Tenant {
  readonly url: string;
  readonly authorization: string;
}

/** Creates a tenant without a limit that matters. */
async function createTenant(url: string, name: string): Promise<Tenant> {
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
const agent = new Agent({ keepAlive: true });

/** Sends a batch of new objects. @returns its time in ms. */
async function batch({ url, authorization }: Tenant, objects: number): Promise<number> {
  const wanted = Array.from({ length: objects }, () => {
    objectsSoFar += 1;
    return { oid: createHash('sha256').update(String(objectsSoFar)).digest('hex'), size: 17 };
  });
  const type = 'application/vnd.git-lfs+json';
  const body = JSON.stringify({ operation: 'upload', transfers: ['basic'], objects: wanted });
  const headers = { authorization, accept: type, 'content-type': type };
  const startedMs = performance.now();
  // Not fetch: it would use as much of the machine as the stack does.
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method: 'POST', headers, agent }, resolve).on('error', reject).end(body);
  });
  const answered = await text(answer);
  const tookMs = performance.now() - startedMs;
  if (answer.statusCode !== 200 || !answered.includes('"upload"'))
    throw new Error(`batch: ${answer.statusCode} ${answered.slice(0, 300)}`);
  return tookMs;
}
