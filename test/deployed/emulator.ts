import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { plainEnvironment, signalGroup } from '../support/process.ts';

const readyTimeoutMs = 60_000;

/**
 * An emulated AWS: ministack, with its own loopback port and folder. It speaks TLS and enforces IAM policies, so that a
 * missing grant makes a test fail.
 */
export class Emulator {
  readonly endpoint: string;
  readonly region = 'us-east-1';
  /** The account's root. New each time, because the CDK remembers which account a key belongs to. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly folder: string;
  /** Its own self-signed certificate. */
  readonly certificateFile: string;
  readonly #port: number;
  #running: { pid: number | undefined; closed: Promise<void> } | undefined;

  private constructor(place: { folder: string; port: number }) {
    this.folder = place.folder;
    this.#port = place.port;
    this.endpoint = `https://127.0.0.1:${place.port}`;
    this.certificateFile = join(place.folder, 'ministack-tls', 'server.crt');
    this.credentials = { accessKeyId: `ROOT${Date.now()}`, secretAccessKey: randomUUID() };
  }

  /** @param program the path of the `ministack` command. */
  static async start(program: string): Promise<Emulator> {
    const folder = await mkdtemp(join(tmpdir(), 'lfs-quota-deployed-'));
    const emulator = new Emulator({ folder, port: await freePort() });
    try {
      await emulator.#start(program);
    } catch (error) {
      await emulator.close();
      throw error;
    }
    return emulator;
  }

  /** The environment variables that direct an AWS client or the CDK's command line to it. */
  environment(): Record<string, string> {
    return {
      ...plainEnvironment(),
      HOME: this.folder,
      AWS_ENDPOINT_URL: this.endpoint,
      AWS_REGION: this.region,
      AWS_ACCESS_KEY_ID: this.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: this.credentials.secretAccessKey,
      AWS_EC2_METADATA_DISABLED: 'true',
      NODE_EXTRA_CA_CERTS: this.certificateFile,
    };
  }

  /** For servers of a test that its functions are to trust, as they trust the emulator itself. Of 127.0.0.1. */
  async tls(): Promise<{ key: Buffer; cert: Buffer }> {
    const keyFile = join(dirname(this.certificateFile), 'server.key');
    return { key: await readFile(keyFile), cert: await readFile(this.certificateFile) };
  }

  /** What it printed, with the functions' logs. */
  log(): Promise<string> {
    return readFile(join(this.folder, 'emulator.log'), 'utf8');
  }

  /** Stops it and deletes its folder. If `DEPLOYED_LOGS` names a folder, its log is copied there. */
  async close(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    signalGroup(running?.pid, 'SIGKILL');
    await running?.closed;
    const kept = process.env['DEPLOYED_LOGS'];
    if (kept) await writeFile(join(kept, `${basename(this.folder)}.log`), await this.log());
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #start(program: string): Promise<void> {
    const log = await open(join(this.folder, 'emulator.log'), 'a');
    const child = spawn(program, {
      env: {
        ...plainEnvironment(),
        HOME: this.folder,
        // It keeps its certificate there.
        TMPDIR: this.folder,
        USE_SSL: '1',
        // By default it listens on every interface.
        BIND_HOST: '127.0.0.1',
        GATEWAY_PORT: String(this.#port),
        MINISTACK_HOST: 'localhost',
        S3_DATA_DIR: join(this.folder, 's3'),
        STATE_DIR: join(this.folder, 'state'),
        // Enforce policies for everybody but the owner of this key.
        AUTH: 'true',
        AWS_ACCESS_KEY_ID: this.credentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: this.credentials.secretAccessKey,
      },
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
    const failed = new Promise<never>((_, reject) => child.once('error', reject));
    this.#running = { pid: child.pid, closed };
    await log.close();
    await Promise.race([this.#becomesReady(), failed]);
  }

  async #becomesReady(): Promise<void> {
    const giveUpAtMs = performance.now() + readyTimeoutMs;
    for (;;) {
      if ((await this.log()).includes('] Ready ')) return;
      if (performance.now() > giveUpAtMs) {
        throw new Error(`The emulator did not become ready:\n${await this.log()}`);
      }
      await sleep(200);
    }
  }
}
