import { forEachLimited } from '../../core/rules/async.ts';
import {
  type ByteRange,
  type MultipartUpload,
  SourceGoneError,
  type SourceObject,
  type UploadedPart,
  UploadGoneError,
} from '../../core/store/rules/archive-store.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { Crc32s, type StoredCrc32s } from './crc32s.ts';
import type { ExportPorts } from './ports.ts';
import { type ArchiveFormat, formatFor } from './rules/archive-formats.ts';
import {
  type ExportPath,
  type ExportProgress,
  noProgress,
  shardKey,
  shardsPrefix,
  type UnitName,
} from './rules/job.ts';
import { sizeOf } from './rules/layout.ts';
import type { CopyOrder, HeadPiece, LeafPart, OrderedPart, OrderedVolume, Piece } from './rules/orders.ts';

/** As many bytes as fill a worker's bandwidth meanwhile. */
const readBytesAtOnce = 24 * 1024 ** 2;

/**
 * Lets reads begin in the order in which they come, until enough are under way. If all began at once they would also end
 * at once: nothing would be uploaded until then, and nothing read while all of it is uploaded.
 */
export class ReadTurns {
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = [];
  readonly #readsMax: number;
  #reads = 0;
  #bytes = 0;

  /** @param readsMax as many as hide the time until a store answers. */
  constructor(readsMax: number) {
    this.#readsMax = readsMax;
  }

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
    return this.#reads === 0 || (this.#reads < this.#readsMax && this.#bytes + bytes <= readBytesAtOnce);
  }
}

/** Uploaded parts that a worker holds in its memory at a time, together at most. */
const partBytesAtOnceMax = 160 * 1024 ** 2;
const uploadsAtOnceMax = 16;
/** Reads of one part that wait for their turn, or are under way. */
const partReadsAtOnce = 64;

/** A part of an upload that is to be made. */
export type WantedPart = LeafPart & { readonly number: number; readonly sizeBytes: number };

/** @param part of the archive's upload. undefined: one of a shard's was made, or none. */
type OnPart = (work: ExportProgress, part?: UploadedPart) => Promise<void>;

export interface RunPartsInput {
  readonly upload: MultipartUpload;
  readonly parts: readonly WantedPart[];
  /** The parts that the upload had when somebody looked. */
  readonly existing: ReadonlyMap<number, UploadedPart>;
  readonly format: ArchiveFormat;
  /** What the planner made for this archive. */
  readonly made: SourceObject;
  readonly crc32s: Crc32s;
  /** The archive's directory. The parts before it are made then. */
  readonly directory?: (() => Promise<Uint8Array>) | undefined;
  /** Called after each part, and after other work, and awaited. */
  readonly onPart: OnPart;
  /** Whether no other part is to begin. */
  readonly isOver: () => boolean;
}

/**
 * Makes the parts of an upload that it does not have yet, many at a time. One that it has with another size is made
 * again, and so is one whose CRC-32s nobody knows.
 *
 * @returns all parts that it has then. There are fewer than wanted if the time was over.
 * @throws {SourceGoneError} @throws {UploadGoneError} @throws {StoreUnavailableError}
 */
export async function runParts(
  { archives, exportSettings }: Pick<ExportPorts, 'exportSettings'> & Pick<FilePorts, 'archives'>,
  input: RunPartsInput,
): Promise<Map<number, UploadedPart>> {
  const { upload, existing, crc32s, isOver, onPart } = input;
  const done = new Map<number, UploadedPart>();
  const missing: WantedPart[] = [];
  for (const part of input.parts) {
    const found = existing.get(part.number);
    if (found?.sizeBytes === part.sizeBytes && crc32s.has(part)) done.set(part.number, found);
    else missing.push(part);
  }
  const copies = missing.filter((part) => part.kind === 'copy');
  const uploads = missing.filter((part) => part.kind === 'upload');
  const largest = uploads.reduce((most, { sizeBytes }) => Math.max(most, sizeBytes), 1);
  const inMemory = Math.min(uploadsAtOnceMax, Math.max(1, Math.floor(partBytesAtOnceMax / largest)));
  const uploadsAtOnce = input.directory ? 1 : inMemory;
  const { requestsAtOnce } = exportSettings.pace;
  const turns = new ReadTurns(2 * requestsAtOnce);
  /** Of parts that were uploaded. With a new one for each, an export takes a sixth more CPU. */
  const buffers: Uint8Array[] = [];
  let isFailed = false;
  const each = async (part: WantedPart) => {
    if (isOver() || isFailed) return;
    try {
      const made = await makePart(part);
      if (!made) return;
      const [uploaded, work] = made;
      done.set(part.number, uploaded);
      await onPart(work, uploaded);
    } catch (error) {
      // The other pool is to stop, too.
      isFailed = true;
      throw error;
    }
  };
  await Promise.all([
    forEachLimited(copies, requestsAtOnce, each),
    forEachLimited(uploads, uploadsAtOnce, each),
  ]);
  return done;

  async function makePart(part: WantedPart): Promise<[UploadedPart, ExportProgress] | undefined> {
    const { number, sizeBytes } = part;
    if (part.kind === 'copy') {
      const { source, range } = part;
      const copied = await archives.copyPart(upload, { number, source, range, sizeBytes });
      return [copied, { ...noProgress, copiedBytes: sizeBytes, requests: 1 }];
    }
    const buffer = buffers.pop() ?? new Uint8Array(largest);
    const bytes = buffer.subarray(0, sizeBytes);
    const took = await fill(archives, bytes, { ...input, pieces: part.pieces, turns });
    if (!took) return undefined;
    const uploaded = await archives.uploadPart(upload, { number, bytes });
    // Not after an error: an attempt that was given up may still write into it.
    buffers.push(buffer);
    return [uploaded, { ...took, uploadedBytes: sizeBytes, requests: 1 + took.requests }];
  }
}

