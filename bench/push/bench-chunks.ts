import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from '../../local/start.ts';
import { GitUser } from '../../test/support/git-user.ts';
import { plainEnvironment, run } from '../../test/support/process.ts';
import { packCli } from '../crowd/subjects.ts';
import { inFolder, peakMbOfTree, startProcess } from '../processes.ts';
import { type Column, digits, optionsOf, tableOf } from '../statistics.ts';
import { bucket, startStore, storeName } from '../store.ts';
import { commandMsMax, openedDoor, type Print, storeEnvironment } from './bench-push.ts';

interface Sample {
  /** Until the last chunk was answered. */
  readonly chunksMs: number;
  /** From then until the last one was proven. */
  readonly proofsMs: number;
  /** From then until git push has ended. */
  readonly assemblyMs: number;
  /** What the store alone takes for such copies. */
  readonly storeMs: number;
  readonly copyMs: number;
  readonly agentMb: number;
  readonly puts: number;
}

const adminToken = 'bench-admin-token-0123456789abcdef';
const file = 'large.bin';

/**
 * A push of one large file in chunks, beside `aws s3 cp` of the same file to the same store, which is 30 ms away. What both
 * put passes at the same bandwidth. × is the ratio of the push until its last chunk to the copy. The last column of seconds is
 * what this store takes to copy the same bytes in parts of 64 MB, and nothing else.
 *
 * Options: `--megabytes=N` (6000; more than 5 GiB), `--mbit=N` (600), `--rounds=N` (3).
 */
export async function benchChunks(print: Print, options: readonly string[]): Promise<void> {
  const values = optionsOf(options, { megabytes: '6000', mbit: '600', rounds: '3' });
  await inFolder(async (folder, cleanup) => {
    const user = await GitUser.create({ url: 'http://127.0.0.1', token: 'none' }, commandMsMax);
    cleanup.add(() => user.close());
    const program = await packCli(join(folder, 'program'));
    const source = join(folder, 'source');
    mkdirSync(source);
    await user.git(source, 'init', '--quiet');
    await user.git(source, 'lfs', 'install', '--local');
    await user.git(source, 'lfs', 'track', '*.bin');
    writeFileSync(join(source, file), 'large');
    truncateSync(join(source, file), Number(values.megabytes) * 1e6);
    await user.commitAll(source, 'A large file');
    print(`${(await user.git(folder, 'lfs', 'version')).out.trim()}; store: ${storeName()}`);
    const samples: Sample[] = [];
    for (let round = 0; round < Number(values.rounds); round += 1) {
      const sample = await measureRound({ user, source, program, mbit: Number(values.mbit) });
      samples.push(sample);
      print(
        `round ${round + 1}: chunks ${digits(sample.chunksMs / 1000)} s, copy ${digits(sample.copyMs / 1000)} s`,
      );
    }
    print(`\n${values.megabytes} MB at ${values.mbit} Mbit/s`);
    print(tableOf(columns, [{ name: 'push', samples }]));
  });
}

const columns: Column<Sample>[] = [
  ['until the last chunk, s', ({ chunksMs }) => chunksMs / 1000],
  ['aws s3 cp, s', ({ copyMs }) => copyMs / 1000],
  ['× copy', ({ chunksMs, copyMs }) => chunksMs / copyMs],
  ['then proofs, s', ({ proofsMs }) => proofsMs / 1000],
  ['then assembly, s', ({ assemblyMs }) => assemblyMs / 1000],
  ['store alone, s', ({ storeMs }) => storeMs / 1000],
  ['agent, MB', ({ agentMb }) => agentMb, 'max'],
  ['PUT', ({ puts }) => puts],
];

interface Shop {
  readonly user: GitUser;
  readonly source: string;
  /** `lfs-quota`, packed. */
  readonly program: string;
  readonly mbit: number;
}

