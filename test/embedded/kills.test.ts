import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { createDynamoDbLedger } from '../../lambda/core/ledger/ledger.ts';
import { allPages } from '../../lambda/core/rules/async.ts';
import { openDatabase } from '../../local/data/database.ts';
import { ObjectFiles } from '../../local/store/files.ts';
import { packedInto, useChildStacks } from '../support/child-stack.ts';
import { freePort } from '../support/free-port.ts';
import { Random } from '../support/random.ts';
import { useTempFolders } from '../support/temp-folder.ts';
import { LoadClient, oidOf, type Repo } from './load-client.ts';

const tempFolder = useTempFolders();
const spawnServer = useChildStacks();
const kills = process.env['NIGHTLY'] ? 200 : 8;
const clients = 24;
const tenants = ['ada', 'bob', 'cyd'];
const repos = ['film', 'game'];
const size = 1000;
const adminToken = 'admin-token-of-the-kill-tests-0123456789';

/** What clients know of a server that dies again and again. */
class Known {
  /** Of each thing that clients change: what it may be. Without an answer, the change may have been made or not. */
  readonly things = new Map<string, Set<string>>();
  /** Those that were changed since they were compared last. */
  readonly changed = new Set<string>();
  readonly asked = new Map<string, Set<string>>(tenants.map((tenant) => [tenant, new Set()]));
  /** oid → until when its reservation is live at least. */
  readonly admitted = new Map<string, Map<string, number>>(tenants.map((tenant) => [tenant, new Map()]));
  readonly stored = new Map<string, Set<string>>(tenants.map((tenant) => [tenant, new Set()]));
  /** Answers that a server under load has no reason for. */
  readonly strange: string[] = [];

  may(thing: string): ReadonlySet<string> {
    return this.things.get(thing) ?? new Set(['none']);
  }

  /** @param ask resolves to its status. It rejects if there is no answer. */
  async change(thing: string, to: string, ask: () => Promise<number>): Promise<void> {
    this.things.set(thing, new Set([...this.may(thing), to]));
    this.changed.add(thing);
    const status = await ask();
    if (status < 300) this.things.set(thing, new Set([to]));
    else this.strange.push(`${thing} → ${to}: ${status}`);
  }
}

/** One of many who use the server at the same time. No other changes the same things. */
class Client {
  readonly #known: Known;
  readonly #random: Random;
  readonly #repo: Omit<Repo, 'token'>;
  readonly #name: string;
  #count = 0;
  #token: { id: string; token: string } | undefined;
  #lockId: string | undefined;

  constructor(known: Known, index: number) {
    this.#known = known;
    this.#random = new Random(index);
    this.#name = `client-${index}`;
    this.#repo = { tenant: tenants[index % tenants.length] ?? '', repo: repos[index % repos.length] ?? '' };
  }

