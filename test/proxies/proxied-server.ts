import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { type Ended, plainEnvironment, run } from '../support/process.ts';

const startMsMax = 60_000;
/** A user who isn't root doesn't have it in the path. */
const nginxFolders = ['/usr/sbin', '/usr/local/sbin'];
const environment = () => ({
  ...plainEnvironment(),
  PATH: [process.env['PATH'], ...nginxFolders].join(':'),
});

/** A proxy, as a process of its own. */
export interface ProxyKind {
  readonly program: 'nginx' | 'caddy';
  /** What it's configured with. @param ports of the proxy, and of the server behind it. */
  readonly config: (ports: { proxy: number; server: number }) => string;
  /** Of the public URL. Default: none. */
  readonly path?: string;
  /** More flags of the server. */
  readonly flags?: (ports: { proxy: number; server: number }) => readonly string[];
}

const packaged = (name: string) => readFileSync(new URL(`../../packaging/${name}`, import.meta.url), 'utf8');

/** An nginx with this server, and all else as it comes. */
export const nginx = (body: string, http = ''): ProxyKind => ({
  program: 'nginx',
  config: ({ proxy, server }) =>
    `${http}\nserver { listen 127.0.0.1:${proxy}; ${body.replaceAll('SERVER', `http://127.0.0.1:${server}`)} }`,
});

/** The file of packaging/ with other ports, and without TLS. @param more inside of its server. */
export const shippedNginx = (more = '', http = ''): ProxyKind => ({
  program: 'nginx',
  config: ({ proxy, server }) => {
    const text = packaged('nginx.conf')
      .replace('listen 443 ssl;', `listen 127.0.0.1:${proxy};`)
      .replaceAll(/^ *(ssl_|listen \[).*\n/gm, '')
      .replaceAll('127.0.0.1:8787', `127.0.0.1:${server}`);
    return `${http}\n${text.replace('    location / {\n', (found) => `${found}${more}`)}`;
  },
});

/** The file of packaging/: it reads its names from the environment. */
export const shippedCaddy: ProxyKind = { program: 'caddy', config: () => packaged('Caddyfile') };

/** `lfs-quota serve` behind a proxy. */
export class ProxiedServer {
  readonly url: string;
  readonly adminToken = 'admin-token-of-the-proxies-lane-0123456789';
  readonly #program: string;
  readonly #folder: string;
  readonly #ports: { proxy: number; server: number };
  readonly #flags: readonly string[];
  #server: ChildProcess | undefined;
  #proxy: ChildProcess | undefined;

  /** @param program of the command line, as it is packed. */
  private constructor(
    program: string,
    folder: string,
    { proxy: { path = '', flags }, ports }: { proxy: ProxyKind; ports: { proxy: number; server: number } },
  ) {
    this.#program = program;
    this.#folder = folder;
    this.#ports = ports;
    this.#flags = flags?.(ports) ?? [];
    this.url = `http://127.0.0.1:${ports.proxy}${path}`;
  }

  static async start(program: string, folder: string, proxy: ProxyKind): Promise<ProxiedServer> {
    const ports = { proxy: await freePort(), server: await freePort() };
    const made = new ProxiedServer(program, folder, { proxy, ports });
    await Promise.all([made.startServer(), made.#startProxy(proxy)]);
    return made;
  }

  async startServer(): Promise<void> {
    const { server } = this.#ports;
    const place = ['--data', join(this.#folder, 'data'), '--listen', `127.0.0.1:${server}`];
    const reach = ['--public-url', this.url, '--trust-proxy', '127.0.0.1', ...this.#flags];
    this.#server = spawned(process.execPath, [this.#program, 'serve', ...place, ...reach], {
      env: { ...environment(), HOME: this.#folder, LFS_QUOTA_ADMIN_TOKEN: this.adminToken },
      stdio: 'ignore',
    });
    await listens(server, this.#server);
  }

  async killServer(): Promise<void> {
    await end(this.#server, 'SIGKILL');
  }

  async close(): Promise<void> {
    await Promise.all([end(this.#server, 'SIGKILL'), end(this.#proxy, 'SIGTERM')]);
  }

  /** Names of the uploads that are on the disk of the server, and not whole. */
  uploads(): string[] {
    return readdirSync(join(this.#folder, 'data/store/uploads'));
  }

  /** The tenant `acme`, past the proxy. @returns a token to push with. */
  async newTenant(): Promise<string> {
    const create = async (path: string, body: object) => {
      const headers = {
        authorization: `Bearer ${this.adminToken}`,
        'content-type': 'application/json',
      };
      const url = `http://127.0.0.1:${this.#ports.server}/v1/tenants${path}`;
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
      return answer.json() as Promise<Record<string, unknown>>;
    };
    await create('', { tenant: 'acme', limitBytes: 1024 ** 3 });
    return String((await create('/acme/tokens', { scope: 'write' }))['token']);
  }

  /** Runs the command line as the operator, through the proxy. */
  async cli(...args: string[]): Promise<Ended> {
    const env = {
      ...environment(),
      HOME: this.#folder,
      LFS_QUOTA_URL: this.url,
      LFS_QUOTA_TOKEN: this.adminToken,
    };
    return run(process.execPath, [this.#program, ...args], { cwd: this.#folder, env, timeoutMs: 120_000 });
  }

  async #startProxy({ program, config }: ProxyKind): Promise<void> {
    const folder = join(this.#folder, 'proxy');
    mkdirSync(folder);
    const file = join(folder, 'config');
    const text = config(this.#ports);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    const around = `daemon off; ${process.getuid?.() === 0 ? 'user root;' : ''} pid ${folder}/pid; error_log ${folder}/log; events {}
      http { access_log off; ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}\n${text}\n}`;
    writeFileSync(file, program === 'nginx' ? around.replaceAll('FOLDER', folder) : text);
    const args =
      program === 'nginx'
        ? ['-e', join(folder, 'log'), '-p', folder, '-c', file]
        : ['run', '--adapter', 'caddyfile', '--config', file];
    const env = {
      ...environment(),
      HOME: folder,
      LFS_QUOTA_HOST: new URL(this.url).origin,
      LFS_QUOTA_SERVER: `127.0.0.1:${this.#ports.server}`,
    };
    this.#proxy = spawned(program, args, { env, stdio: 'ignore' });
    await listens(this.#ports.proxy, this.#proxy);
  }
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** It ends with this process, whatever becomes of the test. */
function spawned(...[program, args, options]: [string, readonly string[], SpawnOptions]): ChildProcess {
  const child = spawn(program, args, options);
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** Until a process listens. @throws if it ends before. */
async function listens(port: number, child: ChildProcess): Promise<void> {
  let failed: Error | undefined;
  child.once('error', (error) => {
    failed = error;
  });
  const giveUpAtMs = performance.now() + startMsMax;
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await Promise.race([
      once(socket, 'connect').then(
        () => true,
        () => false,
      ),
      sleep(startMsMax, false, { ref: false }),
    ]);
    socket.destroy();
    if (isOpen) return;
    if (failed) throw failed;
    if (child.exitCode !== null || performance.now() > giveUpAtMs)
      throw new Error(`It doesn't listen on port ${port}: ${child.spawnargs.join(' ')}`);
    await sleep(20);
  }
}
