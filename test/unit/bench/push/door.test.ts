import { createServer, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Door, openDoor } from '../../../../bench/push/door.ts';
import { closeServer, listenOnLoopback } from '../../../../local/system/loopback-server.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A server that says what it got, behind a door. */
async function setUp(options: { latencyMs?: number } = {}) {
  const server = createServer(async (incoming, outgoing) => {
    if (incoming.url === '/broken') return incoming.socket.destroy();
    const body = await text(incoming);
    const status = incoming.url === '/absent' ? 404 : 200;
    outgoing.writeHead(status, { 'content-type': 'text/plain', 'x-host': incoming.headers.host });
    outgoing.end(incoming.method === 'HEAD' ? undefined : `${incoming.method} ${body}`);
  });
  const targetPort = await listenOnLoopback(server, { port: 0, usedBy: 'the test' });
  closing.push(() => closeServer(server, 0));
  const waits: number[] = [];
  const wait = async (ms: number) => waits.push(ms);
  const door = await openDoor({ targetPort, latencyMs: () => options.latencyMs ?? 0, wait });
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

  it('remembers what passed, once', async () => {
    const { door } = await setUp();
    await send(door, { method: 'HEAD', path: '/absent' });
    await send(door, { method: 'GET', path: '/x?y' });
    expect(door.take()).toEqual([
      { method: 'HEAD', target: '/absent', status: 404 },
      { method: 'GET', target: '/x?y', status: 200 },
    ]);
    expect(door.take()).toEqual([]);
  });

  it('waits for a round trip in two halves, and for one more on a new connection', async () => {
    const { door, waits } = await setUp({ latencyMs: 60 });
    await send(door, { method: 'GET', path: '/' });
    expect(waits).toEqual([90, 30]);
  });

  it('breaks the client’s connection if the server broke its own, and remembers that', async () => {
    const { door } = await setUp();
    await expect(send(door, { method: 'GET', path: '/broken' })).rejects.toThrow();
    expect(door.take()).toEqual([{ method: 'GET', target: '/broken', status: 599 }]);
  });

  it('leaves the server no idle connection when it closes, so that it can end at once', async () => {
    const { door, connections } = await setUp();
    await send(door, { method: 'GET', path: '/' });
    expect(await connections()).toBe(1);
    await door.close();
    await vi.waitFor(async () => expect(await connections()).toBe(0));
  });
});
