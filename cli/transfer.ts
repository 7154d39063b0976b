import { createHash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { type FileHandle, link, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { formatBytes } from '../lambda/core/rules/sizes.ts';
import { errorCode, syncFolder } from '../local/system/durable-file.ts';
import type { CliContext } from './context.ts';
import { CliError } from './errors.ts';
import { Rate, type WaitLine } from './progress.ts';
import { formatDuration } from './render.ts';

/** What both ways to an archive on this disk have in common: a file that is downloaded, and goes on after a break. */

/** An attempt that gets nothing for so long is given up. */
export const idleMs = 60_000;
/** Attempts in a row that bring nothing. */
const attemptsMax = 6;
/** A link that somebody has put there leads to a file of theirs. Windows has no such flag. */
export const noLink = constants.O_NOFOLLOW ?? 0;
/** Pause before the second of them, doubled each time. */
const pauseMs = 500;
/** No server makes a person wait longer. */
const waitMaxMs = 5 * 60_000;
/** Bytes that are read at a time. */
const pieceBytes = 256 * 1024;
/** The line is drawn anew. */
const redrawMs = 500;

/** Where bytes are downloaded, or why they are not. */
export type Offer =
  | { readonly kind: 'offered'; readonly href: string; readonly header?: Readonly<Record<string, string>> }
  /** They are not stored any more. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'refused'; readonly message: string };

/** What became of a download. */
export type Fetched = { readonly kind: 'complete' } | Exclude<Offer, { kind: 'offered' }>;

export interface DownloadDeps {
  /** Ends all attempts. */
  readonly stop: AbortSignal;
  readonly sleep: (durationMs: number) => Promise<void>;
}

interface FileDownload {
  /** The file that has what has arrived. */
  readonly part: string;
  readonly sizeBytes: number;
  /** SHA-256 that the bytes must have. */
  readonly oid?: string;
  /** Asked before each request: a URL expires. */
  readonly nextOffer: () => Promise<Offer>;
  /** Called with the bytes that were there, and with those that came; with fewer than none if they are of no use. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Downloads a file. A transfer that breaks goes on where it was, in this call or in a later one.
 *
 * @returns `complete` once the part has all bytes, on the disk; `refused` after two URLs that were refused, or wrong bytes
 * that came twice.
 * @throws {TransferError} what the last attempt failed with. @throws what `nextOffer` or the disk fails with.
 */
export async function downloadFile(deps: DownloadDeps, input: FileDownload): Promise<Fetched> {
  const part = await open(input.part, constants.O_RDWR | constants.O_CREAT | noLink);
  try {
    const fetched = await new Arriving(deps, input, part).fetch();
    if (fetched.kind === 'complete') await part.sync();
    return fetched;
  } finally {
    await part.close();
  }
}

class Arriving {
  readonly #deps: DownloadDeps;
  readonly #input: FileDownload;
  readonly #part: FileHandle;
  #bytes = 0;
  /** As many as have ever been there: a store that knows no ranges brings the same ones again. */
  #mostBytes = 0;
  #refusals = 0;
  #wrongHashes = 0;

  constructor(deps: DownloadDeps, input: FileDownload, part: FileHandle) {
    this.#deps = deps;
    this.#input = input;
    this.#part = part;
  }

  async fetch(): Promise<Fetched> {
    this.#arrived((await this.#part.stat()).size);
    if (this.#bytes > this.#input.sizeBytes) await this.#restart();
    this.#mostBytes = this.#bytes;
    return retrying(this.#deps, () => this.#attempt());
  }

  async #attempt(): Promise<Attempt<Fetched>> {
    const { sizeBytes, nextOffer } = this.#input;
    const { stop } = this.#deps;
    const from = this.#bytes;
    if (from === sizeBytes) return this.#judge();
    const offer = await nextOffer();
    if (offer.kind !== 'offered') return { kind: 'done', value: offer };
    try {
      const refused = await transferRest(
        { ...offer, from, sizeBytes, stop },
        { restart: () => this.#restart(), append: (piece) => this.#append(piece) },
      );
      if (refused) return this.#refused(refused);
      if (this.#bytes < sizeBytes) throw new TransferError('The transfer was interrupted.');
    } catch (error) {
      stop.throwIfAborted();
      if (!(error instanceof TransferError)) throw error;
      const gotOn = this.#bytes > this.#mostBytes;
      this.#mostBytes = Math.max(this.#mostBytes, this.#bytes);
      return { kind: 'failed', error, gotOn };
    }
    return this.#judge();
  }

  #refused({ status, text }: { status: number; text: string }): Attempt<Fetched> {
    if (status === 404 && text.includes('<Code>NoSuchKey</Code>'))
      return { kind: 'done', value: { kind: 'gone' } };
    const message = `The store returned ${status}.`;
    if (status >= 400 && status < 500 && status !== 408 && status !== 429) this.#refusals += 1;
    // The first URL may have expired.
    return this.#refusals > 1
      ? { kind: 'done', value: { kind: 'refused', message } }
      : { kind: 'failed', error: new TransferError(message) };
  }

  async #append(piece: Uint8Array): Promise<void> {
    if (this.#bytes + piece.length > this.#input.sizeBytes) {
      await this.#restart();
      throw new TransferError('The store sent more bytes than there are.');
    }
    await writeAt(this.#part, piece, this.#bytes);
    this.#refusals = 0;
    this.#arrived(piece.length);
  }

  async #judge(): Promise<Attempt<Fetched>> {
    const { oid, sizeBytes } = this.#input;
    // Another process may have written to it.
    await this.#part.truncate(sizeBytes);
    if (oid === undefined || (await sha256Of(this.#part, { sizeBytes, ...this.#deps })) === oid)
      return { kind: 'done', value: { kind: 'complete' } };
    await this.#restart();
    this.#mostBytes = 0;
    const message = 'Its bytes have a different SHA-256.';
    // Bytes may change on the way, but not each time.
    this.#wrongHashes += 1;
    return this.#wrongHashes === 1
      ? { kind: 'failed', error: new TransferError(message) }
      : { kind: 'done', value: { kind: 'refused', message } };
  }

  async #restart(): Promise<void> {
    await this.#part.truncate(0);
    this.#arrived(-this.#bytes);
  }

  #arrived(bytes: number): void {
    this.#bytes += bytes;
    if (bytes !== 0) this.#input.onBytes(bytes);
  }
}

/** Writes all of the bytes. */
export async function writeAt(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
}

/** @param onPiece gets all bytes, each piece with its distance from the first. @returns in hex. */
export async function sha256Of(
  file: FileHandle,
  from: { startByte?: number; sizeBytes: number; stop: AbortSignal },
  onPiece?: (piece: Uint8Array, at: number) => unknown,
): Promise<string> {
  const { startByte = 0, sizeBytes, stop } = from;
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(Math.min(pieceBytes, sizeBytes));
  for (let at = 0; at < sizeBytes; ) {
    stop.throwIfAborted();
    const lengthMax = Math.min(buffer.length, sizeBytes - at);
    const { bytesRead } = await file.read(buffer, 0, lengthMax, startByte + at);
    if (bytesRead === 0) break;
    const piece = buffer.subarray(0, bytesRead);
    hash.update(piece);
    await onPiece?.(piece, at);
    at += bytesRead;
  }
  return hash.digest('hex');
}

type Attempt<T> =
  | { readonly kind: 'done'; readonly value: T }
  /**
   * @property gotOn it brought something, so that the count of attempts begins anew.
   * @property waitMs the shortest pause that the other side asks for.
   */
  | {
      readonly kind: 'failed';
      readonly error: unknown;
      readonly gotOn?: boolean;
      readonly waitMs?: number | undefined;
    };

/** Tries again what may succeed the next time. @throws what the last attempt failed with, or the reason of the stop. */
export async function retrying<T>(
  { stop, sleep }: DownloadDeps,
  attempt: () => Promise<Attempt<T>>,
): Promise<T> {
  for (let failures = 0; ; ) {
    stop.throwIfAborted();
    const outcome = await attempt();
    if (outcome.kind === 'done') return outcome.value;
    failures = outcome.gotOn === true ? 1 : failures + 1;
    stop.throwIfAborted();
    if (failures >= attemptsMax) throw outcome.error;
    await sleep(Math.max(pauseMs * 2 ** (failures - 1), Math.min(outcome.waitMs ?? 0, waitMaxMs)));
  }
}

/**
 * Asks once for what is missing of a file.
 *
 * @param request.from bytes that have arrived. @param request.sizeBytes all of them.
 * @param into.restart called before all comes, not only what is missing: what has arrived is of no use.
 * @returns an answer that brings nothing, with what an error says; undefined: all that came was appended.
 * @throws {TransferError} @throws what `into` fails with.
 */
async function transferRest(
  request: {
    href: string;
    header?: Readonly<Record<string, string>>;
    from: number;
    sizeBytes: number;
    stop: AbortSignal;
  },
  into: { restart: () => Promise<void>; append: (piece: Uint8Array) => Promise<void> },
): Promise<{ status: number; text: string } | undefined> {
  const { href, header = {}, from, sizeBytes, stop } = request;
  const idle = idleTimer(stop);
  try {
    const range = from > 0 ? { range: `bytes=${from}-` } : {};
    const headers = { ...header, ...range, 'accept-encoding': 'identity' };
    const response = await fetch(href, { headers, signal: idle.signal }).catch(throwTransferError);
    const { status } = response;
    const rest = `bytes ${from}-${sizeBytes - 1}/${sizeBytes}`;
    const isRest = status === 206 && response.headers.get('content-range') === rest;
    if (!isRest && status !== 200) {
      if (status >= 400) return { status, text: await response.text().catch(throwTransferError) };
      // It may be as long as an object.
      await response.body?.cancel();
      return { status, text: '' };
    }
    // A store that knows no ranges sends all of it.
    if (!isRest) await into.restart();
    for await (const piece of piecesOf(response)) {
      idle.gotOn();
      await into.append(piece);
    }
    return undefined;
  } finally {
    idle.end();
  }
}

/** Ends a transfer that gets nothing on, until `end`. */
export function idleTimer(stop: AbortSignal) {
  const idle = new AbortController();
  const silent = new TransferError(`Nothing arrived for ${idleMs / 1000} s.`);
  const timer = setTimeout(() => idle.abort(silent), idleMs);
  return {
    signal: AbortSignal.any([stop, idle.signal]),
    gotOn: () => void timer.refresh(),
    end: () => clearTimeout(timer),
  };
}

async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? [];
  } catch (error) {
    throwTransferError(error);
  }
}

const throwTransferError = (error: unknown) => throwBroken('', error);

/**
 * The texts of `fetch` may have the URL, whose signature lets anybody in: of those the code alone is told.
 *
 * @param where such as ` to the store`.
 */
export function throwBroken(where: string, error: unknown): never {
  if (error instanceof TransferError) throw error;
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof TransferError) throw cause;
  const code = errorCode(cause);
  throw new TransferError(`The connection${where} failed${code === undefined ? '' : ` (${code})`}.`, {
    cause: error,
  });
}

/** The store did not give what was asked for. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
}

/**
 * Why an archive, or whatever else was to arrive, is not complete, for a person.
 *
 * @param download.goOn how to go on. @returns the same error if it says that, or is a bug.
 */
export function downloadFailure(
  error: unknown,
  {
    isStopped,
    file,
    goOn: hint,
    incomplete = "The archive isn't complete.",
  }: { isStopped: boolean; file: string; goOn: string; incomplete?: string },
): unknown {
  if (isStopped) return new CliError('Stopped.', { hint, failure: 'interrupted', cause: error });
  if (error instanceof TransferError)
    return new CliError(`${incomplete} ${error.message}`, {
      hint,
      failure: 'unavailable',
      cause: error,
    });
  if (error instanceof CliError)
    return error.failure === 'unavailable'
      ? new CliError(error.message, { hint: `${error.hint}\n${hint}`, cause: error })
      : error;
  const code = errorCode(error);
  // Node's own errors have an underscore in their code.
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error;
  return new CliError(`Can't write ${file} (${code}).`, {
    hint: `Free up space, or use a file that you can write. ${hint}`,
    cause: error,
  });
}

/** Gives a whole file its name, which no other file may have by now, unless that is forced. @throws {CliError} */
export async function giveName(
  whole: string,
  name: string,
  { isForced }: { isForced: boolean },
): Promise<void> {
  const isLinked =
    !isForced &&
    (await link(whole, name).then(
      () => true,
      () => false,
    ));
  if (!isLinked && !isForced && existsSync(name))
    throw new CliError(`${name} exists by now. The whole archive is ${whole}.`, {
      hint: 'Move it where you need it.',
    });
  // Some file systems know no links.
  await (isLinked ? rm(whole) : rename(whole, name));
  await syncFolder(path.dirname(name));
}

/** How far a transfer is, on standard error. */
export class TransferProgress {
  readonly #context: Pick<CliContext, 'nowMs'>;
  readonly #line: WaitLine;
  readonly #title: string;
  readonly #rate = new Rate();
  #shownMs = 0;

  /** @param title what each text begins with. */
  constructor(context: Pick<CliContext, 'nowMs'>, line: WaitLine, title = '') {
    this.#context = context;
    this.#line = line;
    this.#title = title;
  }

  /** Shows it now and then. @param more what else a terminal has. */
  show({ bytes, totalBytes }: { bytes: number; totalBytes: number }, more?: () => string): void {
    const nowMs = this.#context.nowMs();
    if (nowMs - this.#shownMs < redrawMs) return;
    this.#shownMs = nowMs;
    this.#rate.note({ ms: nowMs, done: bytes });
    const share = totalBytes === 0 ? 1 : bytes / totalBytes;
    if (!this.#line.inPlace) {
      this.#line.show(`${this.#title}${Math.floor(share * 10) * 10} %`);
      return;
    }
    const { perSecond } = this.#rate;
    const parts = [
      `${this.#title}${(share * 100).toFixed(1)} %`,
      `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`,
      ...(perSecond ? [`${formatBytes(Math.round(perSecond))}/s`] : []),
      ...(perSecond ? [`${formatDuration(((totalBytes - bytes) * 1000) / perSecond)} left`] : []),
      ...(more === undefined ? [] : [more()]),
    ];
    this.#line.show(parts.join(', '));
  }
}
