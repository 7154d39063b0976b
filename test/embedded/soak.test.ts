import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { backupOf } from '../../local/data/backups.ts';
import { packedInto } from '../support/child-stack.ts';
import { freePort } from '../support/free-port.ts';
import { Random } from '../support/random.ts';
import { useTempFolders } from '../support/temp-folder.ts';
import { LoadClient, type Repo, type Upload } from './load-client.ts';

const tempFolder = useTempFolders();
/**
 * The clock is theirs, however long they take (day-clock.mjs): so many are a day. A request is a second of it at most, or its
 * function would have too little time.
 */
const requests = Number(process.env['SOAK_REQUESTS'] ?? 864_000);
const hours = Number(process.env['SOAK_HOURS'] ?? 24);
const msPerRequest = (hours * 60 * 60_000) / requests;
/** With fewer requests the clock is faster, so fewer are at the same time: no function has less time than on a busy machine. */
const clients = Math.max(2, Math.min(24, Math.round(2_400 / msPerRequest)));
const tenants = ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay'];
/** Who stores all that fits, and wants more. */
const full = 'gus';
const size = 8192;
const adminToken = 'admin-token-of-the-soak-tests-0123456789';
/** As systemd runs it. Without a size, what V8 keeps of emptied pages grows with how busy the machine is. */
const [, nodeOptions] = /"NODE_OPTIONS=(.+)"/.exec(readFileSync('packaging/lfs-quota.service', 'utf8')) ?? [];

/**
 * In each turn every tenant pushes a new repo and deletes one of the day before, so what is stored stays the same. An object
 * that is deleted sooner would leave its reservation for a day: its upload URL may be used once more (docs/how-it-works.md).
 */
const turnMs = 12 * 60_000;
const turns = (hours * 60 * 60_000) / turnMs + 1;
const objectsInRepo = Math.max(2, Math.round(requests / 60_000));

/** The server, and what it has in use. */
class Soaked {
  readonly #child: ChildProcess;
  readonly #data: string;
  readonly errors: string[] = [];

