import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  ArchiveClient,
  type ArchiveLimits,
  type ArchiveSettings,
} from '../../../../../lambda/core/store/archive-client.ts';
import {
  NoPartCopyError,
  SourceGoneError,
  UploadGoneError,
} from '../../../../../lambda/core/store/rules/archive-store.ts';
import { StoreRefusedError, StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { createArchiveStore } from '../../../../../lambda/core/store/s3-archives.ts';
import {
  answer,
  type Conduct,
  cutOff,
  drip,
  errorXml,
  ScriptedStore,
  silence,
  xml,
} from './scripted-store.ts';

const keys = { accessKeyId: 'key', secretAccessKey: 'secret' };

async function storeOf(
  script: readonly Conduct[],
  { limits = {}, credentials }: { limits?: Partial<ArchiveLimits> } & Partial<ArchiveSettings> = {},
) {
  const server = new ScriptedStore(script);
  const client = new ArchiveClient(
    {
      bucket: 'objects',
      region: 'us-east-1',
      endpoint: await server.listen(),
      forcePathStyle: true,
      credentials: credentials ?? (async () => keys),
      // No pauses between attempts.
      random: () => 0,
    },
    limits,
  );
  onTestFinished(() => client.destroy());
  return { server, store: createArchiveStore({ client }) };
}

const upload = { key: '_exports/acme/1/archive.tar', uploadId: 'the-upload' };
const source = { key: 'acme/ä b+/object', etag: '"tag"' };
const bytes = Buffer.from('0123456789');
const range = { startByte: 2, endByte: 6 };

/** Every method, as one call that reaches the store once. */
const calls = {
  put: (store) => store.put('k', bytes),
  get: (store) => store.get('k'),
  readInto: (store) => store.readInto(source, range, new Uint8Array(4)),
  head: (store) => store.head('k'),
  delete: (store) => store.delete(['k']),
  list: (store) => first(store.list('p/')),
  createUpload: (store) => store.createUpload('k'),
  uploads: (store) => first(store.uploads('p/')),
  parts: (store) => first(store.parts(upload)),
  uploadPart: (store) => store.uploadPart(upload, { number: 1, bytes }),
  copyPart: (store) => store.copyPart(upload, { number: 1, source, range, sizeBytes: 4 }),
  complete: (store) => store.complete(upload, [{ number: 1, etag: '"1"' }]),
  abort: (store) => store.abort(upload),
} satisfies Record<string, (store: ReturnType<typeof createArchiveStore>) => Promise<unknown>>;
const names = Object.keys(calls) as (keyof typeof calls)[];

async function first<T>(pages: AsyncIterable<T>): Promise<T | undefined> {
  for await (const page of pages) return page;
  return undefined;
}

async function failure(call: Promise<unknown>): Promise<Error> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(outcome instanceof Error)) throw new Error('The call did not fail.');
  return outcome;
}

describe('a store that copies no parts', () => {
  it.each([
    [501, 'NotImplemented'],
    [501, 'SomethingElse'],
    [400, 'NotImplemented'],
  ])('is asked for one: %i %s', async (status, code) => {
    const { server, store } = await storeOf([errorXml(status, code)]);
    expect(await failure(calls.copyPart(store))).toBeInstanceOf(NoPartCopyError);
    expect(await failure(calls.copyPart(store))).toBeInstanceOf(NoPartCopyError);
    expect(server.requests).toHaveLength(1);
  });

  it('is not one that refuses it for another reason', async () => {
    const { server, store } = await storeOf([errorXml(403, 'AccessDenied')]);
    for (const requests of [1, 2]) {
      expect(await failure(calls.copyPart(store))).toBeInstanceOf(StoreRefusedError);
      expect(server.requests).toHaveLength(requests);
    }
  });
});

