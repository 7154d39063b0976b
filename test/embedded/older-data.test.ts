import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Context, SQSEvent } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ReconcileRequest } from '../../lambda/core/ledger/rules/reconcile-policy.ts';
import { allPages } from '../../lambda/core/rules/async.ts';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { listPages } from '../../lambda/core/store/rules/store.ts';
import { stored as asStored, fromStored } from '../../lambda/core/table/stored-names.ts';
import { createInvocations } from '../../lambda/frame/aws/invocation-log.ts';
import { create as createStoreEvents } from '../../lambda/frame/work/store-events.ts';
import { type QueueName, queuesBy } from '../../local/background/queues.ts';
import { composeEmbedded, createFunctions, embeddedStore } from '../../local/compose.ts';
import { storeCredentialsOf } from '../../local/data/data-folder.ts';
import { openDatabase } from '../../local/data/database.ts';
import { startEmbeddedStack } from '../../local/start.ts';
import { startStore } from '../../local/store/start-store.ts';
import { Turns } from '../../local/turns.ts';
import { deliver } from '../support/delivery.ts';
import { httpEvent } from '../support/http-event.ts';
import { recordingLog } from '../support/recording-log.ts';
import type { TestedSubject } from '../support/subject.ts';
import * as subjects from '../support/subjects.ts';
import { useTempFolders } from '../support/temp-folder.ts';

/**
 * What older versions stored is read, finished and exact at rest: items of each kind, messages, exports and gc runs half
 * done, and data folders. test/fixtures/README.md says how it was made.
 */

const tempFolder = useTempFolders();
const bucket = '_objects';
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

interface Messages {
  readonly nowMs: number;
  readonly settings: object;
  readonly admin: string;
  readonly tokens: Readonly<Record<string, string>>;
  readonly recounts: readonly ReconcileRequest[];
  readonly exports: readonly object[];
  readonly webhooks: readonly object[];
  readonly storeEvents?: readonly object[];
}

const fixtureOf = (commit: string) => join(import.meta.dirname, '../fixtures', commit);
const messagesOf = (commit: string): Messages =>
  JSON.parse(readFileSync(join(fixtureOf(commit), 'messages.json'), 'utf8'));
