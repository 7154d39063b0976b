import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Server, Socket } from 'node:net';
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

const connectionsMax = 2_048;
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
): HttpServer {
  const server = createServer({
    requestTimeout: 0,
    headersTimeout: headersMsMax,
    connectionsCheckingInterval: checkingIntervalMs,
    keepAliveTimeout: keepAliveMs,
  });
  server.timeout = idleMsMax;
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, readTarget);
  limitConnections(server);
  server.on('request', serve);
  // Another expectation may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', serve);
  server.on('checkContinue', (message, response) => {
    response.writeContinue();
    serve(message, response);
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

const patient = new WeakSet<IncomingMessage>();

/** Of a request whose sender has shown that it may send a body as slowly as it likes: it isn't ended for others. */
export const letTakeTime = (message: IncomingMessage): void => void patient.add(message);

/**
 * When a server is full, the connection that has waited longest for a whole request ends: half requests of one program
 * can't keep out the others. Those that are being served stay.
 */
function limitConnections(server: HttpServer): void {
  server.maxConnections = connectionsMax;
  /** With the request that each has sent, or a part of it. The oldest come first. */
  const open = new Map<Socket, IncomingMessage | undefined>();
  const endOldest = () => {
    for (const [socket, message] of open) {
      if (message?.complete || (message && patient.has(message))) continue;
      open.delete(socket);
      socket.destroy();
      return;
    }
  };
  server.on('connection', (socket: Socket) => {
    if (socket.destroyed) return;
    open.set(socket, undefined);
    socket.once('close', () => open.delete(socket));
    if (open.size >= connectionsMax) endOldest();
  });
  const serve = (message: IncomingMessage, response: ServerResponse) => {
    const { socket } = message;
    open.set(socket, message);
    response.once('close', () => {
      if (open.delete(socket)) open.set(socket, undefined);
    });
  };
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, serve);
}

/** Turns an error about a port into one that says what to do. Other errors are returned as they are. */
function listenError(error: unknown, address: { port: number; usedBy: string }): unknown {
  const { port, usedBy } = address;
  switch (errorCode(error)) {
    case 'EADDRINUSE':
      return new StartupError(
        `Port ${port} (${usedBy}) is in use. Stop what uses it, or choose another port.`,
        { cause: error },
      );
    case 'EACCES':
      return new StartupError(`Port ${port} (${usedBy}) needs more rights. Choose a port above 1023.`, {
        cause: error,
      });
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new StartupError(
        `The address to listen on (${usedBy}) isn't one of this machine. Choose another address.`,
        {
          cause: error,
        },
      );
    default:
      return error;
  }
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
