import type { Member } from './archive-format.ts';
import { type ByteRange, movedBy, overlapOf, sizeOf } from './byte-range.ts';
import type { Layout } from './layout.ts';
import { contentPieces } from './literal-content.ts';
import type { StoredObject } from './stored-object.ts';

/** Bytes that are made: heads, padding, manifest, index, directory, end. */
interface LiteralSegment {
  readonly kind: 'literal';
  readonly sizeBytes: number;
  /** The object whose CRC-32 {@link bytes} wants. undefined: it wants none. */
  readonly crc32Of: StoredObject | undefined;
  /** With what it can be made again without a layout. undefined: only with one. */
  readonly recipe: LiteralRecipe | undefined;
  bytes(crc32: number): Uint8Array;
}

type LiteralRecipe =
  | { readonly kind: 'zeros' }
  /** A range of the head of an object. */
  | { readonly kind: 'head'; readonly member: Member; readonly range: ByteRange };

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
      const { object, name, sizeBytes } = entry;
      const member = { name, sizeBytes };
      const bytes = (crc32: number) => layout.format.head({ ...member, crc32 });
      const crc32Of = layout.format.hasDirectory ? object : undefined;
      yield* literal({ range, bounds: head, crc32Of, bytes, head: member });
      const shared = overlapOf(range, data);
      if (sizeOf(shared) > 0)
        yield { kind: 'object', sizeBytes: sizeOf(shared), object, range: movedBy(shared, -dataStart) };
    } else {
      const { content, ...member } = entry;
      const crc32 = () => (layout.format.hasDirectory ? content.crc32() : 0);
      const bytes = () => layout.format.head({ ...member, crc32: crc32() });
      yield* literal({ range, bounds: head, crc32Of: undefined, bytes });
      for (const piece of contentPieces(movedBy(overlapOf(range, data), -dataStart)))
        yield madeSegment(sizeOf(piece), () => content.bytes(piece));
    }
    const padding = { startByte: dataEnd, endByte: nextStart };
    yield* zeros(overlapOf(range, padding));
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
  /** The member whose head it is. */
  head?: Member;
}): Generator<LiteralSegment> {
  const { range, bounds, crc32Of, bytes, head } = input;
  const shared = overlapOf(range, bounds);
  if (sizeOf(shared) <= 0) return;
  const { startByte, endByte } = movedBy(shared, -bounds.startByte);
  yield {
    kind: 'literal',
    sizeBytes: endByte - startByte,
    crc32Of,
    recipe: head && { kind: 'head', member: head, range: { startByte, endByte } },
    bytes: (crc32) => bytes(crc32).subarray(startByte, endByte),
  };
}

function* zeros(range: ByteRange): Generator<LiteralSegment> {
  const sizeBytes = sizeOf(range);
  if (sizeBytes <= 0) return;
  const bytes = () => new Uint8Array(sizeBytes);
  yield { kind: 'literal', sizeBytes, crc32Of: undefined, recipe: { kind: 'zeros' }, bytes };
}

function madeSegment(sizeBytes: number, bytes: () => Uint8Array): LiteralSegment {
  return { kind: 'literal', sizeBytes, crc32Of: undefined, recipe: undefined, bytes };
}