const itemsOf = (commit: string) =>
  readFileSync(join(fixtureOf(commit), 'items.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => unmarshall(JSON.parse(line)));

/** @returns the data folder. */
function unpack(commit: string): string {
  const folder = tempFolder();
  execFileSync('tar', ['-xzf', join(fixtureOf(commit), 'data.tar.gz'), '-C', folder]);
  return join(folder, 'data');
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

// The SDK would learn the machine's time from it, which is not that of the fixture.
const sendDate = Object.getOwnPropertyDescriptor(ServerResponse.prototype, 'sendDate');
beforeEach(() => {
  Object.defineProperty(ServerResponse.prototype, 'sendDate', {
    configurable: true,
    get: () => false,
    set() {},
  });
});
afterEach(() => {
  Reflect.deleteProperty(ServerResponse.prototype, 'sendDate');
  if (sendDate) Object.defineProperty(ServerResponse.prototype, 'sendDate', sendDate);
  vi.useRealTimers();
});

const closes: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

/** The functions over the table's items and the store's files of a commit, as they are deployed: nothing runs by itself. */
async function deployOver(commit: string) {
  const messages = messagesOf(commit);
  vi.useFakeTimers({ toFake: ['Date'], now: messages.nowMs });
  const dataDir = unpack(commit);
  const database = await openDatabase(join(tempFolder(), 'database'));
  closes.push(() => database.close());
  const { client, tableName: TableName } = database;
  for (const Item of itemsOf(commit)) await client.send('PutItem', { TableName, Item });

  const { log, entries } = recordingLog();
  const credentials = await storeCredentialsOf(dataDir, { random: () => '' });
  const store = await startStore({ port: 0, dataDir: join(dataDir, 'store'), bucket, credentials });
  closes.push(() => store.close());
  const queued: Readonly<Record<string, object[]>> = {
    reconciles: [...messages.recounts],
    exports: [...messages.exports],
    webhooks: [...messages.webhooks],
  };
  const invocations = createInvocations();
  const settings = { ...defaultSettings, reconcileRestMs: 0, ...messages.settings };
  // What waits moves the clock on.
  const clock = {
    nowMs: () => Date.now(),
    sleep: async (ms: number) => void vi.setSystemTime(Date.now() + Math.ceil(ms)),
  };
  let drawn = 0;
  const composed = composeEmbedded({
    database,
    store: embeddedStore(store, { bucket, credentials }),
    url: store.url,
    ...queuesBy(async (name, sent) => void queued[name]?.push(...sent)),
    mailer: { send: async () => undefined },
    queueGauges: [],
    allowsLoopbackWebhooks: false,
    adoptedRepos: [],
    adminToken: messages.admin,
    clock,
    ids: { random: (length) => `${(drawn++).toString(36)}`.padStart(length, '0') },
    log,
    invocations,
    settings,
    turns: new Turns(),
  });
  closes.push(async () => composed.close());
  const posted: string[] = [];
  const deps = {
    ...composed.deps,
    webhookSender: {
      post: async ({ body }: { body: string }) => {
        posted.push(body);
        return { kind: 'answered', status: 200 } as const;
      },
    },
  };
  return {
    messages,
    deps,
    functions: createFunctions(deps),
    queued,
    entries,
    posted,
    database,
    dataDir,
    store,
  };
}

type Deployed = Awaited<ReturnType<typeof deployOver>>;

const leftMs = 800_000;
const context = { getRemainingTimeInMillis: () => leftMs, awsRequestId: 'r' } as Context;

/** Runs the schedule, and all that lies in the queues, until nothing does. */
async function settle({ functions, queued }: Deployed): Promise<void> {
  const { refresh, consumers } = functions;
  await refresh(undefined, context);
  for (let turn = 0; ; turn += 1) {
    if (turn > 200) throw new Error('The queues are never empty.');
    const next = Object.entries(queued).flatMap(([name, jobs]) =>
      jobs.splice(0, 1).map((job) => [name as QueueName, job] as const),
    );
    if (next.length === 0) return;
    for (const [name, job] of next)
      expect(await deliver(consumers[name], job, { leftMs })).toEqual({ isDone: true, delays: [] });
  }
}

/** Lets time pass, with a run of the schedule after each step. */
async function live(deployed: Deployed, steps: number, stepMs: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    vi.setSystemTime(Date.now() + stepMs);
    await settle(deployed);
  }
}

async function stored({ deps }: Deployed, prefix: string) {
  const found = new Map<string, number>();
  for await (const page of listPages(deps.listing, { prefix }))
    for (let index = 0; index < page.keyCount; index += 1) found.set(page.keyAt(index), page.sizeAt(index));
  return found;
}
const sumOf = (sizes: Iterable<number>) => [...sizes].reduce((sum, size) => sum + size, 0);

/** What is wrong with a tenant that should rest. */
async function expectRest(deployed: Deployed, tenant: string): Promise<void> {
  const { deps } = deployed;
  const record = await deps.ledger.readTenant(tenant);
  const objects = await stored(deployed, `${tenant}/`);
  expect({ ...record, intents: record?.intents.size }, tenant).toMatchObject({
    scanned: { storedBytes: sumOf(objects.values()), objectCount: objects.size },
    committedBytes: sumOf(objects.values()),
    entryCount: 0,
    intents: 0,
  });
  expect(await allPages(deps.ledger.reservations(tenant))).toEqual([]);
  expect(await allPages(deps.ledger.deletions(tenant))).toEqual([]);
  for (const { repo, storedBytes, closedAtMs } of await allPages(deps.ledger.repos(tenant))) {
    const own = [...objects].filter(([key]) => key.startsWith(`${tenant}/${repo}/`));
    expect({ repo, storedBytes, closedAtMs: closedAtMs ?? null }).toEqual({
      repo,
      storedBytes: sumOf(own.map(([, size]) => size)),
      closedAtMs: null,
    });
  }
}

/** What the API answers the operator. */
const getting =
  ({ functions, messages }: Deployed) =>
  async (routeKey: string, pathParameters: Readonly<Record<string, string>>): Promise<unknown> => {
    const [method = '', path = ''] = routeKey.split(' ');
    const event = httpEvent({
      method,
      path: path.replace(/\{(\w+)\}/g, (_, name) => pathParameters[name] ?? ''),
      routeKey,
      pathParameters,
      headers: { authorization: `Bearer ${messages.admin}` },
    });
    const { body } = (await functions.http.management(event, context)) as { body: string };
    return JSON.parse(body);
  };

/** Asks to upload one object, as git-lfs does. @returns what the batch says of it. */
async function askToUpload(deployed: Deployed, tenant: string, repo: string, bytes: Uint8Array) {
  const { functions, messages } = deployed;
  const media = 'application/vnd.git-lfs+json';
  const objects = [{ oid: sha256(bytes), size: bytes.length }];
  const event = httpEvent({
    path: `/${tenant}/${repo}/info/lfs/objects/batch`,
    routeKey: 'POST /{tenant}/{repo}/info/lfs/objects/batch',
    pathParameters: { tenant, repo },
    headers: { authorization: `Bearer ${messages.tokens[tenant]}`, accept: media, 'content-type': media },
    body: JSON.stringify({ operation: 'upload', transfers: ['basic'], objects }),
  });
  const { statusCode, body } = (await functions.http.lfsBatch(event, context)) as {
    statusCode: number;
    body: string;
  };
  expect(statusCode, body).toBe(200);
  return (JSON.parse(body) as { objects: { actions?: object }[] }).objects[0];
}

const countOf = async (deployed: Deployed, prefix: string) => (await stored(deployed, prefix)).size;

/** No warning and no error. */
function expectNoTrouble({ entries }: Deployed): void {
  expect(entries.filter(({ level }) => level !== 'info')).toEqual([]);
}

/** Much is computed here, and a machine may be busy. */
const timeout = 120_000;

describe('what 272d26e stored', { timeout }, () => {
  it('has items of each kind of the ledger, and each is read', async () => {
    const { deps } = await deployOver('272d26e');
    const { ledger } = deps;
    const acme = await ledger.readTenant('acme');
    expect(acme).toMatchObject({ plan: 'team', limitBytes: 5000, downloadLimitBytes: 1_000_000 });
    expect(acme?.repoLimits.get('game')).toMatchObject({ limitBytes: 3000, scanned: { storedBytes: 400 } });
    expect((await ledger.readTenant('ends'))?.intents.size).toBe(1);
    expect((await ledger.readTenant('shut'))?.closedAtMs).toEqual(expect.any(Number));
    const reservationsOf = async (tenant: string) => allPages(ledger.reservations(tenant));
    const open = await reservationsOf('open');
    expect(open.map(({ state }) => state).sort()).toEqual([
      'issued',
      'issued',
      'issued',
      'issued',
      'pending',
    ]);
    expect((await reservationsOf('ends')).filter((each) => each.deletedByMs !== undefined)).toHaveLength(1);
    expect((await reservationsOf('sums')).filter((each) => each.id.startsWith('~'))).toHaveLength(1);
    const deletions = (await allPages(ledger.deletions('ends'))).map(({ repo, state }) => `${repo} ${state}`);
    expect(deletions).toEqual(['closed deleting', 'dying deleted', 'marked scheduled', 'noted deleted']);
    expect((await allPages(ledger.deletions('clean'))).map(({ sweep }) => sweep !== undefined)).toEqual([
      true,
      true,
    ]);
    expect((await ledger.readRepo({ tenant: 'big', repo: 'sky' }))?.large).toBeDefined();
    expect((await allPages(ledger.shards({ tenant: 'big', repo: 'sky' }))).some(({ partOf }) => partOf)).toBe(
      true,
    );
    expect(await ledger.readRefreshState()).toBeDefined();
  });

  it('has items of each other kind, and each is read', async () => {
    const { deps } = await deployOver('272d26e');
    for (const { older } of Object.values<TestedSubject>(subjects)) await older?.read(deps);
    const tokens = await deps.tokens.list('acme');
    expect(tokens.map(({ scope }) => scope).sort()).toEqual(['manage', 'write']);
    expect(await deps.failures.list()).toHaveLength(1);
    const session = itemsOf('272d26e').find(({ sk }) => String(sk).startsWith('SESSION#'));
    const key = { parentId: 'operator', sessionId: String(session?.['sessionId']) };
    expect(await deps.tokens.findSession(key)).toMatchObject(key);
    expect(await deps.ledger.goneOf({ tenant: 'clean', repo: 'done', oids: oidsGone() })).toHaveProperty(
      'size',
      2,
    );
    const audited = { tenant: 'acme', fromMs: 0, untilMs: Date.now(), pageSize: 99 };
    expect((await deps.audit.list(audited)).entries.length).toBeGreaterThan(5);
  });

  it('is finished, and exact at rest', async () => {
    const deployed = await deployOver('272d26e');
    const { deps, messages, posted } = deployed;
    const Records = (messages.storeEvents ?? []).map((body, index) => ({
      messageId: `${index}`,
      body: JSON.stringify(body),
    }));
    const event = { Records } as SQSEvent;
    expect(await createStoreEvents(deps)(event, context)).toEqual({ batchItemFailures: [] });
    await live(deployed, 6, 10 * minute);
    expect(posted.map((body) => JSON.parse(body).type)).toEqual([
      'storage.threshold',
      'storage.limit_reached',
    ]);
    const at = { get: getting(deployed), storeUrl: deployed.store.url };
    for (const { older } of Object.values<TestedSubject>(subjects)) await older?.done?.(deps, at);

    await live(deployed, 8, 4 * hour);
    await live(deployed, 8, 4 * day);
    // Two of six objects were to go, and a batch has named one of those of `swept`.
    for (const [repo, count] of Object.entries({ watched: 6, left: 6, chosen: 4, swept: 5, done: 4 }))
      expect([repo, await countOf(deployed, `clean/${repo}/`)]).toEqual([repo, count]);
    const ends = { marked: 2, dying: 2, noted: 2, gone: 2, fresh: 1, closed: 0, closing: 0 };
    for (const [repo, count] of Object.entries(ends))
      expect([repo, await countOf(deployed, `ends/${repo}/`)]).toEqual([repo, count]);
    expect(await countOf(deployed, 'shut/')).toBe(0);
    for (const tenant of [...Object.keys(messages.tokens), 'shut']) await expectRest(deployed, tenant);
    for (const { older } of Object.values<TestedSubject>(subjects)) await older?.rest?.(deps);
    expect(readdirSync(join(deployed.dataDir, 'store/multipart'))).toEqual([]);
    const { due } = await deps.ledger.dueTenants({ untilMs: Date.now(), tenantsMax: 99 });
    expect(due).toEqual([]);
    expectNoTrouble(deployed);
  });
});

const oidsGone = () =>
  itemsOf('272d26e').flatMap(({ pk, sk }) => (pk === 'GONE#clean#done' ? [String(sk)] : []));

describe('a push of what an older version marked', { timeout }, () => {
  it.each([
    { commit: '272d26e', tenant: 'ends', repo: 'marked', text: 'marked 0.', size: 40 },
    { commit: '2e8b484', tenant: 'acme', repo: 'app', text: 'level 2', size: 7 },
  ])('keeps it, as $commit did', async ({ commit, tenant, repo, text, size }) => {
    const deployed = await deployOver(commit);
    const bytes = Buffer.alloc(size, text);
    const key = `${tenant}/${repo}/${sha256(bytes)}`;
    const { ledger } = deployed.deps;
    expect(await askToUpload(deployed, tenant, repo, bytes)).not.toHaveProperty('actions');
    await live(deployed, 8, 15 * minute);
    expect((await stored(deployed, `${tenant}/`)).has(key)).toBe(true);
    expect(await allPages(ledger.deletions(tenant))).toEqual([]);
    expectNoTrouble(deployed);
  });
});

describe('what 2e8b484 stored', { timeout }, () => {
  it('is finished, and exact at rest', async () => {
    const deployed = await deployOver('2e8b484');
    expect(await countOf(deployed, 'acme/app/')).toBeGreaterThan(4);
    const level2 = `acme/app/${sha256(Buffer.from('level 2'))}`;
    expect((await stored(deployed, 'acme/')).has(level2)).toBe(true);
    await live(deployed, 8, 15 * minute);
    expect((await stored(deployed, 'acme/')).has(level2)).toBe(false);
    expect(await countOf(deployed, 'acme/old/')).toBe(0);
    await live(deployed, 8, 4 * hour);
    await live(deployed, 1, 31 * day);
    await expectRest(deployed, 'acme');
    const { due } = await deployed.deps.ledger.dueTenants({ untilMs: Date.now(), tenantsMax: 99 });
    expect(due).toEqual([]);
    expectNoTrouble(deployed);
  });
});

it.each(['2e8b484', '272d26e'])('each item of %s keeps its names if it is read and written', (commit) => {
  const items = itemsOf(commit);
  expect(items.length).toBeGreaterThan(0);
  for (const item of items) expect(asStored(fromStored(item))).toEqual(item);
});

describe.each(['2e8b484', '272d26e'])('the data folder of %s', { timeout }, (commit) => {
  it('is opened, counted and served', async () => {
    const { nowMs, tokens } = messagesOf(commit);
    vi.useFakeTimers({ toFake: ['Date'], now: nowMs });
    const queueTiming = { quietMs: 1, quietMaxMs: 1, spacingMs: 1 };
    const stack = await startEmbeddedStack({
      port: 0,
      dataDir: unpack(commit),
      createDemo: false,
      queueTiming,
    });
    closes.push(() => stack.close());
    const headers = { authorization: `Bearer ${tokens['acme']}` };
    const subscription = async () => {
      const answer = await fetch(`${stack.url}/v1/tenants/acme/subscription`, { headers });
      return (await answer.json()) as { usage: { storedBytes: number } | null };
    };
    const storedBytes = commit === '272d26e' ? 4400 : 39;
    await vi.waitFor(async () => expect((await subscription()).usage).toMatchObject({ storedBytes }), 60_000);
  });
});
