/** Keys of a full page of ListObjectsV2. S3 gives no more, whatever is asked for. */
export const pageKeysMax = 1000;
