import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { finished, pipeline } from 'node:stream/promises';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import type { StoredObject } from '../../lambda/core/store/rules/store.ts';
import { letTakeTime } from '../system/connections.ts';
import { isDiskFull, syncFolder } from '../system/durable-file.ts';
import { closeServer, createBoundedServer, listen } from '../system/loopback-server.ts';
import type { Damage, DamagedFile } from './damage.ts';
import { MultipartFiles, type MultipartRecord, ObjectFiles } from './files.ts';
import { multipartOperations } from './multipart.ts';
import { type Operation, type OperationInput, objectOperations } from './objects.ts';
import { element, notImplemented, S3Error, type StoreReply, xmlReply } from './protocol.ts';
import {
  authenticate,
  checksumHeader,
  readStoreRequest,
  type StoreCredentials,
  type StoreRequest,
  type UploadTime,
} from './signed-request.ts';

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
  /** Called with files that aren't whole objects. */
  readonly onDamage?: (file: DamagedFile) => void;
}

export interface RunningStore {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  /** Serves a request that came elsewhere, as one that came here. */
  serve(message: IncomingMessage, response: ServerResponse): void;
  /** What HEAD answers, without a request. */
  head(key: string): StoredObject | undefined;
  /** @returns the size of an object that was taken out now, because its file is gone, cut, or has wrong bytes. */
  discardDamaged(key: string): Promise<number | undefined>;
  /** What is wrong in its folder. */
  readonly damage: Pick<Damage, 'read' | 'onLoss'>;
  /** Waits two seconds for running requests, and releases the port. */
  close(): Promise<void>;
}

const graceMs = 2_000;
/** How long a refused body is read, so that the client sees the response. */
const drainMsMax = 5_000;
/** git-lfs retries eight times: until an upload that has stalled is cut. */
const retryAfterSeconds = 10;
/** How often it is looked for uploads in parts that nobody goes on with. */
const abandonedEveryMs = 600_000;

/**
 * Starts an S3-compatible store on the loopback interface: one bucket, path-style, Signature Version 4 on every request.
 * It serves what lfs-quota and git-lfs send, and answers 501 to all else.
 *
 * @throws {StartupError} when the port is in use.
 */
export async function startStore(options: StoreOptions): Promise<RunningStore> {
  const { dataDir, now = Date.now, onError, onDamage } = options;
  const files = new ObjectFiles(dataDir, onDamage);
  const isCompleted = ({ id, key }: MultipartRecord) => files.index.get(key)?.uploadId === id;
  const multipart = new MultipartFiles(dataDir, files.damage, isCompleted);
  // Where the new folders are noted, so that a power cut leaves them.
  for (const folder of [dataDir, path.dirname(dataDir)]) await syncFolder(folder);
  const serve = (message: IncomingMessage, response: ServerResponse) =>
    replyTo(message, { ...options, files, multipart })
      .then((reply) => sendReply(reply, { message, response }))
      // The client has gone during the response, or reading a file failed after the headers were sent.
      .catch((error) => {
        if (!response.headersSent) onError?.(error);
        response.destroy();
      });
  const server = createBoundedServer(serve);
  const port = await listen(server, { port: options.port, usedBy: 'the object store' });
  const abortAbandoned = () => multipart.abortAbandoned(now()).catch((error) => onError?.(error));
  await abortAbandoned();
  const abandoned = setInterval(abortAbandoned, abandonedEveryMs).unref();
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    serve: (message, response) => void serve(message, response),
    head: (key) => {
      const record = files.index.get(key);
      if (!record) return undefined;
      const { sizeBytes, mark, checksums } = record;
      return {
        sizeBytes,
        sha256: checksums.sha256 && Buffer.from(checksums.sha256, 'base64').toString('hex'),
        lastModifiedMs: Math.floor(record.lastModifiedMs / 1000) * 1000,
        ...(mark !== undefined && { mark }),
      };
    },
    discardDamaged: (key) => files.discardDamaged(key),
    damage: files.damage,
    close: () => {
      clearInterval(abandoned);
      return closeServer(server, graceMs);
    },
  };
}

/** Any page may use a signed URL: it carries no cookie, and its signature is the credential. */
const readableByPages = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'ETag' };
const preflight: StoreReply = {
  status: 204,
  headers: {
    'access-control-allow-methods': 'GET, HEAD, PUT',
    'access-control-allow-headers': `content-type, if-none-match, ${checksumHeader}`,
    'access-control-max-age': '3600',
  },
};

/** Browsers ask this before a page may send the request itself. It isn't signed, and says nothing of the store. */
const isPreflight = ({ method, headers }: IncomingMessage) =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined;

