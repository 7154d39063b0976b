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