  constructor(input: { program: string; data: string; port: number; metricsPort: number }) {
    const { program, data, port, metricsPort } = input;
    const clock = fileURLToPath(new URL('./day-clock.mjs', import.meta.url));
    const place = ['--listen', `127.0.0.1:${port}`, '--public-url', `http://127.0.0.1:${port}`];
    const more = ['--listen-metrics', `127.0.0.1:${metricsPort}`, '--data', data, '--rate', '0'];
    this.#data = data;
    this.#child = spawn(
      process.execPath,
      ['--expose-gc', '--import', clock, program, 'serve', ...place, ...more],
      {
        env: {
          PATH: process.env['PATH'],
          LFS_QUOTA_ADMIN_TOKEN: adminToken,
          NODE_OPTIONS: nodeOptions,
        },
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      },
    );
    const { stderr } = this.#child;
    if (stderr)
      createInterface({ input: stderr }).on('line', (line) => {
        if (line.includes('"level":"error"') || !line.startsWith('{')) this.errors.push(line);
      });
  }

  async ready(): Promise<void> {
    for await (const chunk of this.#child.stdout ?? []) if (String(chunk).includes('ready ')) break;
  }

  pass(ms: number): void {
    this.#child.send(ms);
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** While nobody asks for anything. */
  async measure(): Promise<Record<string, number>> {
    this.#child.send('measure');
    const [inProcess] = (await once(this.#child, 'message')) as [Record<string, number>];
    const fds = `/proc/${this.#child.pid}/fd`;
    const open = readdirSync(fds).map((fd) => {
      try {
        return readlinkSync(join(fds, fd));
      } catch {
        return '';
      }
    });
    // LevelDB keeps the files open that it has read.
    const files = open.filter((to) => to.includes('/table/')).length;
    const kinds = await itemsOf(this.#data);
    const sum = (of: (kind: string) => boolean) =>
      [...kinds].reduce((bytes, [kind, count]) => bytes + (of(kind) ? count : 0), 0);
    const isKept = (kind: string) => kind.endsWith(' expires');
    return {
      ...inProcess,
      fds: open.length - files,
      tableFiles: readdirSync(join(this.#data, 'table')).length,
      tableBytes: bytesBelow(join(this.#data, 'table')).bytes,
      storeBytes: bytesBelow(join(this.#data, 'store')).bytes,
      storeFiles: bytesBelow(join(this.#data, 'store')).files,
      items: sum((kind) => !isKept(kind)),
      expiringItems: sum(isKept),
    };
  }

  async end(): Promise<void> {
    this.#child.kill('SIGKILL');
    if (this.isRunning) await once(this.#child, 'exit');
  }
}

/** Kinds of the table's items → how many there are. Those that expire are of other kinds. */
async function itemsOf(data: string): Promise<Map<string, number>> {
  const kinds = new Map<string, number>();
  let rest = '';
  for await (const text of backupOf(data)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const {
        pk = '',
        sk = '',
        expiresAt,
      } = JSON.parse(line) as { pk?: string; sk?: string; expiresAt?: number };
      const kind = `${pk.split('#')[0]} ${sk.split('#')[0]?.replace(/[\d].*/, '…')}${expiresAt ? ' expires' : ''}`;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
  }
  return kinds;
}

function bytesBelow(folder: string): { bytes: number; files: number } {
  let [bytes, files] = [0, 0];
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    // Some are removed meanwhile.
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    if (!found?.isFile()) continue;
    bytes += found.size;
    files += 1;
  }
  return { bytes, files };
}

const random = (bytes: number) => randomBytes(bytes).toString('hex');
const lfsType = 'application/vnd.git-lfs+json';
const lfsHeaders = { accept: lfsType, 'content-type': lfsType };

/** What people, machines and strangers do in a day. */
class Day {
  readonly #client: LoadClient;
  readonly #server: Soaked;
  readonly #random = new Random(7);
  readonly #ports: { readonly port: number; readonly metricsPort: number };
  readonly #tokens: ReadonlyMap<string, string>;
  /** Tenant → the repo that it pushed last, and what is in it. */
  readonly #pushed = new Map<string, { repo: string; contents: string[] }>();
  #turn = -1;
  #sent = 0;
  #told = 0;
  /** What was answered otherwise than it should. */
  readonly strange: string[] = [];

  constructor(input: {
    client: LoadClient;
    server: Soaked;
    ports: { readonly port: number; readonly metricsPort: number };
    tokens: ReadonlyMap<string, string>;
  }) {
    this.#client = input.client;
    this.#server = input.server;
    this.#ports = input.ports;
    this.#tokens = input.tokens;
  }

  /** Goes on until so many requests were sent. Then none is under way. */
  async until(count: number): Promise<void> {
    const sessions = [...this.#kinds].flatMap(([kind, weight]) => Array.from({ length: weight }, () => kind));
    const client = async () => {
      while (this.#sent < count && this.#server.isRunning) {
        const turn = Math.floor((this.#sent * msPerRequest) / turnMs);
        if (turn > this.#turn) await this.#begin(turn);
        const session = this.#random.pick(sessions);
        await session().catch((error: Error) => this.strange.push(String(error)));
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  /**
   * What is deleted during the day was pushed more than a day before. And the day before was like it: what it left expires
   * during the day, and is more than the server keeps in memory.
   */
  async before(): Promise<void> {
    for (let turn = 0; turn < turns; turn += 1)
      for (const name of ['older', 'old'])
        await Promise.all(tenants.map((tenant) => this.push(tenant, `${name}-${turn}`)));
    // What runs ends before the leap: no function may find that it took hours.
    await this.#wait(120, 1000);
    this.#server.pass(26 * 60 * 60_000);
    await this.#wait(120, 1000);
    for (let turn = 0; turn < turns; turn += 1) {
      for (const tenant of tenants)
        this.#expect('delete', await this.#client.manage('DELETE', `/${tenant}/repos/older-${turn}`), 202);
      for (let token = 0; token < requests / 18_000; token += 1) await this.#token();
      await this.#wait(120, turnMs / 120);
    }
    [this.#sent, this.#told] = [0, 0];
  }

  /** Lets time pass, in steps that no function takes for its own. */
  async #wait(steps: number, stepMs: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      this.#server.pass(stepMs);
      await sleep(20);
    }
  }

  /** What is done, and how often. */
  readonly #kinds = new Map<() => Promise<void>, number>([
    [() => this.#pushAgain(), 12],
    [() => this.#pull(), 20],
    [() => this.#lock(), 8],
    [() => this.#get(200, `/v1/tenants/ada/subscription`, this.#tokens.get('ada')), 12],
    [() => this.#get(401, '/v1/tenants/ada/subscription', `lfsq_${random(15)}`), 10],
    [() => this.#get(404, `/${random(4)}/${random(4)}.php?x=${random(2)}`), 10],
    [() => this.#get(200, '/health'), 6],
    [() => this.#get(200, '/'), 6],
    [() => this.#badBody(), 4],
    [() => this.#overLimit(), 1],
    [() => this.#get(200, `http://127.0.0.1:${this.#ports.metricsPort}/metrics`), 1],
    [() => this.#token(), 1],
  ]);

  /** Counts a request, and lets its time pass. */
  #count(): void {
    this.#sent += 1;
    if (this.#sent - this.#told < 10) return;
    this.#server.pass((this.#sent - this.#told) * (this.#turn < 0 ? 100 : msPerRequest));
    this.#told = this.#sent;
  }

  #expect(what: string, { status, text }: { status: number; text: string }, ...expected: number[]): void {
    if (!expected.includes(status)) this.strange.push(`${what}: ${status} ${text.slice(0, 200)}`);
  }

  async #begin(turn: number): Promise<void> {
    this.#turn = turn;
    for (const tenant of tenants) {
      await this.push(tenant, `new-${turn}`);
      this.#count();
      this.#expect('delete', await this.#client.manage('DELETE', `/${tenant}/repos/old-${turn}`), 202);
    }
  }

  #repo(): Repo & { contents: readonly string[] } {
    const tenant = this.#random.pick(tenants);
    const { repo, contents } = this.#pushed.get(tenant) ?? { repo: 'old-0', contents: [] };
    return { tenant, repo, contents, token: this.#tokens.get(tenant) ?? '' };
  }

  /** Pushes objects. The client goes away in the middle of the first upload, and comes again. */
  async push(tenant: string, repo: string): Promise<void> {
    const contents = Array.from({ length: objectsInRepo }, () => random(8).padEnd(size));
    const to = { tenant, repo, token: this.#tokens.get(tenant) ?? '' };
    this.#count();
    for (const [index, object] of (await this.#client.batch(to, 'upload', contents)).entries()) {
      const { content, oid, actions, error } = object;
      const { upload, verify } = actions ?? {};
      if (!upload) throw new Error(`Not admitted: ${error?.message}`);
      if (index === 0) await this.#breakOff(upload);
      this.#count();
      const headers = upload.header ?? {};
      this.#expect('PUT', await this.#client.send('PUT', upload.href, { headers, body: content }), 200);
      if (!verify) continue;
      this.#count();
      const sent = { headers: { ...lfsHeaders, ...verify.header }, body: JSON.stringify({ oid, size }) };
      this.#expect('verify', await this.#client.send('POST', verify.href, sent), 200);
    }
    this.#pushed.set(tenant, { repo, contents });
  }

  async #breakOff({ href, header = {} }: Upload): Promise<void> {
    this.#count();
    const { host, hostname, port, pathname, search } = new URL(href);
    const lines = Object.entries({ ...header, host, 'content-length': `${size}` }).map((line) =>
      line.join(': '),
    );
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(`PUT ${pathname}${search} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\nhalf`);
    await sleep(this.#random.int(0, 20));
    socket.destroy();
  }

  /** Somebody pushes what is stored. */
  async #pushAgain(): Promise<void> {
    const repo = this.#repo();
    this.#count();
    for (const { actions, error } of await this.#client.batch(repo, 'upload', repo.contents.slice(0, 3)))
      if (actions || error) this.strange.push('What is stored was to be uploaded.');
  }

  async #pull(): Promise<void> {
    const repo = this.#repo();
    const wanted = new Set([this.#random.pick(repo.contents), this.#random.pick(repo.contents)]);
    this.#count();
    for (const { content, actions } of await this.#client.batch(repo, 'download', [...wanted])) {
      this.#count();
      const got = await this.#client.send('GET', actions?.download?.href ?? '');
      if (got.text !== content) this.strange.push(`GET: ${got.status}`);
    }
  }

  async #lock(): Promise<void> {
    const repo = { ...this.#repo(), repo: 'locked' };
    const path = `${random(8)}.psd`;
    this.#count();
    const taken = await this.#client.lfs(repo, 'POST', '/locks', { path });
    this.#expect('lock', taken, 201);
    this.#count();
    this.#expect('locks', await this.#client.lfs(repo, 'POST', '/locks/verify'), 200);
    this.#count();
    const { lock } = JSON.parse(taken.text) as { lock: { id: string } };
    this.#expect('unlock', await this.#client.lfs(repo, 'POST', `/locks/${lock.id}/unlock`), 200);
  }

  async #get(expected: number, href: string, token?: string): Promise<void> {
    this.#count();
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    this.#expect(href.slice(0, 20), await this.#client.send('GET', href, { headers }), expected);
  }

  async #badBody(): Promise<void> {
    this.#count();
    const body = { operation: random(2), objects: [{ oid: random(3), size: -1 }] };
    this.#expect('bad body', await this.#client.lfs(this.#repo(), 'POST', '/objects/batch', body), 422);
  }

  async #overLimit(): Promise<void> {
    this.#count();
    const repo = { tenant: full, repo: 'game', token: this.#tokens.get(full) ?? '' };
    const [object] = await this.#client.batch(repo, 'upload', [random(8).padEnd(size)]);
    if (object?.actions) this.strange.push('A full tenant took more.');
  }

  async #token(): Promise<void> {
    const { tenant } = this.#repo();
    this.#count();
    const created = await this.#client.manage('POST', `/${tenant}/tokens`, { scope: 'read' });
    this.#expect('token', created, 201);
    this.#count();
    const { tokenId } = JSON.parse(created.text) as { tokenId: string };
    this.#expect('revoke', await this.#client.manage('DELETE', `/${tenant}/tokens/${tokenId}`), 200, 204);
  }
}

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** What expires after more than a day: audit entries, and revoked tokens with them. */
const bounded = new Set(['tableBytes', 'tableFiles', 'expiringItems', 'mapped']);

it.skipIf(!process.env['NIGHTLY'])(
  `a server has in use after ${hours} hours of ${requests} requests what it had after its first tenth`,
  { timeout: 6 * 60 * 60_000 },
  async () => {
    const data = join(tempFolder(), 'data');
    const program = await packedInto(join(tempFolder(), 'packed'));
    const ports = { port: await freePort(), metricsPort: await freePort() };
    expect(nodeOptions).toContain('--max-old-space-size');
    const server = new Soaked({ program, data, ...ports });
    onTestFinished(() => server.end());
    await server.ready();
    const client = new LoadClient({ url: `http://127.0.0.1:${ports.port}`, adminToken });
    const tokens = new Map<string, string>();
    for (const tenant of [...tenants, full]) {
      await client.manage('POST', '', { tenant, limitBytes: tenant === full ? 0 : 1024 ** 4 });
      const { text } = await client.manage('POST', `/${tenant}/tokens`, { scope: 'write' });
      tokens.set(tenant, (JSON.parse(text) as { token: string }).token);
    }
    const day = new Day({ client, server, ports, tokens });
    await day.before();
    /** The median of five measurements, so that none is of a lucky moment. */
    const around = async (percent: number) => {
      const found: Record<string, number>[] = [];
      for (const part of [-2, -1, 0, 1, 2]) {
        await day.until((requests * (percent + part / 4)) / 100);
        found.push(await server.measure());
      }
      const names = Object.keys(found[0] ?? {});
      return Object.fromEntries(names.map((name) => [name, median(found.map((each) => each[name] ?? 0))]));
    };
    const begin = [await around(10), await around(20), await around(30)];
    const last = [await around(80), await around(90), await around(99.5)];
    const [tenth = {}, end = {}] = [begin[0], last[2]];
    client.close();
    const kinds = Object.fromEntries(await itemsOf(data));
    const series = (name: string) => [...begin, ...last].map((each) => each[name] ?? 0);
    const [memory, mapped] = [series('memory'), series('mapped')];
    const shown = JSON.stringify({ tenth, end, memory, mapped, kinds }, undefined, 1);
    await server.end();
    process.stdout.write(`In use after a tenth of ${requests} requests, and at the end: ${shown}\n`);
    expect(day.strange.slice(0, 20)).toEqual([]);
    expect(server.errors.slice(0, 20)).toEqual([]);
    const names = Object.keys(tenth).filter((name) => name !== 'memory');
    // One more of a few things is one that happened to be under way.
    const grown = names.filter((name) => (end[name] ?? 0) > 1.05 * (tenth[name] ?? 0) + 1);
    // Outside of the heap it rises while the table grows, but ever less. What leaks goes on in the last fifth of the day.
    if (Number(last[2]?.['memory']) > 1.03 * Number(last[0]?.['memory'])) grown.push('memory');
    expect(
      grown.filter((name) => !bounded.has(name)),
      shown,
    ).toEqual([]);
  },
);
