import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { ScanListing } from '../../../../../lambda/core/scan/list-objects.ts';
import { createPathScan } from '../../../../../lambda/core/scan/path-scan.ts';
import { BucketClient } from '../../../../../lambda/core/store/bucket-client.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { systemClock } from '../../../../../lambda/frame/aws/clock-and-ids.ts';
import { ListedBuckets, type ListFault } from '../../../../support/listed-buckets.ts';
import { LyingStore } from '../../../../support/lying-store.ts';
import { Random } from '../../../../support/random.ts';
import { hashNames } from '../../../../support/round-listing.ts';
import { credentials } from '../../../../support/store-fixture.ts';

const prefix = 'acme/app/';
const objects = hashNames(4000, 1).map((name, index) => ({ key: prefix + name, sizeBytes: 1 + index }));
const bytesOf = (count: number) => objects.slice(0, count).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

/** A store whose bucket `n2500` has 2,500 objects. */
async function start(): Promise<{ server: ListedBuckets; at: string; stop: () => Promise<void> }> {
  const server = new ListedBuckets();
  for (const count of [2500, 4000]) server.add(`n${count}`, objects.slice(0, count));
  const store = await LyingStore.start(server.faults);
  return { server, at: store.url, stop: () => store.stop() };
}

const allFaults = ['slow-down', 'error-200', 'drop', 'cut', 'cut-politely'] as const;

/** Lets a share of the requests fail. */
function disturb(
  server: ListedBuckets,
  { rate = 1, kinds = allFaults, seed = 1 }: { rate?: number; kinds?: readonly ListFault[]; seed?: number },
): void {
  const random = new Random(seed);
  server.reset();
  server.faultOf = () => (random.chance(rate) ? random.pick(kinds) : undefined);
}

let server: ListedBuckets;
let endpoint = '';
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ server, at: endpoint, stop } = await start());
});
afterAll(() => stop());

/** Retries as in production, but without pauses. */
const retry = { baseDelayMs: 1, throttledDelayMs: 1, delayMaxMs: 4 };

function clientOf(bucket: string, { random = Math.random, at = endpoint } = {}): BucketClient {
  return new BucketClient({
    bucket,
    region: 'us-east-1',
    endpoint: at,
    forcePathStyle: true,
    credentials: async () => credentials,
    random,
  });
}

function scanOf(objects: number, { at = endpoint } = {}) {
  return scanBy(new ScanListing({ client: clientOf(`n${objects}`, { at }), retry }));
}

function scanBy(listing: ScanListing) {
  return createPathScan({ listing, clock: systemClock, settings: defaultSettings });
}

describe('a store where one request in five fails', () => {
  it('is counted correctly by each of 200 scans', async () => {
    const count = 2500;
    const scan = scanOf(count);
    const truth = { kind: 'done', objectCount: count, storedBytes: bytesOf(count) };
    for (let seed = 1; seed <= 200; seed += 1) {
      disturb(server, { rate: 0.2, seed });
      const hint = seed % 2 === 0 ? { hintObjects: count } : { isAwaited: seed % 3 === 0 };
      expect(await scan.scan({ prefix, ...hint })).toMatchObject(truth);
    }
  });

  it.each(allFaults)('is counted correctly, because pages are fetched again (%s)', async (fault) => {
    disturb(server, { rate: 0.5, kinds: [fault], seed: 3 });
    const outcome = await scanOf(4000).scan({ prefix, hintObjects: 4000 });
    expect(outcome).toMatchObject({ kind: 'done', storedBytes: bytesOf(4000) });
    expect(server.requests).toBeGreaterThan(outcome.requests);
  });
});

/** A server of its own for a test that runs beside others, mostly waiting. */
async function ownServer(): Promise<{ own: ListedBuckets; at: string }> {
  const { server: own, at, stop: stopOwn } = await start();
  onTestFinished(stopOwn);
  return { own, at };
}

describe.concurrent('a store that keeps failing', () => {
  it.each(['slow-down', 'error-200', 'cut-politely'] as const)(
    'ends a scan within its deadline, with a clear error (%s)',
    async (fault) => {
      const { own, at } = await ownServer();
      disturb(own, { kinds: [fault] });
      const startedMs = Date.now();
      // With the longest pauses, too short for all attempts. Still long enough for one answer on a busy machine.
      const patient = scanBy(new ScanListing({ client: clientOf('n4000', { random: () => 1, at }) }));
      const scan = patient.scan({ prefix, isAwaited: true, deadlineMs: startedMs + 5_000 });
      const error = await scan.catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(String(error)).toMatch(/within the deadline .*(SlowDown|InternalError|end tag)/);
      expect(Date.now() - startedMs).toBeLessThan(20_000);
    },
  );

  it('ends a scan when no attempt is left', async () => {
    const { own, at } = await ownServer();
    disturb(own, { kinds: ['error-200'] });
    await expect(scanOf(4000, { at }).scan({ prefix })).rejects.toThrow(StoreUnavailableError);
    expect(own.requests).toBe(10);
  });

  it('leaves the rest of a scan that made progress before its deadline', async () => {
    const { own, at } = await ownServer();
    own.latencyMs = 3_000;
    const part = await scanOf(4000, { at }).scan({ prefix, deadlineMs: Date.now() + 5_500 });
    expect(part).toMatchObject({ kind: 'unfinished', rest: { objectCount: 1000 } });
    if (part.kind !== 'unfinished') return;
    own.reset();
    const storedBytes = bytesOf(4000);
    expect(await scanOf(4000, { at }).scan({ prefix, resume: part.rest })).toMatchObject({
      objectCount: 4000,
      storedBytes,
    });
  });
});

it('reports a missing bucket as refused, not as unavailable', async () => {
  server.reset();
  const listing = new ScanListing({ client: clientOf('nobody-has-this') });
  await expect(listing.listPage({ prefix: '' })).rejects.toMatchObject({ name: 'StoreRefusedError' });
});

it('warms up without a store', async () => {
  server.reset();
  const listing = new ScanListing({ client: clientOf('n1') });
  await expect(listing.warmUp()).resolves.toBeUndefined();
  expect(server.requests).toBe(0);
});
