import { createHash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { type FileHandle, link, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { syncFolder } from '../local/system/durable-file.ts';
import { CliError } from './errors.ts';
import {
  type Attempt,
  type DownloadDeps,
  idleTimer,
  retrying,
  TransferError,
  throwBroken,
} from './transfer.ts';

/** A file that is downloaded, and goes on after a break. */

/** A link that somebody has put there leads to a file of theirs. Windows has no such flag. */
export const noLink = constants.O_NOFOLLOW ?? 0;
/** Bytes that are read at a time. */
const pieceBytes = 256 * 1024;

/** Where bytes are downloaded, or why they are not. */
export type Offer =
  | { readonly kind: 'offered'; readonly href: string; readonly header?: Readonly<Record<string, string>> }
  /** They are not stored any more. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'refused'; readonly message: string };

/** What became of a download. */
export type Fetched = { readonly kind: 'complete' } | Exclude<Offer, { kind: 'offered' }>;

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

async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? [];
  } catch (error) {
    throwTransferError(error);
  }
}

const throwTransferError = (error: unknown) => throwBroken('', error);

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
    throw new CliError(`${name} exists by now. All of it is in ${whole}.`, {
      hint: 'Move it where you need it.',
    });
  // Some file systems know no links.
  await (isLinked ? rm(whole) : rename(whole, name));
  await syncFolder(path.dirname(name));
}
