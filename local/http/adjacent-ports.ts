import { listenError } from '../system/loopback-server.ts';
import { errorCode } from '../system/startup-error.ts';
import { type HttpFront, type HttpFrontOptions, openHttpFront } from './front.ts';

/** The store's server. */
interface Closable {
  close(): Promise<void>;
}

/** Attempts to find two free neighbours when any port will do. */
const triesMax = 50;

/**
 * Opens the API at a port and the store at the next one. Presigned URLs hold the store's port, so it must not change
 * from one start to the next. Port 0 stands for any two free neighbours.
 *
 * @throws {StartupError} when one of the two ports is in use.
 */
export async function openAdjacent<S extends Closable>(
  options: HttpFrontOptions,
  openStore: (port: number) => Promise<S>,
): Promise<{ front: HttpFront; store: S }> {
  for (let tries = 1; ; tries += 1) {
    const front = await openHttpFront(options);
    try {
      return { front, store: await openStore(front.port + 1) };
    } catch (error) {
      await front.close(0);
      const isTaken = errorCode(error) === 'EADDRINUSE' || errorCode(error) === 'ERR_SOCKET_BAD_PORT';
      if (options.port === 0 && isTaken && tries < triesMax) continue;
      throw listenError(error, {
        port: options.port + 1,
        usedBy: 'the object store, always one above --port',
      });
    }
  }
}
