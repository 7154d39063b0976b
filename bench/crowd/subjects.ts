import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, cpSync, existsSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/free-port.ts';
import { plainEnvironment, run, runningGroups, signalGroup } from '../../test/support/process.ts';
import { bundle } from '../processes.ts';

/** Where a repo's batches go, and with which credentials. */
export interface Repo {
  readonly url: string;
  readonly authorization?: string;
}

/** A server that is measured, with the objects on its own disk. */
export interface Subject {
  readonly name: string;
  /** The data folder that each round starts with. Default: none. */
  readonly data?: string;
  /** @param folder an empty one, but for `data`. */
  readonly command: (port: number, folder: string) => readonly string[];
  /** The environment, besides what every program needs. */
  readonly env?: (folder: string) => Readonly<Record<string, string>>;
  /** A repo of a tenant of its own, where the server has tenants. */
  readonly repo: (port: number, name: string, limitBytes: number) => Promise<Repo>;
}

/** What two pushes race for. LFSX has one limit for all repos, which batches without a push never reach. */
export const raceLimitBytes = 1_500_000;

/** Starts a server, and waits until it answers HTTP. It ends with this process. @throws {Error} with the end of its log. */
export async function startSubject({ name, command, env }: Subject, folder: string) {
  const port = await freePort();
  const [program = '', ...args] = command(port, folder);
  const logFile = join(folder, 'server.log');
  const log = openSync(logFile, 'a');
  const own = { ...plainEnvironment(), ...env?.(folder) };
  const child = spawn(program, args, { cwd: folder, env: own, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  const { pid = 0 } = child;
  if (pid > 0) runningGroups.add(pid);
  const ended = once(child, 'close').catch((error: unknown) => error);
  const stop = async () => {
    signalGroup(child.pid, 'SIGKILL');
    await ended;
    runningGroups.delete(pid);
  };
  const untilMs = performance.now() + 60_000;
  // Read to its end, so that no connection stays open.
  const isThere = async () => (await fetch(`http://127.0.0.1:${port}/`)).text();
  while ((await isThere().catch(() => undefined)) === undefined) {
    if (pid === 0 || child.exitCode !== null || performance.now() > untilMs) {
      await stop();
      throw new Error(`${name} did not start: ${readFileSync(logFile, 'utf8').slice(-1000)}`);
    }
    await sleep(10);
  }
  return { pid, port, stop };
}

const adminToken = 'bench-admin-token-0123456789abcdef';

/** Packs a checkout as `npm pack` does. @returns its `serve`, with the memory that the image gives it. */
export async function packedServe(root: string, parent: string): Promise<Omit<Subject, 'name'>> {
  const packed = mkdtempSync(join(parent, 'packed-'));
  for (const file of ['bin/lfs-quota.js', 'package.json']) cpSync(join(root, file), join(packed, file));
  const args = ['--import', 'tsx', join(root, 'bin/pack.ts'), join(packed, 'dist')];
  const options = { cwd: root, env: plainEnvironment(), timeoutMs: 300_000 };
  const { code, err } = await run(process.execPath, args, options);
  if (code !== 0) throw new Error(`The package could not be built:\n${err}`);
  const image = readFileSync(join(root, 'packaging/Dockerfile'), 'utf8');
  const NODE_OPTIONS = /NODE_OPTIONS="(.*)"/.exec(image)?.[1] ?? '';
  return {
    command: (port, folder) => [
      ...[process.execPath, join(packed, 'bin/lfs-quota.js'), 'serve', '--data', join(folder, 'data')],
      ...['--listen', `127.0.0.1:${port}`, '--public-url', `http://127.0.0.1:${port}`],
      // Requests are counted, and never too many.
      ...['--rate', '999999'],
    ],
    env: () => ({ NODE_ENV: 'production', NODE_OPTIONS, LFS_QUOTA_ADMIN_TOKEN: adminToken }),
    repo: tenantRepo,
  };
}

async function tenantRepo(port: number, tenant: string, limitBytes: number): Promise<Repo> {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
  const post = async (path: string, asked: object) => {
    const body = JSON.stringify(asked);
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { token: string };
  };
  await post('/v1/tenants', { tenant, limitBytes });
  const { token } = await post(`/v1/tenants/${tenant}/tokens`, { scope: 'write' });
  const authorization = `Basic ${Buffer.from(`any:${token}`).toString('base64')}`;
  return { url: `http://127.0.0.1:${port}/${tenant}/repo.git/info/lfs/objects/batch`, authorization };
}

/** Without tokens, a server takes every repo. @param path with `*` for its name. */
const openRepo =
  (path: string): Subject['repo'] =>
  async (port, repo) => ({ url: `http://127.0.0.1:${port}${path.replace('*', repo)}/objects/batch` });

/** The bound: signed URLs without a token, a limit or a record. No object can be stored. */
export async function presignOnly(folder: string): Promise<Subject> {
  const program = await bundle(fileURLToPath(new URL('presign-server.ts', import.meta.url)), folder);
  const command = (port: number) => [process.execPath, program, String(port)];
  return { name: 'presign-only', command, repo: openRepo('') };
}

/** The same folder as in .ci/lib.sh. docs/measured.md says how programs of others get into it. */
const { LFS_QUOTA_CACHE: own, XDG_CACHE_HOME: caches } = process.env;
const cache = own || join(caches || join(homedir(), '.cache'), 'lfs-quota');
const [giftless, rudolfs, lfsx] = ['giftless-0.6.2', 'rudolfs-0.3.8', 'lfsx-1.3.2'];

const peers: readonly Subject[] = [
  {
    name: giftless,
    command: (port) => [
      ...[`${cache}/${giftless}/bin/python`, '-m', 'gunicorn', '--bind', `127.0.0.1:${port}`],
      // As much at a time as its own container image, which has two threads in each of two processes. With threads, the
      // first requests race to set up permissions, and some are refused.
      ...['--worker-class', 'gthread', '--workers', '4', '--threads', '1', '--keep-alive', '75'],
      'giftless.wsgi_entrypoint:app',
    ],
    env: (folder) => {
      const options = {
        storage_class: 'giftless.storage.local_storage:LocalStorage',
        storage_options: { path: join(folder, 'objects') },
        action_lifetime: 900,
      };
      const settings = {
        AUTH_PROVIDERS: ['giftless.auth.allow_anon:read_write'],
        LEGACY_ENDPOINTS: false,
        TRANSFER_ADAPTERS: { basic: { factory: 'giftless.transfer.basic_streaming:factory', options } },
      };
      // JSON is YAML.
      writeFileSync(join(folder, 'giftless.yaml'), JSON.stringify(settings));
      return { GIFTLESS_CONFIG_FILE: join(folder, 'giftless.yaml') };
    },
    repo: openRepo('/bench/*.git/info/lfs'),
  },
  {
    name: rudolfs,
    command: (port, folder) => [
      ...[`${cache}/${rudolfs}/bin/rudolfs`, '--host', `127.0.0.1:${port}`],
      ...['local', '--path', join(folder, 'objects')],
    ],
    env: () => ({ RUDOLFS_LOG: 'warn' }),
    repo: openRepo('/api/bench/*'),
  },
  {
    name: lfsx,
    // It takes its port from a variable alone.
    command: (port) => ['env', `LFSX_BIND=127.0.0.1:${port}`, `${cache}/${lfsx}/bin/lfsx-server`],
    env: (folder) => ({
      LFSX_STORAGE_ROOT: join(folder, 'objects'),
      // Without its permissions.
      LFSX_AUTH: 'disabled',
      LFSX_REPO_QUOTA: String(raceLimitBytes),
      RUST_LOG: 'warn',
    }),
    repo: openRepo('/bench/*'),
  },
];

/** Servers of others that are in the cache. The other ones are named. */
export const installedPeers = (print: (text: string) => void) =>
  peers.filter(({ name }) => {
    const isThere = existsSync(join(cache, name));
    if (!isThere) print(`${name} is left out: install it into ${join(cache, name)}.`);
    return isThere;
  });
