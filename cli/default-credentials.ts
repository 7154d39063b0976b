import { S3Client } from '@aws-sdk/client-s3';

/**
 * The credentials that the AWS CLI would use: environment, profile, single sign-on, instance. The SDK looks for them,
 * and keeps them until they expire.
 */
export function defaultCredentials(region: string) {
  const { credentials } = new S3Client({ region }).config;
  return () => credentials();
}
