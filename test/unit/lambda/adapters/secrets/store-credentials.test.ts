import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { S3ObjectStore } from '../../../../../lambda/adapters/s3/object-store.ts';
import { S3UrlSigner } from '../../../../../lambda/adapters/s3/url-signer.ts';
import { storeCredentials } from '../../../../../lambda/adapters/secrets/store-credentials.ts';
import { bucketAt, serve } from '../../../../support/serve.ts';
import { fakeSecrets, notFound } from './fake-secrets.ts';

const minuteMs = 60_000;
let fake = fakeSecrets();
const reads = () => fake.secrets.calls.length;
const keyIdIn = (text: string) => /Credential=([^/%]+)/.exec(text)?.[1];

/** The access keys by which the store's requests were signed. */
const signedBy: (string | undefined)[] = [];

beforeEach(() => {
  // Only the age of the credentials is by a fake clock. Sockets and timers stay real.
  vi.useFakeTimers({ toFake: ['Date'] });
  signedBy.length = 0;
  fake = fakeSecrets('{"accessKeyId":"first","secretAccessKey":"secret"}');
});
afterEach(() => void vi.useRealTimers());

/** The store as a function uses it: several clients that share one provider. */
async function open() {
  const endpoint = await serve((request, response) => {
    signedBy.push(keyIdIn(request.headers.authorization ?? ''));
    response.writeHead(200, { 'content-length': '7' }).end();
  });
  const credentials = storeCredentials({ client: fake.client, secretArn: 'arn', nowMs: Date.now });
  const place = { bucket: 'objects', region: 'us-east-1', endpoint, forcePathStyle: true, credentials };
  const openStore = () =>
    new S3ObjectStore({ client: bucketAt(endpoint, { credentials }), clock: { nowMs: Date.now } });
  const signer = new S3UrlSigner(place);
  const sign = () => signer.signDownload({ key: 'k', signedAtMs: Date.now(), lifetimeMs: minuteMs });
  return { store: openStore(), secondStore: openStore(), sign };
}

describe('the credentials of an external store', () => {
  it('are read once for many requests and signatures, of all clients', async () => {
    const { store, secondStore, sign } = await open();
    for (let turn = 0; turn < 10; turn += 1) {
      vi.advanceTimersByTime(29_000);
      await store.head('k');
      await secondStore.head('k');
      await sign();
    }
    expect(signedBy).toEqual(new Array(20).fill('first'));
    expect(reads()).toBe(1);
  });

  it('are read once if all ask at the same time', async () => {
    const { store, secondStore, sign } = await open();
    await Promise.all([store, secondStore, store, secondStore].map((through) => through.head('k')));
    await Promise.all([sign(), sign()]);
    expect(reads()).toBe(1);
  });

  it('are read again after five minutes, so that rotated ones are used', async () => {
    const { store, secondStore, sign } = await open();
    await store.head('k');
    fake.set('{"accessKeyId":"second","secretAccessKey":"secret"}');
    vi.advanceTimersByTime(5 * minuteMs - 1000);
    await store.head('k');
    await secondStore.head('k');
    expect(keyIdIn((await sign()).href)).toBe('first');
    vi.advanceTimersByTime(1001);
    await store.head('k');
    await secondStore.head('k');
    expect(keyIdIn((await sign()).href)).toBe('second');
    expect(signedBy).toEqual(['first', 'first', 'first', 'second', 'second']);
    expect(reads()).toBe(2);
  });

  it('are not remembered as missing: after a failure, the next request reads the secret again', async () => {
    const { store } = await open();
    fake.secrets.answer = () => notFound;
    await expect(store.head('k')).rejects.toMatchObject({
      name: 'StoreRefusedError',
      cause: { message: 'Secrets Manager answered GetSecretValue with 400 ResourceNotFoundException: later' },
    });
    fake.set('{"accessKeyId":"first","secretAccessKey":"secret"}');
    expect(await store.head('k')).toMatchObject({ sizeBytes: 7 });
  });

  it.each([['null'], ['{}'], ['{"accessKeyId":"key","secretAccessKey":""}'], [''], ['key:hunter2']])(
    'must be complete: %j',
    async (text) => {
      fake.set(text);
      const { store } = await open();
      const { message } = (await store.head('k').catch((error: unknown) => error)) as Error;
      expect(message).toContain('{"accessKeyId": …, "secretAccessKey": …}');
      expect(message).not.toContain('hunter2');
    },
  );
});
