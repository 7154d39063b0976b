import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, cpSync, existsSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/free-port.ts';
import { plainEnvironment, run, runningGroups, signalGroup } from '../../test/support/process.ts';
import { bundle, checkouts, inFolder } from '../processes.ts';
import { type Column, inTurns, numbersOf, optionsOf, tableOf } from '../statistics.ts';
import { cpuMsOfTree, peakMbOfTree } from '../usage.ts';

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

/** What one server did in a round. */
interface Round {
  readonly perSecond: number;
  /** Of a batch, as its client saw it. */
  readonly p99Ms: number;
  /** Of the server's processes only, for each batch. */
  readonly cpuMs: number;
  readonly startS: number;
  readonly peakMb: number;
  /** Of two pushes at once of which only one fits into the limit, in the worst of some tries. */
  readonly passed: number;
}

interface Load {
  readonly clients: number;
  readonly tenants: number;
  readonly objects: number;
  readonly ms: number;
}

const races = 3;

/**
 * Many clients at once, each of which sends one batch of new objects after another: to `lfs-quota serve` as it is packed, to a
 * server that only signs URLs, which is the bound, and to servers of others. Each keeps objects on its own disk. They take
 * turns, each round freshly started. × is the ratio to `serve`, or to that of the checkout beside.
 *
 * Options: `--clients=N` (50), `--tenants=N` (10), `--objects=N,…` in a batch (1,100), `--seconds=N` a round (5), `--rounds=N`
 * (5), `--data=FOLDER` that `serve` starts with in a row more, `--peers=on|off` (on), `--beside=FOLDER`: another checkout, with
 * its packages, whose `serve` takes turns, too.
 */
export async function benchCrowd(print: (text: string) => void, options: readonly string[]): Promise<void> {
  const defaults = { clients: '50', tenants: '10', objects: '1,100', seconds: '5', rounds: '5' };
  const values = optionsOf(options, { ...defaults, data: '', peers: 'on', beside: '' });
  await inFolder(async (folder) => {
    const subjects: Subject[] = [];
    for (const { place, root } of checkouts(values.beside)) {
      const serve = { name: `serve${place}`, ...(await packedServe(root, folder)) };
      subjects.push(serve);
      if (values.data !== '')
        subjects.push({ ...serve, name: `${serve.name}, with data`, data: values.data });
    }
    subjects.push(await presignOnly(folder), ...(values.peers === 'on' ? installedPeers(print) : []));
    const base = values.beside === '' ? 'serve' : 'serve, beside';
    const compared = subjects.map((subject) => ({ ...subject, base }));
    const [clients, tenants] = [Number(values.clients), Number(values.tenants)];
    for (const objects of numbersOf(values.objects)) {
      const load = { clients, tenants, objects, ms: Number(values.seconds) * 1000 };
      const rows = await inTurns(compared, Number(values.rounds), async (subject) => [
        await measureRound(subject, load),
      ]);
      print(`Batches of ${objects} new objects, from ${clients} clients of ${tenants} tenants`);
      print(`${tableOf(columns, rows)}\n`);
    }
  });
}

const columns: Column<Round>[] = [
  ['a second', ({ perSecond }) => perSecond, 'range'],
  ['×', ({ perSecond }) => perSecond, 'ratio'],
  ['p99 ms', ({ p99Ms }) => p99Ms, 'range'],
  ['×', ({ p99Ms }) => p99Ms, 'ratio'],
  ['CPU ms', ({ cpuMs }) => cpuMs],
  ['×', ({ cpuMs }) => cpuMs, 'ratio'],
  ['start s', ({ startS }) => startS],
  ['peak MB', ({ peakMb }) => peakMb, 'range'],
  ['passed', ({ passed }) => passed, 'max'],
];

