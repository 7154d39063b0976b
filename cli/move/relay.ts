import { transferEach } from '../at-once.ts';
import {
  askBatch,
  type BatchAction,
  type BatchAnswer,
  batchObjectsMax,
  type LfsObject,
  type LfsRepo,
  mediaType,
  type Operation,
} from '../lfs-batch.ts';
import { type DownloadDeps, idleMs } from '../transfer.ts';
import { putObject, RefusedError, read, requestByHand, sendAgain } from './put.ts';

/**
 * Copies objects to an LFS server, from another one or from an archive: each is streamed through this process, with no file. What breaks is begun
 * again with the object; what has arrived is known by asking.
 */

/** Servers answer some of them slowly, and none is to be waited for. */
const batchesAhead = 3;
/** Of larger objects, one is downloaded and uploaded at the same time. */
const largeObjects = { atOnce: 8, fromBytes: 1024 ** 2 };
/** Of small ones, half are waiting for one side, half for the other. */
const smallObjectsAtOnce = 24;
/** What LFS servers answer when an account is full. */
export const fullCodes: ReadonlySet<number> = new Set([507, 509]);

/** What a source has of an object. */
type SourceOffer =
  /** @property open begins to read its bytes. @throws {TransferError} */
  | { readonly kind: 'found'; readonly open: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>> }
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly message: string };

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
  /** Tells a person at once. */
  readonly say: (text: string) => void;
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

export const nothingYet = (): Relayed => ({
  copied: [],
  present: [],
  absent: [],
  failed: [],
  full: undefined,
});

/**
 * @returns `relayed`, with what became of these.
 * @throws {CliError} when a server refuses batches. @throws {TransferError} when one doesn't respond any more.
 */
export async function relay(
  deps: DownloadDeps,
  input: Relay,
  relayed: Relayed = nothingYet(),
): Promise<Relayed> {
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
  await transferEach(deps, {
    atOnce,
    itemsOf: (stop) => offeredCopies({ ...deps, stop }, copying),
    nameOf: ({ object }) => object.oid,
    async transfer(offered, stop) {
      const { object } = offered;
      const copied = await copy({ ...deps, stop }, { ...copying, offered });
      if (copied.kind === 'full') relayed.full ??= copied.message;
      else if (copied.kind === 'refused') relayed.failed.push({ object, message: copied.message });
      else relayed[copied.kind].push(object);
      if (copied.kind !== 'copied') onBytes(object.sizeBytes);
    },
    onFailed({ object }, { message }) {
      relayed.failed.push({ object, message });
      onBytes(object.sizeBytes);
    },
  });
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

/** What both sides say of what isn't there already, which is noted. */
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
  return wanted.length === 0 ? [] : sidesOf(deps, { from, to, objects: wanted });
}

/** An upload is asked for only if the source has the object: what is asked for is reserved. */
async function sidesOf(
  deps: DownloadDeps,
  { from, to, objects }: Pick<Relay, 'from' | 'to' | 'objects'>,
): Promise<OfferedCopy[]> {
  const sources = await from.offers(deps, objects);
  const found = objects.filter(({ oid }) => sources.get(oid)?.kind === 'found');
  const targets =
    found.length === 0 ? nothing : await answersOf(deps, to, { operation: 'upload', objects: found });
  return objects.map((object) => {
    const { oid } = object;
    return { object, source: sources.get(oid) ?? absent, target: targets.get(oid) };
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
  const { object } = input.offered;
  let isAgain = false;
  const attempt = async (onBytes: (bytes: number) => void): Promise<Copied> => {
    // Of another attempt: the first URLs may have expired, or the object may have arrived.
    const [offer = input.offered] = isAgain ? await sidesOf(deps, { ...input, objects: [object] }) : [];
    isAgain = true;
    const judged = judge(offer);
    if ('kind' in judged) return judged;
    await stream(deps, { ...judged, object, onBytes });
    return { kind: 'copied' };
  };
  return sendAgain(deps, { onBytes: input.onBytes, attempt }).catch((error: unknown) => {
    if (error instanceof RefusedError) return { kind: 'refused', message: error.message };
    throw error;
  });
}

interface Streamed {
  readonly source: Extract<SourceOffer, { kind: 'found' }>;
  readonly upload: BatchAction;
  readonly verify: BatchAction | undefined;
}

/** What both sides say of an object: that it can be copied, or what becomes of it. */
function judge({ source, target }: OfferedCopy): Copied | Streamed {
  if (source.kind !== 'found') return source;
  if (!target) return { kind: 'refused', message: "the target's answer leaves it out" };
  const { error, actions } = target;
  if (error) {
    const message = `${error.message} (${error.code})`;
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
  if (download) return { kind: 'found', open: (signal) => read(download, signal) };
  if (error === undefined || error.code === 404 || error.code === 410) return absent;
  return { kind: 'refused', message: `the source: ${error.message} (${error.code})` };
}

/** Sends the bytes of a download as the body of an upload, and tells the target that it's there. @throws {TransferError} */
async function stream(
  { stop }: DownloadDeps,
  { source, upload, verify, object, onBytes }: Streamed & Pick<Relay, 'onBytes'> & { object: LfsObject },
): Promise<void> {
  await putObject({ stop }, { open: source.open, to: 'target', upload, object, onBytes });
  if (verify) await verifyObject('target', { stop, verify, object });
}

/** @throws {TransferError} */
export async function verifyObject(
  to: 'server' | 'target',
  { stop, verify, object }: { stop: AbortSignal; verify: BatchAction; object: LfsObject },
): Promise<void> {
  const { oid, sizeBytes: size } = object;
  const body = Buffer.from(JSON.stringify({ oid, size }));
  const headers = { accept: mediaType, 'content-type': mediaType, 'content-length': `${body.length}` };
  const signal = AbortSignal.any([stop, AbortSignal.timeout(idleMs)]);
  await requestByHand(to, { method: 'POST', action: verify, headers, pieces: [body], signal });
}
