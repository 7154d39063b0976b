import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';

/** .ci/engines.sh can start another one. */
const { ENGINE_S3: name = 'versitygw' } = process.env;
export const versitygw = { name, urlVariable: 'ENGINE_S3_URL' };

/** The credentials that the S3 engine was started with. */
export function engineCredentials(): { accessKeyId: string; secretAccessKey: string } {
  return {
    accessKeyId: required('ENGINE_S3_ACCESS_KEY'),
    secretAccessKey: required('ENGINE_S3_SECRET_KEY'),
  };
}

/** @returns where the new bucket is. */
export async function createBucket(endpoint: string, bucket: string) {
  const credentials = engineCredentials();
  const client = new S3Client({ region: 'us-east-1', endpoint, forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  return { endpoint, bucket, credentials };
}

function required(variable: string): string {
  const value = process.env[variable];
  if (!value) throw new Error(`ENGINE_S3_URL is set, but ${variable} is not.`);
  return value;
}
