import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { isDiskFull } from '../system/disk-full.ts';
import { closeServer, limitConnections, listenOnLoopback } from '../system/loopback-server.ts';
import { authenticate } from './authenticate.ts';
import { MultipartFiles } from './multipart-files.ts';
import { ObjectFiles } from './object-files.ts';
import { runOperation } from './operations.ts';
import { type StoreReply, sendReply, xmlReply } from './reply.ts';
import { errorXml, S3Error } from './s3-error.ts';
import type { StoreCredentials } from './signature-check.ts';
import { readStoreRequest } from './store-request.ts';
import type { UploadTime } from './upload-deadline.ts';

export interface StoreOptions {
  /** 0: any free port. */
  readonly port: number;
  /** Folder for all data. The caller makes sure that one store at a time uses it. */
  readonly dataDir: string;
  /** The only bucket. It always exists. */
  readonly bucket: string;
  readonly credentials: StoreCredentials;
  /** Milliseconds since 1970; the machine's clock by default. */
  readonly now?: () => number;
  /** How long a PUT by a presigned URL may go on after the URL has expired; the defaults of the settings. */
  readonly uploadTime?: UploadTime;
  /** Called with the store's own faults, which the client sees as InternalError. */
  readonly onError?: (error: unknown) => void;
}

export interface RunningStore {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  /** What HEAD answers, without a request. The SHA-256 is hex, if the upload declared one. */
  head(key: string): { readonly sizeBytes: number; readonly sha256: string | undefined } | undefined;
  /** Waits two seconds for running requests, and releases the port. */
  close(): Promise<void>;
}

/** A connection without any traffic for this long is cut. An upload itself may take as long as upload-deadline.ts says. */
const idleMsMax = 60_000;
const headersMsMax = 10_000;
/** How often it is looked for connections whose headers are late. Node's own 30 s would triple their time. */
const checkingIntervalMs = 1_000;
const connectionsMax = 2_048;
const graceMs = 2_000;
/** How often it is looked for uploads in parts that nobody goes on with. */
const abandonedEveryMs = 600_000;

/**
 * Starts an S3-compatible store on the loopback interface: one bucket, path-style, Signature Version 4 on every request.
 * It answers 501 to what it does not implement.
 *
 * @throws {StartupError} when the port is in use.
 * @throws when the data folder is damaged.
 */
export async function startStore(options: StoreOptions): Promise<RunningStore> {
  const store = new Store(options);
  const server = createServer({
    requestTimeout: 0,
    headersTimeout: headersMsMax,
    connectionsCheckingInterval: checkingIntervalMs,
    keepAliveTimeout: idleMsMax,
  });
  server.timeout = idleMsMax;
  limitConnections(server, connectionsMax);
  server.on('request', (message, response) => void store.serve({ message, response, awaitsContinue: false }));
  server.on(
    'checkContinue',
    (message, response) => void store.serve({ message, response, awaitsContinue: true }),
  );
  const port = await listenOnLoopback(server, { port: options.port, usedBy: 'the object store' });
  await store.abortAbandoned();
  const abandoned = setInterval(() => void store.abortAbandoned(), abandonedEveryMs).unref();
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    head: (key) => store.head(key),
    close: () => {
      clearInterval(abandoned);
      return closeServer(server, graceMs);
    },
  };
}

interface Exchange {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  /** The client waits for `100 Continue` before it sends its body. */
  readonly awaitsContinue: boolean;
}

class Store {
  readonly #options: StoreOptions;
  readonly #files: ObjectFiles;
  readonly #multipart: MultipartFiles;

  constructor(options: StoreOptions) {
    this.#options = options;
    const files = new ObjectFiles(options.dataDir);
    this.#files = files;
    this.#multipart = new MultipartFiles(
      options.dataDir,
      ({ id, key }) => files.index.get(key)?.uploadId === id,
    );
  }

  /** Never rejects. */
  async abortAbandoned(): Promise<void> {
    const { now = Date.now, onError } = this.#options;
    await this.#multipart.abortAbandoned(now()).catch((error) => onError?.(error));
  }

  head(key: string): ReturnType<RunningStore['head']> {
    const record = this.#files.index.get(key);
    if (record === undefined) return undefined;
    const { sizeBytes, checksums } = record;
    const { sha256 } = checksums;
    return { sizeBytes, sha256: sha256 && Buffer.from(sha256, 'base64').toString('hex') };
  }

  /** Never rejects: an error becomes a response, or the connection is cut. */
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
      // The client has gone during the response, or reading a file failed after the headers were sent.
      response.destroy();
    }
  }

  async #reply(
    message: IncomingMessage,
    { body, requestId }: { body: () => IncomingMessage; requestId: string },
  ): Promise<StoreReply> {
    const { credentials, bucket, now = Date.now, uploadTime = defaultSettings } = this.#options;
    const errorOf = (thrown: unknown) =>
      thrown instanceof S3Error ? thrown : this.#internalError(message, thrown);
    const errorReply = (thrown: unknown) => {
      const error = errorOf(thrown);
      const resource = (message.url ?? '').split('?', 1)[0] ?? '';
      return xmlReply(errorXml(error, { resource, requestId }), error);
    };
    try {
      const request = readStoreRequest(message);
      const authenticated = await authenticate(request, { credentials, nowMs: now() });
      const stored = { files: this.#files, multipart: this.#multipart, bucket };
      const asked = { request, authenticated, body, errorOf, errorReply };
      return await runOperation({ ...stored, ...asked, now, uploadTime });
    } catch (thrown) {
      return errorReply(thrown);
    }
  }

  #internalError(message: IncomingMessage, cause: unknown): S3Error {
    // A client that disconnects while sending is not a fault of the store. (`destroyed` says less: on Node 24 it is set
    // as well when reading the body was given up.)
    if (message.errored === null) this.#options.onError?.(cause);
    if (isDiskFull(cause)) {
      const text = 'The disk of this store is full. Free some space on it, then upload again.';
      return new S3Error('InsufficientStorage', text, { cause });
    }
    return new S3Error('InternalError', 'We encountered an internal error. Please try again.', { cause });
  }
}
