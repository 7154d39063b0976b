import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeServer, listenOnLoopback } from '../../local/system/loopback-server.ts';
import type { SeenRequest } from './request-kind.ts';

export interface DoorOptions {
  /** Port on 127.0.0.1 that everything is passed on to. */
  readonly targetPort: number;
  /** The round trip of a request, in ms. */
  readonly latencyMs: (request: Pick<SeenRequest, 'method' | 'target'>) => number;
  /** Key and certificate: the door is HTTPS on its outer side. */
  readonly tls?: { readonly key: string; readonly cert: string } | undefined;
  /** Waits; in tests it need not. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** A proxy in front of a server: it adds latency, and remembers the requests that passed. */
export interface Door {
  readonly port: number;
  /** The requests that were answered since the last call. */
  take(): SeenRequest[];
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
    void pass({ options, agent, incoming, outgoing, greeted }, (answered) => seen.push(answered));
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
      return taken;
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

/** Never rejects: a broken connection on one side is broken on the other. */
async function pass(passing: Passing, onAnswered: (request: SeenRequest) => void): Promise<void> {
  const { options, agent, incoming, outgoing, greeted } = passing;
  const { method = 'GET', url: target = '/' } = incoming;
  const { latencyMs, wait = sleep } = options;
  const roundTripMs = latencyMs({ method, target });
  const isNew = !greeted.has(incoming.socket);
  greeted.add(incoming.socket);
  const pause = (ms: number) => (ms > 0 ? wait(ms) : undefined);
  try {
    await pause(roundTripMs * (isNew ? 1.5 : 0.5));
    const headers = passedOn(incoming);
    const onward = request({
      host: '127.0.0.1',
      port: options.targetPort,
      method,
      path: target,
      headers,
      agent,
    });
    const sending = pipeline(incoming, onward);
    // An answer may come before the body has ended; then the server did not want the rest.
    sending.catch(() => undefined);
    const answer = await answerTo(onward);
    await pause(roundTripMs / 2);
    outgoing.sendDate = false;
    outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', passedOn(answer));
    await pipeline(answer, outgoing);
    onAnswered({ method, target, status: answer.statusCode ?? 502 });
  } catch {
    onAnswered({ method, target, status: 599 });
    outgoing.destroy();
  }
}

function answerTo(onward: ReturnType<typeof request>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    onward.once('response', resolve);
    onward.once('error', reject);
  });
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
