import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { requestHandler } from '../sdk/request-limits.ts';

/** Where the bucket is and how to reach it. */
export interface S3Settings {
  readonly region: string;
  /** Base URL of an S3-compatible store; omitted for AWS. */
  readonly endpoint?: string;
  /** The bucket is in the path, not in the host name. Most stores other than AWS need this. */
  readonly forcePathStyle?: boolean;
  /** If omitted, the SDK's default chain: in a function, its role. */
  readonly credentials?: NonNullable<S3ClientConfig['credentials']>;
  /** Parallel connections. With the SDK's default of 50, a batch of 100 HEAD requests would take two rounds. */
  readonly socketsMax?: number;
  readonly attemptsMax?: number;
  /** Multiplies the timeouts, for a store that shares its process with others. 1 for S3 itself. */
  readonly timeoutFactor?: number;
}

/** An S3 client with limits for connecting, for waiting for the answer and for stalling, so every request ends. */
export function createS3Client(settings: S3Settings): S3Client {
  const { region, endpoint, forcePathStyle, credentials } = settings;
  const { socketsMax = 128, attemptsMax = 4, timeoutFactor = 1 } = settings;
  return new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    ...(forcePathStyle !== undefined && { forcePathStyle }),
    ...(credentials !== undefined && { credentials }),
    retryMode: 'standard',
    maxAttempts: attemptsMax,
    // Checksums that S3 does not require cost CPU, and some stores refuse them.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: requestHandler({
      connectMs: 2_000 * timeoutFactor,
      answerMs: 10_000 * timeoutFactor,
      socketsMax,
    }),
  });
}