  /** One thing after the other, until the server is gone. */
  async run(
    server: LoadClient,
    tokens: ReadonlyMap<string, string>,
    isRunning: () => boolean,
  ): Promise<void> {
    const repo = { ...this.#repo, token: tokens.get(this.#repo.tenant) ?? '' };
    const push = () => this.#push(server, repo);
    const acts = [
      push,
      push,
      push,
      () => this.#lock(server, repo),
      () => this.#grant(server),
      () => this.#limit(server),
    ];
    while (isRunning())
      await this.#random
        .pick(acts)()
        .catch((error: Error) => {
          // Before it was killed, or after.
          if (!/ECONN|EPIPE|hang up|aborted|terminated/.test(`${error} ${Object(error).code}`))
            this.#known.strange.push(String(error));
        });
  }

  async #push(server: LoadClient, repo: Repo): Promise<void> {
    const { tenant } = repo;
    const contents = Array.from({ length: this.#random.int(1, 3) }, () =>
      `${this.#name} ${this.#next()}`.padEnd(size),
    );
    for (const content of contents) this.#known.asked.get(tenant)?.add(oidOf(content));
    // An hour at least: docs/how-it-works.md. The test does not take so long from one kill to the next.
    const untilMs = Date.now() + 25 * 60_000;
    const objects = await server.batch(repo, 'upload', contents);
    for (const { oid, actions, error } of objects)
      if (actions?.upload) this.#known.admitted.get(tenant)?.set(oid, untilMs);
      else this.#known.strange.push(`${oid} is not to be uploaded: ${error?.message}`);
    // Some never arrive.
    if (this.#random.chance(0.2)) return;
    for (const { content, oid, actions: { upload, verify } = {} } of objects) {
      if (!upload) continue;
      const put = await server.send('PUT', upload.href, { headers: upload.header ?? {}, body: content });
      if (put.status === 200) this.#known.stored.get(tenant)?.add(`${tenant}/${repo.repo}/${oid}`);
      else this.#known.strange.push(`PUT ${put.status} ${put.text}`);
      // The server asks for one of each batch.
      if (!verify) continue;
      const type = 'application/vnd.git-lfs+json';
      const headers = { accept: type, 'content-type': type, ...verify.header };
      const body = JSON.stringify({ oid, size });
      const verified = await server.send('POST', verify.href, { headers, body });
      if (verified.status !== 200) this.#known.strange.push(`verify ${verified.status} ${verified.text}`);
    }
  }

  async #lock(server: LoadClient, repo: Repo): Promise<void> {
    const path = `${this.#name}.bin`;
    const thing = `lock ${repo.tenant}/${repo.repo}/${path}`;
    // It learns what it has, in case the server died before it said.
    const { text } = await server.lfs(repo, 'GET', `/locks?path=${path}`);
    this.#lockId = (JSON.parse(text) as { locks: { id: string }[] }).locks[0]?.id;
    const id = this.#lockId;
    const ask = (path: string, body: object) => async () =>
      (await server.lfs(repo, 'POST', path, body)).status;
    if (id === undefined) await this.#known.change(thing, 'held', ask('/locks', { path }));
    else await this.#known.change(thing, 'none', ask(`/locks/${id}/unlock`, {}));
  }

  /** Creates a token, and revokes the one before. */
  async #grant(server: LoadClient): Promise<void> {
    const tokens = `/${this.#repo.tenant}/tokens`;
    const before = this.#token;
    this.#token = undefined;
    if (before)
      await this.#known.change(`token ${before.token}`, 'none', async () => {
        const { status } = await server.manage('DELETE', `${tokens}/${before.id}`);
        return status;
      });
    const { status, text } = await server.manage('POST', tokens, { scope: 'read' });
    if (status !== 201) throw new Error(`token: ${status} ${text}`);
    const created = JSON.parse(text) as { token: string; tokenId: string };
    this.#token = { id: created.tokenId, token: created.token };
    await this.#known.change(`token ${created.token}`, 'valid', async () => status);
  }

  /** A tenant of its own gets another limit. */
  async #limit(server: LoadClient): Promise<void> {
    const limit = 1_000_000 + this.#next();
    const isNew = this.#known.may(`limit ${this.#name}`).has('none');
    await this.#known.change(`limit ${this.#name}`, String(limit), async () => {
      if (!isNew) return (await server.manage('PATCH', `/${this.#name}`, { limitBytes: limit })).status;
      const { status } = await server.manage('POST', '', { tenant: this.#name, limitBytes: limit });
      // One that was not answered has created it.
      return status === 409
        ? (await server.manage('PATCH', `/${this.#name}`, { limitBytes: limit })).status
        : status;
    });
  }

  #next(): number {
    this.#count += 1;
    return this.#count;
  }
}

/** What a thing is now. */
async function read(server: LoadClient, thing: string, tokens: ReadonlyMap<string, string>): Promise<string> {
  const [kind, name = ''] = thing.split(' ');
  if (kind === 'limit') {
    const { status, text } = await server.manage('GET', `/${name}`);
    return status === 404 ? 'none' : String((JSON.parse(text) as { limitBytes: number }).limitBytes);
  }
  if (kind === 'token') {
    const { status } = await server.send('GET', '/v1/session', {
      headers: { authorization: `Bearer ${name}` },
    });
    return status === 200 ? 'valid' : 'none';
  }
  const [tenant = '', repo = '', path = ''] = name.split('/');
  const { text } = await server.lfs(
    { tenant, repo, token: tokens.get(tenant) ?? '' },
    'GET',
    `/locks?path=${path}`,
  );
  return (JSON.parse(text) as { locks: unknown[] }).locks.length > 0 ? 'held' : 'none';
}

/** That a running server has all these things as clients know them. */
async function expectThings(
  server: LoadClient,
  { known, tokens, names }: { known: Known; tokens: ReadonlyMap<string, string>; names: Iterable<string> },
): Promise<void> {
  for (const name of names) {
    const now = await read(server, name, tokens);
    expect([...known.may(name)], name).toContain(now);
    known.things.set(name, new Set([now]));
  }
}

