import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { ArchiveClient } from '../../lambda/adapters/s3-archive/archive-client.ts';
import { S3ArchiveStore } from '../../lambda/adapters/s3-archive/archive-store.ts';
import { s3Limits } from '../../lambda/domain/export/store-limits.ts';
import type { ArchiveStoreTarget } from './archive-store.contract.ts';

/** Creates the bucket on a store that speaks S3's protocol, and opens it for archives. */
export async function openS3Archives(input: {
  endpoint: string;
  bucket: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  stop: () => Promise<void>;
}): Promise<ArchiveStoreTarget> {
  const { endpoint, bucket, credentials, stop } = input;
  const where = { region: 'us-east-1', endpoint, forcePathStyle: true };
  const sdk = new S3Client({ ...where, credentials });
  await sdk.send(new CreateBucketCommand({ Bucket: bucket }));
  sdk.destroy();
  const client = new ArchiveClient({ ...where, bucket, credentials: async () => credentials });
  return {
    store: new S3ArchiveStore({ client }),
    partBytesMin: s3Limits.partBytesMin,
    stop: async () => {
      client.destroy();
      await stop();
    },
  };
}
