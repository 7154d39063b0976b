import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sendRaw } from '../../../support/raw-request.ts';
import { StoreFixture, signHeaders } from '../../../support/store-fixture.ts';

let store: StoreFixture;

beforeAll(async () => {
  store = await StoreFixture.start();
});

afterAll(async () => {
  expect(store.errors).toEqual([]);
  await store.stop();
});

const body = Buffer.from('bytes');
const sha256 = (data: Buffer | string) => createHash('sha256').update(data);

async function exists(key: string): Promise<boolean> {
  return (await store.send({ method: 'HEAD', path: `/objects/${key}` })).status === 200;
}

describe('the local store refuses a request', () => {
  test.each(['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH'])(
    'without a signature: %s',
    async (method) => {
      for (const path of [
        '/',
        '/objects',
        '/objects/',
        '/objects/key',
        '/objects?list-type=2',
        '/other/key',
      ]) {
        expect((await sendRaw({ method, href: store.url + path })).status).toBe(403);
      }
    },
  );

  test('with an unknown key, another secret, a session token, or a wrong time', async () => {
    const ask = { method: 'GET', path: '/objects', query: { 'list-type': '2' } };
    expect((await store.send(ask)).status).toBe(200);
    const refusals = [
      [{ credentials: { accessKeyId: 'other', secretAccessKey: 'local-secret' } }, 'InvalidAccessKeyId'],
      [{ credentials: { accessKeyId: 'local', secretAccessKey: 'other' } }, 'SignatureDoesNotMatch'],
      [
        { credentials: { accessKeyId: 'local', secretAccessKey: 'local-secret', sessionToken: 'x' } },
        'NotImplemented',
      ],
      [{ signedAtMs: Date.now() - 16 * 60_000 }, 'RequestTimeTooSkewed'],
      [{ signedAtMs: Date.now() + 16 * 60_000 }, 'RequestTimeTooSkewed'],
    ] as const;
    for (const [change, code] of refusals) expect((await store.send({ ...ask, ...change })).code).toBe(code);
    expect((await store.send({ ...ask, signedAtMs: Date.now() - 14 * 60_000 })).status).toBe(200);
  });

  test.each([
    'Basic bG9jYWw6bG9jYWwtc2VjcmV0',
    'AWS local:signature',
    'AWS4-HMAC-SHA256',
    'AWS4-HMAC-SHA256 Credential=a',
    'AWS4-HMAC-SHA256 ,,,==',
  ])('with %s', async (authorization) => {
    const headers = { authorization, 'x-amz-date': '20261121T000000Z' };
    const answer = await sendRaw({ method: 'GET', href: `${store.url}/objects/key`, headers });
    expect(answer.body.toString()).toContain('<Code>AuthorizationHeaderMalformed</Code>');
  });

  test('that is signed twice, without a date, without its host, or in a URL for more than a week', async () => {
    const request = { method: 'GET', path: '/objects/key' };
    const { href, headers } = await signHeaders(store.url, request);
    const send = async (headers: Record<string, string>, query = '') =>
      (await sendRaw({ method: 'GET', href: href + query, headers })).body.toString();
    const { 'x-amz-date': date = '', ...undated } = headers;
    expect(await send(headers)).toContain('<Code>NoSuchKey</Code>');
    expect(await send(headers, `?X-Amz-Signature=${'0'.repeat(64)}`)).toContain(
      '<Code>InvalidArgument</Code>',
    );
    expect(await send(undated)).toContain('<Code>AuthorizationHeaderMalformed</Code>');
    expect(await send({ ...headers, 'x-amz-date': `${date.slice(0, 8)}T999999Z` })).toContain(
      '<Code>AuthorizationHeaderMalformed</Code>',
    );
    const authorization = String(headers['authorization']).replace('SignedHeaders=host;', 'SignedHeaders=');
    expect(await send({ ...headers, authorization })).toContain('<Code>AccessDenied</Code>');
    const url = new URLSearchParams({
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': `local/${date.slice(0, 8)}/us-east-1/s3/aws4_request`,
      'X-Amz-Date': date,
      'X-Amz-SignedHeaders': 'host',
      'X-Amz-Signature': '0'.repeat(64),
    });
    for (const [expires, code] of [
      ['604800', 'SignatureDoesNotMatch'],
      ['604801', 'AuthorizationHeaderMalformed'],
      ['0', 'AuthorizationHeaderMalformed'],
      ['', 'AuthorizationHeaderMalformed'],
      ['week', 'AuthorizationHeaderMalformed'],
    ])
      expect(await send({}, `?${url}&X-Amz-Expires=${expires}`)).toContain(`<Code>${code}</Code>`);
  });

  test('with unsigned headers for the store', async () => {
    const unsignedHeaders = { 'x-amz-checksum-sha256': sha256(body).digest('base64') };
    const answer = await store.send({ method: 'PUT', path: '/objects/unsigned', body, unsignedHeaders });
    expect(answer).toMatchObject({ status: 403, code: 'AccessDenied' });
    expect(await exists('unsigned')).toBe(false);
  });
});