async function measureRound(shop: Shop): Promise<Sample> {
  const { user, source, mbit } = shop;
  return inFolder(async (folder, cleanup) => {
    const storeFolder = join(folder, 'store');
    mkdirSync(storeFolder);
    const store = await startStore(storeFolder);
    cleanup.add(() => store.stop());
    const place = { folder, cleanup };
    const pace = { bytesPerSecond: (mbit * 1e6) / 8, targetPort: store.port };
    const way = { to: 'store', isFar: true, ...pace } as const;
    const storeDoor = await openedDoor(cleanup, way);
    const copyDoor = await openedDoor(cleanup, { ...way, kind: 'clientPut' });
    const to = ['--endpoint-url', `http://127.0.0.1:${copyDoor.port}`, `s3://${bucket}/copies/${file}`];
    const copyMs = await timed(() =>
      command('aws', ['s3', 'cp', '--quiet', join(source, file), ...to], environmentIn(folder)),
    );
    const AWS_CONFIG_FILE = join(folder, 'aws');
    writeFileSync(AWS_CONFIG_FILE, '[default]\ns3 =\n  multipart_chunksize = 64MB\n');
    const within = [`s3://${bucket}/copies/${file}`, `s3://${bucket}/copies/2`];
    const direct = ['--endpoint-url', `http://127.0.0.1:${store.port}`, ...within];
    const storeMs = await timed(() =>
      command('aws', ['s3', 'cp', '--quiet', ...direct], environmentIn(folder, { AWS_CONFIG_FILE })),
    );
    rmSync(join(storeFolder, 'objects', bucket, 'copies'), { recursive: true, force: true });

    const { url, token } = await startServer(shop, place, storeDoor.port);
    await user.setToken({ url, token });
    const agent = watchAgent(shop, place);
    const custom = { path: agent.path, args: '', concurrent: 'false', direction: 'upload' };
    const settings = [
      ['lfs.url', `${url}/bench/repo/info/lfs`],
      ...Object.entries(custom).map(([name, value]) => [`lfs.customtransfer.lfs-quota.${name}`, value]),
    ].flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    await user.git(folder, 'init', '--quiet', '--bare', 'remote.git');
    storeDoor.take();
    const push = [...settings, 'push', '--quiet', `file://${join(folder, 'remote.git')}`, 'main'];
    const beganAtMs = performance.now();
    await user.git(source, ...push);
    const endedAtMs = performance.now();
    const [storedAtMs, provenAtMs] = [storeDoor.lastPutAtMs(), lastProofAtMs(folder)];
    return {
      chunksMs: storedAtMs - beganAtMs,
      proofsMs: provenAtMs - storedAtMs,
      assemblyMs: endedAtMs - provenAtMs,
      storeMs,
      copyMs,
      agentMb: agent.peakMb(),
      puts: storeDoor.take().clientPut,
    };
  });
}

/** When a chunk was last proven, by the clock of `performance`: from the server's log. */
function lastProofAtMs(folder: string): number {
  const lines = readFileSync(join(folder, 'server.log'), 'utf8').split('\n');
  const proven = lines.findLast((line) => line.includes('"step":"prove"') && line.includes('"proven"'));
  return Date.parse((JSON.parse(proven ?? '{}') as { time?: string }).time ?? '') - performance.timeOrigin;
}

interface Place {
  readonly folder: string;
  readonly cleanup: Cleanup;
}

const environmentIn = (folder: string, more: Record<string, string> = {}) => ({
  cwd: folder,
  env: { ...plainEnvironment(), HOME: folder, ...storeEnvironment, ...more },
});

/** `serve` on the store, behind a door. @returns its URL there, and a token that can write. */
async function startServer(
  { program }: Shop,
  { folder, cleanup }: Place,
  storePort: number,
): Promise<{ url: string; token: string }> {
  let tellPort = (_port: number): void => undefined;
  const targetPort = new Promise<number>((tell) => (tellPort = tell));
  const { port } = await openedDoor(cleanup, { to: 'api', isFar: true, targetPort });
  const url = `http://127.0.0.1:${port}`;
  const server = await startProcess({
    command: process.execPath,
    args: (ownPort) => [
      ...[program, 'serve', '--listen', `127.0.0.1:${ownPort}`, '--public-url', url, '--rate', '0'],
      ...['--data', join(folder, 'data'), '--store', `http://127.0.0.1:${storePort}`, '--bucket', bucket],
    ],
    env: environmentIn(folder, { LFS_QUOTA_ADMIN_TOKEN: adminToken }).env,
    folder,
  });
  tellPort(server.port);
  cleanup.add(() => server.stop());
  const operator = environmentIn(folder, { LFS_QUOTA_URL: url, LFS_QUOTA_TOKEN: adminToken });
  const cli = (...args: string[]) => command(process.execPath, [program, ...args], operator);
  await cli('tenant', 'create', 'bench', '--limit', '1TB');
  const { out } = await cli('token', 'create', 'bench', '--scope', 'write', '--json');
  return { url, token: (JSON.parse(out) as { token: string }).token };
}

/** The program that git-lfs starts for chunks, and the most memory that it had. */
function watchAgent({ program }: Shop, { folder, cleanup }: Place): { path: string; peakMb: () => number } {
  const [pidFile, path] = [join(folder, 'agent.pid'), join(folder, 'agent.sh')];
  const script = `#!/bin/sh\necho $$ > '${pidFile}'\nexec '${process.execPath}' '${program}' agent\n`;
  writeFileSync(path, script, { mode: 0o755 });
  let peakMb = 0;
  const watch = setInterval(() => {
    if (existsSync(pidFile)) peakMb = Math.max(peakMb, peakMbOfTree(Number(readFileSync(pidFile, 'utf8'))));
  }, 100);
  cleanup.add(() => clearInterval(watch));
  return { path, peakMb: () => peakMb };
}

async function command(
  name: string,
  args: readonly string[],
  place: { cwd: string; env: Record<string, string> },
) {
  const ended = await run(name, args, { ...place, timeoutMs: commandMsMax });
  if (ended.code !== 0) throw new Error(`${name} ${args.join(' ')}: ${ended.err}`);
  return ended;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
