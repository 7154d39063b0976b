import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from '../../local/start.ts';
import { GitUser } from '../../test/support/git-user.ts';
import { installed, peerNames, startGiftless, startRudolfs } from '../peers.ts';
import {
  type Child,
  cpuMsOfTree,
  inFolder,
  makeCertificate,
  type StartedProcess,
  startChild,
} from '../processes.ts';
import type { ChildApi } from '../serve.ts';
import { type Column, digits, optionsOf, orderOfRound, tableOf } from '../statistics.ts';
import { bucket, credentials, region, startStore, storeName } from '../store.ts';
import { type Door, openDoor, type Tally } from './door.ts';
import type { OurServer } from './our-server.ts';

export type Print = (text: string) => void;

/** What is pushed: a number of files of one size, filled with random bytes, which nothing can compress. */
interface PushCase {
  readonly files: number;
  readonly fileBytes: number;
}

const pushCases: Readonly<Record<string, PushCase>> = {
  small: { files: 1000, fileBytes: 4_000 },
  medium: { files: 200, fileBytes: 1_000_000 },
  large: { files: 4, fileBytes: 500_000_000 },
};
/** Pushed and pulled before anything is measured: the code has run, connections to the store exist. */
const warmUpCase: PushCase = { files: 20, fileBytes: 4_000 };
/** Much longer than any git command here takes, on a busy machine too. */
const commandMsMax = 30 * 60_000;

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

type Samples = Readonly<Partial<Record<Phase, Sample>>>;

/** What all rounds share. */
export interface Workshop {
  readonly folder: string;
  readonly user: GitUser;
  readonly warmUpSource: string;
  readonly certificate: ReturnType<typeof makeCertificate>;
}

/**
 * The real git-lfs against this project's API, a bound, and servers of others, on the same kind of store. The servers take
 * turns, each round freshly started on an empty store. Servers of others take part in the first round only.
 *
 * Options: `--cases=small,medium,large`, `--latency=on|off` (on), `--peers=on|off` (on), `--rounds=N` (3), `--scale=F` (1):
 * the share of the files.
 */
export async function benchPush(print: Print, options: readonly string[]): Promise<void> {
  const defaults = { cases: 'small,medium,large', latency: 'on', peers: 'on', rounds: '3', scale: '1' };
  const values = optionsOf(options, defaults);
  const peers = values.peers === 'on' ? installed([giftless, rudolfs], print) : [];
  const servers = [ours, presignOnly, ...peers];
  await inWorkshop(print, async (shop) => {
    for await (const { one, source } of casesOf(shop, values)) {
      const taken = new Map(servers.map((server): [ServerKind, Samples[]] => [server, []]));
      for (let round = 0; round < Number(values.rounds); round += 1) {
        for (const server of orderOfRound(servers, round).filter(({ isPeer }) => round === 0 || !isPeer)) {
          const how = { server, one, source, isFar: values.latency === 'on' };
          const samples = await inFolder((folder, cleanup) => runPhases(shop, { ...how, folder, cleanup }));
          taken.get(server)?.push(samples);
          const walls = phases.map((phase) => digits((samples[phase]?.wallMs ?? Number.NaN) / 1000));
          print(`round ${round + 1}, ${server.name}: ${walls.join(', ')} s`);
        }
      }
      print(`\n${digits(one.files)} × ${digits(one.fileBytes / 1000)} kB, latency ${values.latency}`);
      print(`${tableOf(columns, rowsOf(taken))}\n`);
    }
  });
}

/** Does all rounds of a benchmark, with what they share. */
export async function inWorkshop(print: Print, work: (shop: Workshop) => Promise<void>): Promise<void> {
  await inFolder(async (folder, cleanup) => {
    const user = await GitUser.create({ url: 'http://127.0.0.1', token: 'none' }, commandMsMax);
    cleanup.add(() => user.close());
    // A clone leaves the pointers; only `git lfs pull` fetches.
    await user.git(folder, 'lfs', 'install', '--skip-repo', '--skip-smudge');
    // git-lfs itself notes this after a first push to a server without locks.
    await user.git(folder, 'config', '--global', 'lfs.locksverify', 'false');
    const warmUpSource = await createSource(user, join(folder, 'warm-up'), warmUpCase);
    print(`${(await user.git(folder, 'lfs', 'version')).out.trim()}; store: ${storeName()}\n`);
    await work({ folder, user, warmUpSource, certificate: makeCertificate(folder) });
  });
}