describe('a store that does not know a request', () => {
  it.each(names.filter((name) => name !== 'copyPart'))('is asked once, and refuses it: %s', async (name) => {
    const { server, store } = await storeOf([errorXml(501, 'NotImplemented')]);
    const error = await failure(calls[name](store));
    expect(error).toBeInstanceOf(StoreRefusedError);
    expect(error.message).toMatch(/^The store doesn't support \w+ \(501 \w+\)\.$/);
    expect(server.requests).toHaveLength(1);
  });
});

describe('a store that does not serve', () => {
  it.each(names)('is asked five times, and is unavailable then (%s)', async (name) => {
    const { server, store } = await storeOf([errorXml(503, 'SlowDown')]);
    const error = await failure(calls[name](store));
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(server.requests).toHaveLength(5);
    // What people read names no object.
    expect(error.message).not.toMatch(/acme|archive|the-upload/);
  });

  it.each(names)('is given up if it is silent, and its connections with it (%s)', async (name) => {
    const { server, store } = await storeOf([silence], { limits: { answerMs: 1_000, attemptsMax: 2 } });
    expect(await failure(calls[name](store))).toBeInstanceOf(StoreUnavailableError);
    expect(server.requests).toHaveLength(2);
    await expect.poll(() => server.openConnections).toBe(0);
  });

  it.each(['get', 'list', 'createUpload', 'uploads', 'parts', 'copyPart', 'complete'] as const)(
    'is given up if its answer has no end (%s)',
    async (name) => {
      const { server, store } = await storeOf([drip], { limits: { callMs: 3_000 } });
      const error = await failure(calls[name](store));
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(error.message).toMatch(/within 3 s/);
      await expect.poll(() => server.openConnections).toBe(0);
    },
  );

  it('may be silent for longer during a copy than a connection may wait for its next request', async () => {
    const copied: Conduct = (...to) => setTimeout(xml('CopyPartResult', '<ETag>"1"</ETag>'), 4_200, ...to);
    const { server, store } = await storeOf([copied, answer(200)], { limits: { attemptsMax: 1 } });
    const sockets: Socket[] = [];
    const onSocket = (opened: unknown) => sockets.push((opened as { socket: Socket }).socket);
    subscribe('net.client.socket', onSocket);
    onTestFinished(() => void unsubscribe('net.client.socket', onSocket));
    await calls.copyPart(store);
    expect(server.openConnections).toBe(1);
    await expect.poll(() => sockets.map(({ timeout }) => timeout)).toEqual([4_000]);
    await calls.put(store);
    expect(sockets).toHaveLength(1);
    await expect.poll(() => sockets.map(({ timeout }) => timeout)).toEqual([4_000]);
  });

  it('keeps no call that waits for credentials', async () => {
    const { server, store } = await storeOf([answer(200)], {
      limits: { callMs: 50 },
      credentials: () => new Promise(() => {}),
    });
    await expect(store.put('k', bytes)).rejects.toThrow('The store did not serve PutObject within 0.05 s.');
    expect(server.requests).toEqual([]);
  });

  it('is not asked again once the time of a call is over, and the cause is what it said', async () => {
    const { server, store } = await storeOf([errorXml(503, 'SlowDown'), silence], {
      limits: { callMs: 3_000 },
    });
    const error = await failure(store.put('k', bytes));
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error.cause).toMatchObject({ name: 'SlowDown' });
    expect(server.requests).toHaveLength(2);
    await expect.poll(() => server.openConnections).toBe(0);
  });

  it('is not asked again if it refuses', async () => {
    for (const name of names) {
      const { server, store } = await storeOf([errorXml(403, 'AccessDenied')]);
      const error = await failure(calls[name](store));
      expect([name, error.name]).toEqual([name, 'StoreRefusedError']);
      expect(server.requests).toHaveLength(1);
    }
  });

  it('is asked again until it serves', async () => {
    const down = errorXml(500, 'InternalError');
    const { server, store } = await storeOf([
      down,
      errorXml(503, 'SlowDown'),
      (response) => response.socket?.destroy(),
      answer(200, '', { etag: '"1"' }),
    ]);
    const part = await store.uploadPart(upload, { number: 3, bytes });
    expect(part).toEqual({ number: 3, sizeBytes: 10, etag: '"1"' });
    expect(server.requests.map(({ body }) => body.toString())).toEqual(Array(4).fill('0123456789'));
  });
});

describe('an error in an answer with status 200', () => {
  const completed = xml('CompleteMultipartUploadResult', '<ETag>&quot;all&quot;</ETag>');

  it('is seen, and the request is sent again', async () => {
    const { server, store } = await storeOf([errorXml(200, 'InternalError'), completed]);
    expect(await store.complete(upload, [{ number: 1, etag: '"1"' }])).toEqual({ etag: '"all"' });
    expect(server.requests).toHaveLength(2);
  });

  it('is seen if a line break follows it', async () => {
    const body = '<?xml version="1.0"?>\n  <Error><Code>InternalError</Code></Error>\n';
    const { server, store } = await storeOf([answer(200, body), completed]);
    expect(await store.complete(upload, [{ number: 1, etag: '"1"' }])).toEqual({ etag: '"all"' });
    expect(server.requests).toHaveLength(2);
  });

  it('may say that an upload or a source is gone', async () => {
    const { store } = await storeOf([errorXml(200, 'NoSuchUpload')]);
    await expect(calls.complete(store)).rejects.toThrow(UploadGoneError);
    await expect(calls.copyPart(store)).rejects.toThrow(UploadGoneError);
    const copies = await storeOf([errorXml(200, 'NoSuchKey'), errorXml(200, 'PreconditionFailed')]);
    await expect(calls.copyPart(copies.store)).rejects.toThrow(SourceGoneError);
    await expect(calls.copyPart(copies.store)).rejects.toThrow(SourceGoneError);
    expect(copies.server.requests).toHaveLength(2);
  });
});

