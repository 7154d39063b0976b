import { ArchiveClient } from '../../lambda/core/store/archive-client.ts';
import { BucketClient } from '../../lambda/core/store/bucket-client.ts';
import { createMultiparts } from '../../lambda/core/store/multiparts.ts';
import { s3Limits } from '../../lambda/core/store/rules/store-kind.ts';
import { createArchiveStore } from '../../lambda/core/store/s3-archives.ts';
import type { ArchiveStoreTarget } from './archive-store.contract.ts';

/** Opens a bucket of a store that speaks S3's protocol, for archives. */
export function openS3Archives(input: {
  endpoint: string;
  bucket: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  stop: () => Promise<void>;
  /** What needs no SDK goes without it. */
  withoutSdk?: boolean;
}): ArchiveStoreTarget {
  const { endpoint, bucket, credentials, stop, withoutSdk = false } = input;
  const where = { region: 'us-east-1', endpoint, forcePathStyle: true };
  const place = { ...where, bucket, credentials: async () => credentials };
  const client = new ArchiveClient(place);
  const own = new BucketClient(place);
  const bySdk = createArchiveStore({ client });
  const multiparts = createMultiparts({ client: own });
  // CRC-32s are for archives alone.
  const createUpload: typeof bySdk.createUpload = (key, options) =>
    (options?.withCrc32 ? bySdk : multiparts).createUpload(key, options);
  return {
    store: withoutSdk ? { ...bySdk, ...multiparts, createUpload } : bySdk,
    partBytesMin: s3Limits.partBytesMin,
    stop: async () => {
      client.destroy();
      own.destroy();
      await stop();
    },
  };
}
