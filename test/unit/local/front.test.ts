import { once } from 'node:events';
import {
  request as httpRequest,
  type IncomingHttpHeaders,
  IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../lambda/frame/aws/clock-and-ids.ts';
import { defaultRouteFunction, type HttpFunction, routes } from '../../../lambda/routes.ts';
import {
  type AnsweredRequest,
  type HttpFront,
  type HttpFrontOptions,
  type HttpFunctions,
  openHttpFront,
} from '../../../local/front.ts';
import { RequestLimits } from '../../../local/limits.ts';
import { readPublicUrls, readTrustedProxies } from '../../../local/reach.ts';
import { letTakeTime } from '../../../local/system/connections.ts';
import { Turns } from '../../../local/turns.ts';
import { recordingLog } from '../../support/recording-log.ts';

type Answer = (event: APIGatewayProxyEventV2, context: Context) => Promise<unknown>;

const opened: HttpFront[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(opened.splice(0).map((front) => front.close(0)));
});

/** A front whose functions record their events and answer what the test says. */
async function setUp(
  answer: Answer = async () => ({ statusCode: 200 }),
  {
    bodyBytesMax,
    ...more
  }: Partial<
    Pick<
      HttpFrontOptions,
      'integrationTimeoutMs' | 'objects' | 'limits' | 'connections' | 'reach' | 'onAnswered'
    >
  > & {
    bodyBytesMax?: number | undefined;
  } = { bodyBytesMax: 1000 },
) {
  const calls: { name: HttpFunction; event: APIGatewayProxyEventV2; context: Context }[] = [];
  const named = (name: HttpFunction): Answer => {
    return (event, context) => {
      calls.push({ name, event, context });
      return answer(event, context);
    };
  };
  const names = new Set<HttpFunction>([...routes.map((route) => route.function), defaultRouteFunction]);
  const functions = Object.fromEntries(
    [...names].map((name) => [name, named(name)]),
  ) as unknown as HttpFunctions;
  const { log, entries } = recordingLog();
  const ready = Promise.resolve(functions);
  const turns = new Turns();
  const front = await openHttpFront({
    port: 0,
    functions: ready,
    clock: systemClock,
    log,
    turns,
    ...(bodyBytesMax !== undefined && { bodyBytesMax }),
    ...more,
  });
  opened.push(front);
  return { front, calls, entries, turns };
}

interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends a request exactly as given: `fetch` would normalize the path. */
function send(
  port: number,
  input: {
    method?: string;
    path: string;
    headers?: Record<string, string | string[]>;
    body?: string | Buffer;
  },
): Promise<Received> {
  const { method = 'GET', path, headers = {}, body } = input;
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      { host: '127.0.0.1', port, method, path, headers, agent: false },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('end', () =>
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Sends raw bytes. @returns all that was received until the connection ended. */
async function sendRaw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString();
  });
  // A connection that is refused may be reset while this side sends.
  socket.on('error', () => {});
  socket.write(text);
  await once(socket, 'close');
  return received;
}