describe('an answer that cannot be right', () => {
  const listed = '<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>';

  it.each([
    ['cut off', cutOff(200, listed.slice(0, 40))],
    ['not XML', answer(200, '<ListPartsResult><IsTr', { 'content-type': 'application/xml' })],
    [
      'a part without an ETag',
      xml('ListPartsResult', '<Part><PartNumber>1</PartNumber><Size>1</Size></Part>'),
    ],
    ['a page that goes on nowhere', xml('ListPartsResult', '<IsTruncated>true</IsTruncated>')],
  ])('is asked for again: %s', async (_, wrong) => {
    const { server, store } = await storeOf([wrong, answer(200, listed)]);
    expect(await first(store.parts(upload))).toEqual([]);
    expect(server.requests).toHaveLength(2);
  });

  it('is asked for again: one without an ETag or an upload', async () => {
    const empty = answer(200, '<Result></Result>');
    for (const name of ['createUpload', 'uploadPart', 'copyPart', 'complete', 'head'] as const) {
      const { server, store } = await storeOf([empty]);
      expect(await failure(calls[name](store))).toBeInstanceOf(StoreUnavailableError);
      expect(server.requests).toHaveLength(5);
    }
  });

  it('is asked for again: a range with other bytes than it has', async () => {
    const { server, store } = await storeOf([
      answer(206, '234'),
      answer(200, bytes),
      cutOff(206, '23'),
      answer(206, '2345'),
    ]);
    const into = new Uint8Array(4);
    await store.readInto(source, range, into);
    expect(Buffer.from(into).toString()).toBe('2345');
    expect(server.requests.map(({ headers }) => headers.range)).toEqual(Array(4).fill('bytes=2-5'));
    expect(server.requests[0]?.headers['if-match']).toBe('"tag"');
  });

  it('a whole object that is cut off is read again', async () => {
    const { store } = await storeOf([cutOff(200, '01234'), answer(200, bytes)]);
    expect(Buffer.from((await store.get('k')) ?? []).toString()).toBe('0123456789');
  });
});

describe('pages', () => {
  const parts = (numbers: readonly number[], next?: number) =>
    xml(
      'ListPartsResult',
      `<IsTruncated>${next !== undefined}</IsTruncated><NextPartNumberMarker>${next ?? 0}</NextPartNumberMarker>` +
        numbers
          .map((n) => `<Part><PartNumber>${n}</PartNumber><Size>${n}</Size><ETag>"${n}"</ETag></Part>`)
          .join(''),
    );
  const all = async <T>(pages: AsyncIterable<readonly T[]>) => {
    const found: T[] = [];
    for await (const page of pages) found.push(...page);
    return found;
  };
  const queryOf = (server: ScriptedStore, name: string) =>
    server.requests.map(({ url }) => new URL(url, 'http://store').searchParams.get(name));

  it('of parts follow each other', async () => {
    const { server, store } = await storeOf([parts([1, 2], 2), parts([7], 7), parts([])]);
    expect((await all(store.parts(upload))).map(({ number }) => number)).toEqual([1, 2, 7]);
    expect(queryOf(server, 'part-number-marker')).toEqual([null, '2', '7']);
  });

  it('that begin where they began end the call', async () => {
    const again = await storeOf([parts([1], 1)], { limits: { attemptsMax: 2 } });
    await expect(all(again.store.parts(upload))).rejects.toThrow(StoreUnavailableError);
    expect(again.server.requests).toHaveLength(3);
    const listed = xml(
      'ListBucketResult',
      '<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>',
    );
    const keys = await storeOf([listed], { limits: { attemptsMax: 2 } });
    await expect(all(keys.store.list('p/'))).rejects.toThrow(StoreUnavailableError);
    expect(keys.server.requests).toHaveLength(3);
  });

  it('of uploads follow each other, by key and upload', async () => {
    const page = (id: string, next: string) =>
      xml(
        'ListMultipartUploadsResult',
        `<EncodingType>url</EncodingType><Upload><Key>p/a+b%2Bc%2525</Key><UploadId>${id}</UploadId></Upload>${next}`,
      );
    const next =
      '<IsTruncated>true</IsTruncated><NextKeyMarker>p/a+b%2Bc%2525</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker>';
    const { server, store } = await storeOf([page('1', next), page('2', '')]);
    const key = 'p/a b+c%25';
    expect(await all(store.uploads('p/'))).toEqual([
      { key, uploadId: '1' },
      { key, uploadId: '2' },
    ]);
    expect(queryOf(server, 'key-marker')).toEqual([null, key]);
    expect(queryOf(server, 'upload-id-marker')).toEqual([null, '1']);
  });
});

