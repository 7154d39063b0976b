import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { authenticate } from './authenticate.ts';
import { ObjectFiles } from './object-files.ts';
import { runOperation } from './operations.ts';
import { type StoreReply, sendReply, xmlReply } from './reply.ts';
import { errorXml, S3Error } from './s3-error.ts';
import type { StoreCredentials } from './signature-check.ts';
import { readStoreRequest } from './store-request.ts';

export interface StoreOptions {
  /** 0: any free one. */
  readonly port: number;
  /** Everything lies below it. One store at a time may use it: the caller sees to that. */
  readonly dataDir: string;
  /** The one bucket there is; it need not be made. */
  readonly bucket: string;
  readonly credentials: StoreCredentials;
  /** Milliseconds since 1970; the machine's clock by default. */
  readonly now?: () => number;
  /** Told of what is a fault of the store itself, which the client sees as InternalError. */
  readonly onError?: (error: unknown) => void;
}

export interface RunningStore {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  /** Ends requests that are under way after a moment, and frees the port. */
  close(): Promise<void>;
}

/** A connection on which nothing moves for so long is cut. Uploads as such may take any time. */
const idleMsMax = 60_000;
const headersMsMax = 10_000;
const connectionsMax = 2_048;
const closeMsMax = 2_000;

/**
 * Starts an S3-compatible store on the loopback interface: one bucket, path-style, Signature Version 4 on
 * every request. What it does not implement it answers with 501.
 *
 * @throws where the port is taken, or the data folder is damaged.
 */
export async function startStore(options: StoreOptions): Promise<RunningStore> {
  const store = new Store(options);
  const server = createServer({
    requestTimeout: 0,
    headersTimeout: headersMsMax,
    keepAliveTimeout: idleMsMax,
  });
  server.timeout = idleMsMax;
  server.maxConnections = connectionsMax;
  server.on('request', (message, response) => void store.serve({ message, response, awaitsContinue: false }));
  server.on(
    'checkContinue',
    (message, response) => void store.serve({ message, response, awaitsContinue: true }),
  );
  await listen(server, options.port);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, close: () => close(server) };
}

interface Exchange {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  /** The client sends its body only once it is told to. */
  readonly awaitsContinue: boolean;
}

class Store {
  readonly #options: StoreOptions;
  readonly #files: ObjectFiles;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#files = new ObjectFiles(options.dataDir);
  }

  /** Never rejects: what goes wrong is answered, or the connection is cut. */
  async serve({ message, response, awaitsContinue }: Exchange): Promise<void> {
    let isAwaiting = awaitsContinue;
    const body = () => {
      if (isAwaiting) response.writeContinue();
      isAwaiting = false;
      return message;
    };
    try {
      const requestId = randomUUID();
      response.setHeader('x-amz-request-id', requestId);
      const reply = await this.#reply(message, { body, requestId });
      await sendReply(reply, { message, response, awaitsContinue: isAwaiting });
    } catch {
      // The client is gone in the middle of the answer, or a file broke off: there is nobody to tell.
      response.destroy();
    }
  }

  async #reply(
    message: IncomingMessage,
    { body, requestId }: { body: () => IncomingMessage; requestId: string },
  ): Promise<StoreReply> {
    const { credentials, bucket, now = Date.now } = this.#options;
    try {
      const request = readStoreRequest(message);
      const payload = await authenticate(request, { credentials, nowMs: now() });
      return await runOperation({ files: this.#files, bucket, request, payload, body, nowMs: now() });
    } catch (thrown) {
      const error = thrown instanceof S3Error ? thrown : this.#internalError(message, thrown);
      const resource = (message.url ?? '').split('?', 1)[0] ?? '';
      return xmlReply(errorXml(error, { resource, requestId }), error);
    }
  }

  #internalError(message: IncomingMessage, cause: unknown): S3Error {
    // A client that went away while sending is no fault of the store.
    if (!message.destroyed) this.#options.onError?.(cause);
    return new S3Error('InternalError', 'We encountered an internal error. Please try again.', { cause });
  }
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const taken = cause.code === 'EADDRINUSE';
      reject(taken ? new Error(`Port ${port} on 127.0.0.1 is in use: choose another.`, { cause }) : cause);
    });
    server.listen(port, '127.0.0.1', resolve);
  });
}

async function close(server: Server): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), closeMsMax);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
  clearTimeout(timer);
}