describe('the event', () => {
  it('has the shape of payload format 2.0', async () => {
    const { front, calls } = await setUp();
    const headers = { 'User-Agent': 'git-lfs/3.3.0', 'X-Twice': ['a', 'b'], Cookie: 'one=1; two=2' };
    await send(front.port, { path: '/v1/tenants/acme/subscription?refresh=true&tag=a&tag=b', headers });
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({
      name: 'getSubscription',
      event: {
        version: '2.0',
        routeKey: 'GET /v1/tenants/{tenant}/subscription',
        rawPath: '/v1/tenants/acme/subscription',
        rawQueryString: 'refresh=true&tag=a&tag=b',
        queryStringParameters: { refresh: 'true', tag: 'a,b' },
        pathParameters: { tenant: 'acme' },
        cookies: ['one=1', 'two=2'],
        headers: {
          'user-agent': 'git-lfs/3.3.0',
          'x-twice': 'a,b',
          'x-forwarded-proto': 'http',
          'x-forwarded-for': '127.0.0.1',
          'x-forwarded-port': String(front.port),
        },
        requestContext: {
          stage: '$default',
          routeKey: 'GET /v1/tenants/{tenant}/subscription',
          domainName: `127.0.0.1:${front.port}`,
          http: {
            method: 'GET',
            path: '/v1/tenants/acme/subscription',
            protocol: 'HTTP/1.1',
            sourceIp: '127.0.0.1',
            userAgent: 'git-lfs/3.3.0',
          },
        },
        isBase64Encoded: false,
      },
      context: { functionName: 'getSubscription' },
    });
    const { event, context } = calls[0] ?? {};
    expect(event).not.toHaveProperty('body');
    expect(event?.headers).not.toHaveProperty('cookie');
    expect(event?.requestContext.time).toMatch(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/);
    expect(context?.getRemainingTimeInMillis()).toBeGreaterThan(20_000);
  });

  it('has each Authorization header that was sent', async () => {
    const { front, calls } = await setUp();
    const head = 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n';
    await sendRaw(front.port, `${head}Authorization: Bearer one\r\nauthorization: Bearer two\r\n\r\n`);
    expect(calls[0]?.event.headers['authorization']).toBe('Bearer one,Bearer two');
  });

  it.each([
    ['application/vnd.git-lfs+json', true],
    ['application/json; charset=utf-8', false],
    ['text/plain', false],
    ['application/x-www-form-urlencoded', true],
    [undefined, true],
  ])('carries a body of type %s with isBase64Encoded %s', async (type, isBase64Encoded) => {
    const { front, calls } = await setUp();
    const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
    await send(front.port, {
      method: 'POST',
      path: '/acme/art/info/lfs/objects/batch',
      headers,
      body: '{"é":1}',
    });
    const event = calls[0]?.event;
    expect(event?.isBase64Encoded).toBe(isBase64Encoded);
    expect(Buffer.from(event?.body ?? '', isBase64Encoded ? 'base64' : 'utf8').toString()).toBe('{"é":1}');
  });

  it('has the host name of the client if it names this machine, and no other', async () => {
    const { front, calls } = await setUp();
    for (const host of ['localhost:9', '[::1]:9', 'evil.example', '127.0.0.1.evil.example']) {
      await send(front.port, { path: '/health', headers: { host } });
    }
    const own = `127.0.0.1:${front.port}`;
    const expected = ['localhost:9', '[::1]:9', own, own];
    expect(calls.map(({ event }) => event.requestContext.domainName)).toEqual(expected);
    expect(calls.map(({ event }) => event.headers['host'])).toEqual(expected);
  });

  it('has the host of an absolute target, whatever the header says', async () => {
    const { front, calls } = await setUp();
    await send(front.port, { path: 'http://localhost:9/health', headers: { host: '127.0.0.1:1' } });
    expect(calls[0]?.event).toMatchObject({ rawPath: '/health', headers: { host: 'localhost:9' } });
    expect(calls[0]?.event.requestContext.domainName).toBe('localhost:9');
  });
});

