import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { formatNumber, formatTable } from '../../cost/command.ts';
import { Cleanup } from '../../local/start.ts';
import { gitEnvironment, plainEnvironment, run } from '../../test/support/process.ts';
import { Child, cpuMsOfTree, makeCertificate } from '../processes.ts';
import { digits, medianOf, medianRatio, orderOfRound } from '../statistics.ts';
import { startStore, storeName } from '../store.ts';
import type { Tally } from './door.ts';
import type { DoorProcess } from './door-process.ts';
import { ours, peers, presignOnly, type RunningServer, type ServerKind } from './servers.ts';

/** What is pushed: a number of files of one size, filled with random bytes, which nothing can compress. */
interface PushCase {
  readonly files: number;
  readonly fileBytes: number;
}

/** What a clone needs to know of a server. */
interface Remote {
  /** Unique within a run: a client remembers what it pushed to a remote. */
  readonly name: string;
  /** A bare repository, so that git itself needs no server. */
  readonly gitFolder: string;
  readonly lfsUrl: string;
}

/** Much longer than any push here takes, on a busy machine too. */
const commandMsMax = 30 * 60_000;

/** The real git with git-lfs, in a home of its own. It has the defaults of both, except for the settings below. */
class GitClient {
  readonly #home: string;

  private constructor(home: string) {
    this.#home = home;
  }

  static async create(home: string): Promise<GitClient> {
    mkdirSync(home);
    const client = new GitClient(home);
    const settings = {
      'user.name': 'Bench',
      'user.email': 'bench@example.invalid',
      'init.defaultBranch': 'main',
      'credential.helper': `store --file=${join(home, 'credentials')}`,
      // git-lfs itself notes this after a first push to a server without locks.
      'lfs.locksverify': 'false',
    };
    for (const [name, value] of Object.entries(settings))
      await client.git(home, 'config', '--global', name, value);
    await client.git(home, 'lfs', 'install', '--skip-repo');
    return client;
  }

