import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeServer, listenOnLoopback } from '../../local/system/loopback-server.ts';

/** One request as a door saw it pass, and its answer. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly status: number;
}

/** `api`: any request to an API. Those to a store by signed URLs are the client's, the others the server's own. */
export type RequestKind = 'api' | 'clientPut' | 'clientGet' | 'head' | 'list' | 'other';

export function kindOf(
  to: 'api' | 'store',
  { method, target }: Pick<SeenRequest, 'method' | 'target'>,
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
const isFailure = ({ method, status }: SeenRequest) =>
  status >= 400 && status !== 401 && !(status === 404 && method === 'HEAD');

/** Requests by kind, and how many were answered with an error. */
export type Tally = Readonly<Record<RequestKind | 'failures', number>>;

export function tally(to: 'api' | 'store', seen: readonly SeenRequest[]): Tally {
  const counts = { api: 0, clientPut: 0, clientGet: 0, head: 0, list: 0, other: 0 };
  for (const each of seen) counts[kindOf(to, each)] += 1;
  return { ...counts, failures: seen.filter(isFailure).length };
}

/**
 * Round trips that the doors add, in ms: the client is 60 ms away from the API and 30 ms from the store. Servers are near
 * the store, which answers them with the times of bench/functions.
 */
const latenciesMs: Readonly<Record<RequestKind, number>> = {
  api: 60,
  clientPut: 30,
  clientGet: 30,
  head: 20,
  list: 100,
  other: 20,
};

export interface DoorOptions {
  readonly to: 'api' | 'store';
  /** Port on 127.0.0.1 that everything is passed on to. */
  readonly targetPort: number;
  /** Adds {@link latenciesMs}. */
  readonly isFar: boolean;
  /** Key and certificate: the door is HTTPS on its outer side. */
  readonly tls?: { readonly key: string; readonly cert: string } | undefined;
  /** Waits; in tests it need not. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** A proxy in front of a server: it adds latency, and counts the requests that pass. */
export interface Door {
  readonly port: number;
  /** The requests that were answered since the last call. */
  take(): Tally;
  close(): Promise<void>;
}

/** These belong to one connection, and each side has its own. */
const hopByHop = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding']);
/** Idle connections stay open for as long as a round of the benchmark may pause. */
const keepAliveMs = 600_000;

/**
 * Opens a door on loopback. Half of a round trip passes before a request, half before its answer; the first request of a
 * connection waits for one more, as TCP does. TLS, and the rate at which TCP starts, are left out.
 *
 * The Host header is passed on as it came, so signed URLs and the links of an API lead back through the door.
 */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const agent = new Agent({ keepAlive: true });
  const greeted = new WeakSet<Socket>();
  let seen: SeenRequest[] = [];
  const settings = { requestTimeout: 0, keepAliveTimeout: keepAliveMs };
  const listener = (incoming: IncomingMessage, outgoing: ServerResponse) =>
    void pass({ options, agent, incoming, outgoing, greeted }).then((answered) => seen.push(answered));
  const server = options.tls
    ? // As S3, which knows no other protocol than HTTP/1.1, and so ignores what a client proposes.
      createTlsServer({ ...settings, ...options.tls, ALPNProtocols: [] }, listener)
    : createServer(settings, listener);
  const port = await listenOnLoopback(server, { port: 0, usedBy: 'the benchmark' });
  return {
    port,
    take() {
      const taken = seen;
      seen = [];
      return tally(options.to, taken);
    },
    async close() {
      await closeServer(server, 0);
      agent.destroy();
    },
  };
}

interface Passing {
  readonly options: DoorOptions;
  readonly agent: Agent;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly greeted: WeakSet<Socket>;
}

/** Never rejects: a broken connection on one side is broken on the other, and seen with the status 599. */
async function pass({ options, agent, incoming, outgoing, greeted }: Passing): Promise<SeenRequest> {
  const { method = 'GET', url: target = '/' } = incoming;
  const { to, targetPort, isFar, wait = sleep } = options;
  const roundTripMs = isFar ? latenciesMs[kindOf(to, { method, target })] : 0;
  const isNew = !greeted.has(incoming.socket);
  greeted.add(incoming.socket);
  const pause = (ms: number) => (ms > 0 ? wait(ms) : undefined);
  try {
    await pause(roundTripMs * (isNew ? 1.5 : 0.5));
    const headers = passedOn(incoming);
    const onward = request({ host: '127.0.0.1', port: targetPort, method, path: target, headers, agent });
    // An answer can come before the body has ended; then the server did not want the rest.
    pipeline(incoming, onward).catch(() => undefined);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      onward.once('response', resolve);
      onward.once('error', reject);
    });
    await pause(roundTripMs / 2);
    const status = answer.statusCode ?? 502;
    outgoing.sendDate = false;
    outgoing.writeHead(status, answer.statusMessage ?? '', passedOn(answer));
    await pipeline(answer, outgoing);
    return { method, target, status };
  } catch {
    outgoing.destroy();
    return { method, target, status: 599 };
  }
}

/** Headers as they came, names and values in turn. */
function passedOn({ rawHeaders, headers }: IncomingMessage): string[] {
  const kept: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (!hopByHop.has(name.toLowerCase())) kept.push(name, value);
  }
  const isChunked = headers['transfer-encoding'] !== undefined;
  return isChunked ? [...kept, 'transfer-encoding', 'chunked'] : kept;
}
