import type { Deps } from '../deps.ts';
import { forEachLimited } from '../rules/async.ts';
import {
  type MultipartUpload,
  SourceGoneError,
  type SourceObject,
  type UploadedPart,
  UploadGoneError,
} from '../store/rules/archive-store.ts';
import { type ArchiveFormat, formatFor } from './rules/archive-formats.ts';
import { type ExportPath, shardKey, shardsPrefix } from './rules/job.ts';
import { sizeOf } from './rules/layout.ts';
import type { CopyOrder, LeafPart, OrderedPart, OrderedVolume, Piece } from './rules/orders.ts';

/** As many reads as hide the time until a store answers. */
const readsAtOnce = 64;
/** As many bytes as fill a worker's bandwidth meanwhile. */
const readBytesAtOnce = 24 * 1024 ** 2;

/**
 * Lets reads begin in the order in which they come, until enough are under way. If all began at once they would also end
 * at once: nothing would be uploaded until then, and nothing read while all of it is uploaded.
 */
export class ReadTurns {
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = [];
  #reads = 0;
  #bytes = 0;

  /** Runs a read when it is its turn. One that is larger than all that may be under way runs alone. */
  async during(bytes: number, read: () => Promise<void>): Promise<void> {
    await new Promise<void>((begin) => {
      this.#waiting.push({ bytes, begin });
      this.#beginNext();
    });
    try {
      await read();
    } finally {
      this.#reads -= 1;
      this.#bytes -= bytes;
      this.#beginNext();
    }
  }

  #beginNext(): void {
    for (let next = this.#waiting[0]; next && this.#hasRoomFor(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#reads += 1;
      this.#bytes += next.bytes;
      next.begin();
    }
  }

  #hasRoomFor(bytes: number): boolean {
    return this.#reads === 0 || (this.#reads < readsAtOnce && this.#bytes + bytes <= readBytesAtOnce);
  }
}

/** Copies at a time: the store does the work. */
const copiesAtOnce = 32;
/** Uploaded parts that a worker holds in its memory at a time, together at most. */
const partBytesAtOnceMax = 160 * 1024 ** 2;
const uploadsAtOnceMax = 16;
/** Reads of one part that wait for their turn, or are under way. */
const partReadsAtOnce = 64;

/** A part of an upload that is to be made. */
export type WantedPart = LeafPart & { readonly number: number; readonly sizeBytes: number };

export interface RunPartsInput {
  readonly upload: MultipartUpload;
  readonly parts: readonly WantedPart[];
  /** The parts that the upload had when somebody looked. */
  readonly existing: ReadonlyMap<number, UploadedPart>;
  readonly format: ArchiveFormat;
  /** What the planner made for this archive. */
  readonly made: SourceObject;
  /** Called after each part, and awaited. */
  readonly onPart: (work: PartWork) => Promise<void>;
  /** Whether no other part is to begin. */
  readonly isOver: () => boolean;
}

/** What a part took. */
export interface PartWork {
  readonly uploadedBytes: number;
  readonly copiedBytes: number;
  readonly requests: number;
}

/**
 * Makes the parts of an upload that it does not have yet, many at a time. One that it has with another size is made
 * again.
 *
 * @returns all parts that it has then. There are fewer than wanted if the time was over.
 * @throws {SourceGoneError} @throws {UploadGoneError} @throws {StoreUnavailableError}
 */