describe('the local store stores nothing', () => {
  const mismatch = 'XAmzContentSHA256Mismatch';

  test('whose bytes differ from the signed ones', async () => {
    const other = Buffer.from('BYTES');
    const answer = await store.send({ method: 'PUT', path: '/objects/hash', body, sentBody: other });
    expect(answer).toMatchObject({ status: 400, code: mismatch });
    expect(await exists('hash')).toBe(false);
  });

  test.each([
    { header: 'x-amz-checksum-sha256', value: sha256('other').digest('base64'), code: 'BadDigest' },
    { header: 'x-amz-checksum-crc32', value: 'AAAAAA==', code: 'NotImplemented' },
    { header: 'x-amz-sdk-checksum-algorithm', value: 'SHA256', code: 'NotImplemented' },
    { header: 'x-amz-checksum-sha1', value: Buffer.alloc(20).toString('base64'), code: 'NotImplemented' },
    { header: 'content-md5', value: Buffer.alloc(16).toString('base64'), code: 'BadDigest' },
    { header: 'content-md5', value: 'short', code: 'BadDigest' },
    { header: 'x-amz-checksum-sha256', value: 'short', code: 'BadDigest' },
    { header: 'x-amz-checksum-crc32c', value: 'AAAAAA==', code: 'NotImplemented' },
    { header: 'x-amz-checksum-toString', value: 'AAAAAA==', code: 'NotImplemented' },
    { header: 'content-encoding', value: 'gzip', code: 'NotImplemented' },
    { header: 'content-encoding', value: 'aws-chunked', code: 'NotImplemented' },
    { header: 'if-none-match', value: '"0"', code: 'NotImplemented' },
    { header: 'x-amz-meta-mtime', value: '17.5', code: 'NotImplemented' },
    { header: 'x-amz-acl', value: 'private', code: 'NotImplemented' },
    { header: 'if-match', value: '*', code: 'NotImplemented' },
    { header: 'if-unmodified-since', value: 'Thu, 01 Jan 1970 00:00:00 GMT', code: 'NotImplemented' },
    { header: 'x-amz-content-sha256', value: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER', code: mismatch },
    { header: 'x-amz-content-sha256', value: 'anything', code: mismatch },
    { header: 'x-amz-decoded-content-length', value: '5', code: 'NotImplemented' },
    { header: 'x-amz-trailer', value: 'x-amz-checksum-crc32', code: 'NotImplemented' },
    { header: 'content-length', value: String(5 * 1024 ** 3 + 1), code: 'EntityTooLarge' },
  ])('with $header: $value', async ({ header, value, code }) => {
    const headers = { [header]: value };
    expect((await store.send({ method: 'PUT', path: '/objects/bad', body, headers })).code).toBe(code);
    expect(await exists('bad')).toBe(false);
    expect(await store.uploadsLeft()).toEqual([]);
  });
});

describe('a client that means an object that was replaced', () => {
  test.each(['GET', 'HEAD'])('is told so by a 412 to %s', async (method) => {
    await store.send({ method: 'PUT', path: '/objects/meant', body });
    const read = (headers: Record<string, string>) =>
      store.send({ method, path: '/objects/meant', headers: { range: 'bytes=0-1', ...headers } });
    const { headers } = await read({});
    const etag = String(headers['etag']);
    for (const tag of [etag, etag.replaceAll('"', '')])
      expect((await read({ 'if-match': tag })).status).toBe(206);
    expect((await read({ 'if-match': '"other"' })).status).toBe(412);
  });
});

describe('what HTTP lets a server ignore is ignored:', () => {
  test.each([
    { 'content-encoding': 'identity' },
    { 'content-encoding': ' Identity, identity' },
    { 'if-modified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
    { 'if-range': '"x"' },
    { 'if-schedule-tag-match': '"x"' },
    { expect: 'something-else' },
    { 'cache-control': 'no-store' },
    { pragma: 'no-cache' },
    { upgrade: 'h2c', connection: 'upgrade' },
    { te: 'trailers' },
    { prefer: 'return=minimal' },
    { priority: 'u=1' },
    { 'content-language': 'de' },
    { range: 'bytes=0-1' },
  ])('%j of a PUT', async (unsignedHeaders) => {
    const answer = await store.send({ method: 'PUT', path: '/objects/taken', body, unsignedHeaders });
    expect(answer.status).toBe(200);
    expect((await store.send({ method: 'GET', path: '/objects/taken' })).body.equals(body)).toBe(true);
  });

  test.each([
    { range: 'lines=0-1' },
    { range: 'bytes=0-1,3-4' },
    { range: 'bytes=x' },
    { range: 'bytes=3-1' },
    { range: '' },
    { 'if-modified-since': 'yesterday' },
    { 'if-unmodified-since': 'yesterday' },
    { 'if-modified-since': '9999' },
    { 'if-unmodified-since': '0' },
    { 'if-schedule-tag-match': '"x"' },
    { expect: 'something-else' },
    { 'accept-encoding': 'br;q=1.0, identity;q=0' },
    { accept: 'image/webp' },
    { 'cache-control': 'only-if-cached' },
    { 'content-encoding': 'gzip' },
    { upgrade: 'h2c', connection: 'upgrade' },
  ])('%j of a GET', async (unsignedHeaders) => {
    await store.send({ method: 'PUT', path: '/objects/given', body });
    const answer = await store.send({ method: 'GET', path: '/objects/given', unsignedHeaders });
    expect([answer.status, answer.body.toString()]).toEqual([200, 'bytes']);
  });
});

test.each(['GET', 'HEAD'])(
  'a %s of the version that the client has says which that is, and no more',
  async (method) => {
    await store.send({ method: 'PUT', path: '/objects/known', body });
    const read = (headers: Record<string, string>) => store.send({ method, path: '/objects/known', headers });
    const { etag = '', 'last-modified': lastModified } = (await read({})).headers;
    for (const tag of [etag, `W/${etag}`, `"a", ${etag}`, etag.replaceAll('"', '')]) {
      const { status, headers, body: sent } = await read({ 'if-none-match': tag });
      expect([status, headers.etag, headers['last-modified'], sent.length]).toEqual([
        304,
        etag,
        lastModified,
        0,
      ]);
    }
    // To mean one version, a weak tag says too little.
    expect((await read({ 'if-match': `W/${etag}` })).status).toBe(412);
  },
);

test('of a version, its date says the same as its ETag, and another date does not', async () => {
  await store.send({ method: 'PUT', path: '/objects/dated', body });
  const read = (headers: Record<string, string>) =>
    store.send({ method: 'GET', path: '/objects/dated', headers });
  const { 'last-modified': date = '' } = (await read({})).headers;
  const at = (seconds: number) => new Date(Date.parse(date) + 1000 * seconds).toUTCString();
  const range = 'bytes=0-1';
  for (const [headers, status] of [
    [{ 'if-unmodified-since': at(-1) }, 412],
    [{ 'if-unmodified-since': at(0) }, 200],
    [{ 'if-unmodified-since': at(1) }, 200],
    [{ 'if-modified-since': at(-1) }, 200],
    [{ 'if-modified-since': at(0) }, 304],
    [{ 'if-modified-since': at(1) }, 304],
    [{ range, 'if-range': at(-1) }, 200],
    [{ range, 'if-range': at(0) }, 206],
    [{ range, 'if-range': at(1) }, 200],
  ] as const)
    expect([headers, (await read(headers)).status]).toEqual([headers, status]);
});

test('a range may have any case, and more digits than the object has bytes', async () => {
  await store.send({ method: 'PUT', path: '/objects/ranged', body });
  for (const range of ['Bytes=1-99999999999999999999', 'BYTES=1-', 'bytes=-4'])
    expect(
      (await store.send({ method: 'GET', path: '/objects/ranged', headers: { range } })).body.toString(),
    ).toBe('ytes');
});

test.each(['PUT', 'POST'])(
  'a chunked %s whose length is signed is told that it needs one',
  async (method) => {
    const { href, headers } = await signHeaders(store.url, { method, path: '/objects/chunked', body });
    const { 'content-length': _, ...chunked } = headers;
    const answer = await sendRaw({ method, href, headers: chunked, body });
    expect([answer.status, answer.body.toString()]).toEqual([
      411,
      expect.stringContaining('MissingContentLength'),
    ]);
    expect(await exists('chunked')).toBe(false);
  },
);

test('an absolute target counts as its path, and its host instead of the header', async () => {
  const request = { method: 'PUT', path: '/objects/absolute', body };
  const { href, headers } = await signHeaders(store.url, request);
  const { port } = new URL(store.url);
  const send = (path: string, host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const options = { port, method: 'PUT', path, headers: { ...headers, host } };
      const outgoing = httpRequest(options, (incoming) => resolve(incoming.resume().statusCode));
      outgoing.on('error', reject).end(body);
    });
  expect(await send(href, 'elsewhere.example')).toBe(200);
  expect(await send(href.replace('http', 'HTTP'), `127.0.0.1:${port}`)).toBe(200);
  expect(await exists('absolute')).toBe(true);
  expect(await send('http://elsewhere.example/objects/absolute', `127.0.0.1:${port}`)).toBe(403);
});

test('pages of any origin may upload and download', async () => {
  const origin = 'https://app.example.com';
  const href = `${store.url}/objects/pages/1`;
  const asks = { origin, 'access-control-request-method': 'PUT' };
  const allowed = await sendRaw({ method: 'OPTIONS', href, headers: asks });
  expect([allowed.status, allowed.body.length]).toEqual([204, 0]);
  expect(allowed.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, HEAD, PUT',
    'access-control-allow-headers': 'content-type, if-none-match, x-amz-checksum-sha256',
  });
  const path = '/objects/pages/1';
  for (const method of ['PUT', 'GET', 'HEAD']) {
    const { headers } = await store.send({
      method,
      path,
      headers: { origin },
      ...(method === 'PUT' && { body }),
    });
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'ETag',
    });
  }
  // A page reads why it's refused.
  const refused = await sendRaw({ method: 'PUT', href, headers: { origin } });
  expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([403, '*']);
  // Nobody else is told of pages.
  for (const method of ['GET', 'HEAD']) {
    const { headers } = await store.send({ method, path });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  }
  for (const headers of [{ origin }, { 'access-control-request-method': 'PUT' }])
    expect((await sendRaw({ method: 'OPTIONS', href, headers })).status).toBe(403);
});

