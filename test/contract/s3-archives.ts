import { ArchiveClient } from '../../lambda/core/store/archive-client.ts';
import { s3Limits } from '../../lambda/core/store/rules/store-kind.ts';
import { createArchiveStore } from '../../lambda/core/store/s3-archives.ts';
import type { ArchiveStoreTarget } from './archive-store.contract.ts';

/** Opens a bucket of a store that speaks S3's protocol, for archives. */
export function openS3Archives(input: {
  endpoint: string;
  bucket: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  stop: () => Promise<void>;
}): ArchiveStoreTarget {
  const { endpoint, bucket, credentials, stop } = input;
  const where = { region: 'us-east-1', endpoint, forcePathStyle: true };
  const client = new ArchiveClient({ ...where, bucket, credentials: async () => credentials });
  return {
    store: createArchiveStore({ client }),
    partBytesMin: s3Limits.partBytesMin,
    stop: async () => {
      client.destroy();
      await stop();
    },
  };
}
