import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examine } from '../../../../cli/doctor/run-checks.ts';
import { FakeS3, fakeBucket } from '../../../support/fake-s3/server.ts';
import { credentials, StoreFixture } from '../../../support/store-fixture.ts';
import { detailOf, examineFake, foundIn, setCredentials, unsetCredentials } from './examined.ts';

beforeAll(() => setCredentials());
afterAll(unsetCredentials);

/** A thousand uploads on a busy machine. */
const timeoutMs = 120_000;
const everything = { isThorough: true, largestBytes: 3_500_000 };

describe('a store that does all that S3 does', () => {
  it(
    'passes every check, and its profile says so',
    async () => {
      const examined = await examineFake({ multipart: {} }, everything);
      expect(examined.results.filter(({ outcome }) => outcome !== 'pass')).toEqual([]);
      const { clockSkewMs, ...holds } = examined.holds;
      expect(Math.abs(clockSkewMs ?? Number.NaN)).toBeLessThan(5000);
      expect(holds).toEqual({
        checksumEnforced: true,
        lengthEnforced: true,
        checksumKept: true,
        versioned: false,
        startAfter: 'exact',
        listOrder: 'utf8',
        listConsistency: 'strong',
        pageKeys: 1000,
        maxPutBytes: 3_500_000,
        partRules: {
          multipart: true,
          smallParts: false,
          equalParts: false,
          copyObject: true,
          uploadPartCopy: true,
        },
      });
    },
    timeoutMs,
  );

  it('is written to only below the prefix, and left as it was', async () => {
    const { store, prefix, left } = await examineFake({ multipart: {} });
    const changed = store.asked.filter(({ method }) => !['GET', 'HEAD'].includes(method));
    expect(changed.length).toBeGreaterThan(100);
    const keys = changed.flatMap(({ key, query, body }) =>
      query.has('delete') ? (body.toString().match(/(?<=<Key>).*?(?=<)/g) ?? []) : [key],
    );
    expect(keys.filter((key) => !key.startsWith(prefix))).toEqual([]);
    expect([...store.objects.keys()]).toEqual([]);
    expect([...store.multipart.uploads.keys()]).toEqual([]);
    expect(left).toEqual([]);
  });
});

it('skips what an unusable store cannot be asked, and sends it no more', async () => {
  const { results, store } = await examineFake({ instead: () => ({ status: 403 }) });
  expect(results.slice(0, 2).map(({ outcome }) => outcome)).toEqual(['pass', 'fail']);
  expect(new Set(results.slice(2, -1).map(({ outcome }) => outcome))).toEqual(new Set(['skipped']));
  expect(results.at(-1)).toMatchObject({ id: 'cleanup', outcome: 'pass' });
  expect(store.asked.length).toBe(1);
});

it('fails a check that cannot be made, and goes on', async () => {
  const examined = await examineFake({
    changes: (reply, { query }) =>
      query.has('delimiter') ? { status: 200, body: Buffer.from('<no xml') } : reply,
  });
  expect(examined.found).toMatchObject({ 'list-folders': 'fail' });
  expect(detailOf(examined, 'list-folders')).toMatch(/^The check could not be made: /);
  expect(detailOf(examined, 'list-after-put')).toMatch(/10 of 10/);
});

describe('an interrupt', () => {
  it.each([1, 9, 40, 120, 205])('after request %i leaves nothing in the bucket', async (requests) => {
    const abort = new AbortController();
    const examined = await examineFake(
      {
        multipart: {},
        instead: (_, { asked }) => {
          if (asked.length === requests) abort.abort();
          return undefined;
        },
      },
      {},
      { signal: abort.signal },
    );
    expect(examined.isInterrupted).toBe(true);
    expect([...examined.store.objects.keys()]).toEqual([]);
    expect([...examined.store.multipart.uploads.keys()]).toEqual([]);
    expect(examined.results.at(-1)).toMatchObject({ id: 'cleanup', outcome: 'pass' });
    expect(examined.results.length).toBeLessThan(48);
  });
});

it('says what is left when the store is gone during the cleanup', async () => {
  const store = new FakeS3({
    instead: async ({ method }) => {
      if (method === 'DELETE') await store.close();
      return undefined;
    },
  });
  const target = { bucket: fakeBucket, prefix: 'p/', region: 'us-east-1', ...everything, isThorough: false };
  const endpoint = await store.listen();
  const abort = new AbortController();
  const onResult = ({ id }: { id: string }) => {
    if (id === 'upload') abort.abort();
  };
  const examined = await examine({ ...target, endpoint }, { signal: abort.signal, onResult });
  expect(foundIn(examined)).toEqual({ cleanup: 'warning' });
  expect(examined.left).toEqual(['p/2']);
  expect(examined.results.at(-1)?.advice).toBe(
    `Delete them: aws s3 rm --recursive s3://objects/p/ --endpoint-url ${endpoint}`,
  );
});

it(
  'the embedded store passes',
  async () => {
    const embedded = await StoreFixture.start();
    setCredentials(credentials);
    const target = {
      bucket: 'objects',
      prefix: 'p/',
      endpoint: embedded.url,
      region: 'us-east-1',
      ...everything,
    };
    const examined = await examine(target, { signal: new AbortController().signal, onResult: () => {} });
    expect(foundIn(examined)).toEqual({});
    expect(examined.holds?.partRules).toEqual({
      multipart: true,
      smallParts: false,
      equalParts: false,
      copyObject: true,
      uploadPartCopy: true,
    });
    expect(embedded.errors).toEqual([]);
    await embedded.stop();
    setCredentials();
  },
  timeoutMs,
);