describe('the route', () => {
  it.each([
    ['GET', '/health', 'health', undefined],
    ['GET', '/%68ealth', 'health', undefined],
    ['GET', 'http://127.0.0.1/health?x', 'health', undefined],
    ['POST', '/acme/art.git/info/lfs/objects/batch', 'lfsBatch', { tenant: 'acme', repo: 'art.git' }],
    ['POST', '/acme/a%2Fb/info/lfs/verify', 'lfsVerify', { tenant: 'acme', repo: 'a/b' }],
    ['POST', '/acme/%2e%2e/info/lfs/verify', 'lfsVerify', { tenant: 'acme', repo: '..' }],
    ['POST', '/acme/../info/lfs/verify', 'lfsVerify', { tenant: 'acme', repo: '..' }],
    ['GET', '/v1/tenants/acme', 'management', { tenant: 'acme' }],
    ['GET', '/v1/tenants/acme/tokens', 'management', { tenant: 'acme' }],
    ['GET', '/health/', 'notFound', undefined],
    ['GET', '//health', 'notFound', undefined],
    ['GET', '/v1/tenants/', 'notFound', undefined],
    ['POST', '/health', 'notFound', undefined],
    ['HEAD', '/health', 'notFound', undefined],
    ['OPTIONS', '*', 'notFound', undefined],
    ['PUT', '/v1/tenants/acme', 'notFound', undefined],
    ['POST', '//art/info/lfs/verify', 'notFound', undefined],
  ])('of %s %s is %s', async (method, path, name, pathParameters) => {
    const { front, calls } = await setUp();
    await send(front.port, { method, path });
    expect(calls.map((call) => call.name)).toEqual([name]);
    expect(calls[0]?.event.pathParameters).toEqual(pathParameters);
    expect(calls[0]?.event.routeKey === '$default').toBe(name === 'notFound');
  });

  describe('from pages', () => {
    const origin = 'https://app.example.com';
    const pagesOf = new Set([origin, 'https://other.example.com']);
    const path = '/v1/tenants/acme';
    const asks = { origin, 'access-control-request-method': 'GET' };
    const corsOf = ({ headers }: Received) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => /^(access-control|vary)/.test(name)));

    it('of an allowed origin may have a token, and read what is said of it, but use no session', async () => {
      const { front, calls } = await setUp(undefined, { reach: { pagesOf } });
      const preflight = await send(front.port, { method: 'OPTIONS', path, headers: asks });
      expect([preflight.status, calls.length, corsOf(preflight)]).toEqual([
        204,
        0,
        {
          vary: 'origin',
          'access-control-allow-origin': origin,
          'access-control-allow-methods': 'GET,POST,PUT,PATCH,DELETE',
          'access-control-allow-headers': 'authorization,content-type,idempotency-key',
          'access-control-max-age': '3600',
        },
      ]);
      const answered = await send(front.port, { path, headers: { origin } });
      expect([calls.map(({ name }) => name), corsOf(answered)]).toEqual([
        ['management'],
        {
          vary: 'origin',
          'access-control-allow-origin': origin,
          'access-control-expose-headers': 'apigw-requestid,location,retry-after',
        },
      ]);
    });

    it('of no, or another origin are told nothing', async () => {
      for (const [reach, from] of [
        [{ pagesOf }, 'https://app.example.com.evil.example'],
        [{ pagesOf }, 'null'],
        [{}, origin],
      ] as const) {
        const { front, calls } = await setUp(undefined, { reach });
        const headers = { ...asks, origin: from };
        const preflight = await send(front.port, { method: 'OPTIONS', path, headers });
        const answered = await send(front.port, { path, headers: { origin: from } });
        expect([corsOf(preflight), corsOf(answered)]).toEqual([{}, {}]);
        expect(calls.map(({ name }) => name)).toEqual(['notFound', 'management']);
      }
    });

    it('are told of their limit, too', async () => {
      const limits = new RequestLimits(1);
      const { front } = await setUp(undefined, { reach: { pagesOf }, limits });
      const answers = [];
      for (let asked = 0; asked < 40; asked += 1)
        answers.push(await send(front.port, { path, headers: { origin } }));
      const refused = answers.find(({ status }) => status === 429);
      expect(refused && corsOf(refused)).toMatchObject({ 'access-control-allow-origin': origin });
    });
  });

  it('does not exist for a path that cannot be decoded: 400', async () => {
    const { front, calls } = await setUp();
    for (const path of ['/%', '/acme/%zz/info/lfs/verify', '/%ff']) {
      expect(await send(front.port, { method: 'POST', path })).toMatchObject({ status: 400 });
    }
    expect(calls).toEqual([]);
  });
});

it('passes a request of the store on as its URL was signed, without the login that git adds', async () => {
  const seen: IncomingHttpHeaders[] = [];
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    seen.push(incoming.headers);
    outgoing.end('bytes');
  };
  const { front, calls } = await setUp(undefined, { objects: { bucket: 'objects', serve } });
  const headers = { authorization: 'Basic YWRhOnNlY3JldA==', range: 'bytes=3-' };
  const path = '/objects/acme/game/oid?X-Amz-Signature=s';
  expect(await send(front.port, { path, headers })).toMatchObject({ status: 200, body: 'bytes' });
  expect(seen[0]).toMatchObject({ range: 'bytes=3-', host: expect.stringMatching(/:\d+$/) });
  expect(seen[0]).not.toHaveProperty('authorization');
  expect(calls).toEqual([]);
});

