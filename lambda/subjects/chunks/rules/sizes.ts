import type { Settings } from '../../../core/rules/settings.ts';

/** As many parts as a multipart upload can have. */
export const chunksMax = 10_000;
/** Objects of more chunks than that have chunks of so many times the size. */
const largerTimes = 8;

/** The largest object that a client can upload in chunks. */
export function chunkedMax({ chunkedBytesMax, chunkBytes }: Settings): number {
  return Math.min(chunkedBytesMax, chunksMax * largerTimes * chunkBytes);
}

/** Whether an object is uploaded in chunks, by a client that can. */
export function isChunked(settings: Settings, sizeBytes: number): boolean {
  const { objectBytesMax, chunkedAboveBytes, chunkedBytesMax } = settings;
  return sizeBytes > Math.min(objectBytesMax, chunkedAboveBytes) && sizeBytes <= chunkedBytesMax;
}

/** How large the chunks of an object are. */
export function chunkBytesOf({ chunkBytes }: Settings, sizeBytes: number): number {
  return sizeBytes > chunksMax * chunkBytes ? largerTimes * chunkBytes : chunkBytes;
}
