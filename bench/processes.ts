import { execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Cleanup } from '../local/start.ts';
import { closeServer, listen } from '../local/system/loopback-server.ts';
import { signalGroup } from '../test/support/process.ts';
import type { Call, ChildApi, Reply } from './serve.ts';

/** The parent's side of a child process that calls `serve`. */
export interface Child<Api extends ChildApi, Ready = undefined> {
  readonly pid: number;
  /** What the child passed to `serve`. */
  readonly ready: Ready;
  /** Calls a function of the child. The next call must wait for the result. @throws {Error} when the child ends before. */
  call<Name extends keyof Api & string>(
    name: Name,
    ...args: Parameters<Api[Name]>
  ): Promise<Awaited<ReturnType<Api[Name]>>>;
  /** Lets the child exit, and waits for it. */
  end(): Promise<void>;
}

/**
 * Runs a TypeScript file of this project, or a bundle, as a child, and waits until it serves.
 *
 * @param options.node the Node that runs a bundle; by default this one.
 * @throws {Error} when it ends before.
 */
export async function startChild<Api extends ChildApi, Ready = undefined>(
  file: URL | string,
  options: { args?: readonly string[]; node?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Child<Api, Ready>> {
  const { args = [], node = process.execPath, env = process.env } = options;
  const child = fork(file instanceof URL ? fileURLToPath(file) : file, args, {
    execPath: node,
    execArgv: ['--no-warnings', ...(file instanceof URL ? ['--import', 'tsx'] : [])],
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const nextValue = async () => {
    const ended = exited.then(([code]) => {
      throw new Error(`A child process ended before it answered (code ${code}).`);
    });
    const [{ value }] = (await Promise.race([once(child, 'message'), ended])) as [Reply];
    return value;
  };
  return {
    pid: child.pid ?? 0,
    ready: (await nextValue()) as Ready,
    call: (name, ...args) => {
      const value = nextValue();
      child.send({ name, args } satisfies Call);
      return value as never;
    },
    end: async () => {
      child.disconnect();
      await exited;
    },
  };
}

/**
 * Bundles a TypeScript file of this project as Lambda functions are bundled, so that loading and compiling take as
 * long, and another Node can run it.
 *
 * @returns the path of the bundle.
 */
export async function bundle(file: URL): Promise<string> {
  const entry = fileURLToPath(file);
  const folder = fileURLToPath(new URL('out/', import.meta.url));
  const outfile = path.join(folder, path.basename(entry).replace(/\.ts$/, '.mjs'));
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    mainFields: ['module', 'main'],
    conditions: ['module'],
    banner: { js: "import{createRequire as r}from'node:module';const require=r(import.meta.url);" },
  });
  return outfile;
}

/** Does some work in a new folder, which is removed at last: after all that is added to the cleanup. */
export async function inFolder<T>(work: (folder: string, cleanup: Cleanup) => Promise<T>): Promise<T> {
  const cleanup = new Cleanup();
  const folder = mkdtempSync(path.join(tmpdir(), 'lfs-quota-bench-'));
  // Processes that were killed just now might still write: several tries.
  cleanup.add(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  try {
    return await work(folder, cleanup);
  } finally {
    await cleanup.run();
  }
}

/** A server of another program that this process started. */
export interface StartedProcess {
  readonly pid: number;
  readonly port: number;
  /** Kills it, with its children. */
  stop(): Promise<void>;
}

const startMsMax = 60_000;

/**
 * Starts a server on a free loopback port, and waits until it answers HTTP. It ends with this process.
 *
 * @param input.args of the program, for the port.
 * @param input.folder for its log.
 * @throws {Error} with the end of its log if it does not start.
 */
export async function startProcess(input: {
  command: string;
  args: (port: number) => readonly string[];
  env: Readonly<Record<string, string>>;
  folder: string;
  cwd?: string;
}): Promise<StartedProcess> {
  const { command, args, env, folder, cwd = folder } = input;
  const probe = createServer();
  const port = await listen(probe, { port: 0, usedBy: 'the benchmark' });
  await closeServer(probe, 0);
  const logFile = path.join(folder, 'server.log');
  const log = openSync(logFile, 'a');
  const child = spawn(command, args(port), { cwd, env, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  const kill = () => signalGroup(child.pid, 'SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'close').catch((error: unknown) => error);
  const stop = async () => {
    kill();
    await ended;
    process.off('exit', kill);
  };
  const untilMs = performance.now() + startMsMax;
  const isThere = () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      // Read to its end, so that no connection stays open.
      (answer) => answer.text().then(() => true),
      () => false,
    );
  while (!(await isThere())) {
    if (child.pid === undefined || child.exitCode !== null || performance.now() > untilMs) {
      await stop();
      const said = readFileSync(logFile, 'utf8').trim().split('\n').slice(-5).join('\n');
      throw new Error(`${command} did not start: ${said}`);
    }
    await sleep(10);
  }
  return { pid: child.pid ?? 0, port, stop };
}

/**
 * A certificate of this run for `localhost` and 127.0.0.1, which signs itself. Needs `openssl`.
 *
 * @param folder an existing one.
 * @returns PEM, and the file that a client has to trust.
 */
export function makeCertificate(folder: string): { key: string; cert: string; file: string } {
  const [keyFile, file] = [path.join(folder, 'key.pem'), path.join(folder, 'certificate.pem')];
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-noenc', '-days', '1', '-subj', '/CN=localhost'];
  // rustls accepts no authority as the certificate of a server, and no address as its name.
  const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const leaf = ['-addext', 'basicConstraints=critical,CA:FALSE'];
  execFileSync('openssl', [...args, ...names, ...leaf, '-keyout', keyFile, '-out', file], { stdio: 'pipe' });
  return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(file, 'utf8'), file };
}

/** CPU time of a process and its running descendants, in ms: of all threads that run now. Needs Linux. */
export function cpuMsOfTree(pid: number | string): number {
  const nsOf = (thread: string) => Number(textOf(`${thread}/schedstat`).split(' ')[0]);
  return (
    treeOf(pid).reduce((sum, { threads }) => sum + threads.reduce((ns, each) => ns + nsOf(each), 0), 0) / 1e6
  );
}

/** Most memory that a process and its running descendants had, in MB. What they share counts for each. Needs Linux. */
export function peakMbOfTree(pid: number): number {
  const peakKbOf = (id: string) => Number(/VmHWM:\s+(\d+)/.exec(textOf(`/proc/${id}/status`))?.[1] ?? 0);
  return treeOf(pid).reduce((sum, { id }) => sum + peakKbOf(id), 0) / 1024;
}

/** A process and its running descendants, with the folders of their threads. */
function treeOf(pid: number | string): { id: string; threads: string[] }[] {
  const folder = `/proc/${pid}/task`;
  if (!existsSync(folder)) return [];
  const threads = readdirSync(folder).map((thread) => `${folder}/${thread}`);
  const children = threads.flatMap((thread) => textOf(`${thread}/children`).split(' ').filter(Boolean));
  return [{ id: String(pid), threads }, ...children.flatMap(treeOf)];
}

/** Empty if the process, or the thread, has just ended. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
