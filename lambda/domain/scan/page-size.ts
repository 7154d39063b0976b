/** Keys of a full page of ListObjectsV2. S3 returns no more, even if more are requested. */
export const pageKeysMax = 1000;
