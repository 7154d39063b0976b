import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { ScanListing } from '../../../../../lambda/core/scan/list-objects.ts';
import type { S3Settings } from '../../../../../lambda/core/store/bucket-client.ts';
import { bytesReader } from '../../../../../lambda/core/store/http-exchange.ts';
import { createObjectStore, createTextFiles } from '../../../../../lambda/core/store/object-store.ts';
import { StoreRefusedError, StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { bucketAt, close, listen, serve, serve as serveWith } from '../../../../support/serve.ts';
import { bucket, credentials, StoreFixture } from '../../../../support/store-fixture.ts';

it('joins the pieces of an answer, each copied, and ends one that is too long', () => {
  const reader = bytesReader(4, (bytes) => bytes);
  const piece = Buffer.from('ab');
  reader.write(piece);
  piece.fill(0);
  reader.write(Buffer.from('cd'));
  expect(Buffer.from(reader.end()).toString()).toBe('abcd');
  expect(() => reader.write(Buffer.from('e'))).toThrow('more than 4 bytes');
});

describe('delete objects', () => {
  interface Asked {
    readonly method: string;
    readonly path: string;
    readonly headers: NodeJS.Dict<string | string[]>;
    readonly body: string;
  }

  /** A store that answers like this: a status and a body. undefined: it never answers. */
  async function open(answer: (asked: Asked) => readonly [number, string] | undefined) {
    const asked: Asked[] = [];
    const url = await serve(async (message, response) => {
      let body = '';
      for await (const piece of message) body += piece;
      const { method = '', url: path = '', headers } = message;
      const request = { method, path, headers, body };
      asked.push(request);
      const answered = answer(request);
      if (answered) response.writeHead(answered[0]).end(answered[1]);
    });
    const store = createObjectStore({ client: bucketAt(url, { bucket: 'b' }), clock: { nowMs: Date.now } });
    /** Key → why it may not be gone. */
    const deleting = async (keys: readonly string[], withinMs = 10_000) => {
      const failed = await store.delete(keys, { deadlineMs: Date.now() + withinMs });
      return Object.fromEntries([...failed].map(([key, error]) => [key, error.message]));
    };
    const ways = () => asked.map(({ method, path }) => `${method} ${path}`);
    return { asked, deleting, ways };
  }

  const keysIn = (body: string) => [...body.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key = '']) => key);
  const deletedOf = (keys: readonly string[]) => keys.map((key) => `<Deleted><Key>${key}</Key></Deleted>`);
  const resultOf = (...inner: readonly string[]) =>
    `<?xml version="1.0"?><DeleteResult>${inner.join('')}</DeleteResult>`;
  const allGone = ({ body }: Asked) => [200, resultOf(...deletedOf(keysIn(body)))] as const;
  const errorOf = (key: string, code: string) =>
    `<Error><Key>${key}</Key><Code>${code}</Code><Message>Why not.</Message></Error>`;

  describe('many keys', () => {
    it('take one request for a thousand, with the MD5 of what is sent', async () => {
      const { asked, deleting, ways } = await open(allGone);
      expect(await deleting(Array.from({ length: 2_000 }, (_, index) => `k${index}`))).toEqual({});
      expect(ways()).toEqual(['POST /b/?delete=', 'POST /b/?delete=']);
      expect(keysIn(asked[1]?.body ?? '')).toHaveLength(1_000);
      const { body = '', headers = {} } = asked[0] ?? ({} as Partial<Asked>);
      expect(headers['content-md5']).toBe(createHash('md5').update(body).digest('base64'));
      expect(headers['x-amz-content-sha256']).toBe(createHash('sha256').update(body).digest('hex'));
    });

    it('may have any characters: escaped, or one by one if XML has no way to write them', async () => {
      const { asked, deleting, ways } = await open((one) =>
        one.method === 'POST' ? allGone(one) : [204, ''],
      );
      expect(await deleting(['a&b', 'a<b>"c"', 'a\tb\r\n', 'ä', '\u0001', '\ufffe'])).toEqual({});
      expect(keysIn(asked[0]?.body ?? '')).toEqual([
        'a&#38;b',
        'a&#60;b&#62;&#34;c&#34;',
        'a&#9;b&#13;&#10;',
        'ä',
      ]);
      expect(ways().slice(1).sort()).toEqual(['DELETE /b/%01', 'DELETE /b/%EF%BF%BE']);
    });

    it('are one plain request if there is one key', async () => {
      const { deleting, ways } = await open(() => [204, '']);
      expect(await deleting(['k'])).toEqual({});
      expect(await deleting([])).toEqual({});
      expect(ways()).toEqual(['DELETE /b/k']);
    });

    it('may each fail, which is no failure of the others', async () => {
      const { deleting, ways } = await open(() => [
        200,
        resultOf(...deletedOf(['a']), errorOf('b&#38;', 'InternalError'), errorOf('c', 'NoSuchKey')),
      ]);
      expect(await deleting(['a', 'b&', 'c'])).toEqual({
        'b&': 'The store did not delete a key (InternalError): Why not.',
      });
      expect(ways()).toHaveLength(1);
    });

    it('end with a refusal if one may not be deleted', async () => {
      const { deleting } = await open(() => [
        200,
        resultOf(...deletedOf(['a']), errorOf('b', 'AccessDenied')),
      ]);
      await expect(deleting(['a', 'b'])).rejects.toThrow('The store did not delete a key (AccessDenied)');
    });

    it('are sent one by one if the answer says nothing of them', async () => {
      const { deleting, ways } = await open(({ method }) =>
        method === 'POST' ? [200, resultOf(...deletedOf(['a']))] : [204, ''],
      );
      expect(await deleting(['a', 'b', 'c'])).toEqual({});
      expect(ways()).toEqual(['POST /b/?delete=', 'DELETE /b/b', 'DELETE /b/c']);
      // It knows the request all the same.
      await deleting(['a', 'a2']);
      expect(ways()[3]).toBe('POST /b/?delete=');
    });

    it.each([
      ['500', 500, ''],
      ['SlowDown', 503, '<Error><Code>SlowDown</Code></Error>'],
      ['200 with an error', 200, '<Error><Code>InternalError</Code></Error>'],
      ['half an answer', 200, '<DeleteResult><Deleted><Key>a</Key></Deleted><Dele'],
    ])('may all be there yet after %s, and nothing is sent again', async (_what, status, body) => {
      const { deleting, ways } = await open(() => [status, body]);
      expect(Object.keys(await deleting(['a', 'b']))).toEqual(['a', 'b']);
      expect(ways()).toHaveLength(1);
    });

    it('may all be there yet if there is no answer by the deadline', async () => {
      const { deleting, ways } = await open(() => undefined);
      expect(Object.keys(await deleting(['a', 'b'], 200))).toEqual(['a', 'b']);
      expect(ways()).toHaveLength(1);
      expect(await deleting(['a', 'b'], 0)).toEqual({
        a: 'The deadline for DELETE passed before it was sent.',
        b: 'The deadline for DELETE passed before it was sent.',
      });
      expect(ways()).toHaveLength(1);
    });
  });

  describe('a store that does not know the request', () => {
    it.each([
      ['501', 501, '<Error><Code>NotImplemented</Code></Error>'],
      ['400', 400, '<Error><Code>InvalidArgument</Code></Error>'],
      ['405', 405, ''],
      ['something else', 200, '<html></html>'],
    ])(
      'says so by %s, gets one request for each key, and is not asked again',
      async (_what, status, body) => {
        const { deleting, ways } = await open(({ method }) =>
          method === 'POST' ? [status, body] : [204, ''],
        );
        expect(await deleting(['a', 'b'])).toEqual({});
        expect(await deleting(['c', 'd'])).toEqual({});
        expect(ways()).toEqual([
          'POST /b/?delete=',
          'DELETE /b/a',
          'DELETE /b/b',
          'DELETE /b/c',
          'DELETE /b/d',
        ]);
      },
    );

    it('may say that one of them is gone, alone or among many', async () => {
      const { deleting } = await open(() => [404, '<Error><Code>NoSuchKey</Code></Error>']);
      expect(await deleting(['a'])).toEqual({});
      expect(await deleting(['a', 'b'])).toEqual({});
    });

    it('may say that there is no bucket, which is a refusal', async () => {
      const { deleting } = await open(() => [404, '<Error><Code>NoSuchBucket</Code></Error>']);
      await expect(deleting(['a', 'b'])).rejects.toThrow('The store rejected DELETE with 404 NoSuchBucket');
    });

    it('is asked again if it refused single requests, too', async () => {
      let isKnown = false;
      const { deleting, ways } = await open((asked) =>
        isKnown ? allGone(asked) : [403, '<Error><Code>AccessDenied</Code></Error>'],
      );
      await expect(deleting(['a', 'b'])).rejects.toThrow('The store rejected DELETE with 403 AccessDenied');
      isKnown = true;
      expect(await deleting(['c', 'd'])).toEqual({});
      expect(ways().at(-1)).toBe('POST /b/?delete=');
    });
  });
});