export async function runParts(
  { archives }: Pick<Deps, 'archives'>,
  input: RunPartsInput,
): Promise<Map<number, UploadedPart>> {
  const { upload, existing, isOver, onPart } = input;
  const done = new Map<number, UploadedPart>();
  const missing: WantedPart[] = [];
  for (const part of input.parts) {
    const found = existing.get(part.number);
    if (found?.sizeBytes === part.sizeBytes) done.set(part.number, found);
    else missing.push(part);
  }
  const copies = missing.filter((part) => part.kind === 'copy');
  const uploads = missing.filter((part) => part.kind === 'upload');
  const largest = uploads.reduce((most, { sizeBytes }) => Math.max(most, sizeBytes), 1);
  const uploadsAtOnce = Math.min(uploadsAtOnceMax, Math.max(1, Math.floor(partBytesAtOnceMax / largest)));
  const turns = new ReadTurns();
  let isFailed = false;
  const each = async (part: WantedPart) => {
    if (isOver() || isFailed) return;
    try {
      const [made, work] = await makePart(archives, part, input);
      done.set(part.number, made);
      await onPart(work);
    } catch (error) {
      // The other pool is to stop, too.
      isFailed = true;
      throw error;
    }
  };
  await Promise.all([
    forEachLimited(copies, copiesAtOnce, each),
    forEachLimited(uploads, uploadsAtOnce, each),
  ]);
  return done;

  async function makePart(
    store: Deps['archives'],
    part: WantedPart,
    { format, made }: RunPartsInput,
  ): Promise<[UploadedPart, PartWork]> {
    const { number, sizeBytes } = part;
    if (part.kind === 'copy') {
      const { source, range } = part;
      const copied = await store.copyPart(upload, { number, source, range, sizeBytes });
      return [copied, { uploadedBytes: 0, copiedBytes: sizeBytes, requests: 1 }];
    }
    const bytes = new Uint8Array(sizeBytes);
    const reads = await fill(store, bytes, { pieces: part.pieces, format, made, turns });
    const uploaded = await store.uploadPart(upload, { number, bytes });
    return [uploaded, { uploadedBytes: sizeBytes, copiedBytes: 0, requests: 1 + reads }];
  }
}

/** Fills a part with its pieces. @returns how many requests it took. */
async function fill(
  store: Deps['archives'],
  bytes: Uint8Array,
  from: { pieces: readonly Piece[]; format: ArchiveFormat; made: SourceObject; turns: ReadTurns },
): Promise<number> {
  const { pieces, format, made, turns } = from;
  const reads: { source: SourceObject; range: { startByte: number; endByte: number }; into: Uint8Array }[] =
    [];
  let at = 0;
  for (const piece of pieces) {
    switch (piece.kind) {
      case 'zeros':
        at += piece.sizeBytes;
        break;
      case 'head': {
        const head = format.head(piece.member);
        const shown = piece.range ? head.subarray(piece.range.startByte, piece.range.endByte) : head;
        bytes.set(shown, at);
        at += shown.length;
        break;
      }
      case 'object':
      case 'made': {
        const source = piece.kind === 'object' ? piece.source : made;
        const end = at + sizeOf(piece.range);
        reads.push({ source, range: piece.range, into: bytes.subarray(at, end) });
        at = end;
      }
    }
  }
  if (at !== bytes.length) throw new Error(`A part has ${at} bytes instead of ${bytes.length}.`);
  await forEachLimited(reads, partReadsAtOnce, ({ source, range, into }) =>
    turns.during(into.length, () => store.readInto(source, range, into)),
  );
  return reads.length;
}

type ShardPart = Extract<OrderedPart, { kind: 'shard' }>;

interface CopyPartsInput {
  readonly path: ExportPath;
  readonly round: number;
  readonly order: CopyOrder;
  /** Whether no parts are looked for, because nothing was made yet. */
  readonly isFirst: boolean;
  readonly onPart: (work: PartWork) => Promise<void>;
  readonly isOver: () => boolean;
}

/**
 * Makes the parts of an order that are not there yet. What is there, the store says: parts of an upload, and shards that
 * are complete.
 *
 * @returns whether all are there. False if the time was over before.
 * @throws {SourceGoneError} @throws {UploadGoneError} @throws {StoreUnavailableError}
 */
export async function copyParts(
  deps: Pick<Deps, 'archives'>,
  { path, round, order, isFirst, onPart, isOver }: CopyPartsInput,
): Promise<boolean> {
  const format = formatFor(order.format, order);
  const shards = new Shards(deps, { path, round });
  for (const [index, volume] of order.volumes.entries()) {
    const own = order.parts.filter((part) => part.volume === index);
    const existing = isFirst ? new Map() : await existingParts(deps, volume, own);
    const context = { volume, existing, format, onPart, isOver };
    const leaves = own.filter((part) => part.kind !== 'shard');
    const done = await runParts(deps, {
      ...context,
      upload: volume,
      made: volume.made,
      parts: leaves,
    });
    if (done.size < leaves.length) return false;
    for (const part of own) {
      if (part.kind !== 'shard' || existing.get(part.number)?.sizeBytes === part.sizeBytes) continue;
      if (!(await shards.make(part, context))) return false;
    }
  }
  return true;
}

