import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { examine } from '../../../../cli/doctor/run-checks.ts';
import { type AskedRequest, errorReply, LyingStore } from '../../../support/lying-store.ts';
import { bucket } from '../../../support/store-fixture.ts';
import { detailOf, examineStore, foundIn, setCredentials, unsetCredentials } from './examined.ts';

beforeAll(() => setCredentials());
afterAll(unsetCredentials);

afterEach(() => void vi.restoreAllMocks());

const everything = { isThorough: true, largestBytes: 3_500_000, origin: 'https://app.example.com' };

describe('a store that does all that S3 does', () => {
  it('passes every check, and its profile says so', async () => {
    const examined = await examineStore({}, everything);
    expect(examined.results.filter(({ outcome }) => outcome !== 'pass')).toEqual([]);
    expect(examined.store.honest.errors).toEqual([]);
    const { clockSkewMs, ...holds } = examined.holds;
    expect(Math.abs(clockSkewMs ?? Number.NaN)).toBeLessThan(5000);
    expect(holds).toEqual({
      checksumEnforced: true,
      lengthEnforced: true,
      startAfter: 'exact',
      listOrder: 'utf8',
      listConsistency: 'strong',
      maxPutBytes: 3_500_000,
      partRules: {
        multipart: true,
        uploadPartCopy: true,
      },
    });
  });

  it('is written to only below the prefix, and left as it was', async () => {
    const { store, stored, prefix, left } = await examineStore();
    const changed = store.asked.filter(({ method }) => !['GET', 'HEAD'].includes(method));
    expect(changed.length).toBeGreaterThan(100);
    const keys = changed.flatMap(({ key, query, body }) =>
      query.has('delete') ? (body.toString().match(/(?<=<Key>).*?(?=<)/g) ?? []) : [key],
    );
    expect(keys.filter((key) => !key.startsWith(prefix))).toEqual([]);
    expect(stored).toEqual({ keys: [], uploads: [] });
    expect(left).toEqual([]);
  });
});

it('skips what an unusable store cannot be asked, and sends it no more', async () => {
  const { results, store } = await examineStore({ instead: () => ({ status: 403 }) });
  expect(results.slice(0, 2).map(({ outcome }) => outcome)).toEqual(['pass', 'fail']);
  expect(new Set(results.slice(2, -1).map(({ outcome }) => outcome))).toEqual(new Set(['skipped']));
  expect(results.at(-1)).toMatchObject({ id: 'cleanup', outcome: 'pass' });
  expect(store.asked.length).toBe(1);
});

it('fails a check that cannot be made, and goes on', async () => {
  const examined = await examineStore({
    changes: (reply, { query }) =>
      query.has('delimiter') ? { status: 200, body: Buffer.from('<no xml') } : reply,
  });
  expect(examined.found).toMatchObject({ 'list-folders': 'fail' });
  expect(detailOf(examined, 'list-folders')).toMatch(/^The check couldn't run: /);
  expect(detailOf(examined, 'list-after-put')).toMatch(/10 of 10/);
});

it('waits for uploads beside one that fails: none arrives after the cleanup', async () => {
  const isOf = (name: string, { method, key }: { method: string; key: string }) =>
    method === 'PUT' && key.endsWith(`/${name}`);
  const { store, stored } = await examineStore(
    {
      instead: async (request) => {
        if (isOf('~', request)) await sleep(500);
        return isOf('-', request) ? errorReply(403, 'AccessDenied') : undefined;
      },
    },
    {},
    { groups: ['access', 'listings'] },
  );
  const late = store.asked.findIndex((request) => isOf('~', request));
  const prefix = store.asked[late]?.key.slice(0, -1);
  const meanwhile = store.asked
    .slice(late + 1)
    .filter(({ number }) => number > (store.asked[late]?.number ?? 0));
  expect(meanwhile.filter(({ key }) => !key.startsWith(prefix ?? '?'))).toEqual([]);
  expect(stored).toEqual({ keys: [], uploads: [] });
});

describe('an interrupt', () => {
  it.each([1, 9, 40, 120, 205])('after request %i leaves nothing in the bucket', async (requests) => {
    const abort = new AbortController();
    const examined = await examineStore(
      {
        instead: ({ number }) => {
          if (number === requests + 1) abort.abort();
          return undefined;
        },
      },
      {},
      { signal: abort.signal },
    );
    expect(examined.isInterrupted).toBe(true);
    expect(examined.stored).toEqual({ keys: [], uploads: [] });
    expect(examined.results.at(-1)).toMatchObject({ id: 'cleanup', outcome: 'pass' });
    expect(examined.results.length).toBeLessThan(48);
  });
});

it('sends nothing more for a check that an interrupt left, also while it cleans up', async () => {
  const abort = new AbortController();
  let [isCleaning, isBegun] = [false, false];
  const { store } = await examineStore(
    {
      instead: async ({ method, query }) => {
        if (method === 'POST' && query.has('uploads')) {
          abort.abort();
          while (!isCleaning) await sleep(5);
          isBegun = true;
        }
        if (method !== 'DELETE' || !abort.signal.aborted) return undefined;
        isCleaning = true;
        while (!isBegun) await sleep(5);
        await sleep(2000);
        return undefined;
      },
    },
    {},
    { signal: abort.signal, groups: ['access', 'uploads', 'large'] },
  );
  expect(store.asked.filter(({ query }) => query.has('uploads'))).toHaveLength(1);
  const isPart = ({ method, query }: AskedRequest) => method === 'PUT' && query.has('uploadId');
  expect(store.asked.filter(isPart)).toEqual([]);
});

it('gives up an upload in parts that the store neither completes nor ends', async () => {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const limited = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms / 100));
  const examined = await examineStore(
    {
      instead: ({ method, query }) => {
        if (!query.has('uploadId')) return undefined;
        if (method === 'DELETE') return new Promise(() => {});
        return method === 'POST' ? { status: 400 } : undefined;
      },
    },
    {},
    { groups: ['access', 'uploads', 'large'] },
  );
  expect(limited).toHaveBeenCalledWith(20_000);
  expect(examined.found).toEqual({ multipart: 'warning', cleanup: 'warning' });
  expect(detailOf(examined, 'cleanup')).toMatch(/1 unfinished multipart uploads/);
});

it('says what is left when the store is gone during the cleanup', async () => {
  const store = await LyingStore.start({
    instead: async ({ method }) => {
      if (method === 'DELETE') await store.close();
      return undefined;
    },
  });
  const target = { bucket, prefix: 'p/', region: 'us-east-1', ...everything, isThorough: false };
  const endpoint = store.url;
  const abort = new AbortController();
  const onResult = ({ id }: { id: string }) => {
    if (id === 'upload') abort.abort();
  };
  const examined = await examine({ ...target, endpoint }, { signal: abort.signal, onResult });
  expect(foundIn(examined)).toEqual({ cleanup: 'warning' });
  await store.honest.stop();
  expect(examined.left).toEqual(['p/2']);
  expect(examined.results.at(-1)?.advice).toBe(
    `Delete them: aws s3 rm --recursive s3://objects/p/ --endpoint-url ${endpoint}`,
  );
});
