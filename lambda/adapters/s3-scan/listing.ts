import { setMaxListeners } from 'node:events';
import {
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  type ListObjectsV2CommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3';
import type {
  DelimitedPage,
  ListedPage,
  ListPageRequest,
  ObjectListing,
} from '../../ports/object-listing.ts';
import { StoreUnavailableError } from '../../ports/object-store.ts';
import { createS3Client, type S3Settings } from '../s3/client.ts';
import { translateStoreError } from '../s3/errors.ts';
import { S3ObjectListing } from '../s3/object-listing.ts';
import { createScanClient } from './client.ts';
import { scannedPageOf } from './protocol.ts';
import { type ScanRetrySettings, ScanRetryStrategy } from './retry.ts';
import { warmUpCredentials, warmUpHandler, warmUpPages } from './warm-up.ts';

/** Sends LIST requests of one scan. */
interface Sender {
  readonly send: (args: {
    input: ListObjectsV2CommandInput;
  }) => Promise<{ output: ListObjectsV2CommandOutput }>;
  readonly limit: AbortSignal;
  readonly deadlineMs: number | undefined;
}

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
  readonly #settings: S3Settings;
  readonly #client: S3Client;
  readonly #retries: ScanRetryStrategy;
  readonly #folders: S3ObjectListing;
  readonly #bucket: string;
  // A redirect changes what the chain has noted of the bucket, so it is not shared then.
  readonly #followsRegion: boolean;
  readonly #senders = new WeakMap<AbortSignal, Sender>();

  constructor(input: ScanListingInput, client?: S3Client) {
    const { settings, bucket, followsRegion = false } = input;
    this.#settings = settings;
    this.#bucket = bucket;
    this.#followsRegion = followsRegion;
    const retryStrategy = new ScanRetryStrategy(input.retry);
    this.#retries = retryStrategy;
    this.#client = client ?? createScanClient({ settings, retryStrategy, followsRegion });
    this.#folders = new S3ObjectListing({ client: createS3Client(settings), bucket });
  }

  /** @throws {StoreUnavailableError} @throws {StoreRefusedError} */
  async listPage(request: ListPageRequest): Promise<ListedPage> {
    const { prefix, startAfter, continuationToken, maxKeys } = request;
    request.signal?.throwIfAborted();
    const input: ListObjectsV2CommandInput = {
      Bucket: this.#bucket,
      EncodingType: 'url',
      Prefix: prefix,
      ...(continuationToken !== undefined
        ? { ContinuationToken: continuationToken }
        : startAfter !== undefined && { StartAfter: startAfter }),
      ...(maxKeys !== undefined && { MaxKeys: maxKeys }),
    };
    const sender = this.#senderFor(request);
    try {
      const { output } = await sender.send({ input });
      const page = scannedPageOf(output);
      if (page === undefined) throw new TypeError('The answer was not read by the scan protocol.');
      return page;
    } catch (error) {
      if (request.signal?.aborted) throw request.signal.reason;
      if (sender.limit.aborted) throw this.#lateError(error);
      throw translateStoreError(error, 'LIST');
    }
  }

  /**
   * Reads a few made-up pages, with all that a real one goes through but the network. The first pages of a new
   * process cost several times the CPU time of later ones, as nothing is compiled yet; a function has all of a
   * core while it starts, and a fraction of one when somebody waits.
   */
  async warmUp(): Promise<void> {
    const { region } = this.#settings;
    const client = createScanClient({
      settings: { region, credentials: warmUpCredentials },
      retryStrategy: new ScanRetryStrategy({ attemptsMax: 1 }),
      followsRegion: false,
      requestHandler: warmUpHandler,
    });
    const warm = new ScanListing({ settings: this.#settings, bucket: this.#bucket }, client);
    const { signal } = new AbortController();
    for (let turn = 0; turn < warmUpPages; turn += 1) {
      const page = await warm.listPage({ prefix: 'tenant/repo/', startAfter: 'tenant/repo/0', signal });
      page.keyAt(page.keyCount - 1);
    }
  }

  /** Ends the connections that are kept open. */
  destroy(): void {
    this.#client.destroy();
    this.#folders.destroy();
  }

  /** What lies one level below a prefix, by the SDK as it is: such pages are few. */
  async listFolders(request: { prefix: string; continuationToken?: string }): Promise<DelimitedPage> {
    return this.#folders.listFolders(request);
  }

  /**
   * All pages of a scan share a signal and a deadline, and so one sender: to set up the SDK's chain of
   * middleware costs as much as all the rest of sending a request.
   */
  #senderFor({ signal, deadlineMs }: ListPageRequest): Sender {
    const known = signal && this.#senders.get(signal);
    if (known && known.deadlineMs === deadlineMs) return known;
    const limit = limitOf({ signal, deadlineMs });
    const command = new ListObjectsV2Command({ Bucket: this.#bucket });
    const { middlewareStack, config } = this.#client;
    const send = command.resolveMiddleware(middlewareStack, config, { abortSignal: limit });
    const sender = { send, limit, deadlineMs };
    if (signal && !this.#followsRegion) this.#senders.set(signal, sender);
    return sender;
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

/** A signal that fires when the caller's does, or when the deadline passes. */
function limitOf(input: { signal: AbortSignal | undefined; deadlineMs: number | undefined }): AbortSignal {
  const controller = new AbortController();
  // Each request under way listens to it, and Node takes more than ten listeners for a leak.
  setMaxListeners(0, controller.signal);
  const abort = () => controller.abort();
  input.signal?.addEventListener('abort', abort, { once: true });
  if (input.deadlineMs !== undefined) {
    // Its own reference would keep a process alive whose scan has long ended.
    setTimeout(abort, Math.max(0, input.deadlineMs - Date.now())).unref();
  }
  return controller.signal;
}
