import { randomUUID } from 'node:crypto';
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  paginateListObjectsV2,
  type S3Client,
} from '@aws-sdk/client-s3';
import { createS3Client, type S3Settings } from '../../lambda/adapters/aws/s3-client.ts';

export const versitygw = { name: 'versitygw', urlVariable: 'ENGINE_S3_URL' };

export interface EngineBucket {
  readonly client: S3Client;
  readonly bucket: string;
  readonly settings: S3Settings;
  /** The credentials in force, also for signing. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Deletes the bucket with all that is in it. */
  close(): Promise<void>;
}

/** A bucket of its own on an S3-compatible engine at `url`, with the credentials of `ENGINE_S3_…`. */
export async function openEngineBucket(url: string): Promise<EngineBucket> {
  const credentials = {
    accessKeyId: required('ENGINE_S3_ACCESS_KEY_ID'),
    secretAccessKey: required('ENGINE_S3_SECRET_ACCESS_KEY'),
  };
  const settings = { region: 'us-east-1', endpoint: url, forcePathStyle: true, credentials };
  const client = createS3Client(settings);
  const bucket = `lfs-quota-${randomUUID()}`;
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    client,
    bucket,
    settings,
    credentials,
    close: async () => {
      for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket })) {
        for (const { Key } of page.Contents ?? []) {
          await client.send(new DeleteObjectCommand({ Bucket: bucket, Key }));
        }
      }
      await client.send(new DeleteBucketCommand({ Bucket: bucket }));
      client.destroy();
    },
  };
}

function required(variable: string): string {
  const value = process.env[variable];
  if (!value) throw new Error(`ENGINE_S3_URL is set, but ${variable} is not.`);
  return value;
}
