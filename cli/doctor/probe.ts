import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import { S3Client } from '@aws-sdk/client-s3';
import { requestHandler } from '../../lambda/adapters/aws-sdk/client-options.ts';
import { BucketClient } from '../../lambda/adapters/s3/client.ts';
import { S3ObjectStore } from '../../lambda/adapters/s3/object-store.ts';
import { isNetworkError } from '../../lambda/adapters/s3/retry.ts';
import { S3UrlSigner } from '../../lambda/adapters/s3/url-signer.ts';
import { storeErrorOf } from '../../lambda/adapters/s3-archive/sdk-errors.ts';
import { ScanListing } from '../../lambda/adapters/s3-scan/listing.ts';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import type { DelimitedPage, ListPageRequest } from '../../lambda/ports/object-listing.ts';
import {
  type SignedRequest,
  type StoredObject,
  StoreUnavailableError,
} from '../../lambda/ports/object-store.ts';
import { deleteMsMax, idleMsMax, largeIdleMsMax } from './limits.ts';
import {
  describeOutcome,
  isAccepted,
  messageOf,
  type RawOutcome,
  type RawRequest,
  sendRaw,
} from './raw-request.ts';
import { Traffic } from './traffic.ts';

export interface ProbeTarget {
  readonly bucket: string;
  /** Of this run alone; everything is written below it. Ends with a slash. */
  readonly prefix: string;
  /** Undefined: AWS. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** More rounds, and checks that need more than a thousand objects. */
  readonly isThorough: boolean;
  /** Undefined: no large upload. */
  readonly largestBytes: number | undefined;
}

export interface ListedKeys {
  readonly keys: readonly { readonly key: string; readonly sizeBytes: number }[];
  readonly nextContinuationToken: string | undefined;
}

/** Lifetime of a URL that should be valid. */
const urlLifetimeMs = 600_000;

/** Attempts of one request. A store that throttles is noticed, and still probed. */
const attemptsMax = 5;

/** Limits of a request that an adapter has no method for: parts and copies. */
const partConnectMs = 24_000;
const partAnswerMs = 120_000;

/**
 * The store under test, through the adapters with which the service uses it. It remembers every key it wrote, and
 * what the store answered on the way.
 *
 * Every operation throws {@link StoreUnavailableError} or {@link StoreRefusedError} when the store does not do it, and
 * the signal's reason after an abort.
 */
export class Probe {
  readonly target: ProbeTarget;
  readonly traffic = new Traffic();
  /** For what no adapter does: parts, copies. */
  readonly client: S3Client;
  /** Keys for which an upload was sent, accepted or not. */
  readonly written = new Set<string>();
  /** Multipart uploads that were begun. */
  readonly partUploads = new Map<string, string>();
  /** The store's clock minus this machine's, once it is known. */
  clockSkewMs = 0;
  readonly #store: S3ObjectStore;
  readonly #listing: ScanListing;
  readonly #signer: S3UrlSigner;
  #signal: AbortSignal;
  readonly #agent: HttpAgent;
  readonly #bucketClient: BucketClient;
  readonly #memo = new Map<string, Promise<unknown>>();
  #names = 0;

  constructor(target: ProbeTarget, signal: AbortSignal) {
    const { bucket, endpoint, region } = target;
    const where = { region, ...(endpoint !== undefined && { endpoint, forcePathStyle: true }) };
    // A part of 5 MiB takes its time on a slow line.
    const limits = requestHandler({ connectMs: partConnectMs, answerMs: partAnswerMs });
    const checksums = 'WHEN_REQUIRED' as const;
    const client = new S3Client({
      ...where,
      maxAttempts: attemptsMax,
      requestHandler: limits,
      requestChecksumCalculation: checksums,
      responseChecksumValidation: checksums,
    });
    const place = { ...where, bucket, credentials: () => client.config.credentials() };
    const bucketClient = new BucketClient({
      ...place,
      timeoutFactor: 12,
      onAnswer: (status) => this.traffic.note(status),
    });
    this.target = target;
    this.client = client;
    this.#signal = unlimited(signal);
    this.#bucketClient = bucketClient;
    this.#listing = new ScanListing({ client: bucketClient, retry: { attemptsMax } });
    this.#store = new S3ObjectStore({ client: bucketClient, clock: systemClock, retry: { attemptsMax } });
    this.#signer = new S3UrlSigner(place);
    const isHttp = endpoint?.startsWith('http:') === true;
    this.#agent = new (isHttp ? HttpAgent : HttpsAgent)({ keepAlive: true });
    this.traffic.watch(client);
  }

  /** Closes the connections that are kept alive. */
  destroy(): void {
    this.client.destroy();
    this.#bucketClient.destroy();
    this.#agent.destroy();
  }

  /** From here on an abort stops nothing any more: what is left is the cleanup. */
  outliveAbort(): void {
    this.#signal = unlimited(new AbortController().signal);
  }

  /** A key that nothing else uses. */
  newKey(): string {
    this.#names += 1;
    return `${this.target.prefix}${this.#names}`;
  }