/** An error becomes a response. */
async function replyTo(
  message: IncomingMessage,
  options: StoreOptions & Pick<OperationInput, 'files' | 'multipart'>,
): Promise<StoreReply> {
  const { credentials, bucket, now = Date.now, uploadTime = defaultSettings, files, multipart } = options;
  const errorOf = (thrown: unknown) =>
    thrown instanceof S3Error ? thrown : internalError(thrown, message, options);
  if (isPreflight(message)) return preflight;
  try {
    const request = readStoreRequest(message);
    const authenticated = await authenticate(request, { credentials, nowMs: now() });
    letTakeTime(message);
    const input = { files, multipart, message, request, authenticated, errorOf, now, uploadTime };
    return await operationOf(input, bucket).run(input);
  } catch (thrown) {
    const { code, message: text, status } = errorOf(thrown);
    const headers = status === 429 ? { 'retry-after': String(retryAfterSeconds) } : {};
    return xmlReply('Error', [element('Code', code), element('Message', text)], { status, headers });
  }
}

function internalError(cause: unknown, message: IncomingMessage, { onError }: StoreOptions): S3Error {
  // A client that disconnects while sending isn't a fault of the store. (`destroyed` says less: on Node 24 it is set
  // as well when reading the body was given up.)
  if (message.errored === null) onError?.(cause);
  if (!isDiskFull(cause))
    return new S3Error('InternalError', 'We encountered an internal error. Please retry.', { cause });
  const text = "The server's disk is full. Ask its operator to free up space, then upload again.";
  return new S3Error('InsufficientStorage', text, { cause });
}

/** The first that fits is run, so those with more marks come before those with fewer. */
const operations: readonly Operation[] = [...multipartOperations, ...objectOperations];

const alwaysAllowedHeaders = ['x-amz-date', 'x-amz-content-sha256', 'x-amz-user-agent'];
const alwaysAllowedQuery =
  /^(x-id|X-Amz-(Algorithm|Content-Sha256|Credential|Date|Expires|Signature|SignedHeaders))$/;

/** The operation of an authenticated request. @throws {S3Error} if it isn't served, or not in this way. */
function operationOf({ request, authenticated }: OperationInput, bucket: string): Operation {
  const { method, query, headers } = request;
  if (request.bucket === '') throw notImplemented(`${method} on the service`);
  if (request.bucket !== bucket)
    throw new S3Error('NoSuchBucket', `The only bucket of this store is ${bucket}.`);
  const on = request.key === '' ? 'bucket' : 'object';
  const isThere = (name: string) => query.has(name) || headers[name] !== undefined;
  const operation = operations.find(
    (candidate) =>
      candidate.on === on && candidate.method === method && (candidate.marks ?? []).every(isThere),
  );
  if (operation === undefined)
    throw notImplemented(`${method} on a ${on} without the parameters of an operation`);
  if (authenticated.urlExpiresAtMs !== undefined && operation.byUrl !== true) {
    const text =
      "All but PUT and GET of an object must be signed in the headers; a presigned URL isn't enough.";
    throw new S3Error('AccessDenied', text);
  }
  refuseUnknown(request, operation);
  return operation;
}

function refuseUnknown(request: StoreRequest, { marks = [], query = [], headers = [] }: Operation): void {
  for (const name of request.query.keys()) {
    if (!alwaysAllowedQuery.test(name) && ![...marks, ...query].includes(name))
      throw notImplemented(`the query parameter ${name.slice(0, 100)}`);
  }
  const allowed = [...alwaysAllowedHeaders, ...marks, ...headers];
  // Other conditions are of GET and HEAD alone, and are ignored elsewhere, as HTTP has it.
  const isRead = ['GET', 'HEAD'].includes(request.method);
  const unknown = isRead ? /^x-amz-/ : /^(x-amz-|if-(match|none-match|unmodified-since)$)/;
  for (const name of Object.keys(request.headers)) {
    if (unknown.test(name) && !allowed.includes(name)) throw notImplemented(`the header ${name}`);
  }
}

/** It has the origin of the console, and of none of these bytes is known what they are. */
const inert = { 'x-content-type-options': 'nosniff', 'content-security-policy': 'sandbox' };

/**
 * Sends the response. If the request's body wasn't read to its end, the rest is read and dropped for a while, and the
 * connection is closed. Closing it immediately would cut off a client that is still sending, often before it has seen the
 * response.
 */
async function sendReply(
  { status, headers, body }: StoreReply,
  { message, response }: { message: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const hasUnreadBody = !message.complete;
  response.writeHead(status, {
    ...headers,
    ...inert,
    ...(message.headers.origin !== undefined && readableByPages),
    ...(hasUnreadBody && { connection: 'close' }),
  });
  if (typeof body === 'object') {
    await pipeline(body, response);
    return;
  }
  if (message.method !== 'HEAD' && body !== undefined) response.write(body);
  const signal = AbortSignal.timeout(drainMsMax);
  if (hasUnreadBody) await finished(message.resume(), { signal }).catch(() => undefined);
  response.end();
}
