import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { plainEnvironment } from '../test/support/process.ts';

/** The one bucket of a run, and its credentials. */
export const bucket = 'bench';
export const region = 'us-east-1';
export const credentials = { accessKeyId: 'bench-access', secretAccessKey: 'bench-secret-0123456789' };

/** Where engines and other servers are kept, so that each machine fetches them once; the same folder as in .ci/lib.sh. */
export function cacheFolder(): string {
  const { LFS_QUOTA_CACHE: own, XDG_CACHE_HOME: caches } = process.env;
  const folder = own || join(caches || join(homedir(), '.cache'), 'lfs-quota');
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** A server of another program that this process started. */
export interface StartedProcess {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

const startMsMax = 60_000;
const stopMsMax = 10_000;

/**
 * Starts a server on a free loopback port, and waits until it answers.
 *
 * @param input.args of the program, for the port.
 * @throws {Error} with the end of its log if it does not start.
 */
export async function startProcess(input: {
  command: string;
  args: (port: number) => readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
}): Promise<StartedProcess> {
  const { command, args, env, cwd } = input;
  const port = await freePort();
  const logFile = join(cwd, 'server.log');
  const log = openSync(logFile, 'a');
  const child = spawn(command, args(port), { cwd, env, stdio: ['ignore', log, log] });
  closeSync(log);
  // It ends with this process, whatever ends it.
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'close')
    .catch((error: unknown) => error)
    .finally(() => process.off('exit', kill));
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  const stop = async () => {
    child.kill('SIGTERM');
    const force = setTimeout(kill, stopMsMax);
    await ended;
    clearTimeout(force);
  };
  const untilMs = performance.now() + startMsMax;
  while (!(await answers(port))) {
    if (isOver || performance.now() > untilMs) {
      kill();
      const said = readFileSync(logFile, 'utf8').trim().split('\n').slice(-5).join('\n');
      throw new Error(`${command} did not start: ${said}`, { cause: isOver ? await ended : undefined });
    }
    await sleep(50);
  }
  return { pid: child.pid ?? 0, port, stop };
}

/** A loopback port on which nothing listened a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('A listening server has no port.');
  return address.port;
}

/** Whether anything on the port answers HTTP. */
async function answers(port: number): Promise<boolean> {
  try {
    // Read to its end, so that no connection stays open.
    await (await fetch(`http://127.0.0.1:${port}/`)).text();
    return true;
  } catch {
    return false;
  }
}

/** The name of the newest versitygw in the cache. @throws {Error} if there is none. */
export function storeName(): string {
  const name = readdirSync(cacheFolder())
    .filter((each) => /^versitygw-[\d.]+$/.test(each))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .at(-1);
  if (name === undefined) throw new Error('Install versitygw first: .ci/engines.sh install');
  return name;
}

/** versitygw with an empty bucket. @param folder an empty one, for the objects. */
export async function startStore(folder: string): Promise<StartedProcess> {
  const [objects, sidecar] = [join(folder, 'objects'), join(folder, 'sidecar')];
  for (const path of [objects, sidecar]) mkdirSync(path);
  const started = await startProcess({
    command: join(cacheFolder(), storeName()),
    // Metadata in a separate folder: not every file system has extended attributes.
    args: (port) => ['--quiet', '--port', `127.0.0.1:${port}`, 'posix', '--sidecar', sidecar, objects],
    env: {
      ...plainEnvironment(),
      ROOT_ACCESS_KEY: credentials.accessKeyId,
      ROOT_SECRET_KEY: credentials.secretAccessKey,
    },
    cwd: folder,
  });
  const endpoint = `http://127.0.0.1:${started.port}`;
  const client = new S3Client({ region, endpoint, credentials, forcePathStyle: true });
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    return started;
  } catch (error) {
    await started.stop();
    throw error;
  } finally {
    client.destroy();
  }
}
