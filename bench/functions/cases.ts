import * as z from 'zod';
import type { FunctionName } from '../../lambda/routes.ts';
import { httpEvent } from '../../test/support/http-event.ts';
import { objectsIn } from '../list-server/keys.ts';
import { ListServer } from '../list-server/server.ts';
import type { BackendApi } from './backend.ts';
import type { Standing } from './seed.ts';
import { oids, repo, storedBytes, tenant, token, verifiedOid, verifyToken } from './world.ts';

/** One kind of work of one function. */
export interface Case {
  readonly name: string;
  readonly function: FunctionName;
  readonly standing: Standing;
  /** @param call its number, so that no two calls have the same new objects. */
  readonly event: (call: number) => unknown;
  /** @throws {Error} when the work was not done: a fast wrong answer does not count. */
  readonly check: (answer: unknown, counted: Awaited<ReturnType<BackendApi['counted']>>) => void;
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

const mediaType = 'application/vnd.git-lfs+json';

/** A request of git-lfs. API Gateway treats its media type as binary. */
function lfsEvent({ path, body, credential = token }: { path: string; body: object; credential?: string }) {
  return httpEvent({
    routeKey: `POST /{tenant}/{repo}/info/lfs/${path}`,
    path: `/${tenant}/${repo}.git/info/lfs/${path}`,
    pathParameters: { tenant, repo: `${repo}.git` },
    headers: {
      authorization: `Basic ${Buffer.from(`git:${credential}`).toString('base64')}`,
      accept: mediaType,
      'content-type': `${mediaType}; charset=utf-8`,
      host: 'lfs.example.com',
    },
    body: Buffer.from(JSON.stringify(body)).toString('base64'),
    isBase64Encoded: true,
  });
}

const batchBody = z.object({ objects: z.array(z.object({ actions: z.record(z.string(), z.unknown()) })) });

/** A batch of new objects, or of those that a repo has. */
function batch(operation: 'upload' | 'download', count: number, objects: number): Case {
  const set = new ListServer().keySet(objects);
  const stored = objectsIn(set.page({ after: '', keysMax: count }), set.prefix);
  const wanted = (call: number) =>
    operation === 'download'
      ? stored.map(({ name, sizeBytes }) => ({ oid: name, size: sizeBytes }))
      : oids({ count, seed: `upload ${call}`, stored: false }).map((oid) => ({ oid, size: storedBytes }));
  return {
    name: `${operation} of ${count}, repo of ${objects.toLocaleString('en')}`,
    function: 'lfsBatch',
    standing: { objects, isStale: false },
    event: (call) => {
      const body = { operation, transfers: ['basic'], objects: wanted(call), hash_algo: 'sha256' };
      return lfsEvent({ path: 'objects/batch', body });
    },
    check: (answer) => {
      const answered = batchBody.parse(bodyOf(answer, 200)).objects;
      expectEqual(answered.filter(({ actions }) => operation in actions).length, count);
    },
  };
}

const subscription = z.object({ usage: z.object({ source: z.string(), objectCount: z.number() }) });

function read({ objects, source }: { objects: number; source: 'cache' | 'scan' }): Case {
  const path = `/v1/tenants/${tenant}/subscription`;
  return {
    name: source === 'cache' ? 'cached' : `miss, ${objects.toLocaleString('en')}`,
    function: 'getSubscription',
    standing: { objects, isStale: source === 'scan' },
    event: () =>
      httpEvent({
        method: 'GET',
        routeKey: 'GET /v1/tenants/{tenant}/subscription',
        path,
        pathParameters: { tenant },
        headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
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
    standing: { objects, isStale: true },
    event: () => queueEvent({ tenant, reason: 'schedule', full: true }),
    check: (answer, counted) => {
      expectEqual(answer, { batchItemFailures: [] });
      const isRecent = (counted?.countedAtMs ?? 0) > Date.now() - 300_000;
      expectEqual([counted?.objectCount, isRecent], [objects, true]);
    },
  };
}

/** A message of a queue, as Lambda delivers it. */
function queueEvent(body: object) {
  const attributes = { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()) };
  return { Records: [{ messageId: 'message', body: JSON.stringify(body), attributes }] };
}

const few: Standing = { objects: 100, isStale: false };

export const cases: readonly Case[] = [
  batch('upload', 1, 100),
  batch('upload', 100, 1000),
  batch('upload', 100, 4000),
  batch('upload', 100, 20_000),
  batch('download', 100, 1000),
  {
    name: 'verify',
    function: 'lfsVerify',
    standing: few,
    event: () => {
      const body = { oid: verifiedOid, size: storedBytes };
      return lfsEvent({ path: 'verify', body, credential: verifyToken });
    },
    check: (answer) => void bodyOf(answer, 200),
  },
  {
    name: 'lock',
    function: 'lfsLocks',
    standing: few,
    event: (call) =>
      lfsEvent({ path: 'locks', body: { path: `art/${call}.psd`, ref: { name: 'refs/heads/main' } } }),
    check: (answer) => void z.object({ lock: z.object({ id: z.string() }) }).parse(bodyOf(answer, 201)),
  },
  read({ objects: 100, source: 'cache' }),
  read({ objects: 4000, source: 'scan' }),
  read({ objects: 17_000, source: 'scan' }),
  recount(4000),
  recount(50_000),
];