/** The cases of `--cases`, of each as many files as `--scale` says, one by one in a repository. */
export async function* casesOf(
  { folder, user }: Workshop,
  { cases, scale }: { cases: string; scale: string },
): AsyncGenerator<{ one: PushCase; source: string }> {
  for (const name of cases.split(',')) {
    const full = pushCases[name];
    if (!full) throw new Error(`--cases takes ${Object.keys(pushCases).join(', ')}, not ${name}.`);
    const one = { ...full, files: Math.max(1, Math.round(full.files * Number(scale))) };
    const source = await createSource(user, join(folder, 'source'), one);
    yield { one, source };
    rmSync(source, { recursive: true, force: true });
  }
}

/** A repository with one commit of the files of a case. Only the LFS objects are kept of them. */
async function createSource(user: GitUser, folder: string, { files, fileBytes }: PushCase): Promise<string> {
  mkdirSync(folder);
  await user.git(folder, 'init', '--quiet');
  await user.git(folder, 'lfs', 'install', '--local');
  await user.git(folder, 'lfs', 'track', '*.bin');
  for (let index = 0; index < files; index += 1)
    writeFileSync(join(folder, `file-${index}.bin`), randomBytes(fileBytes));
  await user.commitAll(folder, `${files} files`);
  for (const name of binariesIn(folder)) rmSync(join(folder, name));
  return folder;
}

const binariesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.bin'));

interface Place {
  readonly server: ServerKind;
  readonly one: PushCase;
  /** A repository with the case's files. */
  readonly source: string;
  readonly isFar: boolean;
  readonly folder: string;
  readonly cleanup: Cleanup;
}

/** One server, freshly started on an empty store, through all phases. */
async function runPhases(shop: Workshop, place: Place): Promise<Samples> {
  const { user, warmUpSource } = shop;
  const { server: kind, one, source, folder } = place;
  const { apiUrl, settle, measure } = await startServers(shop, place);
  /** The commands of a client with one repo. git itself needs no server: its remote is a bare repository. */
  const repoNamed = async (name: string, from: string) => {
    const [remote, clone] = [`file://${join(folder, name)}.git`, join(folder, name)];
    await user.git(folder, 'init', '--quiet', '--bare', `${name}.git`);
    const lfs = ['-c', `lfs.url=${apiUrl}${kind.lfsPath(name)}`];
    return {
      push: () => user.git(from, ...lfs, 'push', '--quiet', remote, 'main'),
      pushAgain: () => user.git(from, ...lfs, 'lfs', 'push', '--all', remote),
      clone: () => user.git(folder, 'clone', '--quiet', remote),
      pull: () => user.git(clone, ...lfs, 'lfs', 'pull'),
    };
  };
  const warmUp = await repoNamed('warm-up', warmUpSource);
  await warmUp.push();
  await warmUp.clone();
  await warmUp.pull();
  await settle();

  const repo = await repoNamed('repo', source);
  const objects = join(source, '.git', 'lfs', 'objects');
  const samples: Partial<Record<Phase, Sample>> = {};
  samples.push = await measure(objects, repo.push);
  await settle();
  // For one that remembers nothing, a second push is the first again.
  if (kind !== presignOnly) samples['push again'] = await measure(objects, repo.pushAgain);
  await repo.clone();
  samples.pull = await measure(join(folder, 'store'), repo.pull);
  // git-lfs itself compares their hashes.
  const sizes = binariesIn(join(folder, 'repo')).map((name) => statSync(join(folder, 'repo', name)).size);
  const whole = sizes.filter((size) => size === one.fileBytes);
  if (whole.length !== one.files) throw new Error(`${whole.length} of ${one.files} files were pulled.`);
  return samples;
}