/** That what a server left behind has all that was answered, and counts no more than what was asked. */
async function expectCounted(data: string, known: Known): Promise<void> {
  const { index } = new ObjectFiles(join(data, 'store'));
  const database = await openDatabase(join(data, 'table'));
  const ledger = createDynamoDbLedger(database);
  for (const tenant of tenants) {
    const [asked, admitted] = [
      known.asked.get(tenant) ?? new Set<string>(),
      known.admitted.get(tenant) ?? new Map<string, number>(),
    ];
    const stored = known.stored.get(tenant) ?? new Set<string>();
    expect([...stored].filter((key) => index.get(key)?.sizeBytes !== size)).toEqual([]);
    const isStored = (oid: string) => repos.some((repo) => index.get(`${tenant}/${repo}/${oid}`));
    const nowMs = Date.now();
    const live = [...asked].filter((oid) => isStored(oid) || (admitted.get(oid) ?? 0) > nowMs);
    const reserved = new Set(
      (await allPages(ledger.reservations(tenant))).flatMap(({ entries }) => [...entries.keys()]),
    );
    expect(live.filter((oid) => !isStored(oid) && !reserved.has(oid))).toEqual([]);
    expect([...reserved].filter((oid) => !asked.has(oid))).toEqual([]);
    const { committedBytes = 0, confirmedBaseBytes = 0 } = (await ledger.readTenant(tenant)) ?? {};
    expect(committedBytes / size).toBeGreaterThanOrEqual(live.length);
    // The counter may have something twice until the next reconcile; what a limit is decided by never has.
    expect(confirmedBaseBytes / size).toBeLessThanOrEqual(asked.size);
  }
  await database.close();
}

it(`a server, killed ${kills} times under load, has all that it answered, and nothing that nobody asked for`, {
  timeout: 4 * 60 * 60_000,
}, async () => {
  const data = join(tempFolder(), 'data');
  const packed = await packedInto(join(tempFolder(), 'packed'));
  const random = new Random(1);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const known = new Known();
  const users = Array.from({ length: clients }, (_, index) => new Client(known, index));
  const tokens = new Map<string, string>();
  const start = () =>
    spawnServer(
      ['serve', '--listen', `127.0.0.1:${port}`, '--data', data, '--public-url', url, '--rate', '0'],
      { LFS_QUOTA_ADMIN_TOKEN: adminToken },
      [packed],
    );
  const admin = () => new LoadClient({ url, adminToken });
  for (let kill = 1; kill <= kills; kill += 1) {
    const server = start();

    const client = admin();
    // Some die before they are ready.
    const isEarly = kill > 1 && random.chance(0.1);
    if (isEarly) await sleep(random.int(0, 2000));
    else {
      await server.ready();
      for (const tenant of tokens.size === 0 ? tenants : []) {
        await client.manage('POST', '', { tenant, limitBytes: 1024 ** 4 });
        const { text } = await client.manage('POST', `/${tenant}/tokens`, { scope: 'write' });
        tokens.set(tenant, (JSON.parse(text) as { token: string }).token);
      }
      await expectThings(client, { known, tokens, names: known.changed });
      known.changed.clear();
      let isRunning = true;
      const load = users.map((user) => user.run(client, tokens, () => isRunning));
      const enough = client.answers + random.int(20, 500);
      while (client.answers < enough && server.process.exitCode === null) await sleep(random.int(1, 10));
      server.process.kill('SIGKILL');
      isRunning = false;
      await server.ended();
      await Promise.all(load);
    }
    server.process.kill('SIGKILL');
    await server.ended();
    client.close();
    expect(known.strange).toEqual([]);
    await expectCounted(data, known);
  }

  // The scan of all that is there equals what was counted step by step.

  const last = start();
  await last.ready();
  const client = admin();
  await expectThings(client, { known, tokens, names: known.things.keys() });
  const { index } = new ObjectFiles(join(data, 'store'));
  const expectScanned = async (tenant: string) => {
    const asked = [...(known.asked.get(tenant) ?? [])];
    const keys = asked.flatMap((oid) => repos.filter((repo) => index.get(`${tenant}/${repo}/${oid}`)));
    const scanned = { objectCount: keys.length, storedBytes: keys.length * size };
    expect((await client.manage('POST', `/${tenant}/reconcile`)).status).toBe(202);
    const usage = async () => JSON.parse((await client.manage('GET', `/${tenant}`)).text).usage;
    await vi.waitFor(async () => expect(await usage()).toMatchObject(scanned), {
      timeout: 120_000,
      interval: 200,
    });
    expect(keys.length).toBeGreaterThan(kills);
  };
  await Promise.all(tenants.map(expectScanned));
  client.close();
  last.process.kill('SIGKILL');
  await last.ended();
  await expectCounted(data, known);
});