/** The parts that an archive has already, of those that are wanted. */
async function existingParts(
  { archives }: Pick<Deps, 'archives'>,
  volume: MultipartUpload,
  wanted: readonly OrderedPart[],
): Promise<Map<number, UploadedPart>> {
  const found = new Map<number, UploadedPart>();
  if (wanted.length === 0) return found;
  const numbers = wanted.map(({ number }) => number);
  const last = Math.max(...numbers);
  for await (const page of archives.parts(volume, { after: Math.min(...numbers) - 1 })) {
    for (const part of page) found.set(part.number, part);
    if ((page.at(-1)?.number ?? 0) >= last) break;
  }
  return found;
}

/** Each attempt at a shard but the first begins because another worker has made it. */
const shardAttemptsMax = 3;

interface ShardContext {
  readonly volume: OrderedVolume;
  readonly format: ArchiveFormat;
  readonly onPart: (work: PartWork) => Promise<void>;
  readonly isOver: () => boolean;
}

/** The shards of a unit: objects of their own, each of which is then copied as one part. */
class Shards {
  readonly #archives: Deps['archives'];
  readonly #place: { readonly path: ExportPath; readonly round: number };
  #uploads: Promise<Map<string, MultipartUpload>> | undefined;

  constructor({ archives }: Pick<Deps, 'archives'>, place: { path: ExportPath; round: number }) {
    this.#archives = archives;
    this.#place = place;
  }

  /** @returns false if the time was over before. */
  async make(part: ShardPart, context: ShardContext): Promise<boolean> {
    const key = shardKey(this.#place.path, { ...this.#place, volume: part.volume, part: part.number });
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#makeOnce(key, part, context);
      } catch (error) {
        if (!(error instanceof SourceGoneError || error instanceof UploadGoneError)) throw error;
        // Another worker may have completed or replaced it meanwhile, or this did, and the answer was lost.
        const isThere = (await this.#archives.head(key))?.sizeBytes === part.sizeBytes;
        if (!isThere || attempt === shardAttemptsMax) throw error;
      }
    }
  }

  async #makeOnce(key: string, part: ShardPart, context: ShardContext): Promise<boolean> {
    const { number, sizeBytes } = part;
    const etag = await this.#etagOf(key, part, context);
    if (etag === undefined) return false;
    await this.#archives.copyPart(context.volume, { number, source: { key, etag }, sizeBytes });
    // Its bytes were counted when they came into the shard.
    await context.onPart({ uploadedBytes: 0, copiedBytes: 0, requests: 1 });
    return true;
  }

  async #etagOf(key: string, part: ShardPart, context: ShardContext): Promise<string | undefined> {
    const found = await this.#archives.head(key);
    if (found?.sizeBytes === part.sizeBytes) return found.etag;
    this.#uploads ??= this.#unfinished();
    const unfinished = (await this.#uploads).get(key);
    const upload = unfinished ?? (await this.#archives.createUpload(key));
    const existing = new Map<number, UploadedPart>();
    if (unfinished)
      for await (const page of this.#archives.parts(unfinished))
        for (const each of page) existing.set(each.number, each);
    const parts = part.parts.map((each, index): WantedPart => ({ ...each, number: index + 1 }));
    const { format, onPart, isOver, volume } = context;
    const done = await runParts(
      { archives: this.#archives },
      { upload, parts, existing, format, made: volume.made, onPart, isOver },
    );
    if (done.size < parts.length) return undefined;
    const uploaded = [...done.values()].sort((a, b) => a.number - b.number);
    return (await this.#archives.complete(upload, uploaded)).etag;
  }

  /** The uploads that an earlier worker has begun: one for each shard, whichever it is. */
  async #unfinished(): Promise<Map<string, MultipartUpload>> {
    const { path, round } = this.#place;
    const uploads = new Map<string, MultipartUpload>();
    for await (const page of this.#archives.uploads(shardsPrefix(path, round)))
      for (const upload of page) uploads.set(upload.key, upload);
    return uploads;
  }
}
