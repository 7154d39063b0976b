import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ended, plainEnvironment, run, runningGroups, signalGroup } from '../support/process.ts';

export const projectRoot = join(import.meta.dirname, '..', '..');

export const commandLine = join(projectRoot, 'bin', 'lfs-quota.js');

/** How long `npm start` may take on a busy machine. */
const readyTimeoutMs = 60_000;
/** How long it may take to end after Ctrl-C. */
const stopTimeoutMs = 20_000;

/** The embedded stack, started as a person starts it, with its own data folder and ports. */
export class Stack {
  static readonly #all = new Set<Stack>();
  readonly url: string;
  readonly dataDir: string;
  readonly port: number;
  readonly #folder: string;
  /** Where it is started. */
  readonly #checkout: string;
  /** More flags of `npm start`. */
  readonly #flags: readonly string[];
  /** Empty: the stack creates its own. */
  readonly adminToken: string;
  #running: { pid: number | undefined; closed: Promise<void> } | undefined;
  #log = '';

  private constructor(place: {
    folder: string;
    checkout: string | undefined;
    port: number;
    adminToken: string;
    flags: readonly string[];
  }) {
    this.#folder = place.folder;
    this.#checkout = place.checkout ?? projectRoot;
    this.dataDir = place.checkout ? join(place.checkout, '.lfs-quota') : join(place.folder, 'data');
    this.port = place.port;
    this.adminToken = place.adminToken;
    this.#flags = place.flags;
    this.url = `http://127.0.0.1:${place.port}`;
  }

  /** @param options.checkout another one than this, whose data folder is where it is without a flag. */
  static async start(
    options: { adminToken?: string; flags?: readonly string[]; checkout?: string } = {},
  ): Promise<Stack> {
    const { adminToken = 'admin-token-of-the-e2e-tests-0123456789', flags = [], checkout } = options;
    // Real folders have such names.
    const folder = await mkdtemp(join(tmpdir(), "lfs-quota e2e's stack-"));
    const stack = new Stack({ folder, checkout, port: await freePort(), adminToken, flags });
    Stack.#all.add(stack);
    await stack.start();
    return stack;
  }

  /** Ends all that there are, also if one doesn't end by itself. */
  static async closeAll(): Promise<void> {
    const ended = await Promise.allSettled([...Stack.#all].map((stack) => stack.close()));
    for (const each of ended) if (each.status === 'rejected') throw each.reason;
  }

  /** Starts it on the same folder and ports. Resolves when it prints `ready`. */
  async start(): Promise<void> {
    const args = ['start', '--', '--port', String(this.port), '--data', this.dataDir, ...this.#flags];
    const child = spawn('npm', args, {
      cwd: this.#checkout,
      env: { ...plainEnvironment(), HOME: this.#folder, LFS_QUOTA_ADMIN_TOKEN: this.adminToken },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
    // It ends with this process, whatever becomes of the test.
    if (child.pid !== undefined) runningGroups.add(child.pid);
    this.#running = { pid: child.pid, closed };
    let began = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#log += text;
        began += text;
      });
    }
    const giveUpAtMs = performance.now() + readyTimeoutMs;
    while (!began.split('\n').includes(`ready ${this.url}`)) {
      if (child.exitCode !== null || performance.now() > giveUpAtMs) {
        await this.kill();
        throw new Error(`npm start did not become ready:\n${began}`);
      }
      await sleep(50);
    }
  }

  /** Stops it as Ctrl-C does. Fails if it does not end. */
  async stop(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    signalGroup(running.pid, 'SIGINT');
    const inTime = await Promise.race([
      running.closed.then(() => true),
      sleep(stopTimeoutMs, false, { ref: false }),
    ]);
    await this.kill();
    if (!inTime) throw new Error(`npm start did not end by SIGINT:\n${this.#log}`);
  }

  /** Kills it. For the process that is the same as a power cut. */
  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    signalGroup(running?.pid, 'SIGKILL');
    await running?.closed;
    if (running?.pid !== undefined) runningGroups.delete(running.pid);
  }

  /** Stops it and deletes its data. */
  async close(): Promise<void> {
    Stack.#all.delete(this);
    await this.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** What it has printed so far. */
  output(): string {
    return this.#log;
  }

  /** Where the store takes requests that are signed in the headers. */
  storeUrl(): string {
    return [...this.#log.matchAll(/^object store (http\S+)$/gm)].at(-1)?.[1] ?? '';
  }

  /** Runs the command line as the operator. */
  async cli(...args: string[]): Promise<Ended> {
    const env = {
      ...plainEnvironment(),
      HOME: this.#folder,
      LFS_QUOTA_URL: this.url,
      LFS_QUOTA_TOKEN: this.adminToken,
    };
    return run(commandLine, args, { cwd: projectRoot, env, timeoutMs: 60_000 });
  }

  /** The same with --json. Fails if the command does. */
  async cliJson(...args: string[]): Promise<Record<string, unknown>> {
    const ended = await this.cli(...args, '--json');
    if (ended.code !== 0) throw new Error(`cli ${args.join(' ')} failed:\n${ended.err}`);
    return JSON.parse(ended.out);
  }

  /** A token of a tenant, with what else the command line can say of it. */
  async newToken(tenant: string, scope: string, ...more: string[]): Promise<string> {
    const { token } = await this.cliJson('token', 'create', tenant, '--scope', scope, ...more);
    return String(token);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}
