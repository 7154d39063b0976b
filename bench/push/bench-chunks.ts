import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from '../../local/start.ts';
import { createTenant, packCli, packedServe } from '../crowd/subjects.ts';
import { inFolder, peakMbOfTree } from '../processes.ts';
import { type Column, digits, optionsOf, tableOf } from '../statistics.ts';
import { bucket } from '../store.ts';
import {
  inWorkshop,
  openedDoor,
  ours,
  type Print,
  type ServerKind,
  startServers,
  storeEnvironment,
  timed,
  type Workshop,
} from './bench-push.ts';

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
  await inWorkshop(print, async (shop) => {
    const { folder, user } = shop;
    const program = await packCli(join(folder, 'program'));
    const source = join(folder, 'source');
    mkdirSync(source);
    await user.git(source, 'init', '--quiet');
    await user.git(source, 'lfs', 'install', '--local');
    await user.git(source, 'lfs', 'track', '*.bin');
    writeFileSync(join(source, file), 'large');
    truncateSync(join(source, file), Number(values.megabytes) * 1e6);
    await user.commitAll(source, 'A large file');
    const samples: Sample[] = [];
    for (let round = 0; round < Number(values.rounds); round += 1) {
      const sample = await measureRound({ ...shop, source, program, mbit: Number(values.mbit) });
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

interface Shop extends Workshop {
  readonly source: string;
  /** `lfs-quota`, packed. */
  readonly program: string;
  readonly mbit: number;
}

async function measureRound(shop: Shop): Promise<Sample> {
  const { user, source, mbit } = shop;
  return inFolder(async (folder, cleanup) => {
    const way = { isFar: true, bytesPerSecond: (mbit * 1e6) / 8 };
    const started = await startServers(shop, { server: packed(shop), ...way, folder, cleanup });
    const { store, storeDoor } = started;
    const copyDoor = await openedDoor(cleanup, {
      ...way,
      to: 'store',
      targetPort: store.port,
      kind: 'clientPut',
    });
    const AWS_CONFIG_FILE = join(folder, 'aws');
    const copy = (port: number, from: string, to: string) => {
      const line = `aws s3 cp --quiet --endpoint-url http://127.0.0.1:${port} '${from}' '${to}'`;
      return timed(shop, folder, line, { ...storeEnvironment, AWS_CONFIG_FILE });
    };
    const copied = `s3://${bucket}/copies/${file}`;
    const copyMs = await copy(copyDoor.port, join(source, file), copied);
    writeFileSync(AWS_CONFIG_FILE, '[default]\ns3 =\n  multipart_chunksize = 64MB\n');
    const storeMs = await copy(store.port, copied, `s3://${bucket}/copies/2`);
    rmSync(join(folder, 'store/objects', bucket, 'copies'), { recursive: true, force: true });

    const agent = watchAgent(shop, { folder, cleanup });
    const custom = { path: agent.path, args: '', concurrent: 'false', direction: 'upload' };
    const settings = [
      ['lfs.url', started.apiUrl + ours.lfsPath('repo')],
      ...Object.entries(custom).map(([name, value]) => [`lfs.customtransfer.lfs-quota.${name}`, value]),
    ].flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    await user.git(folder, 'init', '--quiet', '--bare', 'remote.git');
    storeDoor.take();
    const push = [...settings, 'push', '--quiet', `file://${join(folder, 'remote.git')}`, 'main'];
    const beganAtMs = performance.now();
    await user.git(source, ...push);
    const endedAtMs = performance.now();
    const [storedAtMs, provenAtMs] = [storeDoor.lastPutAtMs(), lastProofAtMs(join(folder, 'server'))];
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

/** `serve` on a store. */
const packed = ({ program }: Shop): ServerKind => ({
  ...ours,
  async start({ storeUrl, apiUrl, folder }) {
    const own = { publicUrl: apiUrl, args: ['--store', storeUrl, '--bucket', bucket], env: storeEnvironment };
    const server = await packedServe(program, ours, own).start(folder);
    return { ...server, token: await createTenant(server.port, 'bench', 1e12) };
  },
});

/** The program that git-lfs starts for chunks, and the most memory that it had. */
function watchAgent(
  { program }: Shop,
  { folder, cleanup }: { folder: string; cleanup: Cleanup },
): { path: string; peakMb: () => number } {
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
