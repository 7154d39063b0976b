import { createServer, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import {
  type AnswerHead,
  HttpExchange,
  type SignedRequest,
  textReader,
} from '../../../../../lambda/core/store/http-exchange.ts';
import { close, listen } from '../../../../support/serve.ts';
import { RawStore } from './raw-store.ts';

afterEach(() => void vi.useRealTimers());

const limits = { connectMs: 5_000, answerMs: 5_000 };

/** Node's own server, with what it noted. */
async function serve(answer: RequestListener, host?: string) {
  const server = createServer({ keepAliveTimeout: 60_000 }, answer);
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  return { port: await listen(server, host), sockets, server };
}

function exchangeOf({ socketsMax = 4 } = {}) {
  const exchange = new HttpExchange({ socketsMax });
  onTestFinished(() => exchange.destroy());
  const get = (
    origin: string,
    input: Partial<SignedRequest> & { stop?: AbortSignal; answerMs?: number } = {},
  ) => {
    const { stop, answerMs = limits.answerMs, ...request } = input;
    const heads: AnswerHead[] = [];
    return exchange.send({
      request: { method: 'GET', origin, path: '/', headers: { host: new URL(origin).host }, ...request },
      limits: { ...limits, answerMs },
      stop,
      readerOf: (head) => {
        heads.push(head);
        return textReader(1_000_000, (text) => `${head.status} ${text}`);
      },
    });
  };
  return { exchange, get };
}

const local = (port: number) => `http://127.0.0.1:${port}`;

it('sends what it is given: path, headers, body', async () => {
  const { port } = await serve(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    response.end(JSON.stringify([request.method, request.url, request.headers['x-a'], body]));
  });
  const { get } = exchangeOf();
  const headers = { host: `127.0.0.1:${port}`, 'x-a': 'b c' };
  expect(await get(local(port), { path: '/a%20b?c=d', headers })).toBe('200 ["GET","/a%20b?c=d","b c",""]');
  expect(await get(local(port), { method: 'POST', headers, body: 'ä{}' })).toBe(
    '200 ["POST","/","b c","ä{}"]',
  );
  expect(await get(local(port), { method: 'DELETE', headers })).toBe('200 ["DELETE","/","b c",""]');
});

it.each(['a\r\nx-b: c', 'a\nb', '\u0000'])('sends no header with %j', async (value) => {
  let requests = 0;
  const { port } = await serve((_request, response) => {
    requests += 1;
    response.end();
  });
  const { get } = exchangeOf();
  await expect(get(local(port), { headers: { 'x-a': value } })).rejects.toThrow(TypeError);
  await expect(get(local(port), { path: `/${value}` })).rejects.toThrow(TypeError);
  expect(await get(local(port))).toBe('200 ');
  expect(requests).toBe(1);
});

it('reads large answers, with a length and in chunks, as Node sends them', async () => {
  const text = 'abcdefgh'.repeat(50_000);
  const { port } = await serve((request, response) => {
    if (request.url === '/length') response.setHeader('content-length', text.length);
    for (let at = 0; at < text.length; at += 37_777) response.write(text.slice(at, at + 37_777));
    response.end();
  });
  const { get } = exchangeOf();
  const answers = ['/length', '/chunks', '/length', '/chunks'].map((path) => get(local(port), { path }));
  expect(new Set(await Promise.all(answers))).toEqual(new Set([`200 ${text}`]));
});

it('reaches an IPv6 address', async () => {
  const { port } = await serve((_request, response) => response.end('here'), '::1');
  expect(await exchangeOf().get(`http://[::1]:${port}`)).toBe('200 here');
});

it('opens as many connections as it may, and uses them again', async () => {
  let [atOnce, most] = [0, 0];
  const { port, sockets } = await serve((_request, response) => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    setTimeout(() => {
      atOnce -= 1;
      response.end('x');
    }, 5);
  });
  const { get } = exchangeOf({ socketsMax: 3 });
  const answers = await Promise.all(Array.from({ length: 20 }, () => get(local(port))));
  expect(answers).toEqual(new Array(20).fill('200 x'));
  expect([most, sockets.length]).toEqual([3, 3]);
});

it('goes on with those that wait after a request failed', async () => {
  let requests = 0;
  const { port } = await serve((request, response) => {
    requests += 1;
    if (requests === 1) request.socket.destroy();
    else response.end('x');
  });
  const { get } = exchangeOf({ socketsMax: 1 });
  const [first, ...others] = [1, 2, 3].map(() => get(local(port)));
  await expect(first).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(await Promise.all(others)).toEqual(['200 x', '200 x']);
});

it('gives up a request that waits for a connection, and sends nothing of it', async () => {
  const paths: unknown[] = [];
  const { port } = await serve((request, response) => {
    paths.push(request.url);
    setTimeout(() => response.end('x'), 100);
  });
  const { get } = exchangeOf({ socketsMax: 1 });
  const stop = new AbortController();
  const first = get(local(port), { path: '/1' });
  const second = get(local(port), { path: '/2', stop: stop.signal });
  const third = get(local(port), { path: '/3', answerMs: 20 });
  stop.abort(new Error('enough'));
  await expect(second).rejects.toThrow('enough');
  await expect(third).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(await first).toBe('200 x');
  expect(await get(local(port), { path: '/4' })).toBe('200 x');
  expect(paths).toEqual(['/1', '/4']);
});

it('ends the connection of a request that is stopped', async () => {
  const { port, sockets } = await serve(() => {});
  const stop = new AbortController();
  const answer = exchangeOf().get(local(port), { stop: stop.signal });
  while (sockets.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  stop.abort(new Error('enough'));
  await expect(answer).rejects.toThrow('enough');
  await new Promise((resolve) => sockets[0]?.once('close', resolve));
});

it('says that nobody listens', async () => {
  const { port, sockets, server } = await serve(() => {});
  await close(server);
  await expect(exchangeOf().get(local(port))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  expect(sockets).toEqual([]);
});

it('does not use a connection again that the store closes', async () => {
  const store = new RawStore((socket, { index }) =>
    socket.write(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n${index}`),
  );
  const origin = await store.listen();
  const { get } = exchangeOf();
  expect([await get(origin), await get(origin)]).toEqual(['200 0', '200 1']);
  expect(store.connections).toBe(2);
});

// A process that was frozen does not hear that the other side closed the connection meanwhile. By which of the clocks the
// time went on depends on what froze it.
it.each(['Date', 'performance'] as const)(
  'uses no connection again that was idle for long, by %s',
  async (clock) => {
    const { port, sockets } = await serve((_request, response) => response.end('x'));
    const { get } = exchangeOf();
    vi.useFakeTimers({ toFake: [clock] });
    for (const idleMs of [0, 3_900, 3_900]) {
      vi.advanceTimersByTime(idleMs);
      expect(await get(local(port))).toBe('200 x');
    }
    expect(sockets).toHaveLength(1);
    vi.advanceTimersByTime(4_100);
    expect(await get(local(port), { method: 'DELETE' })).toBe('200 x');
    expect(sockets).toHaveLength(2);
  },
);
