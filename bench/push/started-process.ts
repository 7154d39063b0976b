import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long a server may take to listen, and to end. */
const startMsMax = 60_000;
const stopMsMax = 10_000;

/** Servers that run now. They end with this process, whatever ends it. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A server of another program that this process started. */
export interface StartedProcess {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Starts a server on a free loopback port, and waits until it listens.
 *
 * @param input.args of the program, for the port.
 * @throws {Error} with the end of its log if it does not start.
 */
export async function startProcess(input: {
  command: string;
  args: (port: number) => readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  logFile: string;
}): Promise<StartedProcess> {
  const port = await freePort();
  const log = openSync(input.logFile, 'a');
  const child = spawn(input.command, input.args(port), {
    cwd: input.cwd,
    env: input.env,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  running.add(child);
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  const ended = once(child, 'close').finally(() => running.delete(child));
  ended.catch(() => undefined);
  const giveUpAtMs = performance.now() + startMsMax;
  while (!(await listens(port))) {
    const hasEnded = child.exitCode !== null || failure !== undefined;
    if (hasEnded || performance.now() > giveUpAtMs) {
      child.kill('SIGKILL');
      const said = readFileSync(input.logFile, 'utf8').trim().split('\n').slice(-5).join('\n');
      throw new Error(`${input.command} did not start: ${said}`, { cause: failure });
    }
    await sleep(50);
  }
  return { pid: child.pid ?? 0, port, stop: () => stop(child, ended) };
}

async function stop(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (!running.has(child)) return;
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), stopMsMax);
  await ended.catch(() => undefined);
  clearTimeout(force);
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

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