describe('the response', () => {
  it('is the one of the function', async () => {
    const { front } = await setUp(async () => ({
      statusCode: 201,
      headers: {
        'Content-Type': 'application/json',
        'X-Count': 3,
        'content-length': '999',
        connection: 'close',
      },
      cookies: ['a=1', 'b=2'],
      body: Buffer.from('{"é":1}').toString('base64'),
      isBase64Encoded: true,
    }));
    const received = await send(front.port, { path: '/health' });
    expect(received).toMatchObject({
      status: 201,
      headers: {
        'content-type': 'application/json',
        'x-count': '3',
        'set-cookie': ['a=1', 'b=2'],
        'content-length': '8',
      },
      body: '{"é":1}',
    });
  });

  it.each([
    [{ hello: 'world' }, '{"hello":"world"}'],
    ['{"as":"it is"}', '{"as":"it is"}'],
    [undefined, 'null'],
  ])('without a status code is inferred', async (result, body) => {
    const { front } = await setUp(async () => result);
    expect(await send(front.port, { path: '/health' })).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body,
    });
  });

  it('without content has neither length nor type', async () => {
    const { front } = await setUp(async () => ({ statusCode: 204 }));
    const { status, headers } = await send(front.port, { path: '/health' });
    expect(status).toBe(204);
    expect(headers).not.toHaveProperty('content-length');
    expect(headers).not.toHaveProperty('content-type');
  });

  it.each([
    ['an invalid status', async () => ({ statusCode: 'fine' })],
    ['a header that can not be sent', async () => ({ statusCode: 200, headers: { 'x-bad': 'a\r\nb' } })],
    ['a throw', async () => Promise.reject(new Error('boom'))],
  ])('to %s is a 500', async (_what, answer) => {
    const { front } = await setUp(answer);
    expect(await send(front.port, { path: '/health' })).toMatchObject({
      status: 500,
      body: '{"message":"Internal Server Error"}',
    });
    expect(await send(front.port, { path: '/health' })).toMatchObject({ status: 500 });
  });

  it('to a function that takes too long is a 503', async () => {
    const { front, entries } = await setUp(() => new Promise(() => {}), { integrationTimeoutMs: 50 });
    expect(await send(front.port, { path: '/health' })).toMatchObject({
      status: 503,
      body: '{"message":"Service Unavailable"}',
    });
    expect(entries).toMatchObject([{ level: 'error', fields: { function: 'health' } }]);
  });

  it('to too large a body is a 413, declared or not', async () => {
    const { front, calls } = await setUp();
    const body = Buffer.alloc(1001);
    const path = '/v1/tenants';
    expect(await send(front.port, { method: 'POST', path, body })).toMatchObject({ status: 413 });
    const headers = { 'transfer-encoding': 'chunked' };
    expect(await send(front.port, { method: 'POST', path, body, headers })).toMatchObject({ status: 413 });
    expect(calls).toEqual([]);
    expect(await send(front.port, { method: 'POST', path, body: body.subarray(1) })).toMatchObject({
      status: 200,
    });
  });
});

it('runs a function as the work for a request of so many bytes', async () => {
  const { front, turns } = await setUp();
  const during = vi.spyOn(turns, 'during');
  const url = `http://127.0.0.1:${front.port}`;
  await fetch(`${url}/health`);
  await fetch(`${url}/acme/art.git/info/lfs/objects/batch`, { method: 'POST', body: 'x'.repeat(500) });
  expect(during.mock.calls.map(([request]) => request)).toEqual([{ bodyBytes: 0 }, { bodyBytes: 500 }]);
});

it('an absolute target of an object is the same as its path', async () => {
  const asked: (string | undefined)[][] = [];
  const serve = ({ url, headers }: IncomingMessage, response: ServerResponse) => {
    asked.push([url, headers.host]);
    response.end();
  };
  const { front } = await setUp(undefined, { objects: { bucket: '_objects', serve } });
  const own = `127.0.0.1:${front.port}`;
  for (const path of [
    '/_objects/a/b?c=d?e',
    `http://${own}/_objects/a/b?c=d?e`,
    `HTTPS://${own}/_objects/a/b?c=d?e`,
  ])
    await send(front.port, { path, headers: { host: own } });
  expect(asked).toEqual(Array.from({ length: 3 }, () => ['/_objects/a/b?c=d?e', own]));
});

