import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { ScanListing } from '../../lambda/core/scan/list-objects.ts';
import { BucketClient } from '../../lambda/core/store/bucket-client.ts';
import { createObjectStore } from '../../lambda/core/store/object-store.ts';
import { createUrlSigner } from '../../lambda/core/store/signing.ts';
import type { ObjectStoreTarget } from './object-store-context.ts';

/** Opens a bucket of a store that speaks S3's protocol, with the product's adapters. */
export function openS3Target(input: {
  endpoint: string;
  bucket: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  stop: () => Promise<void>;
}): ObjectStoreTarget {
  const { endpoint, bucket, credentials, stop } = input;
  const where = { region: 'us-east-1', endpoint, forcePathStyle: true };
  // Objects come by the SDK, so that the product's client is not alone with its own view of S3.
  const sdk = new S3Client({ ...where, credentials, requestChecksumCalculation: 'WHEN_REQUIRED' });
  const place = { ...where, bucket, credentials: async () => credentials };
  let answers = 0;
  const onAnswer = () => {
    answers += 1;
  };
  const client = new BucketClient({ ...place, onAnswer });
  return {
    store: createObjectStore({ client, clock: { nowMs: () => Date.now() } }),
    listing: new ScanListing({ client }),
    signer: createUrlSigner(place),
    sdk: { client: sdk, bucket },
    answers: () => answers,
    put: async (key, body) => {
      await sdk.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }));
    },
    stop: async () => {
      client.destroy();
      sdk.destroy();
      await stop();
    },
  };
}