describe('a request', () => {
  it('has the hash of its body, so that the store notices a broken one, and no checksum beside it', async () => {
    const { server, store } = await storeOf([answer(200, '', { etag: '"1"' })]);
    const large = Buffer.alloc(3 * 1024 ** 2, 'x');
    await store.put('k', bytes);
    for (const number of [1, 2, 3]) await store.uploadPart(upload, { number, bytes: large });
    const sha256 = (body: Buffer) => createHash('sha256').update(body).digest('hex');
    for (const { headers, body } of server.requests) {
      expect(headers['x-amz-content-sha256']).toBe(sha256(body));
      expect(Object.keys(headers).filter((name) => /checksum|expect|trailer/.test(name))).toEqual([]);
    }
    expect(server.requests.map(({ body }) => body.length)).toEqual([10, ...Array(3).fill(large.length)]);
    // One connection, over which all of them came.
    expect(server.connections.size).toBe(1);
  });

  it('to copy names the source, its version and the range', async () => {
    const { server, store } = await storeOf([
      xml('CopyPartResult', '<ETag>"1"</ETag><ChecksumCRC32>/////g==</ChecksumCRC32>'),
    ]);
    const whole = await store.copyPart(upload, { number: 1, source, sizeBytes: 10 });
    expect(whole).toEqual({ number: 1, sizeBytes: 10, etag: '"1"', crc32: 0xfffffffe });
    const ofRange = await store.copyPart(upload, { number: 2, source, range, sizeBytes: 4 });
    expect(ofRange).toEqual({ number: 2, sizeBytes: 4, etag: '"1"' });
    const headers = server.requests.map(({ headers }) => [
      headers['x-amz-copy-source'],
      headers['x-amz-copy-source-if-match'],
      headers['x-amz-copy-source-range'],
    ]);
    const escaped = 'objects/acme/%C3%A4%20b%2B/object';
    expect(headers).toEqual([
      [escaped, '"tag"', undefined],
      [escaped, '"tag"', 'bytes=2-5'],
    ]);
  });

  it('asks for a storage class only if it is wanted', async () => {
    const { server, store } = await storeOf([xml('InitiateMultipartUploadResult', '<UploadId>u</UploadId>')]);
    await store.createUpload('k', { storageClass: undefined });
    await store.createUpload('k', { storageClass: 'STANDARD_IA' });
    expect(server.requests.map(({ headers }) => headers['x-amz-storage-class'])).toEqual([
      undefined,
      'STANDARD_IA',
    ]);
  });

  it('asks for a checksum only if it is wanted', async () => {
    const { server, store } = await storeOf([xml('InitiateMultipartUploadResult', '<UploadId>u</UploadId>')]);
    expect(await store.createUpload('k')).toEqual({ key: 'k', uploadId: 'u' });
    await store.createUpload('k', { withCrc32: true });
    const asked = server.requests.map(({ headers }) => [
      headers['x-amz-checksum-algorithm'],
      headers['x-amz-checksum-type'],
    ]);
    expect(asked).toEqual([
      [undefined, undefined],
      ['CRC32', 'FULL_OBJECT'],
    ]);
  });

  it('is signed with the credentials of its time', async () => {
    let number = 0;
    const credentials = async () => {
      number += 1;
      return { ...keys, accessKeyId: `key-${number}`, sessionToken: `token-${number}` };
    };
    const { server, store } = await storeOf([answer(200)], { credentials });
    for (let turn = 0; turn < 3; turn += 1) await store.put('k', bytes);
    const tokens = server.requests.map(({ headers }) => String(headers['x-amz-security-token']));
    expect(new Set(tokens).size).toBe(3);
    for (const [index, { headers }] of server.requests.entries())
      expect(headers.authorization).toContain(tokens[index]?.replace('token', 'key'));
  });

  it('to delete many is sent for each, some at a time', async () => {
    const { server, store } = await storeOf([answer(204)]);
    await store.delete(Array.from({ length: 40 }, (_, index) => `k${index}`));
    expect(new Set(server.requests.map(({ url }) => url)).size).toBe(40);
    expect(server.connections.size).toBe(16);
  });
});
