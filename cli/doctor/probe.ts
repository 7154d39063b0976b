import { createHash, randomBytes } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { S3Client } from '@aws-sdk/client-s3';
import { ScanListing } from '../../lambda/core/scan/list-objects.ts';
import { ArchiveClient } from '../../lambda/core/store/archive-client.ts';
import { BucketClient, isNetworkError } from '../../lambda/core/store/bucket-client.ts';
import { StoreAnswerError } from '../../lambda/core/store/http-exchange.ts';
import { createObjectStore, createTextFiles } from '../../lambda/core/store/object-store.ts';
import { proveOnlyNew, type SendInHalves, sendInHalves } from '../../lambda/core/store/only-new-proof.ts';
import type { ArchiveStore, MultipartUpload } from '../../lambda/core/store/rules/archive-store.ts';
import type { OnlyNewProof } from '../../lambda/core/store/rules/file-ports.ts';
import type {
  DelimitedPage,
  ListPageRequest,
  ObjectStore,
  SignedRequest,
  SignUploadInput,
  StoredObject,
  UrlSigner,
} from '../../lambda/core/store/rules/store.ts';
import { createArchiveStore } from '../../lambda/core/store/s3-archives.ts';
import { createUrlSigner } from '../../lambda/core/store/signing.ts';
import { requestHandler } from '../../lambda/core/table/sdk.ts';
import { systemClock, systemIds } from '../../lambda/frame/aws/clock-and-ids.ts';
import type { StoreTarget } from '../du/store-errors.ts';
import type { StoreFacts } from './profile.ts';

/** The deletion of one object, or of an upload's parts, ends by then, retries included. */
export const deleteMsMax = 20_000;

/** An answer's body is read up to here. The probes themselves are smaller. */
export const answerBytesMax = 65_536;

/** A raw request without any traffic for this long is given up. */
const idleMsMax = 60_000;

/** Lifetime of a URL that should be valid. */
const urlLifetimeMs = 600_000;

/** Attempts of one request. A store that throttles is noticed, and still probed. */
const attemptsMax = 5;

/** Statuses with which a store says that it is asked too much. */
const throttlingStatuses: ReadonlySet<number> = new Set([429, 503]);

export interface ProbeTarget extends StoreTarget {
  /** Of this run alone; everything is written below it. Ends with a slash. */
  readonly prefix: string;
  /** More rounds, and checks that need more than a thousand objects. */
  readonly isThorough: boolean;
  /** Undefined: no large upload. */
  readonly largestBytes: number | undefined;
  /** Of web pages that upload. Undefined: none is tried. */
  readonly origin?: string | undefined;
}

export interface ListedKey {
  readonly key: string;
  readonly sizeBytes: number;
  readonly etag?: string;
}

/** An upload that was announced honestly, and its signed URL. */
export interface Announced {
  readonly key: string;
  readonly body: Buffer;
  readonly signed: SignedRequest;
}

/** Signed in the past, so that nobody has to wait: the URL expired this long ago. */
interface Late {
  readonly lateMs?: number | undefined;
}

/**
 * The store under test, through the adapters with which the service uses it. It remembers every key it wrote, and
 * what the store answered on the way.
 *
 * Every operation throws {@link StoreUnavailableError} or {@link StoreRefusedError} when the store does not do it. After
 * an abort it signs and sends nothing more, and throws the signal's reason.
 */
export class Probe {
  readonly target: ProbeTarget;
  /** What was measured. */
  readonly facts: Pick<StoreFacts, 'clockSkewMs' | 'maxPutBytes'> = { clockSkewMs: null, maxPutBytes: null };
  /** Other clients of the service. */
  readonly archives: ArchiveStore;
  readonly files: ReturnType<typeof createTextFiles>;
  /** For what no client of the service tells. */
  readonly client: S3Client;
  /** Keys for which an upload was sent, accepted or not. */
  readonly written = new Set<string>();
  /** Multipart uploads that were begun. */
  readonly partUploads = new Set<MultipartUpload>();
  /** Keys of uploads that were refused, and what was uploaded. */
  readonly refused = new Map<string, string>();
  /** What the store answered: retries included, but for the SDK's. */
  readonly traffic = { requests: 0, throttled: 0 };
  readonly #store: ObjectStore;
  readonly #listing: ScanListing;
  readonly #signer: UrlSigner;
  readonly #bucketClient: BucketClient;
  readonly #archiveClient: ArchiveClient;
  readonly #memo = new Map<string, Promise<unknown>>();
  readonly #signal: AbortSignal;
  #names = 0;

