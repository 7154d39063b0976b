import * as z from 'zod';
import type { FunctionName, RouteKey } from '../../lambda/routes.ts';
import { firstObjects } from '../list-server/keys.ts';
import { keySetOf } from '../list-server/server.ts';
import type { Seen } from './backend.ts';
import { apiEvent, queueEvent } from './events.ts';
import type { Standing } from './seed.ts';
import {
  adminToken,
  dueTenants,
  oids,
  repo,
  storedBytes,
  tenant,
  verifiedOid,
  verifyToken,
} from './world.ts';

/** One kind of work of one function. */
export interface Case {
  readonly name: string;
  readonly function: FunctionName;
  /** A person, or a client that a person runs, waits for the answer. */
  readonly isAwaited: boolean;
  readonly standing: Standing;
  /** @param turn the number of the call, so that no two calls name the same new objects. */
  readonly event: (turn: number) => unknown;
  /** @throws {Error} when the work was not done: a fast wrong answer does not count. */
  readonly check: (answer: unknown, seen: Seen) => void;
}

const httpAnswer = z.object({ statusCode: z.number(), body: z.string().default('') });

function bodyOf(answer: unknown, statusCode: number): unknown {
  const parsed = httpAnswer.parse(answer);
  if (parsed.statusCode !== statusCode) throw new Error(`Answered ${parsed.statusCode}: ${parsed.body}`);
  return parsed.body === '' ? undefined : JSON.parse(parsed.body);
}

function expectEqual(found: unknown, wanted: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(wanted))
    throw new Error(`Found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}.`);
}

const few: Standing = { objects: 100, isStale: false };
const lfsPath = `/${tenant}/${repo}.git/info/lfs`;
const batchBody = z.object({ objects: z.array(z.object({ actions: z.record(z.string(), z.unknown()) })) });

/** A batch of new objects, or of those that a repo has. */
function batch(operation: 'upload' | 'download', count: number, repoObjects: number): Case {
  const wanted = (turn: number) =>
    operation === 'download'
      ? firstObjects(keySetOf(repoObjects), count).map(({ name, sizeBytes }) => ({
          oid: name,
          size: sizeBytes,
        }))
      : oids({ count, seed: `upload ${turn}`, stored: false }).map((oid) => ({ oid, size: storedBytes }));
  return {
    name: `${operation} of ${count}, repo of ${repoObjects.toLocaleString('en')}`,
    function: 'lfsBatch',
    isAwaited: true,
    standing: { objects: repoObjects, isStale: false },
    event: (turn) => {
      const body = { operation, transfers: ['basic'], objects: wanted(turn) };
      return apiEvent({
        routeKey: 'POST /{tenant}/{repo}/info/lfs/objects/batch',
        path: `${lfsPath}/objects/batch`,
        body: { ...body, hash_algo: 'sha256' },
      });
    },
    check: (answer) => {
      const { objects } = batchBody.parse(bodyOf(answer, 200));
      expectEqual(objects.filter(({ actions }) => operation in actions).length, count);
    },
  };
}

const ref = { name: 'refs/heads/main' };

function locking(input: {
  name: string;
  route: RouteKey<'lfsLocks'>;
  path: string;
  body: (turn: number) => object;
  check: (answer: unknown) => void;
}): Case {
  const { name, route, path, body, check } = input;
  return {
    name,
    function: 'lfsLocks',
    isAwaited: true,
    standing: few,
    event: (turn) => apiEvent({ routeKey: route, path: `${lfsPath}/${path}`, body: body(turn) }),
    check,
  };
}

const subscription = z.object({ usage: z.object({ source: z.string(), objectCount: z.number() }) });

function read(input: { name: string; objects: number; source: 'cache' | 'scan' }): Case {
  const { name, objects, source } = input;
  return {
    name,
    function: 'getSubscription',
    isAwaited: true,
    standing: { objects, isStale: source === 'scan' },
    event: () =>
      apiEvent({
        routeKey: 'GET /v1/tenants/{tenant}/subscription',
        path: `/v1/tenants/${tenant}/subscription`,
      }),
    check: (answer) => {
      const { usage } = subscription.parse(bodyOf(answer, 200));
      expectEqual([usage.source, usage.objectCount], [source, objects]);
    },
  };
}

function recount(objects: number): Case {
  return {
    name: `recount of ${objects.toLocaleString('en')}`,
    function: 'reconcile',
    isAwaited: false,
    standing: { objects, isStale: true },
    event: () => queueEvent([{ tenant, reason: 'schedule', full: true }]),
    check: (answer, { counted }) => {
      expectEqual(answer, { batchItemFailures: [] });
      expectEqual(
        [counted?.objectCount, (counted?.countedAtMs ?? 0) > Date.now() - 300_000],
        [objects, true],
      );
    },
  };
}