it('tells of each request once it has ended, without its query', async () => {
  const onAnswered = vi.fn();
  const { front } = await setUp(async () => ({ statusCode: 201 }), {
    bodyBytesMax: 10,
    onAnswered,
    objects: { bucket: '_objects', serve: (_, response) => void response.writeHead(403).end() },
  });
  const told = async (method: string, url: string, body = '') => {
    onAnswered.mockClear();
    const answer = await send(front.port, { method, path: url, body });
    await vi.waitFor(() => expect(onAnswered).toHaveBeenCalledOnce());
    const [[{ latencyMs, requestId, ...request }]] = onAnswered.mock.calls as [[AnsweredRequest]];
    expect(latencyMs).toBeGreaterThanOrEqual(0);
    expect([requestId, undefined]).toContain(answer.headers['apigw-requestid']);
    return request;
  };
  const sourceIp = '127.0.0.1';
  expect(await told('POST', '/v1/tenants?secret=1')).toEqual({
    function: 'management',
    sourceIp,
    method: 'POST',
    path: '/v1/tenants',
    status: 201,
  });
  expect(await told('POST', '/v1/tenants', 'x'.repeat(11))).toMatchObject({ status: 413 });
  expect(await told('GET', '/%')).toMatchObject({ function: 'notFound', status: 400 });
  expect(await told('PUT', '/_objects/a?X-Amz-Signature=1')).toMatchObject({
    function: 'objects',
    path: '/_objects/a',
    status: 403,
  });
  const socket = connect(front.port, '127.0.0.1');
  socket.write('POST /v1/tenants HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc');
  await once(socket, 'connect');
  onAnswered.mockClear();
  socket.end();
  await vi.waitFor(() => expect(onAnswered.mock.calls).toMatchObject([[{ status: 499 }]]));
});

/** Node's own, behind `headersDistinct`. */
interface Distinct {
  _addHeaderLineDistinct(): void;
}

