import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Operation } from '../../../cost/operation.ts';
import { assumedMs, batchIn, clientRequests, costOf, operations, totalOf } from '../../../cost/operations.ts';
import { recordStoreEvents, refresh } from '../../../lambda/core/ledger/reconcile-requests.ts';
import type { ReconcileRequest } from '../../../lambda/core/ledger/rules/reconcile-policy.ts';
import { runReconcile } from '../../../lambda/core/ledger/run-reconcile.ts';
import { dayMs } from '../../../lambda/core/rules/dates.ts';
import { sha256Hex } from '../../../lambda/core/rules/hash.ts';
import type { Fields } from '../../../lambda/core/table/expressions.ts';
import {
  byDueIndex,
  byKindIndex,
  dueShards,
  type Operations,
  type TableClient,
} from '../../../lambda/core/table/table.ts';
import { create as createSubscription } from '../../../lambda/frame/management/get-subscription.ts';
import { create as createBatch } from '../../../lambda/functions/lfs/lfs-batch.ts';
import { create as createVerify } from '../../../lambda/subjects/lfs/verify.ts';
import { parseDeploymentSettings } from '../../../lib/settings/stages.ts';
import type { Deps } from '../../../local/deps.ts';
import { storesOn } from '../../../local/stores.ts';
import { type Change, entryOf, itemBytes } from '../../../local/table/items.ts';
import { batchRoute, httpEvent, noContext } from '../../support/http-event.ts';
import { memoryDeps } from '../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../support/memory/object-store.ts';
import { memoryTable } from '../../support/memory/table.ts';
import { Random } from '../../support/random.ts';
import { runToEnd, Scheduler } from '../../support/scheduler.ts';
import type { AskedFirst, TestedSubject } from '../../support/subject.ts';
import * as subjects from '../../support/subjects.ts';
import { tokenRecord } from '../../support/token-record.ts';

type Measured = Omit<Operation, 'function' | 'objects'>;

const nothing = { reads: 0, writes: 0, heads: 0, lists: 0, sends: 0, waitMs: 0 };
const messagesPerSend = 10;
const minute = 60_000;
const hour = 60 * minute;

/**
 * Runs what is deployed over a table, a store and a queue that count their requests, and take time on a clock of their own. The
 * table counts units as DynamoDB bills them:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
 */
class Meter {
  readonly objects = new MemoryObjectStore();
  readonly deps: Deps;
  readonly #scheduler = new Scheduler(new Random(1));
  #used = { ...nothing };
  /** Write units of the indexes alone. */
  #indexWrites = 0;

