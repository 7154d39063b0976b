import { errorCode } from '../startup-error.ts';
import { type HttpFront, type HttpFrontOptions, openHttpFront } from './front.ts';
import { listenError } from './listen.ts';

/** The store's server, as far as its port matters. */
interface Closable {
  close(): Promise<void>;
}

/** How often two free neighbours are looked for where any port will do. */
const triesMax = 50;

/**
 * Opens the API at a port and the store at the next one: signed URLs name the store's port, so it must
 * follow from the one that a person chose. Port 0 stands for any two free neighbours.
 *
 * @throws {StartupError} where one of the two is taken.
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