  constructor(target: ProbeTarget, signal: AbortSignal) {
    const { bucket, endpoint, region } = target;
    const where = { region, ...(endpoint !== undefined && { endpoint, forcePathStyle: true }) };
    this.target = target;
    this.client = new S3Client({
      ...where,
      maxAttempts: attemptsMax,
      requestHandler: requestHandler({ connectMs: 24_000, answerMs: 120_000 }),
    });
    // Each attempt of each client asks for them.
    const credentials = async () => {
      signal.throwIfAborted();
      return await this.client.config.credentials();
    };
    const place = { ...where, bucket, credentials };
    const client = new BucketClient({
      ...place,
      timeoutFactor: 12,
      onAnswer: (status) => this.#note(status),
    });
    // Each request on its way listens to it, and Node warns of a leak if there are more than ten listeners.
    setMaxListeners(0, signal);
    this.#signal = signal;
    this.#bucketClient = client;
    // A part of 5 MiB takes its time on a slow line.
    this.#archiveClient = new ArchiveClient(place, { connectMs: 24_000, attemptsMax });
    this.archives = createArchiveStore({ client: this.#archiveClient });
    this.files = createTextFiles({ client });
    this.#listing = new ScanListing({ client, retry: { attemptsMax } });
    this.#store = createObjectStore({ client, clock: systemClock, retry: { attemptsMax } });
    this.#signer = createUrlSigner(place);
  }

  /** Closes the connections that are kept alive. */
  destroy(): void {
    this.client.destroy();
    this.#bucketClient.destroy();
    this.#archiveClient.destroy();
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

  /** The service's own URL for an upload of the bytes with the given SHA-256 and size. */
  signUpload(
    input: Pick<SignUploadInput, 'key' | 'oid' | 'sizeBytes' | 'onlyNew' | 'contentType' | 'part'> & Late,
  ): Promise<SignedRequest> {
    return this.#signer.signUpload({ ...input, ...this.#timesOf(input) });
  }

  /** An upload to a new key, and its URL. */
  async announce({ body = randomBytes(2000), ...late }: { body?: Buffer } & Late = {}): Promise<Announced> {
    const key = this.newKey();
    this.written.add(key);
    const signed = await this.signUpload({ key, oid: sha256Of(body), sizeBytes: body.length, ...late });
    return { key, body, signed };
  }

  /** The same, and the object is stored. */
  async announceStored(): Promise<Announced> {
    const announced = await this.announce();
    await this.put(announced.key, announced.body);
    return announced;
  }

  /** The service's own URL for a download. */
  async signDownload(key: string, { saveAs, ...late }: { saveAs?: string } & Late = {}): Promise<string> {
    return (await this.#signer.signDownload({ key, saveAs, ...this.#timesOf(late) })).href;
  }

  /** Downloads by a signed URL, as git-lfs would. */
  async download(key: string, options: { saveAs?: string } & Late = {}): Promise<RawOutcome> {
    return await this.sendRaw({ method: 'GET', href: await this.signDownload(key, options) });
  }

  /** Whether URLs of new objects replace nothing, as the service finds out. */
  async proveOnlyNew(): Promise<OnlyNewProof> {
    const below = `${this.newKey()}/`;
    const ports = { signer: this.#signer, store: this.#store, listing: this.#listing, clock: systemClock };
    const send: SendInHalves = async (signed, body, between) => {
      const status = await sendInHalves(signed, body, { between, signal: this.#signal });
      this.#note(status);
      return status;
    };
    return await proveOnlyNew({ ...ports, ids: systemIds, sendInHalves: send }, { below });
  }

  /** Sends a request as it is. */
  async sendRaw(request: RawRequest): Promise<RawOutcome> {
    const outcome = await sendRaw({ ...request, signal: this.#signal });
    if (outcome.kind === 'answer') this.#note(outcome.status);
    return outcome;
  }

  /** Sends any bytes to a signed URL, with their length. */
  sendBytes(
    { href, header }: SignedRequest,
    body: Buffer,
    options: Pick<RawRequest, 'cutAfterBytes' | 'isKeptAlive'> = {},
  ): Promise<RawOutcome> {
    const headers = { ...header, 'content-length': `${body.length}` };
    return this.sendRaw({ method: 'PUT', href, headers, body, ...options });
  }

  /** Uploads by a signed URL, as git-lfs would. */
  async upload(key: string, body: Buffer): Promise<RawOutcome> {
    const { href, header } = await this.signUpload({ key, oid: sha256Of(body), sizeBytes: body.length });
    this.written.add(key);
    const type = { 'content-type': 'application/octet-stream' };
    return await this.sendBytes({ href, header: { ...header, ...type } }, body, { isKeptAlive: true });
  }

  /** Stores an object for another check. @throws {Error} when the store refuses it, even at the third try. */
  async put(key: string, body: Buffer): Promise<void> {
    let outcome = await this.upload(key, body);
    for (let tries = 1; tries < 3 && isRetriable(outcome); tries += 1) {
      await systemClock.sleep(500 * tries);
      outcome = await this.upload(key, body);
    }
    if (!isAccepted(outcome))
      throw new Error(`The store responded to an upload with ${explainOutcome(outcome)}`);
  }

  head(key: string): Promise<StoredObject | undefined> {
    return this.#store.head(key);
  }

  /** Sent again as long as the store does not serve it, unlike in the service: nobody pushes what is deleted here. */
  async delete(...keys: readonly string[]): Promise<void> {
    const deadlineMs = Date.now() + deleteMsMax;
    for (let tries = 1; ; tries += 1) {
      const [error] = (await this.#store.delete(keys, { deadlineMs })).values();
      if (!error) return;
      if (tries >= attemptsMax) throw error;
      await systemClock.sleep(200 * tries);
    }
  }

  /** One page, read as a scan reads it. */
  async list(
    request: Omit<ListPageRequest, 'signal'>,
  ): Promise<{ keys: ListedKey[]; nextContinuationToken: string | undefined }> {
    const page = await this.#listing.listPage({ ...request, readsEtags: true });
    const keys = Array.from({ length: page.keyCount }, (_, index) => ({
      key: page.keyAt(index),
      sizeBytes: page.sizeAt(index),
      etag: page.etagAt(index),
    }));
    return { keys, nextContinuationToken: page.nextContinuationToken };
  }

  /** The pages below a prefix, up to so many. `isWhole`: there are no more. */
  async listAll(
    request: { prefix: string; maxKeys?: number },
    pagesMax: number,
  ): Promise<{ pages: ListedKey[][]; isWhole: boolean }> {
    const pages: ListedKey[][] = [];
    let more: { continuationToken?: string } = {};
    while (pages.length < pagesMax) {
      const { keys, nextContinuationToken: token } = await this.list({ ...request, ...more });
      pages.push(keys);
      if (token === undefined) return { pages, isWhole: true };
      more = { continuationToken: token };
    }
    return { pages, isWhole: false };
  }

  /** What is one level below a prefix. */
  listFolders(prefix: string): Promise<DelimitedPage> {
    return this.#listing.listFolders({ prefix });
  }

  #note(status: number): void {
    this.traffic.requests += 1;
    if (throttlingStatuses.has(status)) this.traffic.throttled += 1;
  }

  #timesOf({ lateMs }: Late): { signedAtMs: number; lifetimeMs: number } {
    if (lateMs === undefined) return { signedAtMs: Date.now(), lifetimeMs: urlLifetimeMs };
    // The store decides by its own clock.
    const storeMs = Date.now() + (this.facts.clockSkewMs ?? 0);
    return { signedAtMs: storeMs - lateMs - 1000, lifetimeMs: 1000 };
  }
}

/** What the store or the network said when a request of one of the service's clients failed, as the end of a sentence. */
export function describeError(error: NodeJS.ErrnoException): string {
  if (error.cause instanceof Error) return describeError(error.cause);
  if (isNetworkError(error)) return `The response was incomplete (${error.code ?? 'ETIMEDOUT'})`;
  const code = error instanceof StoreAnswerError ? `${error.name}: ` : '';
  return `${code}${error.message}`.slice(0, 200).replace(/\.$/, '');
}

function isRetriable(outcome: RawOutcome): boolean {
  return outcome.kind === 'cut' || outcome.status >= 500 || outcome.status === 429;
}

/** SHA-256 in lower-case hex. */
export function sha256Of(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex');
}

interface RawRequest {
  readonly href: string;
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Without a Content-Length among the headers it is sent chunked. */
  readonly body?: Buffer | Readable;
  /** The connection is cut after these bytes of the body. */
  readonly cutAfterBytes?: number;
  /** Otherwise the connection is of this request alone. */
  readonly isKeptAlive?: boolean;
  /** Without any traffic, or without the answer's end, for this long it is given up. A minute by default. */
  readonly idleMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export type RawOutcome =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      /** Up to 64 KiB of it. */
      readonly body: Buffer;
    }
  /** The connection ended without a whole answer. */
  | { readonly kind: 'cut'; readonly reason: string };

/**
 * Sends a request exactly as given: no library in between corrects a wrong length or a missing header.
 *
 * @throws the signal's reason, when it aborts.
 */
export async function sendRaw(input: RawRequest): Promise<RawOutcome> {
  const { href, method, headers = {}, body, cutAfterBytes, idleMs = idleMsMax, signal } = input;
  signal?.throwIfAborted();
  const { origin, protocol } = new URL(href);
  const outgoing = (protocol === 'https:' ? httpsRequest : httpRequest)(href, {
    // As written, because a URL object would resolve its dots.
    path: href.slice(origin.length),
    method,
    headers,
    signal,
    timeout: idleMs,
    ...(!input.isKeptAlive && { agent: false }),
  });
  const answered = once(outgoing, 'response');
  // Once there's an answer, its body tells.
  outgoing.on('error', () => {});
  outgoing.on('timeout', () => outgoing.destroy(new Error(`no traffic for ${idleMs / 1000} s`)));
  if (cutAfterBytes !== undefined && Buffer.isBuffer(body))
    outgoing.write(body.subarray(0, cutAfterBytes), () => outgoing.destroy(new Error('cut on purpose')));
  else Readable.from(body ?? [], { objectMode: false }).pipe(outgoing);
  let incoming: IncomingMessage | undefined;
  let slow: NodeJS.Timeout | undefined;
  // An answer that drips without end is traffic, too, and so are its headers.
  const limitAnswer = () => {
    clearTimeout(slow);
    slow = setTimeout(
      () => (incoming ?? outgoing).destroy(new Error(`no end for ${idleMs / 1000} s`)),
      idleMs,
    );
  };
  outgoing.once('finish', limitAnswer);
  try {
    [incoming] = (await answered) as [IncomingMessage];
    limitAnswer();
    let read = Buffer.alloc(0);
    for await (const chunk of incoming) {
      read = Buffer.concat([read, chunk]);
      if (read.length >= answerBytesMax) break;
    }
    const { statusCode: status = 0, headers } = incoming;
    return { kind: 'answer', status, headers, body: read.subarray(0, answerBytesMax) };
  } catch (error) {
    signal?.throwIfAborted();
    const { code, message } = error as NodeJS.ErrnoException;
    return { kind: 'cut', reason: code ?? message };
  } finally {
    outgoing.off('finish', limitAnswer);
    clearTimeout(slow);
    // What is left of the body is not wanted any more.
    if (!outgoing.writableFinished) outgoing.destroy();
  }
}

/** An outcome in a few words: `403 SignatureDoesNotMatch`, or why there was no answer. */
export function describeOutcome(outcome: RawOutcome): string {
  if (outcome.kind === 'cut') return `no response (${outcome.reason})`;
  const [, code] = /<Code>([^<]{1,100})<\/Code>/.exec(outcome.body.toString()) ?? [];
  return code === undefined ? `${outcome.status}` : `${outcome.status} ${code}`;
}

/** The same, and the message of the error document, without control characters. */
export function explainOutcome(outcome: RawOutcome): string {
  const text = outcome.kind === 'cut' ? '' : outcome.body.toString();
  const [, message = ''] = /<Message>([^<]{1,300})<\/Message>/.exec(text) ?? [];
  return `${describeOutcome(outcome)}. ${message.replace(/\p{Cc}/gu, ' ')}`.trim();
}

/** True for a 2xx. */
export function isAccepted(outcome: RawOutcome): boolean {
  return outcome.kind === 'answer' && outcome.status >= 200 && outcome.status < 300;
}