  constructor() {
    const { objects } = this;
    const table = memoryTable();
    table.store.watch((change) => this.#countWrite(change));
    const client: TableClient = {
      send: async (operation, input) => {
        await this.#travel(assumedMs.table);
        const output = await table.client.send(operation, input);
        this.#used.reads += readUnits(input, output);
        return output;
      },
    };
    const asked = async (what: 'heads' | 'lists' | 'sends', tookMs: number) => {
      this.#used[what] += 1;
      await this.#travel(tookMs);
    };
    const send = () => asked('sends', assumedMs.table);
    this.deps = memoryDeps({
      ...storesOn({ client, tableName: table.tableName }),
      objects,
      store: {
        head: async (key) => {
          await asked('heads', assumedMs.head);
          return objects.head(key);
        },
        delete: (keys) => objects.delete(keys),
        putEmpty: (key, options) => objects.putEmpty(key, options),
      },
      listing: {
        listPage: async (request) => {
          await asked('lists', assumedMs.list);
          return objects.listPage(request);
        },
        listFolders: async (request) => {
          await asked('lists', assumedMs.list);
          return objects.listFolders(request);
        },
      },
      queue: {
        request: send,
        requestAll: async (requests) => {
          for (let sent = 0; sent < requests.length; sent += messagesPerSend) await send();
        },
      },
      clock: { nowMs: () => this.#scheduler.nowMs, sleep: (durationMs) => this.#travel(durationMs) },
    });
  }

  pass(durationMs: number): Promise<void> {
    return this.run(() => this.#travel(durationMs));
  }

  async measure<T>(task: () => Promise<T>): Promise<{ result: T; measured: Measured; indexWrites: number }> {
    this.#used = { ...nothing };
    this.#indexWrites = 0;
    const beganMs = this.#scheduler.nowMs;
    const result = await this.run(task);
    const measured = { ...this.#used, waitMs: this.#scheduler.nowMs - beganMs };
    return { result, measured, indexWrites: this.#indexWrites };
  }

  run<T>(task: () => Promise<T>): Promise<T> {
    return runToEnd(this.#scheduler, task);
  }

  /** An item costs by its larger size. In an index, an entry that is new or gone costs one unit, and one that moves two. */
  #countWrite({ before, after }: Change): void {
    const bytes = Math.max(...[before, after].map((item) => (item ? itemBytes(item) : 0)));
    this.#used.writes += Math.max(1, Math.ceil(bytes / 1024));
    for (const index of [byKindIndex, byDueIndex]) {
      const [old, now] = [before, after].map((item) =>
        item?.[index.pk] === undefined ? undefined : JSON.stringify(entryOf(item, index)),
      );
      if (old === now) continue;
      const units = [old, now].filter((entry) => entry !== undefined).length;
      this.#used.writes += units;
      this.#indexWrites += units;
    }
  }

  #travel(durationMs: number): Promise<void> {
    return new Promise((resolve) => this.#scheduler.after(durationMs, resolve));
  }
}

/** An item, or all items of a query, cost a unit for each 4 KB, and at least one. Without consistency half of it. */
function readUnits(input: Operations[keyof Operations][0], output: object): number {
  const unitsOf = (items: readonly Fields[]) =>
    Math.max(1, Math.ceil(items.reduce((sum, item) => sum + itemBytes(item), 0) / 4096));
  const { Item, Items, Responses } = output as {
    readonly Item?: Fields;
    readonly Items?: readonly Fields[];
    readonly Responses?: Readonly<Record<string, readonly Fields[]>>;
  };
  if (Items) return unitsOf(Items) / ('ConsistentRead' in input && input.ConsistentRead ? 1 : 2);
  if ('RequestItems' in input) {
    const asked = Object.values(input.RequestItems).flatMap(({ Keys }) => Keys);
    const found = Object.values(Responses ?? {}).flat();
    return asked.length - found.length + found.reduce((sum, item) => sum + unitsOf([item]), 0);
  }
  return 'ConsistentRead' in input ? unitsOf(Item ? [Item] : []) : 0;
}

const tenant = 'northwind-games';
const token = `lfsq_${'a'.repeat(40)}`;
const sizeBytes = 1_000_000;
const oidOf = (repo: string, index: number) => sha256Hex(`${repo} ${index}`);
const batchOf = (from: number) =>
  Array.from({ length: 20 }, (_, index) => ({ oid: oidOf('app', from + index), size: sizeBytes }));

/** A tenant with four repos of `perRepo` objects, which were counted, and 100 days of history. */
const repos = ['app', 'art', 'docs', 'game'];

async function inUse(perRepo: number): Promise<Meter> {
  const meter = new Meter();
  const { deps } = meter;
  const nowMs = deps.clock.nowMs();
  for (const repo of repos)
    for (let index = 0; index < perRepo; index += 1)
      meter.objects.put(`${tenant}/${repo}/${oidOf(repo, index)}`, sizeBytes);
  await meter.run(async () => {
    const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs: nowMs };
    const account = { tenant, plan: 'team', limitBytes: 5e12, createdAtMs: nowMs };
    await deps.ledger.createTenant({ ...account, scanned, dueAtMs: nowMs + deps.settings.maxAgeMs });
    for (const repo of repos) await deps.ledger.createRepo({ tenant, repo, createdAtMs: nowMs });
    await deps.tokens.put(tokenRecord(token, { tenant, createdAtMs: nowMs, lastUsedAtMs: nowMs }));
    for (const { inUse } of Object.values<TestedSubject>(subjects)) await inUse?.(deps, { tenant, nowMs });
  });
  await reconcile(meter, { full: true, reason: 'manual' });
  await meter.pass(2 * hour);
  return meter;
}

function reconcile(meter: Meter, request: Pick<ReconcileRequest, 'full' | 'reason'>) {
  const deadlineMs = meter.deps.clock.nowMs() + 15 * minute;
  return meter.measure(() => runReconcile(meter.deps, { request: { tenant, ...request }, deadlineMs }));
}

const batch: AskedFirst = { create: createBatch, routeKey: batchRoute };
const verifying: AskedFirst = { create: createVerify, routeKey: 'POST /{tenant}/{repo}/info/lfs/verify' };
const usage: AskedFirst = { create: createSubscription, routeKey: 'GET /v1/tenants/{tenant}/subscription' };
/** By the line of the model. */
const askedFirst: Readonly<Record<string, AskedFirst>> = Object.assign(
  {},
  ...Object.values<TestedSubject>(subjects).map((of) => of.askedFirst),
);

async function ask(
  meter: Meter,
  { create, routeKey }: AskedFirst,
  body: object,
  { presented = token, answers = 200 }: { presented?: string; answers?: number } = {},
) {
  const event = httpEvent({
    method: routeKey.startsWith('GET') ? 'GET' : 'POST',
    routeKey,
    headers: {
      'content-type': 'application/vnd.git-lfs+json',
      ...(presented !== '' && { authorization: `Bearer ${presented}` }),
    },
    pathParameters: { tenant, repo: 'app.git' },
    body: JSON.stringify(body),
  });
  const asked = await meter.measure(async () => create(meter.deps)(event, noContext));
  const { statusCode, body: answer } = asked.result as { statusCode: number; body: string };
  expect(statusCode).toBe(answers);
  return { ...asked, answer: JSON.parse(answer) };
}

/** Everything that the model has, one after the other, as it goes in a push and in the hours after it. */
async function measureAll() {
  const meter = await inUse(980);
  const { deps } = meter;
  const objects = batchOf(5000);
  const background = { full: false, reason: 'upload' } as const;

  const first = new Map<string, Measured>();
  for (const [what, asked] of Object.entries(askedFirst))
    first.set(what, (await ask(meter, asked, { ref: { name: 'refs/heads/main' } })).measured);
  const uploadBatch = await ask(meter, batch, { operation: 'upload', objects });
  for (const { oid } of objects) meter.objects.put(`${tenant}/app/${oid}`, sizeBytes);
  const last = uploadBatch.answer.objects.at(-1);
  const presented = String(Object.values(last.actions.verify.header)[0]).replace(/^\w+ /, '');
  const verify = await ask(meter, verifying, { oid: last.oid, size: last.size }, { presented });
  await meter.pass(minute);
  const after = await reconcile(meter, background);
  const reconcileDeferred = await reconcile(meter, background);
  await meter.pass(2 * minute);
  const reconcileAgain = await reconcile(meter, background);
  await meter.pass(hour);
  await meter.run(() => refresh(deps));
  const reconcileDead = await reconcile(meter, { full: false, reason: 'schedule' });
  const downloadBatch = await ask(meter, batch, { operation: 'download', objects });
  const anonymous = { presented: '', answers: 401 };
  const withoutToken = await ask(meter, batch, { operation: 'download', objects }, anonymous);
  await meter.pass(2 * hour);
  const readUsage = await ask(meter, usage, {});
  await meter.run(() => refresh(deps));
  await meter.pass(10 * minute);
  const schedule = await meter.measure(() => refresh(deps));
  await meter.pass(dayMs);
  const fullCount = await reconcile(meter, { full: true, reason: 'schedule' });
  await ask(meter, batch, { operation: 'upload', objects: batchOf(6000) });
  const created = { tenant, repo: 'app', name: oidOf('app', 6000), sizeBytes, kind: 'created' as const };
  const changes = [{ ...created, atMs: deps.clock.nowMs() }];
  const storeEvent = await meter.measure(() => recordStoreEvents(deps, { tenant, changes }));
  const asked: ReadonlyMap<string, Measured> = new Map([
    ...first,
    ['push: batch', uploadBatch.measured],
    ['push: verify', verify.measured],
    ['fetch: batch', downloadBatch.measured],
    ['flood: batch', withoutToken.measured],
  ]);
  const push = {
    reconcile: after,
    reconcileAgain,
    reconcileDeferred,
    reconcileDead,
  };
  return { asked, uploadBatch, ...push, readUsage, schedule, fullCount, storeEvent };
}

/** What the model has of a request. */
function requested(what: string): Operation {
  const found = clientRequests.find((each) => each.what === what);
  if (!found) throw new Error(`The model has no ${what}.`);
  return found.operation;
}

function taken({ function: _, objects: __, ...measured }: Operation): Measured {
  return measured;
}

describe('what an operation takes is what the handlers do', () => {
  let all: Awaited<ReturnType<typeof measureAll>>;
  beforeAll(async () => {
    all = await measureAll();
  });

  it.each(Object.keys(operations) as (keyof typeof operations)[])('%s', (name) => {
    expect(all[name].measured).toEqual(taken(operations[name]));
  });

  it.each(clientRequests)('$what', ({ what, operation }) => {
    expect(all.asked.get(what)).toEqual(taken(operation));
  });

  it('and each ends as the model has it', () => {
    expect(all.reconcileDeferred.result).toBe('requeued');
    for (const name of ['reconcile', 'reconcileAgain', 'reconcileDead', 'fullCount'] as const)
      expect(all[name].result).toBe('done');
    expect(all.storeEvent.result).toMatchObject({ kind: 'requested' });
  });

  it('a partition of the due index takes what the API lets through, twice over', () => {
    const { requestsPerSecond } = parseDeploymentSettings('prod', {}).throttle;
    const writes = all.uploadBatch.indexWrites + all.reconcileDead.indexWrites;
    expect(writes).toBe(4);
    expect((2 * requestsPerSecond * writes) / dueShards).toBeLessThanOrEqual(1000);
  });
});

it('a flood of requests without a valid token costs what docs/security.md says', () => {
  const dollars = 1e6 * totalOf(costOf(requested('flood: batch'), 's3'));
  const page = readFileSync(new URL('../../../docs/security.md', import.meta.url), 'utf8');
  const [, said = ''] = /without a valid token cost about \$([\d.]+) a million/.exec(page) ?? [];
  expect(said).toBe(dollars.toFixed(2));
});

describe('a batch in a small repo lists it', () => {
  it.each([
    ['upload', 7000, requested('push: batch')],
    ['download', 0, requested('fetch: batch')],
  ] as const)('to %s', async (operation, from, modelled) => {
    const meter = await inUse(900);
    const { measured } = await ask(meter, batch, { operation, objects: batchOf(from) });
    // It's the first request for hours, so it notes that the token was used.
    const writes = operation === 'upload' ? measured.writes - 1 : measured.writes;
    expect({ ...measured, writes }).toEqual(taken(batchIn(900, modelled)));
  });
});
