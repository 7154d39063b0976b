import type { ByteRange, SourceObject } from '../../../core/store/rules/archive-store.ts';
import { type Member, recordCrc32Byte } from './archive-formats.ts';
import { type Layout, overlapOf, sizeOf } from './layout.ts';
import type { StoredObject } from './objects.ts';
import type { Part } from './parts.ts';
import { partFigures, type ShardPart, secondsOf, type VolumePlan } from './plan.ts';
import type { ExportSettings, WorkerPace } from './settings.ts';

/** An export has no more units: each is an order in the store, and a message. */
const unitsMax = 400;
/** Shorter units aren't made to be shared: between two, a worker's network is idle for some 0.7 s. */
const unitSecondsAim = 3;
/** A unit takes at least as long, or messages and orders would take most of the time. */
const unitSecondsMin = 0.5;
/** As many units for each worker, so that those that begin late, or are slow, leave theirs to the others. */
const unitsOfWorker = 4;
/** What a worker with nobody to share with does at a time. It must end within one run of its function. */
const aloneSeconds = 120;

/** A part of an archive, and what a worker needs for it. */
export interface PlannedPart {
  /** The index of its volume. */
  readonly volume: number;
  /** Of its upload, from 1. */
  readonly number: number;
  readonly part: Part | ShardPart;
  readonly layout: Layout;
  readonly seconds: number;
}

/** The parts of all archives of an export, one by one. */
export function* plannedParts(
  volumes: readonly VolumePlan[],
  settings: Pick<ExportSettings, 'pace' | 'tellsCrc32'>,
): Generator<PlannedPart> {
  for (const [volume, { layout, parts }] of volumes.entries()) {
    let number = 0;
    for (const part of parts()) {
      number += 1;
      yield { volume, number, part, layout, seconds: secondsOf(partFigures(part, layout), settings) };
    }
  }
}

/**
 * Shares parts out to units, in their order: at most 400. A unit is what one worker does at a time: of nearly the same
 * duration, and never empty. Each worker gets equally many, or the last ones would be done by a few while the others wait.
 *
 * @param total.seconds the sum of those of all parts.
 */
export function* unitsOf<T extends { readonly seconds: number }>(
  parts: Iterable<T>,
  total: { seconds: number; pace: WorkerPace },
): Generator<T[]> {
  const target = total.seconds / unitCountOf(total);
  let unit: T[] = [];
  let sharedSeconds = 0;
  // By the sum of all, so that what one unit has too much, the next does not get.
  let endsAtSeconds = target;
  for (const part of parts) {
    const partSeconds = part.seconds;
    if (unit.length > 0 && sharedSeconds + partSeconds / 2 > endsAtSeconds) {
      yield unit;
      unit = [];
      while (sharedSeconds + partSeconds / 2 > endsAtSeconds) endsAtSeconds += target;
    }
    unit.push(part);
    sharedSeconds += partSeconds;
  }
  if (unit.length > 0) yield unit;
}

/** How many units there are to be: as many for each worker, unless they would be too short or too many. */
function unitCountOf({ seconds, pace }: { seconds: number; pace: WorkerPace }): number {
  const { workers } = pace;
  const each = seconds / workers;
  const shared = Math.max(Math.min(Math.round(each / unitSecondsAim), unitsOfWorker), each / aloneSeconds);
  const wanted = Math.ceil(workers === 1 ? each / aloneSeconds : shared);
  const most = Math.floor(unitsMax / workers) * workers || unitsMax;
  return Math.max(1, Math.min(wanted * workers, most, Math.floor(seconds / unitSecondsMin)));
}

/** A smaller object is read sooner than it is copied, and for less. */
const copyFromBytes = 1024 ** 2;
/** Stores copy no more in one request. */
const copyBytesMax = 5 * 1024 ** 3;

