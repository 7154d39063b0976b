import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const adminToken = 'bench-admin-token-0123456789abcdef';

/** Where a tenant's batches go, and with which credentials. */
export interface Tenant {
  readonly url: string;
  readonly authorization: string;
}

/** A stack as `npm start` runs it, in a process of its own. */
export interface EmbeddedStack {
  readonly url: string;
  readonly pid: number;
  /** Ends it, and removes its data. */
  stop(): Promise<void>;
}

/** @param root the folder of a checkout. Default: this one. */
export async function startStack(
  root = fileURLToPath(new URL('../../', import.meta.url)),
): Promise<EmbeddedStack> {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-bench-'));
  const main = join(root, 'local/main.ts');
  const args = ['--import', 'tsx', main, '--port', '0', '--data', join(folder, 'data')];
  const child = spawn(process.execPath, args, {
    cwd: root,
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
    if (url !== undefined) return { url, pid: child.pid ?? 0, stop };
    if (child.exitCode !== null) throw new Error(`The stack ended: ${out}`);
    await sleep(20);
  }
}

/** Creates a tenant without a limit that matters. */
export async function createTenant(url: string, name: string): Promise<Tenant> {
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
export async function batch({ url, authorization }: Tenant, objects: number): Promise<number> {
  const wanted = Array.from({ length: objects }, () => {
    objectsSoFar += 1;
    return { oid: createHash('sha256').update(String(objectsSoFar)).digest('hex'), size: 17 };
  });
  const type = 'application/vnd.git-lfs+json';
  const body = JSON.stringify({ operation: 'upload', transfers: ['basic'], objects: wanted });
  const beganMs = performance.now();
  const headers = {
    authorization,
    accept: type,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
  };
  // Not fetch: it would take as much of the machine as the stack does.
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method: 'POST', headers, agent }, resolve).on('error', reject).end(body);
  });
  const answered = await text(answer);
  const tookMs = performance.now() - beganMs;
  if (answer.statusCode !== 200 || !answered.includes('"upload"'))
    throw new Error(`batch: ${answer.statusCode} ${answered.slice(0, 300)}`);
  return tookMs;
}

const agent = new Agent({ keepAlive: true });