function shard(objects: number): Case {
  return {
    name: `shard of ${objects.toLocaleString('en')}`,
    function: 'scanShard',
    isAwaited: false,
    standing: { objects, isStale: false },
    event: () => ({
      prefix: `${tenant}/${repo}/`,
      after: null,
      last: null,
      objectsExpected: objects,
      lookFor: [],
      recentSinceMs: Date.now(),
      recentMax: 50_000,
      concurrency: 128,
      timeLimitMs: 60_000,
    }),
    check: (answer) => {
      const { kind, objectCount } = z.object({ kind: z.string(), objectCount: z.number() }).parse(answer);
      expectEqual([kind, objectCount], ['done', objects]);
    },
  };
}

function managing(input: Pick<Case, 'name' | 'event'> & { check: (answer: unknown) => void }): Case {
  return { function: 'management', isAwaited: true, standing: few, ...input };
}

/** Events of the store for ten new objects that no reservation expects. */
const storeMessages = (turn: number) =>
  oids({ count: 10, seed: `events ${turn}`, stored: true }).map((oid) => ({
    Records: [
      {
        eventName: 'ObjectCreated:Put',
        eventTime: new Date(Date.now() + 60_000).toISOString(),
        s3: { object: { key: `${tenant}/${repo}/${oid}`, size: storedBytes } },
      },
    ],
  }));

const plain = (routeKey: string, path: string) => apiEvent({ routeKey, path });

export const cases: readonly Case[] = [
  batch('upload', 1, 100),
  batch('upload', 10, 100),
  batch('upload', 20, 1000),
  batch('upload', 100, 1000),
  batch('upload', 100, 4000),
  batch('upload', 100, 20_000),
  batch('download', 100, 1000),
  batch('download', 20, 1000),
  {
    name: 'verify',
    function: 'lfsVerify',
    isAwaited: true,
    standing: few,
    event: () =>
      apiEvent({
        routeKey: 'POST /{tenant}/{repo}/info/lfs/verify',
        path: `${lfsPath}/verify`,
        body: { oid: verifiedOid, size: storedBytes },
        credential: verifyToken,
      }),
    check: (answer) => void bodyOf(answer, 200),
  },
  locking({
    name: 'lock',
    route: 'POST /{tenant}/{repo}/info/lfs/locks',
    path: 'locks',
    body: (turn) => ({ path: `art/${turn}.psd`, ref }),
    check: (answer) => void z.object({ lock: z.object({ id: z.string() }) }).parse(bodyOf(answer, 201)),
  }),
  locking({
    name: 'look before a push',
    route: 'POST /{tenant}/{repo}/info/lfs/locks/verify',
    path: 'locks/verify',
    body: () => ({ ref }),
    check: (answer) => expectEqual(bodyOf(answer, 200), { ours: [], theirs: [] }),
  }),
  read({ name: 'cached', objects: 100, source: 'cache' }),
  read({ name: 'miss, 4,000', objects: 4000, source: 'scan' }),
  read({ name: 'miss, 17,000', objects: 17_000, source: 'scan' }),
  managing({
    name: 'create token',
    event: () => {
      const routeKey = 'POST /v1/tenants/{tenant}/tokens';
      const path = `/v1/tenants/${tenant}/tokens`;
      return apiEvent({ routeKey, path, body: { scope: 'read', label: 'ci' }, credential: adminToken });
    },
    check: (answer) => void z.object({ token: z.string() }).parse(bodyOf(answer, 201)),
  }),
  managing({
    name: 'list 100 tenants',
    event: () => apiEvent({ routeKey: 'GET /v1/tenants', path: '/v1/tenants', credential: adminToken }),
    check: (answer) =>
      expectEqual(z.object({ tenants: z.array(z.unknown()) }).parse(bodyOf(answer, 200)).tenants.length, 100),
  }),
  recount(4000),
  recount(100_000),
  shard(300_000),
  {
    name: `${dueTenants.length} due`,
    function: 'refresh',
    isAwaited: false,
    standing: few,
    event: () => ({}),
    check: (answer, { messages }) =>
      expectEqual([answer, messages], [{ queued: dueTenants.length }, dueTenants.length]),
  },
  {
    name: '10 events',
    function: 'storeEvents',
    isAwaited: false,
    standing: few,
    event: (turn) => queueEvent(storeMessages(turn)),
    // The process does not send again what the queue would drop.
    check: (answer, { messages }) => expectEqual([answer, messages <= 1], [{ batchItemFailures: [] }, true]),
  },
  {
    name: 'GET /health',
    function: 'health',
    isAwaited: true,
    standing: few,
    event: () => plain('GET /health', '/health'),
    check: (answer) => void bodyOf(answer, 200),
  },
  {
    name: 'GET /openapi.json',
    function: 'openapi',
    isAwaited: true,
    standing: few,
    event: () => plain('GET /openapi.json', '/openapi.json'),
    check: (answer) => void bodyOf(answer, 200),
  },
  {
    name: 'no such route',
    function: 'notFound',
    isAwaited: true,
    standing: few,
    event: () => plain('GET /nowhere', '/nowhere'),
    check: (answer) => void bodyOf(answer, 404),
  },
];