/** Whether the store is to tell an object's CRC-32 with a copy of it. Otherwise a worker reads it. */
export function isHashedByCopy(
  { sizeBytes }: Pick<Member, 'sizeBytes'>,
  { tellsCrc32 }: Pick<ExportSettings, 'tellsCrc32'>,
): boolean {
  return tellsCrc32 && sizeBytes >= copyFromBytes && sizeBytes <= copyBytesMax;
}

/** Bytes that are made: heads, padding, manifest, index, directory, end. */
interface LiteralSegment {
  readonly kind: 'literal';
  readonly sizeBytes: number;
  /** The object whose CRC-32 {@link bytes} wants. undefined: it wants none. */
  readonly crc32Of: StoredObject | undefined;
  /** Which bytes of the head of the object at a place. undefined: it is none, and between objects it is zeros. */
  readonly head: { readonly place: number; readonly range: ByteRange } | undefined;
  bytes(crc32: number): Uint8Array;
}

/** Bytes of an object of the store. */
interface ObjectSegment {
  readonly kind: 'object';
  readonly sizeBytes: number;
  readonly object: StoredObject;
  /** Which of its bytes. */
  readonly range: ByteRange;
}

export type Segment = LiteralSegment | ObjectSegment;

/** What any range of an archive consists of, in order. Together the segments have exactly as many bytes. */
export function* segmentsIn(layout: Layout, range: ByteRange): Generator<Segment> {
  const files = overlapOf(range, { startByte: 0, endByte: layout.directoryStartByte });
  if (sizeOf(files) > 0) yield* filesIn(layout, files);
  const directory = overlapOf(range, {
    startByte: layout.directoryStartByte,
    endByte: layout.directoryEndByte,
  });
  if (sizeOf(directory) > 0) yield* recordsIn(layout, directory);
  const end = { startByte: layout.directoryEndByte, endByte: layout.sizeBytes };
  yield* literal({ range, bounds: end, crc32Of: undefined, bytes: () => layout.endBytes() });
}

function* filesIn(layout: Layout, range: ByteRange): Generator<Segment> {
  for (let place = layout.placeOf(range.startByte); place < layout.entryCount; place += 1) {
    const { headStart, dataStart, dataEnd, nextStart } = layout.boundsAt(place);
    if (headStart >= range.endByte) return;
    const entry = layout.entryAt(place);
    const head = { startByte: headStart, endByte: dataStart };
    const data = { startByte: dataStart, endByte: dataEnd };
    if (entry.kind === 'object') {
      const { object } = entry;
      const bytes = (crc32: number) => layout.format.head({ ...entry, crc32 });
      const crc32Of = layout.format.hasDirectory ? object : undefined;
      yield* literal({ range, bounds: head, crc32Of, bytes, place });
      const shared = overlapOf(range, data);
      if (sizeOf(shared) > 0)
        yield { kind: 'object', sizeBytes: sizeOf(shared), object, range: movedBy(shared, -dataStart) };
    } else {
      const { content, ...member } = entry;
      const crc32 = () => (layout.format.hasDirectory ? content.crc32() : 0);
      const bytes = () => layout.format.head({ ...member, crc32: crc32() });
      yield* literal({ range, bounds: head, crc32Of: undefined, bytes });
      for (const piece of contentPieces(movedBy(overlapOf(range, data), -dataStart)))
        yield* made(sizeOf(piece), () => content.bytes(piece));
    }
    const padding = sizeOf(overlapOf(range, { startByte: dataEnd, endByte: nextStart }));
    yield* made(padding, () => new Uint8Array(padding));
  }
}

function* recordsIn(layout: Layout, range: ByteRange): Generator<Segment> {
  for (let place = layout.recordPlaceOf(range.startByte); place < layout.entryCount; place += 1) {
    const bounds = layout.recordBoundsAt(place);
    if (bounds.startByte >= range.endByte) return;
    const entry = layout.entryAt(place);
    const { headStart: startByte } = layout.boundsAt(place);
    const { name, sizeBytes } = entry;
    const bytes = (given: number) => {
      const crc32 = entry.kind === 'content' ? entry.content.crc32() : given;
      return layout.format.record({ name, sizeBytes, startByte, crc32 });
    };
    yield* literal({ range, bounds, crc32Of: entry.kind === 'object' ? entry.object : undefined, bytes });
  }
}

