import type { Deps } from '../../deps.ts';
import type { ArchiveFormat } from '../../domain/export/archive-format.ts';
import { sizeOf } from '../../domain/export/byte-range.ts';
import type { LeafPart, Piece } from '../../domain/export/work-order.ts';
import type { MultipartUpload, SourceObject, UploadedPart } from '../../ports/archive-store.ts';
import { forEachLimited } from '../../rules/async.ts';
import { ReadTurns } from './read-turns.ts';

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
