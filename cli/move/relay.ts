import { createHash } from 'node:crypto';
import { errorCode } from '../../local/system/durable-file.ts';
import { type DownloadDeps, retrying, TransferError } from '../export/transfer.ts';
import {
  askBatch,
  type BatchAction,
  type BatchAnswer,
  type LfsObject,
  type LfsRepo,
  mediaType,
  type Operation,
} from '../lfs-batch.ts';
import { printable } from '../terminal.ts';

/**
 * Copies objects to an LFS server, from another one or from an archive: each is streamed through this process, with no file. What breaks is begun
 * again with the object; what has arrived is known by asking.
 */

/** Objects of one batch, as git-lfs asks for them. */
const batchObjectsMax = 100;
/** Servers answer some of them slowly, and none is to be waited for. */
const batchesAhead = 3;
/** Of larger objects, one is downloaded and uploaded at the same time. */
const largeObjects = { atOnce: 8, fromBytes: 1024 ** 2 };
/** Of small ones, half are waiting for one side, half for the other. */
const smallObjectsAtOnce = 16;
/** A transfer that gets nothing on for so long is given up. */
const idleMs = 60_000;
/** What LFS servers answer when an account is full. */
const fullCodes: ReadonlySet<number> = new Set([507, 509]);

/** What a source has of an object. */
type SourceOffer =
  /** @property open begins to read its bytes. @throws {TransferError} */
  | { readonly kind: 'found'; readonly open: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>> }
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly message: string };

/** Where objects come from. */
export interface Source {
  /** @returns oid → offer. An object that it doesn't have may be left out. @throws {CliError} */
  offers(deps: DownloadDeps, objects: readonly LfsObject[]): Promise<ReadonlyMap<string, SourceOffer>>;
}

export interface Relay {
  readonly from: Source;
  readonly to: LfsRepo;
  readonly objects: readonly LfsObject[];
  /** Called with the bytes that were uploaded, and of objects that were there; with fewer than none if they're sent again. */
  readonly onBytes: (bytes: number) => void;
}

/** What became of each object. */
export interface Relayed {
  readonly copied: LfsObject[];
  /** They were there. */
  readonly present: LfsObject[];
  /** The source doesn't have them. */
  readonly absent: LfsObject[];
  readonly failed: { readonly object: LfsObject; readonly message: string }[];
  /** Why nothing more is taken: the target is full. Objects that are in no list weren't tried. */
  full: string | undefined;
}

/** @throws {CliError} when a server refuses batches. @throws {TransferError} when one doesn't respond any more. */
export async function relay(deps: DownloadDeps, input: Relay): Promise<Relayed> {
  const relayed: Relayed = { copied: [], present: [], absent: [], failed: [], full: undefined };
  const sorted = [...input.objects].sort((a, b) => b.sizeBytes - a.sizeBytes);
  const large = sorted.filter(({ sizeBytes }) => sizeBytes >= largeObjects.fromBytes);
  const small = sorted.slice(large.length);
  await copyAll(deps, { ...input, objects: large, relayed, atOnce: largeObjects.atOnce });
  await copyAll(deps, { ...input, objects: small, relayed, atOnce: smallObjectsAtOnce });
  return relayed;
}

interface Copying extends Relay {
  readonly relayed: Relayed;
  readonly atOnce: number;
}

async function copyAll(deps: DownloadDeps, copying: Copying): Promise<void> {
  const { relayed, atOnce, onBytes } = copying;
  const failed = new AbortController();
  const stop = AbortSignal.any([deps.stop, failed.signal]);
  const offered = offeredCopies({ ...deps, stop }, copying);
  let failedInRow = 0;
  const work = async () => {
    for (;;) {
      stop.throwIfAborted();
      const next = await offered.next();
      if (next.done) return;
      const { object } = next.value;
      try {
        const copied = await copy({ ...deps, stop }, { ...copying, offered: next.value });
        if (copied.kind === 'full') relayed.full ??= copied.message;
        else if (copied.kind === 'refused') relayed.failed.push({ object, message: copied.message });
        else relayed[copied.kind].push(object);
        if (copied.kind !== 'copied') onBytes(object.sizeBytes);
        failedInRow = 0;
      } catch (error) {
        if (!(error instanceof TransferError)) throw error;
        failedInRow += 1;
        if (failedInRow >= atOnce) throw error;
        relayed.failed.push({ object, message: error.message });
        onBytes(object.sizeBytes);
      }
    }
  };
  const workers = Array.from({ length: atOnce }, () => work().catch((error: unknown) => failed.abort(error)));
  await Promise.all(workers);
  deps.stop.throwIfAborted();
  // The first one that failed is the cause; the others were stopped.
  failed.signal.throwIfAborted();
}

interface OfferedCopy {
  readonly object: LfsObject;
  readonly source: SourceOffer;
  readonly target: BatchAnswer | undefined;
}

