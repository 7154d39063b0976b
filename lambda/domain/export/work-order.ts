import type { Member } from './archive-format.ts';
import { type ByteRange, movedBy, overlapOf, sizeOf } from './byte-range.ts';
import type { Layout } from './layout.ts';
import type { Part } from './part.ts';
import { type Segment, segmentsIn } from './segments.ts';
import type { StoredObject } from './stored-object.ts';
import type { PlannedPart } from './units.ts';

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
  /** What the planner made for it. */
  readonly made: OrderedObject;
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
  | { readonly kind: 'copy'; readonly source: OrderedObject; readonly range?: ByteRange }
  | { readonly kind: 'upload'; readonly pieces: readonly Piece[] };

interface OrderedObject {
  readonly key: string;
  readonly etag: string;
}

/** A run of bytes of a part. */
export type Piece =
  | { readonly kind: 'zeros'; readonly sizeBytes: number }
  | { readonly kind: 'object'; readonly source: OrderedObject; readonly range: ByteRange }
  /** Of what lies in the store because only the planner could make it: {@link madeBytes}. */
  | { readonly kind: 'made'; readonly range: ByteRange }
  | { readonly kind: 'head'; readonly member: Member & { crc32: number }; readonly range?: ByteRange };

/** Objects whose CRC-32 is to be found. */
export interface HashOrder {
  readonly objects: readonly (OrderedObject & { readonly oid: string; readonly sizeBytes: number })[];
}

/** How the parts of an archive are written down. */
export interface OrderContext {
  readonly layout: Layout;
  /** The CRC-32 of an object. Asked for zips alone. */
  readonly crc32Of: (object: StoredObject) => number;
}

/**
 * The bytes of an archive that only its planner can make: all before its first object, and all behind its last, so
 * manifest, index, directory and end.
 */
export function madeBytes({ layout, crc32Of }: OrderContext): Uint8Array {
  const { objectsStartByte, directoryStartByte, sizeBytes } = layout;
  const bytes = Buffer.alloc(objectsStartByte + sizeBytes - directoryStartByte);
  let at = 0;
  for (const range of [
    { startByte: 0, endByte: objectsStartByte },
    { startByte: directoryStartByte, endByte: sizeBytes },
  ])
    for (const segment of segmentsIn(layout, range)) {
      if (segment.kind === 'object') throw new Error('There is no object before the first one.');
      bytes.set(segment.bytes(segment.crc32Of === undefined ? 0 : crc32Of(segment.crc32Of)), at);
      at += segment.sizeBytes;
    }
  return bytes;
}

/** A part of an archive, as an order says it. */
export function orderedPart({ volume, number, part }: PlannedPart, context: OrderContext): OrderedPart {
  const numbered = { volume, number, sizeBytes: sizeOf(part) };
  if (part.kind !== 'shard') return { ...orderedLeaf(part, context), ...numbered };
  return {
    ...numbered,
    kind: 'shard',
    parts: Array.from(part.parts(), (each) => orderedLeaf(each, context)),
  };
}

function orderedLeaf(part: Part, context: OrderContext): LeafPart & { sizeBytes: number } {
  const sizeBytes = sizeOf(part);
  if (part.kind === 'upload') return { kind: 'upload', sizeBytes, pieces: [...piecesOf(part, context)] };
  const source = sourceOf(part.object);
  return { kind: 'copy', sizeBytes, source, ...(part.source && { range: part.source }) };
}

function* piecesOf(range: ByteRange, { layout, crc32Of }: OrderContext): Generator<Piece> {
  const { objectsStartByte, directoryStartByte, sizeBytes } = layout;
  const front = overlapOf(range, { startByte: 0, endByte: objectsStartByte });
  if (sizeOf(front) > 0) yield { kind: 'made', range: front };
  const objects = overlapOf(range, { startByte: objectsStartByte, endByte: directoryStartByte });
  if (sizeOf(objects) > 0) for (const segment of segmentsIn(layout, objects)) yield pieceOf(segment, crc32Of);
  const back = overlapOf(range, { startByte: directoryStartByte, endByte: sizeBytes });
  // It follows the front in what is made.
  if (sizeOf(back) > 0) yield { kind: 'made', range: movedBy(back, objectsStartByte - directoryStartByte) };
}

function pieceOf(segment: Segment, crc32Of: OrderContext['crc32Of']): Piece {
  if (segment.kind === 'object')
    return { kind: 'object', source: sourceOf(segment.object), range: segment.range };
  const { recipe, sizeBytes } = segment;
  if (recipe === undefined) throw new Error('Between objects lies what only the planner can make.');
  if (recipe.kind === 'zeros') return { kind: 'zeros', sizeBytes };
  const crc32 = segment.crc32Of === undefined ? 0 : crc32Of(segment.crc32Of);
  return { kind: 'head', member: { ...recipe.member, crc32 }, range: recipe.range };
}

const sourceOf = ({ key, etag }: StoredObject): OrderedObject => ({ key, etag });
