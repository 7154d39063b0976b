/** What a store takes in a multipart upload. */
export interface StoreLimits {
  /** The smallest part but the last, which may have any size. */
  readonly partBytesMin: number;
  readonly partBytesMax: number;
  readonly partsMax: number;
  /** The largest object, and so the largest archive. */
  readonly objectBytesMax: number;
  /** All parts must have one size, copied ones too. The last may be smaller. */
  readonly wantsEqualParts: boolean;
}

/**
 * Amazon S3. Since December 2025 an object may have 48.8 TiB, which is 10,000 parts of 5 GiB.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html, as of 2026-11-22.
 */
export const s3Limits: StoreLimits = {
  partBytesMin: 5 * 1024 ** 2,
  partBytesMax: 5 * 1024 ** 3,
  partsMax: 10_000,
  objectBytesMax: 10_000 * 5 * 1024 ** 3,
  wantsEqualParts: false,
};

/**
 * Cloudflare R2: objects are 5 GiB below 5 TiB, parts 5 MiB below 5 GiB.
 * https://developers.cloudflare.com/r2/platform/limits/, as of 2026-11-22.
 */
export const r2Limits: StoreLimits = {
  partBytesMin: 5 * 1024 ** 2,
  partBytesMax: 5 * 1024 ** 3 - 5 * 1024 ** 2,
  partsMax: 10_000,
  objectBytesMax: 5 * 1024 ** 4 - 5 * 1024 ** 3,
  wantsEqualParts: true,
};

/**
 * What a store does with parts. `s3`: parts of any size, copies, and their CRC-32. `r2`: parts of one size. `grid`: a
 * store of which that much is safe. `stream`: it copies no parts. `local`: the embedded store.
 */
export type StoreKind = 's3' | 'r2' | 'grid' | 'stream' | 'local';

export const storeKinds: readonly StoreKind[] = ['s3', 'r2', 'grid', 'stream', 'local'];

/**
 * What a store does with parts. Of any store a test can tell that it copies no parts. R2 and AWS are known by their
 * addresses. Of others, that they take parts of any size is not enough to plan as for S3, because whether they tell the
 * CRC-32 of a copy was not tested.
 *
 * @param copiesParts as a test found it; null: unknown.
 */
export function storeKindOf(endpoint: string, copiesParts: boolean | null): StoreKind {
  if (copiesParts === false) return 'stream';
  const host = new URL(endpoint).hostname;
  if (/\.amazonaws\.com(?:\.cn)?$/.test(host)) return 's3';
  if (/\.r2\.cloudflarestorage\.com$/.test(host)) return 'r2';
  return 'grid';
}
