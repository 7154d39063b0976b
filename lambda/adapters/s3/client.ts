import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';

/** Where the bucket is and how to reach it. Nothing is read from the environment here. */
export interface S3Settings {
  readonly region: string;
  /** Base URL of an S3-compatible store; omitted for AWS. */
  readonly endpoint?: string;
  /** The bucket in the path rather than in the host name: what most stores that are not AWS want. */
  readonly forcePathStyle?: boolean;
  /** Omitted: the SDK's own chain (in a function, its role). */
  readonly credentials?: NonNullable<S3ClientConfig['credentials']>;
  /** Parallel connections. The SDK's own 50 would make a batch of 100 HEAD requests two rounds. */
  readonly socketsMax?: number;
  readonly attemptsMax?: number;
}

/** An S3 client whose every request ends: connecting, waiting for the answer and stalling have limits. */
export function createS3Client(settings: S3Settings): S3Client {
  const { region, endpoint, forcePathStyle, credentials, socketsMax = 128, attemptsMax = 4 } = settings;
  const agent = { keepAlive: true, maxSockets: socketsMax };
  return new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    ...(forcePathStyle !== undefined && { forcePathStyle }),
    ...(credentials !== undefined && { credentials }),
    retryMode: 'standard',
    maxAttempts: attemptsMax,
    // The checksums that S3 itself does not ask for cost CPU, and some stores refuse them.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      httpAgent: agent,
      httpsAgent: agent,
      connectionTimeout: 2_000,
      requestTimeout: 10_000,
      throwOnRequestTimeout: true,
      socketTimeout: 10_000,
    },
  });
}
