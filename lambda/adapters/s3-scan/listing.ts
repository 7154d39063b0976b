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

/** Sends the LIST requests of one scan. */
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
 * Lists one bucket for scans. The SDK signs, sends and retries. Its reader, which takes most of the CPU time of a
 * listing, is replaced.
 */
export class ScanListing implements ObjectListing {
  readonly #settings: S3Settings;
  readonly #client: S3Client;
  readonly #retries: ScanRetryStrategy;
  readonly #folders: S3ObjectListing;
  readonly #bucket: string;
  // A redirect changes what the SDK's middleware knows of the bucket. So with redirects, requests do not share it.
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
      if (page === undefined) throw new TypeError('The scan protocol did not read the answer.');
      return page;
    } catch (error) {
      if (request.signal?.aborted) throw request.signal.reason;
      if (sender.limit.aborted) throw this.#lateError(error);
      throw translateStoreError(error, 'LIST');
    }
  }

  /**
   * Reads a few made-up pages, without the network but with everything else that a real page needs. The first pages
   * of a new process cost several times the CPU time of later ones, because nothing is compiled yet. A function has a
   * whole core while it starts, and only a fraction of one when somebody waits.
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

  /** Closes the connections that are kept alive. */
  destroy(): void {
    this.#client.destroy();
    this.#folders.destroy();
  }

  /** Uses the unmodified SDK, because such pages are few. @throws {StoreUnavailableError} @throws {StoreRefusedError} */
  async listFolders(request: { prefix: string; continuationToken?: string }): Promise<DelimitedPage> {
    return this.#folders.listFolders(request);
  }

  /**
   * The sender for the signal and deadline of a scan, shared by all its pages: setting up the SDK's middleware costs
   * as much as the rest of sending a request.
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
    const why = lastFailure ? `last failure: ${lastFailure.name}, ${lastFailure.message}` : 'no answer yet';
    return new StoreUnavailableError(`The store did not serve LIST within the deadline (${why}).`, {
      cause: lastFailure ?? error,
    });
  }
}

/** A signal that aborts when the caller's does, or when the deadline passes. */
function limitOf(input: { signal: AbortSignal | undefined; deadlineMs: number | undefined }): AbortSignal {
  const controller = new AbortController();
  // Each pending request listens to it, and Node warns of a leak if there are more than ten listeners.
  setMaxListeners(0, controller.signal);
  const abort = () => controller.abort();
  input.signal?.addEventListener('abort', abort, { once: true });
  if (input.deadlineMs !== undefined) {
    // Without unref, the timer would keep a process alive after its scan has ended.
    setTimeout(abort, Math.max(0, input.deadlineMs - Date.now())).unref();
  }
  return controller.signal;
}
