import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Server } from 'node:net';
import { type ConnectionLimits, limitConnections } from './connections.ts';
import { errorCode, StartupError } from './durable-file.ts';

interface ListenAddress {
  readonly host?: string | undefined;
  readonly port: number;
  readonly usedBy: string;
}

/**
 * Listens.
 *
 * @param address.host Default: this machine's loopback.
 * @param address.port 0: any free port.
 * @param address.usedBy what needs the port, for the error: the option that sets it, if there is one.
 * @returns the port.
 * @throws {StartupError} when the port is in use or not allowed.
 */
export function listen(server: Server, address: ListenAddress): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, address)));
    server.listen({ host: address.host ?? '127.0.0.1', port: address.port }, () => {
      const bound = server.address();
      if (typeof bound === 'object' && bound !== null) resolve(bound.port);
      else reject(new Error('A listening server has no port.'));
    });
  });
}

const headersMsMax = 10_000;
/** A connection without any traffic for this long is cut. No function answers this late. */
const idleMsMax = 60_000;
/** Longer than the idle time of usual clients, so that none sends a request on a connection that is being closed. */
const keepAliveMs = 75_000;
/** How often it is looked for requests that are late. Node's own 30 s would triple the time of headers. */
const checkingIntervalMs = 1_000;

/** An HTTP server whose connections are bounded, in their number and in how long they can do nothing. */
export function createBoundedServer(
  serve: (message: IncomingMessage, response: ServerResponse) => void,
  limits: ConnectionLimits = {},
): HttpServer {
  const server = createServer({
    requestTimeout: 0,
    headersTimeout: headersMsMax,
    connectionsCheckingInterval: checkingIntervalMs,
    keepAliveTimeout: keepAliveMs,
  });
  server.timeout = idleMsMax;
  const begin = limitConnections(server, limits);
  const handle = (message: IncomingMessage, response: ServerResponse) => {
    // It came before the answer to an earlier one: nothing would tell of its end if the client goes before its turn.
    if (!response.socket) {
      message.socket.pause();
      response.once('socket', (socket) => {
        socket.resume();
        handle(message, response);
      });
      return;
    }
    readTarget(message);
    begin(message, response);
    serve(message, response);
  };
  server.on('request', handle);
  // Another expectation may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', handle);
  server.on('checkContinue', (message, response) => {
    response.writeContinue();
    handle(message, response);
  });
  return server;
}

/** Of an absolute target, the path counts, and the host instead of the header (RFC 9112, 3.2.2). */
function readTarget(message: IncomingMessage): void {
  const [, host, rest = ''] = /^https?:\/\/([^/?]*)(.*)$/is.exec(message.url ?? '') ?? [];
  if (host === undefined) return;
  message.url = rest.startsWith('/') ? rest : `/${rest}`;
  message.headers.host = host;
}

const listenReasons: Readonly<Record<string, (address: ListenAddress) => string>> = {
  EADDRINUSE: ({ port, usedBy }) =>
    `Port ${port} (${usedBy}) is in use. Stop what uses it, or choose another port.`,
  EACCES: ({ port, usedBy }) => `Port ${port} (${usedBy}) needs more rights. Choose a port above 1023.`,
  EADDRNOTAVAIL: foreignAddress,
  ENOTFOUND: foreignAddress,
};

function foreignAddress({ usedBy }: ListenAddress): string {
  return `The address to listen on (${usedBy}) isn't one of this machine. Choose another address.`;
}

/** Turns an error about a port into one that says what to do. Other errors are returned as they are. */
function listenError(error: unknown, address: ListenAddress): unknown {
  const reason = listenReasons[errorCode(error) ?? ''];
  return reason ? new StartupError(reason(address), { cause: error }) : error;
}

const idleCheckMs = 100;

/** Accepts no new connections, and waits up to `graceMs` for running requests. After that they are cut. */
export function closeServer(server: HttpServer, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), graceMs);
    // What ends meanwhile may leave its connection open for another request.
    const idle = setInterval(() => server.closeIdleConnections(), idleCheckMs);
    server.close(() => {
      clearTimeout(force);
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
}
