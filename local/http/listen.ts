import type { Server } from 'node:net';
import { errorCode, StartupError } from '../startup-error.ts';

/**
 * Listens on loopback. `port` 0 takes any free one.
 *
 * @returns the port that was taken.
 * @throws {StartupError} where the port is taken or not allowed, in the words of `usedBy`.
 */
export function listenOnLoopback(server: Server, address: { port: number; usedBy: string }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, address)));
    server.listen({ host: '127.0.0.1', port: address.port }, () => {
      const bound = server.address();
      if (typeof bound === 'object' && bound !== null) resolve(bound.port);
      else reject(new Error('A server that listens has no port.'));
    });
  });
}

/** Says what is wrong with a port, where that is what the error is about. */
export function listenError(error: unknown, address: { port: number; usedBy: string }): unknown {
  const { port, usedBy } = address;
  switch (errorCode(error)) {
    case 'EADDRINUSE':
      return new StartupError(
        `Port ${port} (${usedBy}) is in use. Stop what uses it, or choose another port with --port.`,
        { cause: error },
      );
    case 'EACCES':
      return new StartupError(
        `Port ${port} (${usedBy}) needs more rights than this user has. Choose one above 1023 with --port.`,
        { cause: error },
      );
    default:
      return error;
  }
}