describe('errors', () => {
  function adapters(endpoint: string, overrides: Partial<S3Settings> = {}) {
    const client = bucketAt(endpoint, { credentials: async () => credentials, ...overrides });
    return {
      store: createObjectStore({ client, clock: { nowMs: () => Date.now() } }),
      listing: new ScanListing({ client }),
      files: createTextFiles({ client }),
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
      way: 'putEmpty',
      attempts: 1,
      ask: (to: ReturnType<typeof adapters>) =>
        to.store.putEmpty('k', { mark: 'm', onlyNew: true, ...soon() }),
    },
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
      const server = createServer({ keepAliveTimeout: 60_000 });
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

  describe('an empty object', () => {
    const answering = async (status: number, body = '') => {
      const seen: object[] = [];
      const url = await serveWith((message, response) => {
        const { method, url: path, headers } = message;
        const { 'if-none-match': condition, 'content-length': length } = headers;
        seen.push({ method, path, condition, length });
        response.writeHead(status).end(body);
      });
      return { seen, store: adapters(url).store };
    };
    const sent = { method: 'PUT', path: '/objects/k', length: '0', condition: undefined };

    test('is put over what is there, or only where nothing is', async () => {
      const { seen, store } = await answering(200);
      expect(await store.putEmpty('k', { mark: 'm', onlyNew: false, ...soon() })).toBe('put');
      expect(await store.putEmpty('k', { mark: 'm', onlyNew: true, ...soon() })).toBe('put');
      expect(seen).toEqual([sent, { ...sent, condition: '*' }]);
    });

    test('is not put where something is', async () => {
      const { store } = await answering(412, '<Error><Code>PreconditionFailed</Code></Error>');
      expect(await store.putEmpty('k', { mark: 'm', onlyNew: true, ...soon() })).toBe('taken');
    });

    test.each([
      [409, '<Error><Code>ConditionalRequestConflict</Code><Message>Again.</Message></Error>'],
      [200, '<Error><Code>InternalError</Code><Message>Not done.</Message></Error>'],
    ])('may not be there after %i %s', async (status, body) => {
      const { seen, store } = await answering(status, body);
      const error = await thrownBy(store.putEmpty('k', { mark: 'm', onlyNew: true, ...soon() }));
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(seen).toHaveLength(1);
    });

    test('is not sent after its deadline', async () => {
      const { seen, store } = await answering(200);
      const late = await thrownBy(
        store.putEmpty('k', { mark: 'm', onlyNew: true, deadlineMs: Date.now() - 1 }),
      );
      expect(late).toBeInstanceOf(StoreUnavailableError);
      expect(seen).toEqual([]);
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
        expect(String(await thrownBy(deleting))).toContain('finish by its deadline');
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
});

describe('text files', () => {
  async function open() {
    const fixture = await StoreFixture.start();
    onTestFinished(() => fixture.stop());
    const client = bucketAt(fixture.url, { credentials: async () => credentials });
    return { fixture, files: createTextFiles({ client }) };
  }

  it.each(['', '{}', '[{"name":"bücher/ä 📦.psd"}]', 'x'.repeat(1024 * 1024)])(
    'puts a text as it is, and in the place of another: %.30s',
    async (text) => {
      const { fixture, files } = await open();
      const key = '_exports/acme/019a/work/request.json';
      for (const each of ['another', text]) await files.put(key, Buffer.from(each));
      const stored = await fixture.send({ method: 'GET', path: `/${bucket}/${key}` });
      expect([stored.status, stored.body.toString()]).toEqual([200, text]);
      expect(fixture.errors).toEqual([]);
    },
  );

  it('reads all bytes of what was put, and nothing where nothing is', async () => {
    const { files } = await open();
    const text = 'candidate 1\n'.repeat(100_000);
    await files.put('_gc/acme/w/f/candidates-0.txt', Buffer.from(text));
    const read = await files.get('_gc/acme/w/f/candidates-0.txt');
    expect(Buffer.from(read ?? []).toString()).toBe(text);
    expect(await files.get('_gc/acme/w/f/candidates-1.txt')).toBeUndefined();
  });
});
