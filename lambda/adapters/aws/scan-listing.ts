import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import type {
  DelimitedPage,
  ListedPage,
  ListPageRequest,
  ObjectListing,
} from '../../ports/object-listing.ts';
import { StoreUnavailableError } from '../../ports/object-store.ts';
import { createS3Client, type S3Settings } from './s3-client.ts';
import { translateStoreError } from './s3-errors.ts';
import { S3ObjectListing } from './s3-object-listing.ts';
import { ScanProtocol, scannedPageOf } from './scan-protocol.ts';
import { type ScanRetrySettings, ScanRetryStrategy } from './scan-retry.ts';

/** Waiting for a page's first byte. Stores list slower than they serve. */
const pageTimeoutMs = 20_000;

export interface ScanListingInput {
  readonly settings: S3Settings;
  readonly bucket: string;
  readonly retry?: Partial<ScanRetrySettings>;
  /** Follow AWS's redirects to the bucket's region. */
  readonly followsRegion?: boolean;
}

/**
 * Lists one bucket for scans: the SDK signs, sends and retries, but its reader, which takes most of the CPU
 * time of a listing, is replaced.
 */
export class ScanListing implements ObjectListing {
  readonly #client: S3Client;
  readonly #retries: ScanRetryStrategy;
  readonly #folders: S3ObjectListing;
  readonly #bucket: string;

  constructor(input: ScanListingInput) {
    this.#bucket = input.bucket;
    this.#retries = new ScanRetryStrategy(input.retry);
    this.#client = createScanClient(input, this.#retries);
    this.#folders = new S3ObjectListing({ client: createS3Client(input.settings), bucket: input.bucket });
  }

  /** @throws {StoreUnavailableError} @throws {StoreRefusedError} */
  async listPage(request: ListPageRequest): Promise<ListedPage> {
    const { prefix, startAfter, continuationToken, maxKeys } = request;
    request.signal?.throwIfAborted();
    const command = new ListObjectsV2Command({
      Bucket: this.#bucket,
      EncodingType: 'url',
      Prefix: prefix,
      ...(continuationToken !== undefined
        ? { ContinuationToken: continuationToken }
        : startAfter !== undefined && { StartAfter: startAfter }),
      ...(maxKeys !== undefined && { MaxKeys: maxKeys }),
    });
    const limit = limitOf(request);
    try {
      const output = await this.#client.send(command, { abortSignal: limit.signal });
      const page = scannedPageOf(output);
      if (page === undefined) throw new TypeError('The answer was not read by the scan protocol.');
      return page;
    } catch (error) {
      if (request.signal?.aborted) throw request.signal.reason;
      if (limit.signal.aborted) throw this.#lateError(error);
      throw translateStoreError(error, 'LIST');
    } finally {
      limit.clear();
    }
  }

  /** What lies one level below a prefix, by the SDK as it is: such pages are few. */
  async listFolders(request: { prefix: string; continuationToken?: string }): Promise<DelimitedPage> {
    return this.#folders.listFolders(request);
  }

  #lateError(error: unknown): StoreUnavailableError {
    const { lastFailure } = this.#retries;
    const why = lastFailure
      ? `its last answer: ${lastFailure.name}, ${lastFailure.message}`
      : 'no answer yet';
    return new StoreUnavailableError(`The store did not serve LIST within the deadline (${why}).`, {
      cause: lastFailure ?? error,
    });
  }
}

function createScanClient(input: ScanListingInput, retryStrategy: ScanRetryStrategy): S3Client {
  const { region, endpoint, forcePathStyle, credentials, socketsMax = 128 } = input.settings;
  const agent = { keepAlive: true, maxSockets: socketsMax };
  return new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    ...(forcePathStyle !== undefined && { forcePathStyle }),
    ...(credentials !== undefined && { credentials }),
    ...(input.followsRegion && { followRegionRedirects: true }),
    protocol: ScanProtocol,
    retryStrategy,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      httpAgent: agent,
      httpsAgent: agent,
      connectionTimeout: 5_000,
      requestTimeout: pageTimeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: pageTimeoutMs,
    },
  });
}

/** A signal that fires when the caller's does, or when the deadline passes. */
function limitOf(request: ListPageRequest): { signal: AbortSignal; clear: () => void } {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const { signal, deadlineMs } = request;
  signal?.addEventListener('abort', abort, { once: true });
  const timer =
    deadlineMs === undefined ? undefined : setTimeout(abort, Math.max(0, deadlineMs - Date.now()));
  return {
    signal: controller.signal,
    clear: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    },
  };
}