it.each(Object.getOwnPropertyNames(Object.prototype))(
  'a header named %s, as what each object has, is one like any other',
  async (name) => {
    // What some releases of Node do, whatever this one does.
    vi.spyOn(IncomingMessage.prototype as unknown as Distinct, '_addHeaderLineDistinct').mockImplementation(
      () => {
        throw new TypeError('dest[field].push is not a function');
      },
    );
    const { front } = await setUp();
    const head = `GET /v1/tenants HTTP/1.1\r\nHost: localhost\r\n${name}: a\r\n${name}: b\r\n`;
    expect(await sendRaw(front.port, `${head}Connection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
    vi.restoreAllMocks();
  },
);

describe('a body that is too large', () => {
  const begin = (path: string, lengthBytes: number) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${lengthBytes}\r\n\r\n`;

  /** The first bytes that the front sends, while the body has not ended. */
  async function firstAnswer(port: number, text: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    socket.write(text);
    const [first] = await once(socket, 'data', { signal: AbortSignal.timeout(1_000) });
    socket.destroy();
    return String(first);
  }

  it.each([
    { title: 'of a route', path: '/v1/tenants', lengthBytes: 1024 * 1024 + 64 * 1024 + 1 },
    { title: 'of no route', path: '/v1/nothing', lengthBytes: 16 * 1024 + 1 },
  ])('$title is a 413 before it is read', async ({ path, lengthBytes }) => {
    const { front, calls } = await setUp(undefined, { bodyBytesMax: undefined });
    expect(await firstAnswer(front.port, begin(path, lengthBytes))).toMatch(/^HTTP\/1\.1 413 /);
    const body = Buffer.alloc(lengthBytes - 1);
    expect(await send(front.port, { method: 'POST', path, body })).toMatchObject({ status: 200 });
    expect(calls).toHaveLength(1);
  });

  it('is a 413 as soon as it is, if its length is not declared', async () => {
    const { front } = await setUp();
    const head = 'POST /v1/tenants HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n';
    const chunk = `3e9\r\n${'x'.repeat(1001)}\r\n`;
    expect(await firstAnswer(front.port, head + chunk)).toMatch(/^HTTP\/1\.1 413 /);
  });
});

describe('connections', () => {
  it('are 2,048 at a time at most: the oldest without a whole request ends, and none that is served', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const uploading = vi.fn((message: IncomingMessage, response: ServerResponse) => {
      letTakeTime(message);
      message.resume().on('end', () => response.end('stored'));
    });
    const { front, calls } = await setUp(
      async (event) => {
        if (event.rawPath === '/v1/tenants') await held;
        return { statusCode: 200, body: 'done' };
      },
      { objects: { bucket: '_objects', serve: (message, response) => uploading(message, response) } },
    );
    const slow = send(front.port, { path: '/v1/tenants' });
    await expect.poll(() => calls).toHaveLength(1);
    const upload = connect(front.port, '127.0.0.1');
    upload.write('PUT /_objects/key HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n');
    await expect.poll(() => uploading).toHaveBeenCalled();
    const sockets: Socket[] = [];
    const ended: Socket[] = [];
    const withheld = 'POST /v1/tenants HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n';
    for (let count = 0; count < 2_048; count += 1) {
      const socket = connect(front.port, '127.0.0.1');
      socket.on('error', () => undefined).on('close', () => ended.push(socket));
      await once(socket, 'connect');
      socket.write(count === 0 ? 'GET /health HTTP/1.1\r\n' : withheld);
      sockets.push(socket);
    }
    const get = 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    for (let times = 0; times < 3; times += 1) expect(await sendRaw(front.port, get)).toContain('200 OK');
    expect([ended.length > 0, ended.length < 10]).toEqual([true, true]);
    expect(sockets.slice(0, 10)).toEqual(expect.arrayContaining(ended));
    release();
    expect(await slow).toMatchObject({ status: 200, body: 'done' });
    upload.write('0123456789');
    expect(String((await once(upload, 'data'))[0])).toContain('200 OK');
    for (const socket of [...sockets, upload]) socket.destroy();
  });

  it('serve several requests', async () => {
    const { front } = await setUp();
    const get = (more: string) => `GET /health HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
    const received = await sendRaw(front.port, get('') + get('Connection: close\r\n'));
    expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  });

  it('that end before the turn of later requests on them give back the places of all', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { front, calls } = await setUp(
      async (event) => {
        if (event.rawPath === '/v1/tenants') await held;
        return { statusCode: 200 };
      },
      { limits: new RequestLimits(1_000) },
    );
    const socket = connect(front.port, '127.0.0.1');
    socket.write('GET /v1/tenants HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(64));
    await expect.poll(() => calls.length).toBeGreaterThan(0);
    socket.destroy();
    const before = calls.length;
    const others = [1, 2, 3].map(() => send(front.port, { path: '/v1/tenants' }));
    await expect.poll(() => calls.length).toBe(before + 3);
    release();
    for (const { status } of await Promise.all(others)) expect(status).toBe(200);
  });

  it('for /health have no limit, and say what a proxy passes on', async () => {
    const reach = {
      publicUrls: readPublicUrls('https://lfs.example.com'),
      trusts: readTrustedProxies('127.0.0.1'),
    };
    const { front } = await setUp(undefined, { limits: new RequestLimits(0.1), reach });
    const arrived = async (headers: Record<string, string>) => {
      const answer = await send(front.port, { path: '/health', headers });
      expect(answer.status).toBe(200);
      return answer.headers['lfs-quota-arrived'];
    };
    const [authorization, forwarded] = [{ authorization: 'Bearer x' }, { 'x-forwarded-for': '192.0.2.7' }];
    expect(await arrived({})).toBe('');
    expect(await arrived(authorization)).toBe('authorization');
    expect(await arrived({ ...authorization, ...forwarded })).toBe('authorization,x-forwarded-for');
    const others = [1, 2].map(() => send(front.port, { path: '/v1/tenants' }));
    const [first, second] = await Promise.all(others);
    expect([first?.status, second?.status].sort()).toEqual([200, 429]);
    expect(second?.headers['lfs-quota-arrived']).toBeUndefined();
  });

  it('serve requests at once one after the other, however many there are', async () => {
    let [running, most] = [0, 0];
    const { front } = await setUp(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      return { statusCode: 200 };
    });
    const get = (more: string) => `GET /health HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
    // More than is read from a connection at once.
    const large = get(`X-Large: ${'x'.repeat(2_000)}\r\n`);
    const received = await sendRaw(front.port, large.repeat(100) + get('Connection: close\r\n'));
    expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(101);
    expect(most).toBe(1);
  });

  it('that are aborted in the middle of a body have no effect', async () => {
    const { front, calls, entries } = await setUp();
    const socket = connect(front.port, '127.0.0.1');
    socket.write('POST /v1/tenants HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc');
    await once(socket, 'connect');
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    expect(await send(front.port, { path: '/health' })).toMatchObject({ status: 200 });
    expect(calls.map(({ name }) => name)).toEqual(['health']);
    expect(entries).toEqual([]);
  });

  it('that do not speak HTTP get a 400', async () => {
    const { front } = await setUp();
    expect(await sendRaw(front.port, 'what is this\r\n\r\n')).toContain('400 Bad Request');
  });

  it('are finished by close(), which refuses new ones', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { front, calls } = await setUp(async () => {
      await held;
      return { statusCode: 200, body: 'done' };
    });
    const slow = send(front.port, { path: '/health' });
    while (calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const closed = front.close(5_000);
    await expect(send(front.port, { path: '/health' })).rejects.toThrow('ECONNREFUSED');
    release();
    expect(await slow).toMatchObject({ status: 200, body: 'done', headers: { connection: 'close' } });
    await closed;
  });

  it('that do not end are cut by close() after the grace time', async () => {
    const { front, calls } = await setUp(() => new Promise(() => {}));
    const slow = send(front.port, { path: '/health' });
    const outcome = expect(slow).rejects.toThrow('socket hang up');
    while (calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await front.close(50);
    await outcome;
  });
});

/** Objects that are uploaded, and one of 16 MiB that is downloaded. */
function transferStore() {
  const seen: { message: IncomingMessage; response: ServerResponse }[] = [];
  const large = Buffer.alloc(16 * 1024 ** 2);
  const serve = (message: IncomingMessage, response: ServerResponse) => {
    letTakeTime(message);
    seen.push({ message, response });
    if (message.url === '/_objects/unread') return;
    if (message.url === '/_objects/pieces')
      return void Readable.from(Array.from({ length: 1_000 }, () => Buffer.alloc(65_536))).pipe(response);
    if (message.method === 'GET') return void response.end(large);
    message.resume().on('end', () => response.end('stored'));
  };
  return { seen, objects: { bucket: '_objects', serve } };
}

/** A request of a client that reads nothing, and sends no more. */
async function hold(port: number, method: string, from: string, path = 'key') {
  const body = method === 'PUT' ? 'Content-Length: 1000000\r\n\r\nabc' : '\r\n';
  const socket = connect(port, '127.0.0.1').pause();
  socket.on('error', () => {});
  socket.write(
    `${method} /_objects/${path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${from}\r\n${body}`,
  );
  await once(socket, 'connect');
  return socket;
}

/** A request of which one byte is still to come. */
async function halfRequest(port: number) {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write('POST /v1/tenants HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{');
  await once(socket, 'connect');
  return socket;
}

describe('slow transfers', () => {
  const reach = { trusts: readTrustedProxies('127.0.0.1') };

  it.each([
    { method: 'GET', who: 'ten addresses', from: (index: number) => `192.0.2.${index % 10}` },
    { method: 'PUT', who: 'ten addresses', from: (index: number) => `192.0.2.${index % 10}` },
    { method: 'GET', who: 'a network of IPv6', from: (index: number) => `2001:db8:1:${index}::1` },
    { method: 'PUT', who: 'a network of IPv6', from: (index: number) => `2001:db8:1:${index}::1` },
  ])('of $who ($method) keep out nobody, and one of another address goes on', async ({ method, from }) => {
    const connectionsMax = 24;
    const { seen, objects } = transferStore();
    const { front } = await setUp(undefined, {
      objects,
      reach,
      connections: { connectionsMax },
    });
    const sockets = [await hold(front.port, method, '198.51.100.1')];
    await expect.poll(() => seen).toHaveLength(1);
    const slow = Array.from({ length: connectionsMax - 2 }, (_, index) =>
      hold(front.port, method, from(index)),
    );
    sockets.push(...(await Promise.all(slow)));
    await expect.poll(() => seen).toHaveLength(connectionsMax - 1);
    let served = 0;
    for (let times = 0; times < 12; times += 1) {
      sockets.push(await hold(front.port, method, from(times)));
      await expect.poll(() => seen.length, { interval: 5 }).toBeGreaterThanOrEqual(connectionsMax + times);
      const headers = { 'x-forwarded-for': '203.0.113.9', connection: 'close' };
      const answer = await send(front.port, { path: '/health', headers }).catch(() => undefined);
      if (answer?.status === 200) served += 1;
    }
    expect(served).toBe(12);
    expect(seen[0]?.message.socket.destroyed).toBe(false);
    expect(seen.filter(({ message }) => message.socket.destroyed).length).toBeGreaterThanOrEqual(12);
    for (const socket of sockets) socket.destroy();
  });

  /** A front with so many places. @returns what fills them with transfers of one address, too. */
  async function withPlaces(connectionsMax: number) {
    const { seen, objects } = transferStore();
    const { front } = await setUp(undefined, { objects, reach, connections: { connectionsMax } });
    const fill = async (count: number) => {
      const before = seen.length;
      const slow = Array.from({ length: count }, () => hold(front.port, 'GET', '192.0.2.1'));
      const sockets = await Promise.all(slow);
      await expect.poll(() => seen).toHaveLength(before + count);
      return sockets;
    };
    return { seen, fill, beginHalf: () => halfRequest(front.port) };
  }

  it("end before another's request that isn't whole yet", async () => {
    const { fill, beginHalf } = await withPlaces(50);
    const sockets = await fill(49);
    const half = await beginHalf();
    for (let times = 0; times < 3; times += 1) sockets.push(...(await fill(1)));
    half.write('}');
    expect(String((await once(half, 'data'))[0])).toContain('200 OK');
    for (const socket of [half, ...sockets]) socket.destroy();
  });

  it("of a client that has only some end after another's request that isn't whole yet", async () => {
    const { seen, fill, beginHalf } = await withPlaces(10);
    const sockets = await fill(8);
    const half = (await beginHalf()).resume();
    sockets.push(...(await fill(1)));
    expect(seen.filter(({ message }) => message.socket.destroyed)).toEqual([]);
    await expect.poll(() => half.destroyed).toBe(true);
    for (const socket of sockets) socket.destroy();
  });

  /** A front whose seconds the test lets pass. */
  async function clocked() {
    const store = transferStore();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const connections = { leastRate: 512 };
    const { front } = await setUp(undefined, { objects: store.objects, connections });
    const wait = (seconds: number) => vi.advanceTimersByTime(1_000 * seconds);
    const begin = async (method: string, path?: string) => {
      const socket = await hold(front.port, method, '192.0.2.1', path);
      const before = store.seen.length;
      await expect.poll(() => store.seen.length).toBeGreaterThanOrEqual(Math.max(1, before));
      const [exchange] = store.seen.splice(0);
      if (!exchange) throw new Error('Nothing came.');
      return { socket, ...exchange };
    };
    return { wait, begin };
  }

  it('end after a minute or two without enough bytes', async () => {
    const { wait, begin } = await clocked();
    const put = await begin('PUT');
    await expect.poll(() => put.message.readableLength).toBe(0);
    wait(59);
    expect(put.message.socket.destroyed).toBe(false);
    wait(2);
    await expect.poll(() => put.response.destroyed).toBe(true);
    const get = await begin('GET');
    await expect.poll(() => get.response.writableLength).toBeGreaterThan(0);
    wait(121);
    await expect.poll(() => get.response.destroyed).toBe(true);
  });

  it('go on while what was sent to a slow line may be on its way, and not for ever', async () => {
    const { wait, begin } = await clocked();
    const { message, response } = await begin('GET', 'pieces');
    let sent = -1;
    const isStuck = () => {
      const before = sent;
      sent = message.socket.bytesWritten;
      return response.writableLength > 0 && sent === before && sent > 200_000;
    };
    await expect.poll(isStuck, { interval: 100 }).toBe(true);
    wait((0.9 * Math.min(sent, 2 * 1024 ** 2)) / 512);
    expect(message.socket.destroyed).toBe(false);
    wait(4_200);
    await expect.poll(() => response.destroyed).toBe(true);
  });

  it('go on as long as they have 512 bytes a second', async () => {
    const { wait, begin } = await clocked();
    const { socket, message } = await begin('PUT');
    for (let minute = 0; minute < 5; minute += 1) {
      const { bytesRead } = message.socket;
      socket.write('x'.repeat(55 * 512));
      await expect.poll(() => message.socket.bytesRead - bytesRead).toBe(55 * 512);
      wait(54);
    }
    expect(message.socket.destroyed).toBe(false);
    socket.destroy();
  });

  it("go on while it's this server that is slow", async () => {
    const { wait, begin } = await clocked();
    const unread = await begin('PUT', 'unread');
    await expect.poll(() => unread.message.readableLength).toBeGreaterThan(0);
    const unanswered = await begin('GET', 'unread');
    await expect.poll(() => unanswered.message.complete).toBe(true);
    wait(1_000);
    expect([unread, unanswered].map(({ message }) => message.socket.destroyed)).toEqual([false, false]);
    for (const { socket } of [unread, unanswered]) socket.destroy();
  });
});

it('says which port is in use', async () => {
  const { front } = await setUp();
  const options = {
    functions: new Promise<HttpFunctions>(() => {}),
    clock: systemClock,
    log: recordingLog().log,
    turns: new Turns(),
  };
  await expect(openHttpFront({ ...options, port: front.port })).rejects.toThrow(
    `Port ${front.port} (--listen) is in use. Stop what uses it, or choose another port.`,
  );
});