/** Asks for batches ahead, while others are copied. Nothing is asked for once the target is full. */
async function* offeredCopies(deps: DownloadDeps, copying: Copying): AsyncGenerator<OfferedCopy> {
  const { objects, relayed } = copying;
  const asked: Promise<OfferedCopy[]>[] = [];
  for (let at = 0; ; ) {
    for (; asked.length < batchesAhead && at < objects.length && !relayed.full; at += batchObjectsMax) {
      const offers = offersOf(deps, { ...copying, objects: objects.slice(at, at + batchObjectsMax) });
      // It is thrown where it is waited for.
      offers.catch(() => undefined);
      asked.push(offers);
    }
    for (const offer of (await asked.shift()) ?? []) {
      if (relayed.full !== undefined) return;
      yield offer;
    }
    if (asked.length === 0 && (at >= objects.length || relayed.full !== undefined)) return;
  }
}

/** What is there already is noted. An upload is asked for only if the source has the object: what is asked for is reserved. */
async function offersOf(
  deps: DownloadDeps,
  { from, to, objects, relayed, onBytes }: Copying,
): Promise<OfferedCopy[]> {
  const there = await answersOf(deps, to, { operation: 'download', objects });
  const wanted: LfsObject[] = [];
  for (const object of objects) {
    if (!there.get(object.oid)?.actions?.download) {
      wanted.push(object);
      continue;
    }
    relayed.present.push(object);
    onBytes(object.sizeBytes);
  }
  if (wanted.length === 0) return [];
  const sources = await from.offers(deps, wanted);
  const found = wanted.filter(({ oid }) => sources.get(oid)?.kind === 'found');
  const targets =
    found.length === 0 ? undefined : await answersOf(deps, to, { operation: 'upload', objects: found });
  return wanted.map((object) => {
    const { oid } = object;
    return { object, source: sources.get(oid) ?? absent, target: targets?.get(oid) };
  });
}

const absent: SourceOffer = { kind: 'absent' };
const nothing: ReadonlyMap<string, BatchAnswer> = new Map();

/** @returns oid → answer. Of a repo that isn't there nothing can be downloaded. @throws {CliError} */
async function answersOf(
  deps: DownloadDeps,
  repo: LfsRepo,
  asked: { operation: Operation; objects: readonly LfsObject[] },
): Promise<ReadonlyMap<string, BatchAnswer>> {
  const answers = await askBatch(deps, repo, asked);
  if (answers !== 'absent') return answers;
  if (asked.operation === 'download') return nothing;
  throw repo.refusal('upload', { status: 404, body: undefined });
}

type Copied =
  | { readonly kind: 'copied' | 'absent' }
  | { readonly kind: 'refused' | 'full'; readonly message: string };

/** Copies one object, again with new URLs if that breaks. @throws {TransferError} what the last attempt failed with. */
async function copy(deps: DownloadDeps, input: Copying & { readonly offered: OfferedCopy }): Promise<Copied> {
  const { offered, onBytes } = input;
  const { object } = offered;
  let offers: OfferedCopy | undefined = offered;
  let refusals = 0;
  return retrying<Copied>(deps, async () => {
    let sent = 0;
    try {
      // Of another attempt: the first URLs may have expired, or the object may have arrived.
      offers ??= await newOffers(deps, input);
      const judged = judge(offers);
      if ('kind' in judged) return { kind: 'done', value: judged };
      offers = undefined;
      await stream(deps, {
        ...judged,
        object,
        onBytes: (bytes) => {
          sent += bytes;
          onBytes(bytes);
        },
      });
      return { kind: 'done', value: { kind: 'copied' } };
    } catch (error) {
      onBytes(-sent);
      deps.stop.throwIfAborted();
      if (!(error instanceof TransferError)) throw error;
      if (error instanceof RefusedError) refusals += 1;
      if (refusals > 1) return { kind: 'done', value: { kind: 'refused', message: error.message } };
      return { kind: 'failed', error };
    }
  });
}

async function newOffers(
  deps: DownloadDeps,
  { from, to, offered: { object } }: Copying & { readonly offered: OfferedCopy },
): Promise<OfferedCopy> {
  const objects = [object];
  const source = (await from.offers(deps, objects)).get(object.oid) ?? absent;
  const target = (await answersOf(deps, to, { operation: 'upload', objects })).get(object.oid);
  return { object, source, target };
}

interface Streamed {
  readonly source: Extract<SourceOffer, { kind: 'found' }>;
  readonly upload: BatchAction;
  readonly verify: BatchAction | undefined;
}

