import * as z from 'zod';
import type { Settings } from '../../../core/rules/settings.ts';
import type { Frozen } from '../../../core/rules/stored.ts';

/**
 * A file that is uploaded in parts. Each part's URL signs its length, so together they have the bytes that are claimed. Only the server
 * makes them the file, where nothing is. No listing shows them before, so no usage counts them: the claim does.
 */
export const partUploadSchema = z.object({
  tenant: z.string(),
  repo: z.string(),
  name: z.string(),
  /** The id of the reservation that has the file's entry. */
  upload: z.string(),
  /** Of the store's multipart upload. */
  multipartId: z.string(),
  sizeBytes: z.number(),
  /** Of all parts but the last one. */
  partBytes: z.number(),
  /** See `makerOf` of reservations. */
  madeBy: z.string(),
  /** What its maker calls these bytes. */
  madeOf: z.string().optional(),
  state: z.enum(['open', 'stored', 'ended']),
  /** The store was asked to make it the file. Nobody knows whether it has, or will. */
  mayBeStored: z.boolean(),
  createdAtMs: z.number(),
  /** No part can arrive after this, by any clock. */
  putsUntilMs: z.number(),
  /** When something of it must be done: it's over, or what is left of it goes. */
  dueAtMs: z.number(),
});
export type PartUpload = Frozen<z.output<typeof partUploadSchema>>;
export type PartUploadPath = Pick<PartUpload, 'tenant' | 'repo' | 'name' | 'upload'>;

const mib = 1024 ** 2;
/** S3's least size of a part that isn't the last. */
const partBytesMin = 5 * mib;
/** As many, where 5 GiB are enough for each. */
const partsUsually = 100;
/** Of all files of a request: each has a URL of up to 3 kB. */
export const partsMax = 1_024;
/** Smaller files are never uploaded in parts, unless one PUT can't carry them. */
const inPartsFromBytes = 100 * mib;

/** The largest file that can be uploaded. */
export function fileBytesMax({ objectBytesMax, chunkedBytesMax }: Settings): number {
  const inParts = objectBytesMax < partBytesMin ? 0 : Math.min(chunkedBytesMax, partsMax * objectBytesMax);
  return Math.max(objectBytesMax, inParts);
}

/** @param file.inParts whoever asks can send parts. With a SHA-256, it would rather have that checked, which no parts are. */
export function isInParts(
  { objectBytesMax }: Settings,
  file: { bytes: number; inParts?: boolean | undefined; sha256?: string | undefined },
): boolean {
  const { bytes, inParts = false, sha256 } = file;
  return bytes > objectBytesMax || (inParts && sha256 === undefined && bytes >= inPartsFromBytes);
}

export function partBytesOf({ objectBytesMax }: Settings, sizeBytes: number): number {
  const even = Math.ceil(sizeBytes / partsUsually / mib) * mib;
  return Math.min(Math.max(even, partBytesMin), objectBytesMax);
}

export const partCountOf = (settings: Settings, sizeBytes: number) =>
  Math.ceil(sizeBytes / partBytesOf(settings, sizeBytes));

/** Number from 1 → bytes. */
export function partsOf({ sizeBytes, partBytes }: Pick<PartUpload, 'sizeBytes' | 'partBytes'>) {
  const bytesAt = (at: number) => Math.min(partBytes, sizeBytes - at * partBytes);
  const count = Math.ceil(sizeBytes / partBytes);
  return new Map(Array.from({ length: count }, (_, at) => [at + 1, bytesAt(at)] as const));
}

const day = 24 * 60 * 60_000;
/** One that nobody asks for again is given up after this … */
const activeForMs = day;
/** … and any after this. */
const openForMs = 7 * day;
/** How long its claim is kept at most. */
export const claimedForMs = 8 * day;

/** The upload after somebody got its URLs. */
export function renewed(
  upload: PartUpload,
  settings: Settings,
  { nowMs, lifetimeMs }: { nowMs: number; lifetimeMs: number },
): PartUpload {
  const { batchTimeLimitMs, putGraceMs, putMinBytesPerSecond, clockSkewMs } = settings;
  const longestPutMs = putGraceMs + Math.ceil((upload.partBytes / putMinBytesPerSecond) * 1000);
  const putsUntilMs = nowMs + batchTimeLimitMs + lifetimeMs + longestPutMs + 2 * clockSkewMs;
  return {
    ...upload,
    putsUntilMs: Math.max(upload.putsUntilMs, putsUntilMs),
    dueAtMs: Math.min(nowMs + activeForMs, upload.createdAtMs + openForMs),
  };
}

export const isOpen = ({ state, dueAtMs }: PartUpload, nowMs: number) => state === 'open' && nowMs < dueAtMs;