test.each(['attachment\r\nx-injected: 1', 'ä', ''])('no answer has a disposition like %j', async (text) => {
  await store.send({ method: 'PUT', path: '/objects/page', body });
  const query = { 'response-content-disposition': text };
  const answer = await store.send({ method: 'GET', path: '/objects/page', query });
  expect([answer.status, answer.code]).toEqual([400, 'InvalidArgument']);
});

test('no answer can run as a page of its origin', async () => {
  await store.send({ method: 'PUT', path: '/objects/page', body });
  const requests = [
    { method: 'GET', path: '/objects/page' },
    { method: 'GET', path: '/objects/page', query: { 'response-content-disposition': 'inline' } },
    { method: 'HEAD', path: '/objects/page' },
    { method: 'GET', path: '/objects/page', headers: { range: 'bytes=0-1' } },
    { method: 'GET', path: '/objects/page', headers: { 'if-none-match': '*' } },
    { method: 'GET', path: '/objects/page', headers: { 'if-match': '"other"' } },
    { method: 'GET', path: '/objects/page', headers: { range: 'bytes=99-' } },
    { method: 'GET', path: '/objects/none' },
    { method: 'GET', path: '/objects', query: { 'list-type': '2' } },
    { method: 'PUT', path: '/objects/page', body },
    { method: 'PATCH', path: '/objects/page' },
    { method: 'DELETE', path: '/objects/page' },
  ];
  const answers = await Promise.all(requests.map((request) => store.send(request)));
  answers.push({ ...(await sendRaw({ method: 'GET', href: `${store.url}/objects/page` })), code: undefined });
  expect(new Set(answers.map(({ status }) => status)).size).toBeGreaterThan(7);
  for (const { headers } of answers)
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'content-security-policy': 'sandbox',
    });
});

