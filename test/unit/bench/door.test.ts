import { createServer, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Door, isFailure, kindOf, openDoor, type RequestKind } from '../../../bench/push/door.ts';
import { closeServer, listen } from '../../../local/system/loopback-server.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A server that says what it got, behind a door. */
async function setUp({ isFar = false } = {}) {
  const server = createServer(async (incoming, outgoing) => {
    if (incoming.url === '/broken') return incoming.socket.destroy();
    const body = await text(incoming);
    const status = incoming.url === '/absent' ? 404 : 200;
    outgoing.writeHead(status, { 'content-type': 'text/plain', 'x-host': incoming.headers.host });
    outgoing.end(incoming.method === 'HEAD' ? undefined : `${incoming.method} ${body}`);
  });
  const targetPort = await listen(server, { port: 0, usedBy: 'the test' });
  closing.push(() => closeServer(server, 0));
  const waits: number[] = [];
  const wait = async (ms: number) => waits.push(ms);
  const door = await openDoor({ to: 'api', targetPort, isFar, wait });
  closing.push(() => door.close());
  const connections = () => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
  return { door, waits, connections };
}

async function send(door: Door, input: { method: string; path: string; body?: string }) {
  const { method, path, body } = input;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: door.port, method, path }, resolve);
    sent.once('error', reject);
    sent.end(body);
  });
  return { status: answer.statusCode, host: answer.headers['x-host'], body: await text(answer) };
}

describe('a door', () => {
  it('passes requests on with their Host header, and answers back', async () => {
    const { door } = await setUp();
    const answer = await send(door, { method: 'PUT', path: '/a?b=c', body: 'hello' });
    expect(answer).toEqual({ status: 200, host: `127.0.0.1:${door.port}`, body: 'PUT hello' });
  });

  it('passes on a body of a megabyte, whole', async () => {
    const { door } = await setUp();
    const body = 'x'.repeat(1_000_000);
    expect((await send(door, { method: 'POST', path: '/', body })).body).toBe(`POST ${body}`);
  });

  it('counts what passed, once', async () => {
    const { door } = await setUp();
    await send(door, { method: 'HEAD', path: '/absent' });
    await send(door, { method: 'GET', path: '/x?y' });
    expect(door.take()).toMatchObject({ api: 2, failures: 0 });
    expect(door.take()).toMatchObject({ api: 0 });
  });

  it('waits for a round trip in two halves, and for one more on a new connection', async () => {
    const { door, waits } = await setUp({ isFar: true });
    await send(door, { method: 'GET', path: '/' });
    expect(waits).toEqual([90, 30]);
  });

  it('breaks the client’s connection if the server broke its own, and counts that', async () => {
    const { door } = await setUp();
    await expect(send(door, { method: 'GET', path: '/broken' })).rejects.toThrow();
    expect(door.take()).toMatchObject({ api: 0, failures: 1 });
  });

  it('leaves the server no idle connection when it closes, so that it can end at once', async () => {
    const { door, connections } = await setUp();
    await send(door, { method: 'GET', path: '/' });
    expect(await connections()).toBe(1);
    await door.close();
    await vi.waitFor(async () => expect(await connections()).toBe(0));
  });
});

describe('the requests that a door saw', () => {
  const signed = 'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0123';

  it.each<[string, string, RequestKind]>([
    ['PUT', `/bench/t/r/abc?${signed}`, 'clientPut'],
    ['GET', `/bench/t/r/abc?${signed}`, 'clientGet'],
    ['HEAD', '/bench/t/r/abc', 'head'],
    ['GET', '/bench?list-type=2&prefix=t%2Fr%2F', 'list'],
    ['GET', '/bench/?list-type=2', 'list'],
    ['GET', '/bench/t/r/abc', 'other'],
    ['POST', '/bench/t/r/abc?uploads', 'other'],
    ['PUT', '/bench/t/r/abc?partNumber=1&uploadId=x', 'other'],
    ['DELETE', '/bench/t/r/abc', 'other'],
  ])('to a store: %s %s is %s', (method, target, kind) => {
    expect(kindOf('store', { method, target })).toBe(kind);
  });

  it.each([
    // An absent object and missing credentials are no failures.
    ['HEAD', 404, false],
    ['POST', 401, false],
    ['POST', 403, true],
    ['GET', 503, true],
    ['PUT', 200, false],
  ])('%s with %i fails: %s', (method, status, fails) => {
    expect(isFailure({ method, status })).toBe(fails);
  });
});
