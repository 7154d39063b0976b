import type { Member } from './archive-format.ts';
import { type ByteRange, sizeOf } from './byte-range.ts';
import type { Layout } from './layout.ts';
import type { Part } from './part.ts';
import { type Segment, segmentsIn } from './segments.ts';
import type { StoredObject } from './stored-object.ts';

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
  /** Of what lies in the store because only the planner could make it: {@link MadeBytes}. */
  | { readonly kind: 'made'; readonly range: ByteRange }
  | { readonly kind: 'head'; readonly member: Member & { crc32: number }; readonly range?: ByteRange };

/** Objects whose CRC-32 is to be found. */
export interface HashOrder {
  readonly objects: readonly (OrderedObject & { readonly oid: string; readonly sizeBytes: number })[];
}

/** The bytes of an archive that are made from the whole plan: manifest, index, directory, end. */
export class MadeBytes {
  readonly #pieces: Uint8Array[] = [];
  readonly #areKept: boolean;
  #sizeBytes = 0;

  /** @param options.areKept false: only where they lie is wanted. */
  constructor({ areKept }: { areKept: boolean }) {
    this.#areKept = areKept;
  }

  /** @returns where they lie. */
  add(bytes: Uint8Array): ByteRange {
    const startByte = this.#sizeBytes;
    if (this.#areKept) this.#pieces.push(bytes);
    this.#sizeBytes += bytes.length;
    return { startByte, endByte: this.#sizeBytes };
  }

  /** All of them, one after the other. */
  bytes(): Uint8Array {
    return Buffer.concat(this.#pieces);
  }
}

/** How the parts of an archive are written down. */
export interface OrderContext {
  readonly layout: Layout;
  readonly made: MadeBytes;
  /** The CRC-32 of an object. Asked for zips alone. */
  readonly crc32Of: (object: StoredObject) => number;
}

/** A part that is copied or uploaded, as an order says it. */
export function orderedLeaf(part: Part, context: OrderContext): LeafPart & { sizeBytes: number } {
  const sizeBytes = sizeOf(part);
  if (part.kind === 'upload') return { kind: 'upload', sizeBytes, pieces: piecesOf(part, context) };
  const source = sourceOf(part.object);
  return { kind: 'copy', sizeBytes, source, ...(part.source && { range: part.source }) };
}

function piecesOf(range: ByteRange, { layout, made, crc32Of }: OrderContext): Piece[] {
  const pieces: Piece[] = [];
  for (const segment of segmentsIn(layout, range)) {
    const piece = pieceOf(segment, { made, crc32Of });
    const before = pieces.at(-1);
    // The index is made in pieces, and the records of a directory one by one. One request reads them all.
    if (piece.kind === 'made' && before?.kind === 'made' && before.range.endByte === piece.range.startByte)
      pieces[pieces.length - 1] = {
        kind: 'made',
        range: { startByte: before.range.startByte, endByte: piece.range.endByte },
      };
    else pieces.push(piece);
  }
  return pieces;
}

function pieceOf(segment: Segment, { made, crc32Of }: Pick<OrderContext, 'made' | 'crc32Of'>): Piece {
  if (segment.kind === 'object')
    return { kind: 'object', source: sourceOf(segment.object), range: segment.range };
  const { recipe, sizeBytes } = segment;
  const crc32 = segment.crc32Of === undefined ? 0 : crc32Of(segment.crc32Of);
  if (recipe === undefined) return { kind: 'made', range: made.add(segment.bytes(crc32)) };
  if (recipe.kind === 'zeros') return { kind: 'zeros', sizeBytes };
  return { kind: 'head', member: { ...recipe.member, crc32 }, range: recipe.range };
}

const sourceOf = ({ key, etag }: StoredObject): OrderedObject => ({ key, etag });