/** A store, a server on it, and both doors. */
export async function startServers(
  { user, certificate }: Workshop,
  place: Pick<Place, 'server' | 'isFar' | 'folder' | 'cleanup'> & { readonly bytesPerSecond?: number },
) {
  const { server: kind, isFar, folder, cleanup, bytesPerSecond = 0 } = place;
  const [storeFolder, serverFolder] = [join(folder, 'store'), join(folder, 'server')];
  for (const path of [storeFolder, serverFolder]) mkdirSync(path);
  const store = await startStore(storeFolder);
  cleanup.add(() => store.stop());
  const tls = kind.needsHttps ? certificate : undefined;
  const storeDoor = await openedDoor(cleanup, {
    to: 'store',
    targetPort: store.port,
    isFar,
    tls,
    bytesPerSecond,
  });
  const storeUrl = tls ? `https://localhost:${storeDoor.port}` : `http://127.0.0.1:${storeDoor.port}`;
  let tellPort = (_port: number): void => undefined;
  const targetPort = new Promise<number>((tell) => (tellPort = tell));
  const apiDoor = await openedDoor(cleanup, { to: 'api', targetPort, isFar });
  const apiUrl = `http://127.0.0.1:${apiDoor.port}`;
  const certificateFile = certificate.file;
  const server = await kind.start({ storeUrl, apiUrl, certificateFile, folder: serverFolder });
  cleanup.add(() => server.stop());
  tellPort(server.port);
  const { token = 'none' } = server;
  await user.setToken({ url: apiUrl, token });

  /** @param read the files that the work reads. */
  const measure = async (read: string, work: () => Promise<unknown>): Promise<Sample> => {
    // What was written before is on the disk, so that none pays for the one before, and what is read is in memory.
    const script = `sync -f '${folder}' && find '${read}' -type f -exec cat {} + > /dev/null`;
    await user.paste(folder, [script]);
    const cpuMs = () => ({ server: cpuMsOfTree(server.pid), store: cpuMsOfTree(store.pid) });
    for (const door of [apiDoor, storeDoor]) door.take();
    const [startedMs, before] = [performance.now(), cpuMs()];
    await work();
    const [wallMs, after] = [performance.now() - startedMs, cpuMs()];
    return {
      wallMs,
      serverCpuMs: after.server - before.server,
      storeCpuMs: after.store - before.store,
      api: apiDoor.take(),
      store: storeDoor.take(),
    };
  };
  return { apiUrl, token, store, storeDoor, measure, settle: async () => server.settle?.() };
}

/**
 * How long a line of the user's shell takes, in ms. What was written before is on the disk, so that none pays for the one before.
 *
 * @throws if it fails.
 */
export async function timed({ user }: Workshop, folder: string, line: string, env = {}): Promise<number> {
  await user.paste(folder, ['sync -f .']);
  const startedMs = performance.now();
  const { code, err } = await user.paste(folder, [line], env);
  if (code !== 0) throw new Error(`${line}: ${err}`);
  return performance.now() - startedMs;
}

/** A door that the cleanup closes. */
export async function openedDoor(cleanup: Cleanup, options: Parameters<typeof openDoor>[0]): Promise<Door> {
  const door = await openDoor(options);
  cleanup.add(() => door.close());
  return door;
}

/** A row for each phase and server. × is the median of the ratios to the bound in the same round. */
function rowsOf(taken: ReadonlyMap<ServerKind, readonly Samples[]>) {
  const of = (server: ServerKind, phase: Phase) =>
    (taken.get(server) ?? []).flatMap((each) => each[phase] ?? []);
  const rows = phases.flatMap((phase) =>
    [...taken.keys()].map((server) => {
      const name = `${phase}: ${server.name}`;
      return { name, samples: of(server, phase), base: of(presignOnly, phase) };
    }),
  );
  return rows.filter(({ samples }) => samples.length > 0);
}

const columns: Column<Sample>[] = [
  ['s', ({ wallMs }) => wallMs / 1000],
  ['× bound', ({ wallMs }) => wallMs, 'ratio'],
  ['CPU s', ({ serverCpuMs }) => serverCpuMs / 1000],
  ['with store', ({ serverCpuMs, storeCpuMs }) => (serverCpuMs + storeCpuMs) / 1000],
  ['× bound', ({ serverCpuMs, storeCpuMs }) => serverCpuMs + storeCpuMs, 'ratio'],
  ['API', ({ api }) => api.api],
  ['PUT', ({ store }) => store.clientPut],
  ['GET', ({ store }) => store.clientGet],
  ['HEAD', ({ store }) => store.head],
  ['LIST', ({ store }) => store.list],
  ['other', ({ store }) => store.other],
  ['errors', ({ api, store }) => api.failures + store.failures, 'max'],
  ['rounds, s', ({ wallMs }) => wallMs / 1000, 'all'],
];