/** What a range shares with a literal, unless that is nothing. */
function* literal(input: {
  range: ByteRange;
  bounds: ByteRange;
  crc32Of: StoredObject | undefined;
  bytes: (crc32: number) => Uint8Array;
  /** That of the object whose head it is. */
  place?: number;
}): Generator<LiteralSegment> {
  const { range, bounds, crc32Of, bytes, place } = input;
  const shared = overlapOf(range, bounds);
  if (sizeOf(shared) <= 0) return;
  const { startByte, endByte } = movedBy(shared, -bounds.startByte);
  yield {
    kind: 'literal',
    sizeBytes: endByte - startByte,
    crc32Of,
    head: place === undefined ? undefined : { place, range: { startByte, endByte } },
    bytes: (crc32) => bytes(crc32).subarray(startByte, endByte),
  };
}

function* made(sizeBytes: number, bytes: () => Uint8Array): Generator<LiteralSegment> {
  if (sizeBytes > 0) yield { kind: 'literal', sizeBytes, crc32Of: undefined, head: undefined, bytes };
}

/**
 * What a worker has to do, as plain JSON. It holds all that it takes, so a worker needs neither the list of objects nor
 * the plan, however large they are.
 */
export interface CopyOrder {
  readonly format: 'tar' | 'zip';
  /** When the files of the archives were made, as their heads say. */
  readonly modifiedAtMs: number;
  readonly volumes: readonly OrderedVolume[];
  readonly parts: readonly OrderedPart[];
}

/** An archive that is being made. */
export interface OrderedVolume {
  readonly key: string;
  readonly uploadId: string;
  /** Its manifest and its index. */
  readonly made: SourceObject;
  /** That of a zip, without the CRC-32s of objects. Its bounds are those in the row of all directories of the export. */
  readonly directory?: SourceObject & ByteRange;
}

interface Numbered {
  /** The index of the volume. */
  readonly volume: number;
  /** Of its upload, from 1. */
  readonly number: number;
  readonly sizeBytes: number;
}

export type OrderedPart =
  | (Numbered & LeafPart)
  | (Numbered & { readonly kind: 'shard'; readonly parts: readonly (LeafPart & { sizeBytes: number })[] });

/** A part that is made by one request. */
export type LeafPart =
  | { readonly kind: 'copy'; readonly source: SourceObject; readonly range?: ByteRange }
  | { readonly kind: 'upload'; readonly pieces: readonly Piece[] };

/** A run of bytes of a part. */
export type Piece =
  | { readonly kind: 'zeros'; readonly sizeBytes: number }
  | { readonly kind: 'object'; readonly source: SourceObject; readonly range: ByteRange }
  /** Of what lies in the store because only the planner could make it. */
  | { readonly kind: 'made'; readonly range: ByteRange }
  /** Of the volume's directory, once all CRC-32s are in it. */
  | { readonly kind: 'directory'; readonly range: ByteRange }
  | HeadPiece;

/** The head of an object, or a range of it. As many of the object's bytes as the part has follow it. */
export interface HeadPiece {
  readonly kind: 'head';
  /** Older versions found the CRC-32s of a zip first. */
  readonly member: Member & { readonly crc32?: number };
  readonly range?: ByteRange;
  /** Where the CRC-32 lies in the row of all directories, if the head's first byte is in this part of a zip. */
  readonly crc32At?: number;
  /** The object, if a part of a zip doesn't have all of it. */
  readonly source?: SourceObject;
}

