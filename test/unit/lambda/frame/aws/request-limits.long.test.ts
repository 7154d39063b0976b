import { afterEach, describe, expect, it, vi } from 'vitest';
import { ScanListing } from '../../../../../lambda/core/scan/list-objects.ts';
import { BucketClient } from '../../../../../lambda/core/store/bucket-client.ts';
import { createObjectStore } from '../../../../../lambda/core/store/object-store.ts';
import { createDynamoDb } from '../../../../../lambda/core/table/client.ts';
import { systemClock } from '../../../../../lambda/frame/aws/clock-and-ids.ts';
import { createInvocations } from '../../../../../lambda/frame/aws/invocation-log.ts';
import {
  createAdminSecret,
  createSecretsClient,
  storeCredentials,
} from '../../../../../lambda/frame/aws/secrets.ts';
import {
  createSqsClient,
  createSqsReconcileQueue,
  createSqsRedelivery,
  quickLimits,
} from '../../../../../lambda/frame/aws/sqs.ts';
import * as stores from '../../../../../lambda/lists/stores.ts';
import { SilentServer } from './silent-server.ts';

const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
const region = 'us-east-1';
/** Pauses between attempts, at most. */
const pausesMs = 1_500;

function bucketAt(endpoint: string): BucketClient {
  const place = { bucket: 'objects', region, endpoint, forcePathStyle: true };
  return new BucketClient({ ...place, credentials: async () => credentials });
}

function queueAt(endpoint: string, limits?: typeof quickLimits) {
  const queueUrl = `${endpoint}/1/q.fifo`;
  return { queueUrl, client: createSqsClient(limits, { endpoint, region, credentials }) };
}

function secretAt(endpoint: string) {
  const client = createSecretsClient({ endpoint, region, credentials });
  return { client, secretArn: 'arn', nowMs: everLater() };
}

/** Every client: how to call it, and how long one call may take. */
const clients = [
  {
    client: 'dynamodb',
    attempts: 5,
    answerMs: 3_000,
    open: (endpoint: string) => {
      const client = createDynamoDb({ endpoint, region, credentials });
      const tokens = stores.tokens({ client, tableName: 'table' });
      return () => tokens.find('id') as Promise<unknown>;
    },
  },
  {
    client: 'sqs, to send',
    attempts: 5,
    answerMs: 3_000,
    open: (endpoint: string) => {
      const invocations = createInvocations();
      const queue = createSqsReconcileQueue({ ...queueAt(endpoint), clock: systemClock, invocations });
      let calls = 0;
      return () => {
        // Of one tenant, the process would send only the first.
        calls += 1;
        return queue.request({ tenant: `acme${calls}`, reason: 'upload', full: false });
      };
    },
  },
  {
    client: 'sqs, to delay a redelivery',
    attempts: 2,
    answerMs: 2_000,
    open: (endpoint: string) => {
      const redelivery = createSqsRedelivery(queueAt(endpoint, quickLimits));
      return () => redelivery.delay({ receiptHandle: 'handle', delayMs: 1000 });
    },
  },
  {
    client: 'secrets, for the admin token',
    attempts: 3,
    answerMs: 3_000,
    open: (endpoint: string) => createAdminSecret(secretAt(endpoint)).sha256s,
  },
  {
    client: 'secrets, for the store',
    attempts: 3,
    answerMs: 3_000,
    open: (endpoint: string) => storeCredentials(secretAt(endpoint)),
  },
  {
    client: 's3',
    attempts: 4,
    answerMs: 10_000,
    open: (endpoint: string) => {
      const store = createObjectStore({ client: bucketAt(endpoint), clock: { nowMs: Date.now } });
      return () => store.head('k');
    },
  },
  {
    client: 's3-scan',
    attempts: 10,
    answerMs: 20_000,
    open: (endpoint: string) => {
      const retry = { baseDelayMs: 50, delayMaxMs: 150 };
      const listing = new ScanListing({ client: bucketAt(endpoint), retry });
      return () => listing.listPage({ prefix: '' });
    },
  },
];

/** A clock by which everything that was cached has expired. */
function everLater(): () => number {
  let nowMs = 0;
  return () => {
    nowMs += 3_600_000;
    return nowMs;
  };
}

async function serve(fateOf: ConstructorParameters<typeof SilentServer>[0]) {
  const server = new SilentServer(fateOf);
  const url = await server.listen();
  return { server, url };
}

afterEach(() => void vi.useRealTimers());

const realTimeout = setTimeout;

/**
 * Runs a call while the timers go fast, but not before the server has a request: sockets are real and take real time.
 *
 * @returns how long it took by the timers.
 */
async function fastForward(server: SilentServer, call: () => Promise<unknown>) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let isOver = false;
  let elapsedMs = 0;
  const outcome = call().then(
    () => ({ error: undefined }),
    (error: unknown) => ({ error }),
  );
  void outcome.then(() => {
    isOver = true;
  });
  while (!isOver && elapsedMs < 600_000) {
    await new Promise((resolve) => realTimeout(resolve, 1));
    const stepMs = server.openConnections.length > 0 ? 100 : 10;
    await vi.advanceTimersByTimeAsync(stepMs);
    elapsedMs += stepMs;
  }
  return { ...(isOver ? await outcome : { error: 'The call did not end.' }), elapsedMs };
}

describe.each(clients)('the client of $client', ({ attempts, answerMs, open }) => {
  it('gives up a peer that takes requests and never answers', async () => {
    const { server, url } = await serve(() => 'silence');
    const { error, elapsedMs } = await fastForward(server, open(url));
    expect(error).toBeInstanceOf(Error);
    expect(String(error instanceof Error && (error.cause ?? error))).toMatch(/TimeoutError|ETIMEDOUT/);
    expect(server.requests).toHaveLength(attempts);
    expect(elapsedMs).toBeLessThan(attempts * (answerMs + 500) + pausesMs);
  });

  it('does not reuse a connection on which nothing arrives any more', async () => {
    const { server, url } = await serve(({ index }) => (index === 1 ? 'silence' : 'answer'));
    const call = open(url);
    await call();
    const { error, elapsedMs } = await fastForward(server, call);
    expect(error).toBeUndefined();
    expect(elapsedMs).toBeLessThan(answerMs + 1_500);
    await call();
    const [first, second, ...later] = server.requests;
    expect(second).toBe(first);
    expect(later).toEqual([1, 1]);
    expect(server.openConnections).toEqual([1]);
  });
});

it.each([
  ['stops in the middle', 'part'],
  ['goes on and on, a byte now and then,', 'drip'],
] as const)('an answer that %s is given up too, and its connection with it', async (_, fate) => {
  // In real time, so not by the clients that have much of it.
  const quick = clients.filter(({ answerMs }) => answerMs <= 3_000);
  const calls = [];
  for (const { answerMs, open } of quick) {
    const { server, url } = await serve(({ index }) => (index === 1 ? fate : 'answer'));
    const call = open(url);
    await call();
    calls.push({ server, call, answerMs });
  }
  await Promise.all(
    calls.map(async ({ server, call, answerMs }) => {
      const startMs = Date.now();
      await call();
      expect(Date.now() - startMs).toBeGreaterThan(answerMs - 100);
      expect(Date.now() - startMs).toBeLessThan(2 * answerMs);
      expect(server.requests).toEqual([0, 0, 1]);
      expect(server.openConnections).toEqual([1]);
    }),
  );
  expect(quick).toHaveLength(5);
});