  /** The credentials that the client sends when a server asks for some. */
  setToken(url: string, token: string): void {
    const { host } = new URL(url);
    writeFileSync(join(this.#home, 'credentials'), `http://any:${token}@${host}\n`);
  }

  /** A repository with one commit of the files of a case. Only the LFS objects are kept of them. */
  async createSource(folder: string, { files, fileBytes }: PushCase): Promise<void> {
    mkdirSync(folder);
    await this.git(folder, 'init', '--quiet');
    await this.git(folder, 'lfs', 'install', '--local');
    await this.git(folder, 'lfs', 'track', '*.bin');
    for (let index = 0; index < files; index += 1)
      writeFileSync(join(folder, `file-${index}.bin`), randomBytes(fileBytes));
    await this.git(folder, 'add', '--all');
    await this.git(folder, 'commit', '--quiet', '-m', `${files} files`);
    for (const name of binariesIn(folder)) rmSync(join(folder, name));
  }

  async addRemote(source: string, remote: Remote): Promise<void> {
    mkdirSync(remote.gitFolder);
    await this.git(remote.gitFolder, 'init', '--quiet', '--bare');
    await this.git(source, 'remote', 'add', remote.name, remote.gitFolder);
    await this.git(source, 'config', 'lfs.url', remote.lfsUrl);
  }

  /** A clone that has no object yet. */
  async clone(remote: Remote, folder: string): Promise<void> {
    const options = ['--quiet', '--config', `lfs.url=${remote.lfsUrl}`];
    await this.git(this.#home, 'clone', ...options, remote.gitFolder, folder);
  }

  /** @throws {Error} if git fails. */
  async git(cwd: string, ...args: string[]): Promise<string> {
    // A checkout leaves the pointers; only `git lfs pull` fetches.
    const env = { ...gitEnvironment(this.#home), GIT_LFS_SKIP_SMUDGE: args[0] === 'clone' ? '1' : '0' };
    const { code, out, err } = await run('git', args, { cwd, env, timeoutMs: commandMsMax });
    if (code !== 0) throw new Error(`git ${args.join(' ')} exited ${code}:\n${err.slice(0, 500)}`);
    return out;
  }
}

const binariesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.bin'));

/** @throws {Error} unless a work tree has all files of a case, whole. git-lfs itself compares their hashes. */
function checkPulled(clone: string, { files, fileBytes }: PushCase): void {
  const whole = binariesIn(clone).filter((name) => statSync(join(clone, name)).size === fileBytes);
  if (whole.length !== files)
    throw new Error(`${whole.length} of ${files} files were pulled, the others are missing or pointers.`);
}

type Print = (text: string) => void;

const pushCases: Readonly<Record<string, PushCase>> = {
  small: { files: 1000, fileBytes: 4_000 },
  medium: { files: 200, fileBytes: 1_000_000 },
  large: { files: 4, fileBytes: 500_000_000 },
};
/** Pushed and pulled before anything is measured: the code has run, connections to the store exist. */
const warmUpCase: PushCase = { files: 20, fileBytes: 4_000 };
/** A peer whose push takes so many times as long as the bound's is measured once: more rounds would show the same. */
const timesBoundMax = 3;

const phases = ['push', 'push again', 'pull'] as const;
type Phase = (typeof phases)[number];

/** One phase of one round with one server. CPU is of the server and of the store, with their children. */
interface Sample {
  readonly wallMs: number;
  readonly serverCpuMs: number;
  readonly storeCpuMs: number;
  readonly api: Tally;
  readonly store: Tally;
}

/** What all rounds share. */
interface Workshop {
  readonly folder: string;
  readonly client: GitClient;
  readonly apiDoor: DoorProcess;
  readonly storeDoor: DoorProcess;
  readonly warmUpSource: string;
  readonly certificate: ReturnType<typeof makeCertificate>;
}

/**
 * The real git-lfs against this project's API, a bound, and servers of others, on the same kind of store. The servers take
 * turns, each round freshly started on an empty store.
 *
 * Options: `--cases=small,medium,large`, `--latency=both|on|off`, `--peers=on|off`, `--rounds=N` (3), `--scale=F` (1): the
 * share of the files.
 */
export async function benchPush(print: Print, options: readonly string[]): Promise<unknown> {
  const { values } = parseArgs({
    args: [...options],
    options: {
      cases: { type: 'string', default: 'small,medium,large' },
      latency: { type: 'string', default: 'both' },
      peers: { type: 'string', default: 'on' },
      rounds: { type: 'string', default: '3' },
      scale: { type: 'string', default: '1' },
    },
  });
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  const cleanup = new Cleanup();
  try {
    const servers = [ours, presignOnly, ...(values.peers === 'on' ? await installPeers(print) : [])];
    const shop = await openWorkshop(cleanup);
    print(`${(await shop.client.git(shop.folder, 'lfs', 'version')).trim()}; store: ${storeName()}\n`);
    const results = [];
    for (const name of values.cases.split(',')) {
      const full = pushCases[name];
      if (!full) throw new Error(`--cases takes ${Object.keys(pushCases).join(', ')}, not ${name}.`);
      const one = { ...full, files: Math.max(1, Math.round(full.files * Number(values.scale))) };
      const source = join(shop.folder, 'source');
      await shop.client.createSource(source, one);
      for (const isFar of values.latency === 'both' ? [true, false] : [values.latency === 'on']) {
        const place = { one, source, isFar, rounds: Number(values.rounds) };
        const rows = await measureServers(shop, { ...place, servers, print });
        const size = `${formatNumber(one.files)} × ${formatNumber(one.fileBytes / 1000)} kB`;
        const title = `${size}, ${isFar ? 'with' : 'no'} latency`;
        print(`\n${title}\n${formatPhases(rows)}\n`);
        results.push({ title, rows: [...rows].map(([server, samples]) => ({ server, samples })) });
      }
      rmSync(source, { recursive: true, force: true });
    }
    return { store: storeName(), results };
  } finally {
    await cleanup.run();
  }
}

/** The servers of others. One that can't be installed is listed with the reason, and left out. */
async function installPeers(print: Print): Promise<ServerKind[]> {
  const installed: ServerKind[] = [];
  for (const [name, install] of Object.entries(peers)) {
    try {
      print(`${name}: looked for, or installed (minutes) …`);
      installed.push(await install());
    } catch (error) {
      print(`${name} is left out: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return installed;
}

async function openWorkshop(cleanup: Cleanup): Promise<Workshop> {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-push-'));
  // Processes that were killed just now might still write: several tries.
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  process.once('exit', remove);
  cleanup.add(remove);
  const door = async () => {
    const child: DoorProcess = await Child.fork(new URL('door-process.ts', import.meta.url));
    cleanup.add(() => child.end());
    return child;
  };
  const [apiDoor, storeDoor] = [await door(), await door()];
  const client = await GitClient.create(join(folder, 'home'));
  const warmUpSource = join(folder, 'warm-up');
  await client.createSource(warmUpSource, warmUpCase);
  return { folder, client, apiDoor, storeDoor, warmUpSource, certificate: makeCertificate(folder) };
}

type Samples = Readonly<Partial<Record<Phase, Sample>>>;

/** All rounds of one case. They start with the next server each, so that other load affects all alike. */
async function measureServers(
  shop: Workshop,
  input: Omit<Round, 'server'> & { rounds: number; servers: readonly ServerKind[]; print: Print },
): Promise<ReadonlyMap<string, readonly Samples[]>> {
  const { rounds, servers, print, ...place } = input;
  const taken = new Map(servers.map(({ name }): [string, Samples[]] => [name, []]));
  const dropped = new Set<ServerKind>();
  for (let round = 0; round < rounds; round += 1) {
    for (const server of orderOfRound(servers, round).filter((each) => !dropped.has(each))) {
      try {
        const samples = await measureRound(shop, { ...place, server });
        taken.get(server.name)?.push(samples);
        const walls = phases.map(
          (phase) => `${phase} ${digits((samples[phase]?.wallMs ?? Number.NaN) / 1000)}`,
        );
        print(`round ${round + 1} of ${rounds}, ${server.name}: ${walls.join(', ')} s`);
        const boundMs = taken.get(presignOnly.name)?.[0]?.push?.wallMs ?? Number.POSITIVE_INFINITY;
        if (server.isPeer && (samples.push?.wallMs ?? 0) > timesBoundMax * boundMs) dropped.add(server);
      } catch (error) {
        if (!server.isPeer) throw error;
        print(`${server.name} is left out from here on: ${String(error).slice(0, 500)}`);
        dropped.add(server);
      }
    }
  }
  return taken;
}

interface Round {
  readonly server: ServerKind;
  readonly one: PushCase;
  /** A repository with the case's files. */
  readonly source: string;
  readonly isFar: boolean;
}

let roundsSoFar = 0;

/** One server, freshly started on an empty store, through all phases. */
async function measureRound(shop: Workshop, round: Round): Promise<Samples> {
  roundsSoFar += 1;
  const cleanup = new Cleanup();
  const folder = join(shop.folder, `round-${roundsSoFar}`);
  mkdirSync(folder);
  cleanup.add(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  try {
    return await runPhases(shop, { ...round, folder, cleanup });
  } finally {
    await cleanup.run();
  }
}

type Place = Round & { readonly folder: string; readonly cleanup: Cleanup };

async function runPhases(shop: Workshop, place: Place): Promise<Samples> {
  const { client } = shop;
  const { server: kind, one, source, folder, cleanup } = place;
  const { store, server, apiUrl } = await startServers(shop, place);
  if (server.token !== undefined) client.setToken(apiUrl, server.token);
  const connect = async (repo: string, from: string): Promise<Remote> => {
    const gitFolder = join(folder, `${repo}.git`);
    const remote = { name: `${repo}-${roundsSoFar}`, gitFolder, lfsUrl: `${apiUrl}${kind.lfsPath(repo)}` };
    await client.addRemote(from, remote);
    cleanup.add(() => client.git(from, 'remote', 'remove', remote.name).then(() => undefined));
    return remote;
  };
  const push = (from: string, { name }: Remote) => client.git(from, 'push', '--quiet', name, 'main');

  const warmUp = await connect('warm-up', shop.warmUpSource);
  await push(shop.warmUpSource, warmUp);
  await client.clone(warmUp, join(folder, 'warm-clone'));
  await client.git(join(folder, 'warm-clone'), 'lfs', 'pull');
  await server.settle?.();

  const [remote, clone] = [await connect('repo', source), join(folder, 'clone')];
  const samples: Partial<Record<Phase, Sample>> = {};
  const during = async (phase: Phase, work: () => Promise<unknown>) => {
    const reads = phase === 'pull' ? join(folder, 'store') : join(source, '.git', 'lfs', 'objects');
    await makeAlike({ flushed: folder, read: reads });
    samples[phase] = await measure(shop, { storePid: store.pid, serverPid: server.pid, work });
  };
  await during('push', () => push(source, remote));
  await server.settle?.();
  // For one that remembers nothing, a second push is the first again.
  if (kind !== presignOnly)
    await during('push again', () => client.git(source, 'lfs', 'push', '--all', remote.name));
  await client.clone(remote, clone);
  await during('pull', () => client.git(clone, 'lfs', 'pull'));
  checkPulled(clone, one);
  return samples;
}

/** A store, a server on it, and both doors. */
async function startServers(
  shop: Workshop,
  { server: kind, isFar, folder, cleanup }: Place,
): Promise<{ store: { pid: number }; server: RunningServer; apiUrl: string }> {
  const [storeFolder, serverFolder] = [join(folder, 'store'), join(folder, 'server')];
  for (const path of [storeFolder, serverFolder]) mkdirSync(path);
  const store = await startStore(storeFolder);
  cleanup.add(() => store.stop());
  const { file: certificateFile, ...pem } = shop.certificate;
  const isHttps = kind.needsHttps === true;
  const behind = { to: 'store', targetPort: store.port, isFar, tls: isHttps ? pem : undefined } as const;
  const storePort = await shop.storeDoor.call('open', behind);
  // A server that ends in peace waits for idle connections: versitygw until it is killed, ten seconds.
  cleanup.add(() => shop.storeDoor.call('close'));
  const storeUrl = isHttps ? `https://localhost:${storePort}` : `http://127.0.0.1:${storePort}`;
  const server = await kind.start({ storeUrl, certificateFile, folder: serverFolder });
  cleanup.add(() => server.stop());
  const apiPort = await shop.apiDoor.call('open', { to: 'api', targetPort: server.port, isFar });
  cleanup.add(() => shop.apiDoor.call('close'));
  return { store, server, apiUrl: `http://127.0.0.1:${apiPort}` };
}

/**
 * Makes the conditions of a phase alike for all servers: what was written before is on the disk, so that none pays for
 * the one before, and the files that the phase reads are in the page cache.
 */
async function makeAlike({ flushed, read }: { flushed: string; read: string }): Promise<void> {
  const script = 'sync -f "$0" && find "$1" -type f -exec cat {} + > /dev/null';
  const place = { cwd: flushed, env: plainEnvironment(), timeoutMs: 10 * 60_000 };
  const { code, err } = await run('sh', ['-c', script, flushed, read], place);
  if (code !== 0) throw new Error(`${flushed} could not be flushed, or ${read} not be read: ${err}`);
}

async function measure(
  shop: Workshop,
  { storePid, serverPid, work }: { storePid: number; serverPid: number; work: () => Promise<unknown> },
): Promise<Sample> {
  const look = async () => ({
    api: await shop.apiDoor.call('take'),
    store: await shop.storeDoor.call('take'),
    serverCpuMs: cpuMsOfTree(serverPid),
    storeCpuMs: cpuMsOfTree(storePid),
  });
  const before = await look();
  const startedMs = performance.now();
  await work();
  const wallMs = performance.now() - startedMs;
  const after = await look();
  return {
    ...after,
    wallMs,
    serverCpuMs: after.serverCpuMs - before.serverCpuMs,
    storeCpuMs: after.storeCpuMs - before.storeCpuMs,
  };
}

/** A line for each phase and server. × is the median of the ratios to the bound in the same round. */
function formatPhases(taken: ReadonlyMap<string, readonly Samples[]>): string {
  const of = (server: string, phase: Phase) => (taken.get(server) ?? []).flatMap((each) => each[phase] ?? []);
  const rows = phases.flatMap((phase) =>
    [...taken.keys()].flatMap((server) => {
      const samples = of(server, phase);
      if (samples.length === 0) return [];
      const bound = of(presignOnly.name, phase);
      const cpuMs = (sample: Sample) => sample.serverCpuMs + sample.storeCpuMs;
      const wall = (sample: Sample) => sample.wallMs;
      const failures = samples.reduce((sum, { api, store }) => sum + api.failures + store.failures, 0);
      return [
        [
          `${phase}: ${server}`,
          digits(medianOf(samples, wall) / 1000),
          digits(medianRatio(samples.map(wall), bound.map(wall))),
          digits(medianOf(samples, (sample) => sample.serverCpuMs) / 1000),
          digits(medianOf(samples, cpuMs) / 1000),
          digits(medianRatio(samples.map(cpuMs), bound.map(cpuMs))),
          formatNumber(medianOf(samples, ({ api }) => api.api)),
          ...(['clientPut', 'clientGet', 'head', 'list', 'other'] as const).map((kind) =>
            formatNumber(medianOf(samples, ({ store }) => store[kind])),
          ),
          formatNumber(failures),
          samples.map((sample) => digits(wall(sample) / 1000)).join(' '),
        ],
      ];
    }),
  );
  const requests = ['API', 'PUT', 'GET', 'HEAD', 'LIST', 'other', 'errors'];
  const header = ['', 's', '× bound', 'CPU s', 'with store', '× bound', ...requests, 'rounds, s'];
  return formatTable(header, rows);
}