  /** What `make` makes, made once a run. A check can thus use what another one wrote. */
  once<T>(name: string, make: () => Promise<T>): Promise<T> {
    const made = (this.#memo.get(name) as Promise<T> | undefined) ?? make();
    this.#memo.set(name, made);
    return made;
  }

  /** The service's own URL for an upload of `body`, or of the bytes with the given SHA-256 and size. */
  signUpload(input: {
    key: string;
    oid: string;
    sizeBytes: number;
    signedAtMs?: number;
    lifetimeMs?: number;
  }): Promise<SignedRequest> {
    return this.#signer.signUpload({ signedAtMs: Date.now(), lifetimeMs: urlLifetimeMs, ...input });
  }

  signDownload(
    key: string,
    times: { signedAtMs?: number; lifetimeMs?: number } = {},
  ): Promise<SignedRequest> {
    return this.#signer.signDownload({ key, signedAtMs: Date.now(), lifetimeMs: urlLifetimeMs, ...times });
  }

  /** Sends a request as it is, on a connection of its own. */
  async sendRaw(request: RawRequest): Promise<RawOutcome> {
    const outcome = await sendRaw({ ...request, signal: this.#signal });
    if (outcome.kind === 'answer') this.traffic.note(outcome.status);
    return outcome;
  }

  /** Uploads `body` by a signed URL, as git-lfs would. */
  async upload(key: string, body: Buffer): Promise<RawOutcome> {
    return await this.uploadStream(key, { oid: sha256Of(body), sizeBytes: body.length, body });
  }

  async uploadStream(
    key: string,
    input: { oid: string; sizeBytes: number; body: Buffer | Readable },
  ): Promise<RawOutcome> {
    const { oid, sizeBytes, body } = input;
    const { href, header } = await this.signUpload({ key, oid, sizeBytes });
    this.written.add(key);
    const headers = {
      ...header,
      'content-length': `${sizeBytes}`,
      'content-type': 'application/octet-stream',
    };
    const idleMs = Buffer.isBuffer(body) ? idleMsMax : largeIdleMsMax;
    return await this.sendRaw({ method: 'PUT', href, headers, body, agent: this.#agent, idleMs });
  }

  /** Stores an object for another check. @throws {Error} when the store refuses it, even at the third try. */
  async put(key: string, body: Buffer): Promise<void> {
    let outcome = await this.upload(key, body);
    for (let tries = 1; tries < 3 && isRetriable(outcome); tries += 1) {
      await systemClock.sleep(500 * tries);
      outcome = await this.upload(key, body);
    }
    if (!isAccepted(outcome))
      throw new Error(`The store answered an upload with ${describeOutcome(outcome)}. ${messageOf(outcome)}`);
  }

  head(key: string): Promise<StoredObject | undefined> {
    return this.#unlessAborted(() => this.#store.head(key));
  }

  /** Sent again as long as the store does not serve it, unlike in the service: nobody pushes what is deleted here. */
  delete(...keys: readonly string[]): Promise<void> {
    const deadlineMs = Date.now() + deleteMsMax;
    return this.#unlessAborted(async () => {
      for (let tries = 1; ; tries += 1) {
        const [error] = (await this.#store.delete(keys, { deadlineMs })).values();
        if (!error) return;
        if (tries >= attemptsMax) throw error;
        await systemClock.sleep(200 * tries);
      }
    });
  }

  /** One page, read as a scan reads it. */
  list(request: Omit<ListPageRequest, 'signal'>): Promise<ListedKeys> {
    return this.#unlessAborted(async () => {
      const page = await this.#listing.listPage(request);
      const keys = Array.from({ length: page.keyCount }, (_, index) => ({
        key: page.keyAt(index),
        sizeBytes: page.sizeAt(index),
      }));
      return { keys, nextContinuationToken: page.nextContinuationToken };
    });
  }

  /** What is one level below a prefix. */
  listFolders(prefix: string): Promise<DelimitedPage> {
    return this.#unlessAborted(() => this.#listing.listFolders({ prefix }));
  }

  /** A request of the SDK that no adapter sends. */
  send<T>(request: (client: S3Client) => Promise<T>): Promise<T> {
    return this.#unlessAborted(() =>
      request(this.client).catch((thrown: unknown) => {
        throw inOwnWords(thrown);
      }),
    );
  }

  /** Rejects at the abort. What the store does with a request that is on its way is left to the cleanup. */
  async #unlessAborted<T>(run: () => Promise<T>): Promise<T> {
    const signal = this.#signal;
    signal.throwIfAborted();
    let onAbort = () => {};
    const aborted = new Promise<never>((_resolve, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
    });
    return await Promise.race([run(), aborted]).finally(() => signal.removeEventListener('abort', onAbort));
  }
}

/** The SDK's words about an answer that isn't whole are for programmers. */
function inOwnWords(thrown: unknown): unknown {
  const error = storeErrorOf(thrown);
  if (!(error instanceof Error) || !isNetworkError(error)) return error;
  const { code = 'ETIMEDOUT' } = error as NodeJS.ErrnoException;
  return new StoreUnavailableError(`There was no whole answer (${code}).`, { cause: error });
}

/** Each request on its way listens to it, and Node warns of a leak if there are more than ten listeners. */
function unlimited(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}

function isRetriable(outcome: RawOutcome): boolean {
  return outcome.kind === 'cut' || outcome.status >= 500 || outcome.status === 429;
}

/** SHA-256 in lower-case hex. */
export function sha256Of(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex');
}
