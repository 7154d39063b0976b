import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { createS3Client } from '../../lambda/adapters/s3/client.ts';
import { S3ObjectListing } from '../../lambda/adapters/s3/object-listing.ts';
import { S3ObjectStore } from '../../lambda/adapters/s3/object-store.ts';
import { S3UrlSigner } from '../../lambda/adapters/s3/url-signer.ts';
import type { ObjectStoreTarget } from './object-store-context.ts';

/** Creates the bucket on a store that speaks S3's protocol, and opens it with the product's adapters. */
export async function openS3Target(input: {
  endpoint: string;
  bucket: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  stop: () => Promise<void>;
}): Promise<ObjectStoreTarget> {
  const { endpoint, bucket, credentials, stop } = input;
  const where = { region: 'us-east-1', endpoint, forcePathStyle: true };
  const client = createS3Client({ ...where, credentials });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    store: new S3ObjectStore({ client, bucket, clock: { nowMs: () => Date.now() } }),
    listing: new S3ObjectListing({ client, bucket }),
    signer: new S3UrlSigner({ ...where, bucket, credentials: async () => credentials }),
    put: async (key, body) => {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }));
    },
    stop: async () => {
      client.destroy();
      await stop();
    },
  };
}
