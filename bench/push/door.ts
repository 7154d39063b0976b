import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeServer, listen } from '../../local/system/loopback-server.ts';

/**
 * Round trips that the doors add, in ms: the client is 60 ms away from the API and 30 ms from the store. Servers are near
 * the store, which answers them with the times of bench/functions. Requests to a store by signed URLs are the client's,
 * the others the server's own.
 */
const latenciesMs = { api: 60, clientPut: 30, clientGet: 30, head: 20, list: 100, other: 20 };

export type RequestKind = keyof typeof latenciesMs;

/** Requests by kind, and how many were answered with an error. */
export type Tally = Readonly<Record<RequestKind | 'failures', number>>;

const noTally = { api: 0, clientPut: 0, clientGet: 0, head: 0, list: 0, other: 0, failures: 0 };

/** @param target path and query, as sent. */
export function kindOf(
  to: 'api' | 'store',
  { method, target }: { method: string; target: string },
): RequestKind {
  if (to === 'api') return 'api';
  const [path = '', query] = target.split('?', 2);
  if (new URLSearchParams(query).has('X-Amz-Signature') && method !== 'HEAD')
    return method === 'PUT' ? 'clientPut' : 'clientGet';
  if (method === 'HEAD') return 'head';
  // In path style: `/bucket` or `/bucket/`.
  return method === 'GET' && /^\/[^/]+\/?$/.test(path) ? 'list' : 'other';
}

/** Whether an answer is one that no healthy push has. A HEAD of an absent object and a missing credential are fine. */
export const isFailure = ({ method, status }: { method: string; status: number }) =>
  status >= 400 && status !== 401 && !(status === 404 && method === 'HEAD');

/** A proxy in front of a server: it adds latency, and counts the requests that pass. */
export interface Door {
  readonly port: number;
  /** The requests that were answered since the last call. */
  take(): Tally;
  /** When the last PUT of a client was answered, by the clock of `performance`. */
  lastPutAtMs(): number;
  close(): Promise<void>;
}

/**
 * Opens a door on loopback. Half of a round trip passes before a request, half before its answer; the first request of a
 * connection waits for one more, as TCP does. TLS, and the rate at which TCP starts, are left out.
 *
 * The Host header is passed on as it came, so signed URLs and the links of an API lead back through the door.
 *
 * @param options.targetPort on 127.0.0.1. Everything is passed on to it.
 * @param options.isFar adds latency.
 * @param options.tls key and certificate: the door is HTTPS on its outer side.
 */
export async function openDoor(options: {
  to: 'api' | 'store';
  targetPort: number | Promise<number>;
  isFar: boolean;
  /** All requests are of this kind. Default: see {@link kindOf}. */
  kind?: RequestKind;
  /** What clients put passes at this pace, together, and so does what they get. Default, and for 0: at full speed. */
  bytesPerSecond?: number;
  tls?: { key: string; cert: string } | undefined;
  /** Waits; in tests it need not. */
  wait?: (ms: number) => Promise<unknown>;
}): Promise<Door> {
  const { to, targetPort, isFar, tls, wait = sleep, bytesPerSecond = 0 } = options;
  let putAtMs = 0;
  const freeAtMs = { clientPut: 0, clientGet: 0 };
  const paced = async function* (body: AsyncIterable<Buffer>, way: keyof typeof freeAtMs) {
    for await (const piece of body) {
      const nowMs = performance.now();
      freeAtMs[way] = Math.max(freeAtMs[way], nowMs) + (piece.length / bytesPerSecond) * 1000;
      // Timers are of whole milliseconds, so what is shorter is saved up.
      if (freeAtMs[way] - nowMs > 5) await sleep(freeAtMs[way] - nowMs);
      yield piece;
    }
  };
  const agent = new Agent({ keepAlive: true });
  const greeted = new WeakSet<Socket>();
  let seen: Record<keyof Tally, number> = { ...noTally };
  const pass = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { method = 'GET', url: target = '/', socket } = incoming;
    const kind = options.kind ?? kindOf(to, { method, target });
    const halfMs = latenciesMs[kind] / 2;
    const beforeMs = greeted.has(socket) ? halfMs : 3 * halfMs;
    greeted.add(socket);
    const place = { host: '127.0.0.1', port: await targetPort, method, path: target, agent };
    if (isFar) await wait(beforeMs);
    const onward = request({ ...place, headers: passedOn(incoming) });
    // An answer can come before the body has ended; then the server did not want the rest.
    const body = bytesPerSecond > 0 && kind === 'clientPut' ? paced(incoming, kind) : incoming;
    pipeline(body, onward).catch(() => undefined);
    const [answer] = (await once(onward, 'response')) as [IncomingMessage];
    if (isFar) await wait(halfMs);
    const status = answer.statusCode ?? 502;
    seen[kind] += 1;
    if (kind === 'clientPut') putAtMs = performance.now();
    if (isFailure({ method, status })) seen.failures += 1;
    outgoing.sendDate = false;
    outgoing.writeHead(status, passedOn(answer));
    await pipeline(bytesPerSecond > 0 && kind === 'clientGet' ? paced(answer, kind) : answer, outgoing);
  };
  const listener = (incoming: IncomingMessage, outgoing: ServerResponse) =>
    void pass(incoming, outgoing).catch(() => {
      // A connection that is broken on one side is broken on the other.
      seen.failures += 1;
      outgoing.destroy();
    });
  // Idle connections stay open for as long as a round of the benchmark may pause.
  const settings = { requestTimeout: 0, keepAliveTimeout: 600_000 };
  const server = tls
    ? // As S3, which knows no other protocol than HTTP/1.1, and so ignores what a client proposes.
      createTlsServer({ ...settings, ...tls, ALPNProtocols: [] }, listener)
    : createServer(settings, listener);
  return {
    port: await listen(server, { port: 0, usedBy: 'the benchmark' }),
    take() {
      const taken = seen;
      seen = { ...noTally };
      return taken;
    },
    lastPutAtMs: () => putAtMs,
    async close() {
      await closeServer(server, 0);
      agent.destroy();
    },
  };
}

/** Headers without those that belong to one connection: each side has its own. */
function passedOn({ headers }: IncomingMessage) {
  const { connection: _, 'keep-alive': __, 'proxy-connection': ___, ...kept } = headers;
  return kept;
}
