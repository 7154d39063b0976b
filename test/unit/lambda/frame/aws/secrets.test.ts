import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { createObjectStore } from '../../../../../lambda/core/store/object-store.ts';
import { createUrlSigner } from '../../../../../lambda/core/store/signing.ts';
import { createAdminSecret, storeCredentials } from '../../../../../lambda/frame/aws/secrets.ts';
import { bucketAt, serve } from '../../../../support/serve.ts';
import { fakeSecrets, notFound } from './fake-secrets.ts';

describe('admin secret', () => {
  const minuteMs = 60_000;
  const keepMs = 5 * minuteMs;
  const unavailable = { status: 503, body: { name: 'InternalServiceError', message: 'down' } };

  function open(text?: string) {
    const clock = { atMs: 0 };
    const { client, ...fake } = fakeSecrets(text);
    return {
      ...fake,
      clock,
      admin: createAdminSecret({ client, secretArn: 'arn', nowMs: () => clock.atMs }),
    };
  }

  /** The operator has just put `current` in the place of `previous`. */
  function rotated(current: string, previous: string | undefined, atMs = 0) {
    const fake = open();
    fake.secrets.answer = ({ input }) => {
      if (input['VersionStage'] === undefined)
        return { body: { SecretString: current, CreatedDate: new Date(atMs) } };
      return previous === undefined
        ? notFound
        : { body: { SecretString: previous, CreatedDate: new Date(0) } };
    };
    return fake;
  }

  it('the admin secret is read once in five minutes, and its hash is kept', async () => {
    const { clock, admin, secrets, set } = open('old');
    clock.atMs = 100 * minuteMs;
    expect(await Promise.all([admin.sha256s(), admin.sha256s()])).toEqual([
      [sha256Hex('old')],
      [sha256Hex('old')],
    ]);
    set('new');
    clock.atMs += keepMs;
    expect(await admin.sha256s()).toEqual([sha256Hex('old')]);
    clock.atMs += 1;
    expect(await admin.sha256s()).toEqual([sha256Hex('new')]);
    expect(secrets.calls).toEqual(
      new Array(2).fill({ operation: 'GetSecretValue', input: { SecretId: 'arn' } }),
    );
  });

  it('the token before a rotation is accepted for an hour, so that no function refuses what another takes', async () => {
    const { clock, admin } = rotated('new', 'old', 1_000 * minuteMs);
    for (const [minutes, accepted] of [
      [1_000, ['new', 'old']],
      [1_059, ['new', 'old']],
      [1_065, ['new']],
    ] as const) {
      clock.atMs = minutes * minuteMs;
      expect(await admin.sha256s()).toEqual(accepted.map(sha256Hex));
    }
  });

  it('a token that was never rotated is accepted alone', async () => {
    expect(await rotated('first', undefined).admin.sha256s()).toEqual([sha256Hex('first')]);
  });

  it('if Secrets Manager fails, the last tokens are accepted for an hour, and it is asked once a minute', async () => {
    const { clock, admin, secrets, set } = open('token');
    clock.atMs = 1_000 * minuteMs;
    await admin.sha256s();
    secrets.answer = () => unavailable;
    const asked = secrets.calls.length;
    clock.atMs += keepMs + 1;
    for (let call = 0; call < 3; call += 1) expect(await admin.sha256s()).toEqual([sha256Hex('token')]);
    expect(secrets.calls.length - asked).toBe(1);
    clock.atMs = 1_060 * minuteMs;
    expect(await admin.sha256s()).toEqual([sha256Hex('token')]);
    clock.atMs = 1_062 * minuteMs;
    await expect(admin.sha256s()).rejects.toThrow('down');
    set('later');
    expect(await admin.sha256s()).toEqual([sha256Hex('later')]);
  });

  it('a refusal does not pass, so the last tokens are not accepted any more', async () => {
    const { clock, admin, secrets } = open('token');
    await admin.sha256s();
    secrets.answer = () => notFound;
    clock.atMs = keepMs + 1;
    await expect(admin.sha256s()).rejects.toThrow('later');
  });

  it('a failed read of the admin secret is not kept', async () => {
    const { admin, clock, secrets, set } = open();
    clock.atMs = 1_000 * minuteMs;
    secrets.answer = () => notFound;
    await expect(Promise.all([admin.sha256s(), admin.sha256s()])).rejects.toThrow('later');
    set('token');
    expect(await admin.sha256s()).toEqual([sha256Hex('token')]);
    expect(secrets.calls).toHaveLength(2);
  });

  it.each([undefined, ''])('an empty admin secret is an error: %j', async (text) => {
    await expect(open(text).admin.sha256s()).rejects.toThrow('has no value');
  });
});

describe('store credentials', () => {
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
      createObjectStore({ client: bucketAt(endpoint, { credentials }), clock: { nowMs: Date.now } });
    const signer = createUrlSigner(place);
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
        cause: {
          message: 'Secrets Manager answered GetSecretValue with 400 ResourceNotFoundException: later',
        },
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
});
