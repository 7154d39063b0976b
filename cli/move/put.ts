import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { BatchAction, LfsObject } from '../lfs-batch.ts';
import { retryAfterMsOf } from '../retry-after.ts';
import { type DownloadDeps, idleTimer, retrying, TransferError, throwBroken } from '../transfer.ts';

/** An upload that is streamed: nothing of it is kept, and its bytes are checked on their way. */

/** A hundred signed URLs take up to 0.3 MB. */
const answerBytesMax = 4_000_000;

/** Whom a transfer is from, or to: for its errors. */
type Side = 'source' | 'target' | 'store' | 'server';

/** Begins to read what is downloaded. @throws {TransferError} unless it is answered with success. */
export async function read(
  action: BatchAction,
  signal: AbortSignal,
  from: Side = 'source',
): Promise<AsyncIterable<Uint8Array>> {
  const headers = headersOf(action, { 'accept-encoding': 'identity' });
  const response = await fetch(action.href, { headers, signal }).catch((error) =>
    throwBroken(` to the ${from}`, error),
  );
  if (!response.ok) await response.body?.cancel();
  requireSuccess(from, response.status, response.headers);
  return response.body ?? ReadableStream.from<Uint8Array>([]);
}

function headersOf({ header }: BatchAction, own: RequestInit['headers']): Headers {
  const headers = new Headers(own);
  try {
    for (const [name, value] of Object.entries(header)) headers.set(name, value);
  } catch {
    // Its text has the value, which may be secret.
    throw new RefusedError('The server returned an invalid header.');
  }
  // Some servers ask for pieces. With a length, they take all of it as well.
  headers.delete('transfer-encoding');
  return headers;
}

/** @param body of an error: S3 has a word in it that says which. */
function requireSuccess(whose: Side, status: number, headers: Headers, body = ''): void {
  if (status >= 200 && status <= 299) return;
  const code = /<Code>(\w+)<\/Code>/.exec(body)?.[1];
  const text = `The ${whose} returned ${status}${code === undefined ? '' : ` (${code})`}.`;
  if (status >= 500 || status === 408 || status === 429) throw new BusyError(text, retryAfterMsOf(headers));
  throw new RefusedError(text, status);
}

/** Trying again with another URL might help, but once. */
export class RefusedError extends TransferError {
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

/** The bytes aren't those that were named. */
export class WrongBytesError extends RefusedError {}

/** It may succeed later. */
class BusyError extends TransferError {
  /** The shortest pause that the server asks for. */
  readonly waitMs: number | undefined;