describe('the local store refuses what it does not support', () => {
  test.each([
    { method: 'GET', path: '/' },
    { method: 'GET', path: '/objects' },
    { method: 'GET', path: '/objects', query: { 'list-type': '1' } },
    { method: 'GET', path: '/objects', query: { 'list-type': '2', versions: '' } },
    { method: 'GET', path: '/objects', query: { 'list-type': '2', 'fetch-owner': 'true' } },
    { method: 'GET', path: '/objects', query: { acl: '' } },
    { method: 'GET', path: '/objects/key', query: { acl: '' } },
    { method: 'GET', path: '/objects/key', query: { partNumber: '1' } },
    { method: 'GET', path: '/objects/key', query: { 'response-content-type': 'text/html' } },
    { method: 'POST', path: '/objects/key', query: { uploads: '', acl: '' } },
    { method: 'POST', path: '/objects/key' },
    { method: 'GET', path: '/objects', query: { uploads: '', delimiter: '/' } },
    { method: 'PUT', path: '/objects/key', query: { partNumber: '1' } },
    { method: 'PUT', path: '/objects/key', query: { uploadId: 'x' } },
    { method: 'PUT', path: '/objects/key', headers: { 'x-amz-copy-source': '/objects/k' } },
    { method: 'POST', path: '/objects/key', query: { uploads: '' }, headers: { 'x-amz-acl': 'private' } },
    { method: 'PUT', path: '/objects/key', headers: { 'x-amz-tagging': 'x=y' } },
    { method: 'PUT', path: '/objects' },
    { method: 'PUT', path: '/objects', query: { versioning: '' } },
    { method: 'DELETE', path: '/objects' },
    { method: 'DELETE', path: '/objects/key', query: { versionId: '1' } },
    { method: 'PATCH', path: '/objects/key' },
  ])('$method $path $query $headers', async ({ method, path, query, headers }) => {
    const put = method === 'PUT' ? { body } : {};
    const answer = await store.send({
      method,
      path,
      ...(query !== undefined && { query: query as Record<string, string> }),
      ...(headers !== undefined && { headers: headers as Record<string, string> }),
      ...put,
    });
    expect(answer).toMatchObject({ status: 501, code: 'NotImplemented' });
    expect(await exists('key')).toBe(false);
  });

  test.each([
    { path: '/nobody/key', status: 404, code: 'NoSuchBucket' },
    { path: '/objects/none', status: 404, code: 'NoSuchKey' },
    { path: `/objects/${'a'.repeat(1025)}`, status: 400, code: 'KeyTooLongError' },
    { path: '/objects/%ff', status: 400, code: 'InvalidURI' },
    { path: '/objects/%', status: 400, code: 'InvalidURI' },
  ])('GET $path', async ({ path, status, code }) => {
    expect(await store.send({ method: 'GET', path })).toMatchObject({ status, code });
  });

  test.each([
    { 'max-keys': '-1' },
    { 'max-keys': 'many' },
    { 'encoding-type': 'base64' },
    { 'continuation-token': 'mine' },
  ])('a listing with %j', async (query) => {
    const answer = await store.send({
      method: 'GET',
      path: '/objects',
      query: { 'list-type': '2', ...query },
    });
    expect(answer).toMatchObject({ status: 400, code: 'InvalidArgument' });
  });
});

test('keys are names, not paths: none leaves the folder', async () => {
  for (const key of [
    '../../../escape',
    '..',
    '.',
    '/abs',
    'a//b',
    'a/../b',
    'a/./b',
    'a\\b',
    'nul\0',
    'x'.repeat(1024),
  ]) {
    const path = `/objects/${key.split('/').map(encodeURIComponent).join('/')}`;
    expect((await store.send({ method: 'PUT', path, body: Buffer.from(key) })).status).toBe(200);
    expect((await store.send({ method: 'GET', path })).body.toString()).toBe(key);
    expect((await store.send({ method: 'DELETE', path })).status).toBe(204);
    expect((await store.send({ method: 'GET', path })).status).toBe(404);
  }
});
