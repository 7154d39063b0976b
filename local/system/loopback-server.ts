import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
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

/**
 * Bounds a server's connections. When it is full, the connection that has waited longest without a request ends: half
 * requests of one program can't keep out the others. Those that are being served stay.
 */
export function limitConnections(server: HttpServer, connectionsMax: number): void {
  server.maxConnections = connectionsMax;
  let open = 0;
  /** Without a whole head of a request, the oldest first. */
  const waiting = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
      waiting.delete(socket);
    });
    const [oldest] = waiting;
    if (open >= connectionsMax) oldest?.destroy();
    waiting.add(socket);
  });
  const serve = ({ socket }: IncomingMessage, response: ServerResponse) => {
    waiting.delete(socket);
    response.once('close', () => {
      if (!socket.destroyed) waiting.add(socket);
    });
  };
  server.prependListener('request', serve);
  server.prependListener('checkContinue', serve);
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