  constructor(message: string, waitMs: number | undefined) {
    super(message);
    this.waitMs = waitMs;
  }
}

/**
 * Tries again what broke, after as long as the server asks for, and once what was refused: its URL may have expired.
 *
 * @param input.attempt counts the bytes that it sends by what it gets. Those of one that failed are taken back.
 * @throws {TransferError} what the last attempt failed with. @throws at once what else one fails with.
 */
export function sendAgain<T>(
  deps: DownloadDeps,
  input: {
    readonly onBytes?: (bytes: number) => void;
    readonly attempt: (onBytes: (bytes: number) => void) => Promise<T>;
  },
): Promise<T> {
  const { onBytes = () => undefined, attempt } = input;
  let refusals = 0;
  return retrying<T>(deps, async () => {
    let sent = 0;
    try {
      const value = await attempt((bytes) => {
        sent += bytes;
        onBytes(bytes);
      });
      return { kind: 'done', value };
    } catch (error) {
      onBytes(-sent);
      deps.stop.throwIfAborted();
      if (!(error instanceof TransferError)) throw error;
      if (error instanceof RefusedError) refusals += 1;
      if (refusals > 1) throw error;
      return { kind: 'failed', error, waitMs: error instanceof BusyError ? error.waitMs : undefined };
    }
  });
}

/**
 * Sends the bytes of an object. The last piece is sent once all of them have the right SHA-256, so that no server can store
 * others.
 *
 * @param input.open begins to read them. @throws {TransferError}
 */
export async function putObject(
  { stop }: { readonly stop: AbortSignal },
  input: {
    readonly open: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
    readonly to: Side;
    readonly upload: BatchAction;
    /** Without `oid`, any bytes are right. */
    readonly object: Pick<LfsObject, 'sizeBytes'> & { readonly oid: string | undefined };
    readonly onBytes: (bytes: number) => void;
  },
): Promise<void> {
  const { open, to, upload, object, onBytes } = input;
  const { signal, gotOn, end } = idleTimer(stop);
  let isOver = false;
  try {
    const pieces = checked(await open(signal), object, (bytes) => {
      // Some are still read when the store has answered already.
      if (isOver) return;
      gotOn();
      onBytes(bytes);
    });
    const headers = {
      'content-length': String(object.sizeBytes),
      'content-type': 'application/octet-stream',
    };
    await requestByHand(to, { method: 'PUT', action: upload, headers, pieces, signal });
  } finally {
    isOver = true;
    end();
  }
}

/**
 * A request by hand: `fetch` keeps a copy of all that it sends, and takes 30 MB of memory. It follows no redirects. A piece
 * isn't used any more once the next one is asked for.
 *
 * @returns the text of an answer with success. @throws {TransferError}
 */
export async function requestByHand(
  to: Side,
  input: {
    readonly method: 'GET' | 'POST' | 'PUT';
    readonly action: BatchAction;
    readonly headers: Readonly<Record<string, string>>;
    readonly pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
    readonly signal: AbortSignal;
  },
): Promise<string> {
  const { method, action, pieces, signal } = input;
  const url = new URL(action.href);
  if (!/^https?:$/.test(url.protocol)) throw new RefusedError('The server returned no HTTP address.');
  const { request: open } = url.protocol === 'https:' ? https : http;
  const headers = Object.fromEntries(headersOf(action, input.headers));
  const request = open(url, { method, headers, signal });
  let response: IncomingMessage | undefined;
  // Nobody asked for another protocol. Without this, Node would never say that it's over.
  request.once('upgrade', (first, socket) => {
    socket.destroy();
    request.emit('response', first);
  });
  const answered = once(request, 'response').then(([first]) => {
    response = first as IncomingMessage;
    return response;
  });
  // It is thrown where it is waited for.
  answered.catch(() => undefined);
  try {
    for await (const piece of pieces) {
      await Promise.race([new Promise((written) => request.write(piece, written)), answered]);
      if (response) break;
    }
    if (!response) request.end();
    const answer = await answered;
    const { statusCode = 0, headers: told } = answer;
    const retryAfter = told['retry-after'];
    const error = statusCode > 299 ? await textOf(to, answer).catch(() => '') : '';
    requireSuccess(to, statusCode, new Headers(retryAfter ? { 'retry-after': retryAfter } : {}), error);
    if (!request.writableEnded) throw new TransferError(`The ${to} answered too early.`);
    return await textOf(to, answer);
  } catch (error) {
    request.destroy();
    throwBroken(` to the ${to}`, error);
  }
}

/** @throws {TransferError} if it's longer than any answer. */
export async function textOf(
  whose: Side,
  answer: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of answer) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > answerBytesMax) throw new TransferError(`The ${whose}'s answer is too long.`);
  }
  return Buffer.concat(pieces).toString();
}

/** The pieces of an object. The last one comes once all of them are known to be right. @throws {TransferError} */
async function* checked(
  pieces: AsyncIterable<Uint8Array>,
  { oid, sizeBytes }: Parameters<typeof putObject>[1]['object'],
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const hash = oid === undefined ? undefined : createHash('sha256');
  let bytes = 0;
  let held: Uint8Array | undefined;
  try {
    for await (const piece of pieces) {
      if (piece.length === 0) continue;
      bytes += piece.length;
      if (bytes > sizeBytes) break;
      hash?.update(piece);
      if (held) yield held;
      held = piece;
      onBytes(piece.length);
    }
  } catch (error) {
    throwBroken(' to the source', error);
  }
  if (bytes < sizeBytes) throw new TransferError('The source broke off.');
  if (bytes > sizeBytes || hash?.digest('hex') !== oid)
    throw new WrongBytesError('The source sent other bytes than the pointer says.');
  if (held) yield held;
}
