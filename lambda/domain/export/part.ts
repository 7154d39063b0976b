import type { ByteRange } from './byte-range.ts';
import type { StoredObject } from './stored-object.ts';

/** A part of an upload that the store copies from an object. */
export interface CopyPart extends ByteRange {
  readonly kind: 'copy';
  readonly object: StoredObject;
  /** Which bytes of the object. undefined: all, so that the request names no range. */
  readonly source: ByteRange | undefined;
}

/** A part that a worker reads and uploads: `segmentsIn` of the layout says what is in it. */
export interface UploadPart extends ByteRange {
  readonly kind: 'upload';
}

/** A part of a multipart upload. Its bounds are those in the archive. */
export type Part = CopyPart | UploadPart;

/** A part that copies this range of the archive, in which only that object lies. */
export function copyPart(range: ByteRange, placed: ByteRange & { readonly object: StoredObject }): CopyPart {
  const { startByte, endByte } = range;
  const source = { startByte: startByte - placed.startByte, endByte: endByte - placed.startByte };
  const isWhole = source.startByte === 0 && source.endByte === placed.object.sizeBytes;
  return { kind: 'copy', startByte, endByte, object: placed.object, source: isWhole ? undefined : source };
}

export function uploadPart({ startByte, endByte }: ByteRange): UploadPart {
  return { kind: 'upload', startByte, endByte };
}