/** Fills a part with its pieces. @returns what it took. undefined if the time was over before. */
async function fill(
  store: FilePorts['archives'],
  bytes: Uint8Array,
  from: Omit<RunPartsInput, 'parts'> & { pieces: readonly Piece[]; turns: ReadTurns },
): Promise<ExportProgress | undefined> {
  const { pieces, format, made, crc32s, directory, turns } = from;
  const reads: { source: SourceObject; range: ByteRange; into: Uint8Array }[] = [];
  const heads: { piece: HeadPiece; at: number; endsAt: number }[] = [];
  let directoryAt: { range: ByteRange; at: number } | undefined;
  let at = 0;
  for (const piece of pieces) {
    switch (piece.kind) {
      case 'zeros':
        bytes.fill(0, at, at + piece.sizeBytes);
        at += piece.sizeBytes;
        break;
      case 'head': {
        const endsAt = at + (piece.range ? sizeOf(piece.range) : format.headBytes(piece.member));
        heads.push({ piece, at, endsAt });
        at = endsAt;
        break;
      }
      case 'directory':
        directoryAt = { range: piece.range, at };
        at += sizeOf(piece.range);
        break;
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
  // Only the last object can have bytes behind the part.
  const last = heads.at(-1)?.piece;
  const [told] = await Promise.all([
    last && crc32s.told(last),
    forEachLimited(reads, partReadsAtOnce, ({ source, range, into }) =>
      turns.during(into.length, () => store.readInto(source, range, into)),
    ),
  ]);
  let { hashedBytes } = noProgress;
  let requests = reads.length;
  for (const { piece, at, endsAt } of heads) {
    const { member, range } = piece;
    let { crc32 = 0 } = member;
    if (format.hasDirectory && member.crc32 === undefined) {
      const own = bytes.subarray(endsAt, endsAt + member.sizeBytes);
      const found = await crc32s.of(piece, own, piece === last ? told : undefined, from);
      if (!found) return undefined;
      crc32 = found.crc32;
      requests += found.requests;
      hashedBytes += found.hashedBytes;
    }
    bytes.set(format.head({ ...member, crc32 }).subarray(range?.startByte, range?.endByte), at);
  }
  if (directoryAt) {
    const { startByte, endByte } = directoryAt.range;
    if (!directory) throw new Error('The directory is made last.');
    bytes.set((await directory()).subarray(startByte, endByte), directoryAt.at);
  }
  return { ...noProgress, requests, hashedBytes };
}

type ShardPart = Extract<OrderedPart, { kind: 'shard' }>;

interface CopyPartsInput {
  readonly path: ExportPath;
  readonly round: number;
  readonly unit: UnitName;
  readonly order: CopyOrder;
  /** For the last parts of a zip: its directory, with these CRC-32s and all that units have put down. */
  readonly directory?: (found: StoredCrc32s) => Promise<Uint8Array>;
  /** Whether no parts are looked for, because nothing was made yet. */
  readonly isFirst: boolean;
  readonly onPart: OnPart;
  readonly isOver: () => boolean;
}

/**
 * Makes the parts of an order that are not there yet. What is there, the store says: parts of an upload, and shards that
 * are complete. The CRC-32s that a unit of a zip has found are put down.
 *
 * @returns whether all are there. False if the time was over before.
 * @throws {SourceGoneError} @throws {UploadGoneError} @throws {StoreUnavailableError}
 */
export async function copyParts(
  deps: Pick<ExportPorts, 'exportSettings'> & Pick<FilePorts, 'archives'>,
  input: CopyPartsInput,
): Promise<boolean> {
  const { order, directory } = input;
  const crc32s = new Crc32s(deps, input);
  try {
    const isDone = await makeParts(deps, input, crc32s);
    await Promise.all([crc32s.end(), order.format === 'zip' && !directory && crc32s.put(isDone)]);
    return isDone;
  } finally {
    await crc32s.end();
  }
}

async function makeParts(
  deps: Pick<ExportPorts, 'exportSettings'> & Pick<FilePorts, 'archives'>,
  input: CopyPartsInput,
  crc32s: Crc32s,
): Promise<boolean> {
  const { order, isFirst, directory: last, onPart, isOver } = input;
  const format = formatFor(order.format, order);
  const directory = last && (() => last(crc32s.found));
  const shards = new Shards(deps, input);
  for (const [index, volume] of order.volumes.entries()) {
    const own = order.parts.filter((part) => part.volume === index);
    const [existing = new Map()] =
      isFirst || own.length === 0
        ? []
        : await Promise.all([existingParts(deps, volume, own), order.format === 'zip' && crc32s.recall()]);
    const context = { volume, existing, format, crc32s, directory, onPart, isOver };
    const leaves = own.filter((part) => part.kind !== 'shard');
    const done = await runParts(deps, { ...context, upload: volume, made: volume.made, parts: leaves });
    if (done.size < leaves.length) return false;
    for (const part of own) {
      if (part.kind !== 'shard') continue;
      const isThere = existing.get(part.number)?.sizeBytes === part.sizeBytes;
      if (isThere && part.parts.every((each) => crc32s.has(each))) continue;
      if (!(await shards.make(part, context))) return false;
    }
  }
  return true;
}

/** The parts that an archive has already, of those that are wanted. */
async function existingParts(
  { archives }: Pick<FilePorts, 'archives'>,
  volume: MultipartUpload,
  wanted: readonly OrderedPart[],
): Promise<Map<number, UploadedPart>> {
  const found = new Map<number, UploadedPart>();
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

type ShardContext = Omit<RunPartsInput, 'upload' | 'parts' | 'existing' | 'made'> & {
  readonly volume: OrderedVolume;
};

/** The shards of a unit: objects of their own, each of which is then copied as one part. */
class Shards {
  readonly #deps: Pick<ExportPorts, 'exportSettings'> & Pick<FilePorts, 'archives'>;
  readonly #place: { readonly path: ExportPath; readonly round: number };
  #uploads: Promise<Map<string, MultipartUpload>> | undefined;

  constructor(
    deps: Pick<ExportPorts, 'exportSettings'> & Pick<FilePorts, 'archives'>,
    place: { path: ExportPath; round: number },
  ) {
    this.#deps = deps;
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
        const isThere = (await this.#deps.archives.head(key))?.sizeBytes === part.sizeBytes;
        if (!isThere || attempt === shardAttemptsMax) throw error;
        this.#uploads = undefined;
      }
    }
  }

  async #makeOnce(key: string, part: ShardPart, context: ShardContext): Promise<boolean> {
    const { number, sizeBytes } = part;
    const etag = await this.#etagOf(key, part, context);
    if (etag === undefined) return false;
    const source = { key, etag };
    const made = await this.#deps.archives.copyPart(context.volume, { number, source, sizeBytes });
    // Its bytes were counted when they came into the shard.
    await context.onPart({ ...noProgress, requests: 1 }, made);
    return true;
  }

  async #etagOf(key: string, part: ShardPart, context: ShardContext): Promise<string | undefined> {
    const found = await this.#deps.archives.head(key);
    const isKnown = part.parts.every((each) => context.crc32s.has(each));
    if (found?.sizeBytes === part.sizeBytes && isKnown) return found.etag;
    this.#uploads ??= this.#unfinished();
    const unfinished = (await this.#uploads).get(key);
    const upload = unfinished ?? (await this.#deps.archives.createUpload(key));
    const existing = new Map<number, UploadedPart>();
    if (unfinished)
      for await (const page of this.#deps.archives.parts(unfinished))
        for (const each of page) existing.set(each.number, each);
    const parts = part.parts.map((each, index): WantedPart => ({ ...each, number: index + 1 }));
    const { made } = context.volume;
    const onPart = (work: ExportProgress) => context.onPart(work);
    const done = await runParts(this.#deps, { ...context, upload, parts, existing, made, onPart });
    if (done.size < parts.length) return undefined;
    const uploaded = [...done.values()].sort((a, b) => a.number - b.number);
    return (await this.#deps.archives.complete(upload, uploaded)).etag;
  }

  /** The uploads that an earlier worker has begun: one for each shard, whichever it is. */
  async #unfinished(): Promise<Map<string, MultipartUpload>> {
    const { path, round } = this.#place;
    const uploads = new Map<string, MultipartUpload>();
    for await (const page of this.#deps.archives.uploads(shardsPrefix(path, round)))
      for (const upload of page) uploads.set(upload.key, upload);
    return uploads;
  }
}
