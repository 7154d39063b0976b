import {
  S3Client,
  type S3ClientConfig,
  type ServiceInputTypes,
  type ServiceOutputTypes,
} from '@aws-sdk/client-s3';
import type { DeserializeMiddleware } from '@smithy/types';
import { NodeSha256 } from '../../domain/hash.ts';
import type { S3Settings } from '../s3/client.ts';
import { requestHandler } from '../sdk/request-limits.ts';
import { ScanProtocol } from './protocol.ts';
import type { ScanRetryStrategy } from './retry.ts';

/** Longest wait for a page, or for its next byte. Stores are slower to list than to serve objects. */
const pageTimeoutMs = 20_000;

/**
 * An S3 client for listing. The SDK does the signing, endpoints, credentials, sockets and retries. {@link ScanProtocol}
 * reads the pages.
 *
 * @param input.followsRegion follow AWS's redirects to the bucket's region.
 */
export function createScanClient(input: {
  settings: S3Settings;
  retryStrategy: ScanRetryStrategy;
  followsRegion: boolean;
  /** Replaces the network. */
  requestHandler?: NonNullable<S3ClientConfig['requestHandler']>;
}): S3Client {
  const { region, endpoint, forcePathStyle, credentials, socketsMax = 128 } = input.settings;
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    ...(forcePathStyle !== undefined && { forcePathStyle }),
    ...(credentials !== undefined && { credentials }),
    ...(input.followsRegion && { followRegionRedirects: true }),
    protocol: ScanProtocol,
    retryStrategy: input.retryStrategy,
    sha256: NodeSha256,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler:
      input.requestHandler ?? requestHandler({ connectMs: 5_000, answerMs: pageTimeoutMs, socketsMax }),
  });
  keepBodiesWhole(client);
  return client;
}

/**
 * Hides answers from a middleware of the SDK. That middleware reads every answer with status 200 to its end, to see
 * whether it is an error, and then turns a copy into a stream. {@link ScanProtocol} detects such errors itself, so the
 * answer passes the middleware in a wrapper that it ignores.
 */
function keepBodiesWhole(client: S3Client): void {
  const peeker = 'throw200ExceptionsMiddleware';
  const wrap: Middleware = (next) => async (args) => {
    const result = await next(args);
    return { ...result, response: new HiddenResponse(result.response) };
  };
  const unwrap: Middleware = (next) => async (args) => {
    const result = await next(args);
    return result.response instanceof HiddenResponse
      ? { ...result, response: result.response.response }
      : result;
  };
  const { middlewareStack } = client;
  middlewareStack.addRelativeTo(wrap, { relation: 'after', toMiddleware: peeker, name: 'scanWrap' });
  middlewareStack.addRelativeTo(unwrap, { relation: 'before', toMiddleware: peeker, name: 'scanUnwrap' });
}

type Middleware = DeserializeMiddleware<ServiceInputTypes, ServiceOutputTypes>;

class HiddenResponse {
  readonly response: unknown;

  constructor(response: unknown) {
    this.response = response;
  }
}
