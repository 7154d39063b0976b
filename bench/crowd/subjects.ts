import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDataFolder } from '../../local/data/data-folder.ts';
import { plainEnvironment, run } from '../../test/support/process.ts';
import { peerNames, startGiftless, startLfsx, startRudolfs } from '../peers.ts';
import { type StartedProcess, startProcess } from '../processes.ts';

/** Where a repo's batches go, and with which credentials. */
export interface Repo {
  readonly url: string;
  readonly authorization?: string;
}

/** A server that is measured, with the objects on its own disk. */
export interface Subject {
  readonly name: string;
  /** The data folder that it starts with. Default: none. */
  readonly data?: string;
  /** @param folder an empty one, but for `data`. */
  start(folder: string): Promise<StartedProcess>;
  /** A repo of a tenant of its own, where the server has tenants. */
  repo(port: number, name: string, limitBytes: number): Promise<Repo>;
}

/** What two pushes race for. LFSX has one limit for all repos, which batches without a push never reach. */
export const raceLimitBytes = 1_500_000;

const root = fileURLToPath(new URL('../../', import.meta.url));
const adminToken = 'bench-admin-token-0123456789abcdef';

/** Packs what `npm pack` packs. @returns the program, in this folder. */
export async function packCli(folder: string): Promise<string> {
  for (const file of ['bin/lfs-quota.js', 'package.json']) cpSync(join(root, file), join(folder, file));
  const args = ['--import', 'tsx', join(root, 'bin/pack.ts'), join(folder, 'dist')];
  const options = { cwd: root, env: plainEnvironment(), timeoutMs: 300_000 };
  const { code, err } = await run(process.execPath, args, options);
  if (code !== 0) throw new Error(`The package could not be built:\n${err}`);
  return join(folder, 'bin/lfs-quota.js');
}

/** A server of this project. @param args of Node, for its port and its data. */
function stack(
  named: Pick<Subject, 'name' | 'data'>,
  args: (port: number, data: string) => readonly string[],
  { cwd, env = {} }: { cwd?: string; env?: Readonly<Record<string, string>> } = {},
): Subject {
  return {
    ...named,
    start: (folder) =>
      startProcess({
        command: process.execPath,
        args: (port) => args(port, join(folder, 'data')),
        env: { ...plainEnvironment(), LFS_QUOTA_ADMIN_TOKEN: adminToken, ...env },
        folder,
        ...(cwd && { cwd }),
      }),
    repo: tenantRepo,
  };
}

/** `lfs-quota serve` as the package has it, with the memory that the image gives it. @param own what it gets besides. */
export function packedServe(
  program: string,
  named: Pick<Subject, 'name' | 'data'>,
  own: { publicUrl?: string; args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Subject {
  const image = readFileSync(join(root, 'packaging/Dockerfile'), 'utf8');
  const NODE_OPTIONS = /NODE_OPTIONS="(.*)"/.exec(image)?.[1] ?? '';
  // Requests are counted, and never too many.
  const usual = [program, 'serve', '--rate', '999999'];
  const urlAt = (port: number) => own.publicUrl ?? `http://127.0.0.1:${port}`;
  const at = (port: number) => ['--listen', `127.0.0.1:${port}`, '--public-url', urlAt(port)];
  const env = { NODE_ENV: 'production', NODE_OPTIONS, ...own.env };
  const args = (port: number, data: string) => [...usual, ...at(port), '--data', data, ...(own.args ?? [])];
  return stack(named, args, { env });
}

/** `npm start` of another checkout, with its packages. */
export function npmStart(checkout: string): Subject {
  const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'));
  const [, ...program] = String(scripts.start).split(' ');
  const args = (port: number, data: string) => [...program, '--port', String(port), '--data', data];
  return stack({ name: 'npm start beside' }, args, { cwd: checkout });
}

/** @returns a token that can write. */
export async function createTenant(port: number, tenant: string, limitBytes: number): Promise<string> {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
  const post = async (path: string, body: unknown) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { token: string };
  };
  await post('/v1/tenants', { tenant, limitBytes });
  return (await post(`/v1/tenants/${tenant}/tokens`, { scope: 'write' })).token;
}

async function tenantRepo(port: number, tenant: string, limitBytes: number): Promise<Repo> {
  const token = await createTenant(port, tenant, limitBytes);
  const authorization = `Basic ${Buffer.from(`any:${token}`).toString('base64')}`;
  return { url: `http://127.0.0.1:${port}/${tenant}/repo.git/info/lfs/objects/batch`, authorization };
}

/** A server of others. Without tokens, it takes every repo. */
const peer = (name: string, start: Subject['start'], pathOf: (repo: string) => string): Subject => ({
  name,
  start,
  repo: async (port, repo) => ({ url: `http://127.0.0.1:${port}${pathOf(repo)}/objects/batch` }),
});

const onDisk = (folder: string) => ({
  storage_class: 'giftless.storage.local_storage:LocalStorage',
  storage_options: { path: join(folder, 'objects') },
  action_lifetime: 900,
});
const streaming = 'giftless.transfer.basic_streaming:factory';

export const peers: readonly Subject[] = [
  peer(
    peerNames.giftless,
    (folder) => startGiftless({ factory: streaming, options: onDisk(folder) }, { folder }),
    (repo) => `/bench/${repo}.git/info/lfs`,
  ),
  peer(
    peerNames.rudolfs,
    (folder) => startRudolfs(['local', '--path', join(folder, 'objects')], { folder }),
    (repo) => `/api/bench/${repo}`,
  ),
  peer(
    peerNames.lfsx,
    (folder) => startLfsx(raceLimitBytes, { folder }),
    (repo) => `/bench/${repo}`,
  ),
];

/** A data folder with so many items, of 1,000 idle tenants: what was done there, 250 bytes each. */
export function createLargeData(folder: string, items: number): Promise<string> {
  const nowS = Math.round(Date.now() / 1000);
  const entry = (tenant: string, second: number) => ({
    pk: `AUDIT#${tenant}`,
    sk: `${new Date((nowS - second) * 1000).toISOString()}#request`,
    tenant,
    action: 'token.create',
    by: { kind: 'operator', tokenId: null, name: null },
    target: { token: '0123456789abcdef', scope: 'write', label: 'bench' },
    expiresAt: nowS + 86_400 + second,
  });
  async function* parts() {
    for (let second = 0; second < items / 1000; second += 1)
      yield Array.from({ length: 1000 }, (_, index) => entry(`idle-${index}`, second));
  }
  return createDataFolder(folder, parts());
}