/** What a server gets for one round: an empty folder of its own, and a way to an empty store. */
interface ServerPlace {
  /** URL of the store, through its door. */
  readonly storeUrl: string;
  /** What clients call it: its door. */
  readonly apiUrl: string;
  /** The certificate to trust, if the URL is HTTPS. */
  readonly certificateFile: string;
  readonly folder: string;
}

/** An LFS server that runs in its own process. */
interface RunningServer extends StartedProcess {
  /** The token that a client needs; without one, anyone can push. */
  readonly token?: string;
  /** Does the work that follows a push in the background. */
  settle?(): Promise<void>;
}

export interface ServerKind {
  readonly name: string;
  /** The path of a repo's LFS API. `lfs.url` gets it. */
  readonly lfsPath: (repo: string) => string;
  /** A server of others. If it fails, the run goes on without it. */
  readonly isPeer: boolean;
  /** It reaches a store over HTTPS only. */
  readonly needsHttps?: boolean;
  start(place: ServerPlace): Promise<RunningServer>;
}

export const ours: ServerKind = {
  name: 'ours',
  lfsPath: (repo) => `/bench/${repo}/info/lfs`,
  isPeer: false,
  start: async ({ storeUrl, folder }) => {
    const child: OurServer = await startChild(new URL('our-server.ts', import.meta.url));
    const started = await child.call('start', { storeUrl, folder });
    return { pid: child.pid, ...started, settle: () => child.call('settle'), stop: () => child.end() };
  },
};

/** The bound: signed URLs without a token, a quota, a look at the store, or a verify. */
const presignOnly: ServerKind = {
  name: 'presign-only',
  lfsPath: (repo) => `/${repo}`,
  isPeer: false,
  start: async ({ storeUrl }) => {
    const child: Child<ChildApi, number> = await startChild(new URL('presign-server.ts', import.meta.url), {
      args: [storeUrl],
    });
    return { pid: child.pid, port: child.ready, stop: () => child.end() };
  },
};

/** The environment of a server that reaches the store by an SDK. */
export const storeEnvironment = {
  AWS_ACCESS_KEY_ID: credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  AWS_DEFAULT_REGION: region,
  AWS_EC2_METADATA_DISABLED: 'true',
  NO_PROXY: '127.0.0.1',
};

/** Signed URLs, with a HEAD for each object. */
export const giftless: ServerKind = {
  name: peerNames.giftless,
  lfsPath: (repo) => `/bench/${repo}.git/info/lfs`,
  isPeer: true,
  start: ({ storeUrl, folder }) => {
    const aws = join(folder, 'aws.ini');
    // Without this, boto3 signs URLs by an old version of the algorithm.
    writeFileSync(aws, '[default]\ns3 =\n  signature_version = s3v4\n');
    const options = {
      storage_class: 'giftless.storage.amazon_s3:AmazonS3Storage',
      storage_options: { bucket_name: bucket, endpoint: storeUrl },
    };
    const env = { ...storeEnvironment, AWS_CONFIG_FILE: aws };
    return startGiftless({ factory: 'giftless.transfer.basic_external:factory', options }, { folder, env });
  },
};

/**
 * A proxy for all bytes, without its cache and its encryption, which are options. It can sign uploads only with a CDN in
 * front of the store.
 */
const rudolfs: ServerKind = {
  name: peerNames.rudolfs,
  lfsPath: (repo) => `/api/bench/${repo}`,
  isPeer: true,
  needsHttps: true,
  start: ({ storeUrl, certificateFile, folder }) => {
    const env = { ...storeEnvironment, AWS_S3_ENDPOINT: storeUrl, SSL_CERT_FILE: certificateFile };
    return startRudolfs(['s3', '--bucket', bucket], { folder, env });
  },
};