function measureRound(subject: Subject, load: Load): Promise<Round> {
  return inFolder(async (folder, cleanup) => {
    if (subject.data) cpSync(subject.data, join(folder, 'data'), { recursive: true });
    const startedMs = performance.now();
    const server = await startSubject(subject, folder);
    cleanup.add(() => server.stop());
    const startS = (performance.now() - startedMs) / 1000;
    const repos: Repo[] = [];
    for (let tenant = 0; tenant < load.tenants; tenant += 1)
      repos.push(await subject.repo(server.port, `tenant-${tenant}`, 1024 ** 4));
    // The compiler has seen the code afterwards.
    await sendBatches(repos, { ...load, ms: load.ms / 2 });
    const [fromMs, cpuBeforeMs] = [performance.now(), cpuMsOfTree(server.pid)];
    const took = await sendBatches(repos, load);
    const seconds = (performance.now() - fromMs) / 1000;
    const peakMb = peakMbOfTree(server.pid);
    const cpuMs = (cpuMsOfTree(server.pid) - cpuBeforeMs) / took.length;
    const p99Ms = took[Math.floor(took.length * 0.99)] ?? Number.NaN;
    let passed = 0;
    for (let race = 0; race < races; race += 1) {
      const repo = await subject.repo(server.port, `race-${race}`, raceLimitBytes);
      passed = Math.max(passed, await pushTwo(repo));
    }
    const perSecond = took.length / seconds;
    return { perSecond, p99Ms, cpuMs, startS, peakMb, passed };
  });
}

/** @returns the time of each batch in ms, the shortest first. */
async function sendBatches(repos: readonly Repo[], { clients, objects, ms }: Load): Promise<number[]> {
  const took: number[] = [];
  const untilMs = performance.now() + ms;
  const send = async (repo: Repo) => {
    while (performance.now() < untilMs) took.push(await batch(repo, objects));
  };
  await Promise.all(
    Array.from({ length: clients }, (_, client) => send(repos[client % repos.length] as Repo)),
  );
  return took.sort((a, b) => a - b);
}

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
const agent = new Agent({ keepAlive: true });

/** Asks for the upload of objects. Not by fetch: it would use as much of the machine as the server does. */
async function ask({ url, authorization }: Repo, objects: readonly { oid: string; size: number }[]) {
  const type = 'application/vnd.git-lfs+json';
  const headers = { ...(authorization && { authorization }), accept: type, 'content-type': type };
  const body = JSON.stringify({ operation: 'upload', transfers: ['basic'], objects });
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method: 'POST', headers, agent }, resolve).on('error', reject).end(body);
  });
  return { status: answer.statusCode, body: await text(answer) };
}

let objectsSoFar = 0;

/** Sends a batch of new objects. @returns its time in ms. */
async function batch(repo: Repo, objects: number): Promise<number> {
  const wanted = Array.from({ length: objects }, () => {
    objectsSoFar += 1;
    return { oid: sha256(String(objectsSoFar)), size: 17 };
  });
  const startedMs = performance.now();
  const { status, body } = await ask(repo, wanted);
  const tookMs = performance.now() - startedMs;
  if (status !== 200 || body.split('"upload"').length <= objects)
    throw new Error(`batch: ${status} ${body.slice(0, 300)}`);
  return tookMs;
}

/** Pushes two objects at once, each of two thirds of the limit. @returns how many of them are stored. */
async function pushTwo(repo: Repo): Promise<number> {
  const push = async (bytes: Buffer) => {
    const { body } = await ask(repo, [{ oid: sha256(bytes), size: bytes.length }]);
    const upload = JSON.parse(body).objects?.[0]?.actions?.upload;
    if (!upload) return false;
    const put = fetch(upload.href, { method: 'PUT', headers: upload.header ?? {}, body: bytes });
    return put.then(
      ({ ok }) => ok,
      () => false,
    );
  };
  const stored = await Promise.all([1, 2].map(() => push(randomBytes((raceLimitBytes * 2) / 3))));
  return stored.filter(Boolean).length;
}