/** The bytes of a range of an archive that has no objects. The CRC-32s of objects are left out. */
export function madeBytes(layout: Layout, range: ByteRange): Uint8Array {
  const bytes = Buffer.alloc(sizeOf(range));
  let at = 0;
  for (const segment of segmentsIn(layout, range)) {
    if (segment.kind === 'object') throw new Error('Only the store has the bytes of an object.');
    bytes.set(segment.bytes(0), at);
    at += segment.sizeBytes;
  }
  return bytes;
}

/** A part of an archive, as an order says it. @param directoryAt where the row of directories has that of its archive. */
export function orderedPart(planned: PlannedPart, directoryAt: number): OrderedPart {
  const { volume, number, part, layout } = planned;
  const numbered = { volume, number, sizeBytes: sizeOf(part) };
  const leaf = (each: Part) => orderedLeaf(each, { layout, directoryAt });
  if (part.kind !== 'shard') return { ...leaf(part), ...numbered };
  return { ...numbered, kind: 'shard', parts: Array.from(part.parts(), leaf) };
}

interface OrderContext {
  readonly layout: Layout;
  readonly directoryAt: number;
}

function orderedLeaf(part: Part, context: OrderContext): LeafPart & { sizeBytes: number } {
  const sizeBytes = sizeOf(part);
  if (part.kind === 'upload') return { kind: 'upload', sizeBytes, pieces: [...piecesOf(part, context)] };
  const source = sourceOf(part.object);
  return { kind: 'copy', sizeBytes, source, ...(part.source && { range: part.source }) };
}

function* piecesOf(range: ByteRange, context: OrderContext): Generator<Piece> {
  const { format, objectsStartByte, directoryStartByte, sizeBytes } = context.layout;
  const front = overlapOf(range, { startByte: 0, endByte: objectsStartByte });
  if (sizeOf(front) > 0) yield { kind: 'made', range: front };
  const objects = overlapOf(range, { startByte: objectsStartByte, endByte: directoryStartByte });
  if (sizeOf(objects) > 0)
    for (const segment of segmentsIn(context.layout, objects)) yield pieceOf(segment, range, context);
  const back = overlapOf(range, { startByte: directoryStartByte, endByte: sizeBytes });
  if (sizeOf(back) <= 0) return;
  // What ends a tar is zeros.
  if (!format.hasDirectory) yield { kind: 'zeros', sizeBytes: sizeOf(back) };
  else yield { kind: 'directory', range: movedBy(back, -directoryStartByte) };
}

/** @param part in which the segment is. */
function pieceOf(segment: Segment, part: ByteRange, { layout, directoryAt }: OrderContext): Piece {
  if (segment.kind === 'object')
    return { kind: 'object', source: sourceOf(segment.object), range: segment.range };
  if (!segment.head) return { kind: 'zeros', sizeBytes: segment.sizeBytes };
  const { place, range } = segment.head;
  const { name, sizeBytes } = layout.entryAt(place);
  const head: HeadPiece = { kind: 'head', member: { name, sizeBytes }, range };
  const object = segment.crc32Of;
  if (object === undefined) return head;
  const { startByte } = layout.recordBoundsAt(place);
  const crc32At = directoryAt + startByte - layout.directoryStartByte + recordCrc32Byte;
  return {
    ...head,
    ...(range.startByte === 0 && { crc32At }),
    ...(layout.boundsAt(place).dataEnd > part.endByte && { source: sourceOf(object) }),
  };
}

const sourceOf = ({ key, etag }: StoredObject): SourceObject => ({ key, etag });

/** The same range, so many bytes further on. */
function movedBy(range: ByteRange, bytes: number): ByteRange {
  return { startByte: range.startByte + bytes, endByte: range.endByte + bytes };
}

/** A long content is read in pieces of at most this size. */
const pieceBytes = 1024 ** 2;

/** A range of a content, in pieces that fit memory. */
function* contentPieces(range: ByteRange): Generator<ByteRange> {
  for (let startByte = range.startByte; startByte < range.endByte; startByte += pieceBytes)
    yield { startByte, endByte: Math.min(range.endByte, startByte + pieceBytes) };
}
