import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { ObjectFiles } from '../../../../local/store/files.ts';
import { packedInto, useChildStacks } from '../../../support/child-stack.ts';
import { freePort } from '../../../support/free-port.ts';
import { Random } from '../../../support/random.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { LoadClient } from '../../load-client.ts';

const tempFolder = useTempFolders();
const spawnServer = useChildStacks();
const kills = process.env['NIGHTLY'] ? 100 : 4;
const clients = 12;
const size = 1000;
const limitBytes = 60 * size;
const tenant = 'acme';
const repo = 'media';
const files = `/${tenant}/repos/${repo}`;
const adminToken = 'admin-token-of-the-file-kill-tests-01234';

interface Upload {
  readonly name: string;
  readonly state: string;
  readonly url?: string;
  readonly headers?: Record<string, string>;
}

/** What clients know of the files of a server that dies again and again. */
class Known {
  /** Those whose PUT was answered, and whose delete nobody has asked for. */
  readonly stored = new Set<string>();
  /** Those whose delete was answered. */
  readonly gone = new Set<string>();
  /** Answers that a server under load has no reason for. */
  readonly strange: string[] = [];
  admitted = 0;
  refused = 0;
}

/** One of many. No other has files of its names. */
class Client {
  readonly #known: Known;
  readonly #random: Random;
  readonly #name: string;
  readonly #own = new Set<string>();
  #count = 0;

  constructor(known: Known, index: number) {
    this.#known = known;
    this.#random = new Random(index);
    this.#name = `client ${index}`;
  }

  async run(server: LoadClient, isRunning: () => boolean): Promise<void> {
    const acts = [() => this.#upload(server), () => this.#upload(server), () => this.#delete(server)];
    while (isRunning())
      await this.#random
        .pick(acts)()
        .catch((error: Error) => {
          if (!/ECONN|EPIPE|hang up|aborted|terminated/.test(`${error} ${Object(error).code}`))
            this.#known.strange.push(String(error));
        });
  }

  async #upload(server: LoadClient): Promise<void> {
    const { stored, strange } = this.#known;
    const wanted = Array.from({ length: this.#random.int(1, 3) }, () => {
      this.#count += 1;
      return { name: `${this.#name}/${this.#count}:é.bin`, bytes: size };
    });
    const { status, text } = await server.manage('POST', `${files}/uploads`, { files: wanted });
    // At the limit, a reconcile is to find out whether it fits.
    if (status === 429) this.#known.refused += 1;
    if (status === 429) return;
    if (status !== 200) return void strange.push(`uploads: ${status} ${text}`);
    const { uploads, uploadId } = JSON.parse(text) as { uploads: Upload[]; uploadId: string | null };
    const some = this.#random.pick(['all', 'all', 'all', 'cancel', 'cancel']);
    if (some === 'cancel' && uploadId !== null) {
      const canceled = await server.manage('DELETE', `${files}/uploads/${uploadId}`);
      // Its URLs store nothing any more, seconds later: what comes sooner stays.
      if (canceled.status !== 202) strange.push(`cancel: ${canceled.status} ${canceled.text}`);
    }
    for (const { name, state, url = '', headers = {} } of uploads) {
      if (state === 'over-limit') this.#known.refused += 1;
      else if (state !== 'upload') strange.push(`${name}: ${state}`);
      // Some never arrive.
      if (state !== 'upload' || this.#random.chance(0.02)) continue;
      this.#known.admitted += 1;
      const put = await server.send('PUT', url, { headers, body: name.padEnd(size - 1) });
      if (put.status === 200) {
        stored.add(name);
        this.#own.add(name);
      } else if (put.status !== 200 && put.status !== 412) strange.push(`PUT: ${put.status} ${put.text}`);
    }
  }

  async #delete(server: LoadClient): Promise<void> {
    const { stored, gone, strange } = this.#known;
    const [name] = this.#own;
    if (name === undefined) return;
    this.#own.delete(name);
    stored.delete(name);
    const asked = await server.manage('DELETE', `${files}/files?name=${encodeURIComponent(name)}`);
    if (asked.status === 202) gone.add(name);
    // One that a server took, and died, is asked for once.
    else strange.push(`delete: ${asked.status} ${asked.text}`);
  }
}

/** Key → bytes of what a server left behind. */
function storedIn(data: string): Map<string, number> {
  const { index } = new ObjectFiles(join(data, 'store'));
  const all = new Map<string, number>();
  for (let continuationToken: string | undefined; ; ) {
    const page = index.page({ prefix: '', ...(continuationToken !== undefined && { continuationToken }) });
    for (const { key, value } of page.entries) all.set(key, value.sizeBytes);
    continuationToken = page.nextContinuationToken;
    if (continuationToken === undefined) return all;
  }
}

/** That what a server left behind has all that was answered, and never more than the limit. */
function expectKept(data: string, { stored }: Known): void {
  const all = storedIn(data);
  expect([...stored].filter((name) => all.get(`${tenant}/${repo}/${name}`) !== size)).toEqual([]);
  expect([...all.values()].reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(limitBytes);
}

it(`a server, killed ${kills} times while files come and go, keeps what it answered, and its limit`, {
  timeout: 4 * 60 * 60_000,
}, async () => {
  const data = join(tempFolder(), 'data');
  const packed = await packedInto(join(tempFolder(), 'packed'));
  const random = new Random(1);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const known = new Known();
  const users = Array.from({ length: clients }, (_, index) => new Client(known, index));
  const start = () =>
    spawnServer(
      ['serve', '--listen', `127.0.0.1:${port}`, '--data', data, '--public-url', url, '--rate', '0'],
      { LFS_QUOTA_ADMIN_TOKEN: adminToken },
      [packed],
    );
  for (let kill = 1; kill <= kills; kill += 1) {
    const server = start();
    const client = new LoadClient({ url, adminToken });
    await server.ready();
    if (kill === 1) {
      expect((await client.manage('POST', '', { tenant, limitBytes })).status).toBe(201);
      expect((await client.manage('POST', `/${tenant}/repos`, { repo, kind: 'files' })).status).toBe(201);
    }
    let isRunning = true;
    const load = users.map((user) => user.run(client, () => isRunning));
    const enough = client.answers + random.int(50, 600);
    while (client.answers < enough && server.process.exitCode === null) await sleep(random.int(1, 10));
    server.process.kill('SIGKILL');
    isRunning = false;
    await server.ended();
    await Promise.all(load);
    client.close();
    expect(known.strange).toEqual([]);
    expectKept(data, known);
  }

  const last = start();
  await last.ready();
  const client = new LoadClient({ url, adminToken });
  // What was asked before a kill is done after it, and then the counted usage is what is stored.
  const isAtRest = async () => {
    expect((await client.manage('POST', `/${tenant}/reconcile`)).status).toBe(202);
    const files = [...storedIn(data)].filter(([, bytes]) => bytes > 0);
    const there = new Set(files.map(([key]) => key.slice(`${tenant}/${repo}/`.length)));
    expect([...known.gone].filter((name) => there.has(name))).toEqual([]);
    const { usage } = JSON.parse((await client.manage('GET', `/${tenant}`)).text);
    expect(usage).toMatchObject({ storedBytes: there.size * size, objectCount: there.size });
  };
  await vi.waitFor(isAtRest, { timeout: 300_000, interval: 2000 });
  expect(known.admitted).toBeGreaterThan(5 * kills);
  expect(known.refused).toBeGreaterThan(0);
  expectKept(data, known);
  client.close();
  last.process.kill('SIGKILL');
  await last.ended();
});