/** What both sides say of an object: that it can be copied, or what becomes of it. */
function judge({ source, target }: OfferedCopy): Copied | Streamed {
  if (source.kind !== 'found') return source;
  const { error, actions } = target ?? {};
  if (error) {
    const message = `${printable(error.message)} (${error.code})`;
    return { kind: fullCodes.has(error.code) ? 'full' : 'refused', message };
  }
  // Somebody else has uploaded it meanwhile.
  if (!actions?.upload) return { kind: 'copied' };
  return { source, upload: actions.upload, verify: actions.verify };
}

/** A repo of an LFS server as a source. */
export function repoSource(repo: LfsRepo): Source {
  return {
    async offers(deps, objects) {
      const answers = await answersOf(deps, repo, { operation: 'download', objects });
      return new Map([...answers].map(([oid, answer]) => [oid, offerOf(answer)]));
    },
  };
}

function offerOf({ actions, error }: BatchAnswer): SourceOffer {
  const download = actions?.download;
  if (download)
    return {
      kind: 'found',
      open: async (signal) =>
        (await send('source', download, { headers: { 'accept-encoding': 'identity' }, signal })).body ??
        ReadableStream.from<Uint8Array>([]),
    };
  if (error === undefined || error.code === 404 || error.code === 410) return absent;
  return { kind: 'refused', message: `the source: ${printable(error.message)} (${error.code})` };
}

/** @throws {TransferError} unless it is answered with success. */
async function send(whose: Side, { href, header }: BatchAction, init: RequestInit): Promise<Response> {
  const headers = new Headers({ ...(init.headers as Record<string, string> | undefined), ...header });
  // Some servers ask for pieces. With a length, they take all of it as well.
  headers.delete('transfer-encoding');
  const response = await fetch(href, { ...init, headers }).catch((error) => throwOf(whose, error));
  if (response.ok) return response;
  await response.body?.cancel();
  const isForNow = response.status >= 500 || response.status === 408 || response.status === 429;
  const text = `The ${whose} returned ${response.status}.`;
  throw isForNow ? new TransferError(text) : new RefusedError(text);
}

type Side = 'source' | 'target';

/** Trying again with another URL might help, but once. */
class RefusedError extends TransferError {}

/**
 * Sends the bytes of a download as the body of an upload. The last piece is sent once all of them have the right SHA-256, so
 * that no server can store others.
 *
 * @throws {TransferError}
 */
async function stream(
  { stop }: DownloadDeps,
  input: Streamed & Pick<Relay, 'onBytes'> & { object: LfsObject },
): Promise<void> {
  const { source, upload, verify, object, onBytes } = input;
  const idle = new AbortController();
  const silent = new TransferError(`Nothing arrived for ${idleMs / 1000} s.`);
  const timer = setTimeout(() => idle.abort(silent), idleMs);
  const signal = AbortSignal.any([stop, idle.signal]);
  try {
    const pieces = checked(await source.open(signal), object, (bytes) => {
      timer.refresh();
      onBytes(bytes);
    });
    const stored = await send('target', upload, {
      method: 'PUT',
      headers: { 'content-length': String(object.sizeBytes), 'content-type': 'application/octet-stream' },
      // An empty body of a stream would come in pieces, which no store takes.
      ...(object.sizeBytes === 0 ? { body: '' } : { body: ReadableStream.from(pieces), duplex: 'half' }),
      signal,
    });
    await stored.arrayBuffer().catch((error) => throwOf('target', error));
    if (!verify) return;
    const { oid, sizeBytes: size } = object;
    const headers = { accept: mediaType, 'content-type': mediaType };
    await send('target', verify, { method: 'POST', headers, body: JSON.stringify({ oid, size }), signal });
  } finally {
    clearTimeout(timer);
  }
}

/** The pieces of an object. The last one comes once all of them are known to be right. @throws {TransferError} */
async function* checked(
  pieces: AsyncIterable<Uint8Array>,
  { oid, sizeBytes }: LfsObject,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let bytes = 0;
  let held: Uint8Array | undefined;
  try {
    for await (const piece of pieces) {
      if (piece.length === 0) continue;
      bytes += piece.length;
      if (bytes > sizeBytes) break;
      hash.update(piece);
      if (held) yield held;
      held = piece;
      onBytes(piece.length);
    }
  } catch (error) {
    throwOf('source', error);
  }
  if (bytes < sizeBytes) throw new TransferError('The source broke off.');
  if (bytes > sizeBytes || hash.digest('hex') !== oid)
    throw new RefusedError('The source sent other bytes than the pointer says.');
  if (held) yield held;
}

/** The texts of `fetch` may have the URL, whose signature lets anybody in: of those the code alone is told. */
function throwOf(whose: Side, error: unknown): never {
  if (error instanceof TransferError) throw error;
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof TransferError) throw cause;
  const code = errorCode(cause);
  throw new TransferError(`The connection to the ${whose} failed${code === undefined ? '' : ` (${code})`}.`, {
    cause: error,
  });
}
