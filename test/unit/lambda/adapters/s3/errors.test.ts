import { createServer, type ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { S3Settings } from '../../../../../lambda/adapters/s3/client.ts';
import { StoreRefusedError } from '../../../../../lambda/adapters/s3/errors.ts';
import { S3ObjectStore } from '../../../../../lambda/adapters/s3/object-store.ts';
import { S3TextFiles } from '../../../../../lambda/adapters/s3/text-files.ts';
import { ScanListing } from '../../../../../lambda/adapters/s3-scan/listing.ts';
import { StoreUnavailableError } from '../../../../../lambda/ports/object-store.ts';
import { bucketAt, close, listen, serve as serveWith } from '../../../../support/serve.ts';
import { credentials, StoreFixture } from '../../../../support/store-fixture.ts';

function adapters(endpoint: string, overrides: Partial<S3Settings> = {}) {
  const client = bucketAt(endpoint, { credentials: async () => credentials, ...overrides });
  return {
    store: new S3ObjectStore({ client, clock: { nowMs: () => Date.now() } }),
    listing: new ScanListing({ client }),
    files: new S3TextFiles({ client }),
  };
}

/** A server that answers every request with `answer`, and counts the requests. */
async function serve(answer: (response: ServerResponse) => void) {
  const seen = { requests: 0 };
  const url = await serveWith((_message, response) => {
    seen.requests += 1;
    answer(response);
  });
  return { seen, url };
}

const soon = () => ({ deadlineMs: Date.now() + 10_000 });

/** Deletes one key, and throws why it may not be gone. */
async function deleteK(to: ReturnType<typeof adapters>, options: { deadlineMs: number }): Promise<void> {
  for (const error of (await to.store.delete(['k'], options)).values()) throw error;
}

const ways = [
  {
    way: 'head',
    attempts: 4,
    ask: (to: ReturnType<typeof adapters>) => to.store.head('k') as Promise<unknown>,
  },
  { way: 'delete', attempts: 1, ask: (to: ReturnType<typeof adapters>) => deleteK(to, soon()) },
  {
    way: 'listPage',
    attempts: 10,
    ask: (to: ReturnType<typeof adapters>) => to.listing.listPage({ prefix: '' }),
  },
  {
    way: 'listFolders',
    attempts: 4,
    ask: (to: ReturnType<typeof adapters>) => to.listing.listFolders({ prefix: '' }),
  },
  {
    way: 'put',
    attempts: 4,
    ask: (to: ReturnType<typeof adapters>) => to.files.put('k', Buffer.from('{}')),
  },
];

async function thrownBy(promise: Promise<unknown>): Promise<Error> {
  return await promise.then(
    () => new Error('The call did not throw.'),
    (error) => error as Error,
  );
}

describe.each(ways)('$way', ({ ask, attempts }) => {
  test('reports an unreachable store as unavailable, with the cause', async () => {
    const server = createServer();
    const port = await listen(server);
    await close(server);
    const error = await thrownBy(ask(adapters(`http://127.0.0.1:${port}`)));
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' });
  });

  test.each([
    { name: 'internal error', status: 500, code: 'InternalError' },
    { name: 'slow down', status: 503, code: 'SlowDown' },
    { name: 'too many requests', status: 429, code: 'TooManyRequests' },
  ])('retries, then reports the store as unavailable: $name', async ({ status, code }) => {
    const { seen, url } = await serve((response) => {
      response.writeHead(status, { 'content-type': 'application/xml' });
      response.end(`<Error><Code>${code}</Code><Message>later</Message></Error>`);
    });
    const error = await thrownBy(ask(adapters(url)));
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error.cause).toBeInstanceOf(Error);
    expect(seen.requests).toBe(attempts);
  });

  test('reports a broken connection as an unavailable store', async () => {
    const { url } = await serve((response) => response.destroy());
    expect(await thrownBy(ask(adapters(url)))).toBeInstanceOf(StoreUnavailableError);
  });

  test('reports a refusal as such: wrong secret, wrong key, no credentials', async () => {
    const fixture = await StoreFixture.start();
    onTestFinished(() => fixture.stop());
    const wrong = [
      { credentials: async () => ({ ...credentials, secretAccessKey: 'other' }) },
      { credentials: async () => ({ ...credentials, accessKeyId: 'other' }) },
      {
        credentials: async () => {
          throw Object.assign(new Error('none found'), { name: 'CredentialsProviderError' });
        },
      },
    ];
    for (const change of wrong) {
      const error = await thrownBy(ask(adapters(fixture.url, change)));
      expect(error).toBeInstanceOf(StoreRefusedError);
      expect(error.cause).toBeInstanceOf(Error);
    }
  });
});

describe('delete', () => {
  test('is not sent after its deadline', async () => {
    const { seen, url } = await serve((response) => response.end());
    const deleting = deleteK(adapters(url), { deadlineMs: Date.now() - 1 });
    expect(await thrownBy(deleting)).toBeInstanceOf(StoreUnavailableError);
    expect(seen.requests).toBe(0);
  });

  test('ends by its deadline if the store is silent, and if the credentials do not arrive', async () => {
    const silent = await serve(() => {});
    const never = { credentials: () => new Promise<never>(() => {}) };
    for (const overrides of [{}, never]) {
      const deleting = deleteK(adapters(silent.url, overrides), { deadlineMs: Date.now() + 300 });
      expect(String(await thrownBy(deleting))).toContain('did not finish by its deadline');
    }
    expect(silent.seen.requests).toBe(1);
  });

  test('is not sent if the credentials arrive after its deadline', async () => {
    const { seen, url } = await serve((response) => response.end());
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const late = { credentials: async () => arrived.then(() => credentials) };
    const deleting = deleteK(adapters(url, late), { deadlineMs: Date.now() + 50 });
    expect(await thrownBy(deleting)).toBeInstanceOf(StoreUnavailableError);
    arrive();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(seen.requests).toBe(0);
  });
});

describe('a malformed answer', () => {
  const list = (inner: string) => `<ListBucketResult><KeyCount>1</KeyCount>${inner}</ListBucketResult>`;

  test.each([
    { name: 'truncated without a token', body: list('<IsTruncated>true</IsTruncated>') },
    { name: 'cut off in the middle', body: '<ListBucketResult><KeyCount>1</KeyCount><Contents><Key>a' },
    { name: 'without a size', body: list('<Contents><Key>a</Key></Contents>') },
  ])('to LIST is reported as an unavailable store: $name', async ({ body }) => {
    const { url } = await serve((response) =>
      response.writeHead(200, { 'content-type': 'application/xml' }).end(body),
    );
    expect(await thrownBy(adapters(url).listing.listPage({ prefix: '' }))).toBeInstanceOf(
      StoreUnavailableError,
    );
  });

  test('to HEAD: a composite checksum is ignored, because it is not the hash of the bytes', async () => {
    const composite = `${Buffer.alloc(32).toString('base64')}-3`;
    const { url } = await serve((response) =>
      response.writeHead(200, { 'content-length': '7', 'x-amz-checksum-sha256': composite }).end(),
    );
    expect(await adapters(url).store.head('k')).toEqual({ sizeBytes: 7, sha256: undefined });
  });
});

test('an aborted listing rejects with the reason of its signal', async () => {
  const { url } = await serve(() => {});
  const reason = new Error('enough');
  const controller = new AbortController();
  const listing = adapters(url).listing.listPage({ prefix: '', signal: controller.signal });
  setTimeout(() => controller.abort(reason), 50);
  await expect(listing).rejects.toBe(reason);
});
