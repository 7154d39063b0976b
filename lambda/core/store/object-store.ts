import { hash } from 'node:crypto';
import { forEachLimited } from '../rules/async.ts';
import type { Clock } from '../rules/clock-and-log.ts';
import { AwsServiceError } from '../rules/errors.ts';
import { isRefusal } from '../table/sdk.ts';
import {
  type BucketClient,
  DeadlineError,
  isNetworkError,
  lastingStatuses,
  type RetrySettings,
  type StoreCall,
} from './bucket-client.ts';
import {
  type AnswerHead,
  type AnswerReader,
  bytesReader,
  type ExchangeLimits,
  emptyReader,
  errorIn,
  MalformedAnswerError,
  StoreAnswerError,
  textReader,
  unescapeXml,
} from './http-exchange.ts';
import type { ArchiveStore } from './rules/archive-store.ts';
import {
  markHeader,
  type ObjectStore,
  type StoredObject,
  StoreRefusedError,
  StoreUnavailableError,
} from './rules/store.ts';

/**
 * The error to throw for a request that failed, after its retries.
 *
 * - No answer, 5xx, throttling, an answer that cannot be the truth, a time limit → {@link StoreUnavailableError}.
 * - Any other 3xx or 4xx, 501, 505, or no credentials → {@link StoreRefusedError}.
 * - Anything else is a bug, and is returned unchanged.
 *
 * @param request for the message: `HEAD`, `LIST`, `DELETE`.
 */
export function translateStoreError(cause: unknown, request: string): unknown {
  if (!(cause instanceof Error)) return cause;
  if (cause.name === 'CredentialsProviderError') {
    return new StoreRefusedError(`There are no credentials for the store (${request}): ${cause.message}`, {
      cause,
    });
  }
  const status = statusOf(cause);
  if (status === undefined) {
    if (!isNetworkError(cause) && !(cause instanceof MalformedAnswerError)) return cause;
    return new StoreUnavailableError(`The store did not serve ${request} (${cause.name}).`, { cause });
  }
  if (isRefusal({ status, name: cause.name })) {
    return new StoreRefusedError(
      `The store rejected ${request} with ${status} ${cause.name}: check bucket name, region, credentials and their permissions, including ListBucket.`,
      { cause },
    );
  }
  const answer = `${request} (${status} ${cause.name}).`;
  if (lastingStatuses.has(status))
    return new StoreRefusedError(`The store doesn't support ${answer}`, { cause });
  return new StoreUnavailableError(`The store did not serve ${answer}`, { cause });
}

/**
 * The status of the answer, if there was one: the store's, that of Secrets Manager to the request for the credentials,
 * or that of the SDK's request for them.
 */
function statusOf(error: Error): number | undefined {
  if (error instanceof StoreAnswerError || error instanceof AwsServiceError) return error.status;
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}

/**
 * The limits of requests that are answered from memory or an index, and that somebody waits for.
 *
 * @param timeoutFactor 1 for S3 itself.
 */
export function objectLimits(timeoutFactor: number): ExchangeLimits & RetrySettings {
  return {
    connectMs: 2_000 * timeoutFactor,
    answerMs: 10_000 * timeoutFactor,
    attemptsMax: 4,
    baseDelayMs: 100,
    throttledDelayMs: 500,
    delayMaxMs: 5_000,
    retryAfterMaxMs: 5_000,
  };
}

/** DeleteObjects: many keys in one request, of which each may fail. */

/** Keys of one request, at most. */
const keysPerDelete = 1000;

/** A thousand of the longest keys, each character escaped, with a message each. */
const answerBytesMax = 8 * 1024 ** 2;

/** What the answer says of the keys that it names. */
interface DeletedKeys {
  readonly deleted: ReadonlySet<string>;
  readonly failed: ReadonlyMap<string, { readonly code: string; readonly message: string | undefined }>;
}

/** Whether the text of an XML document can have the key. Some control characters have no way into one. */
function isXmlText(key: string): boolean {
  return !notXml.test(key);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML can't have.
const notXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/u;

/** What to send. S3 wants the MD5, and it's the one checksum that every compatible store knows. */
function deleteRequest(keys: readonly string[]) {
  const objects = keys.map((key) => `<Object><Key>${escapeXml(key)}</Key></Object>`).join('');
  const body = `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${objects}</Delete>`;
  const headers = { 'content-md5': hash('md5', body, 'base64'), 'content-type': 'application/xml' };
  return { method: 'POST', query: { delete: '' }, headers, body } as const;
}

export function escapeXml(text: string): string {
  // A parser makes an unescaped line break another one.
  return text.replace(/[&<>"\t\n\r]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** Reads the answer, or throws the error that S3 may send with status 200. */
function deletedReader(): AnswerReader<DeletedKeys> {
  return textReader(answerBytesMax, (text) => {
    if (!/<DeleteResult[\s>/]/.test(text)) {
      const { code, message } = errorIn(text);
      if (code !== undefined) throw new StoreAnswerError({ status: 503, code, message });
      throw new MalformedAnswerError("The answer isn't a DeleteResult.");
    }
    // S3 begins to answer before it has deleted them. Node hears of no cut if the answer has neither length nor chunks.
    if (!/(<\/DeleteResult|<DeleteResult[^>]*\/)>\s*$/.test(text))
      throw new StoreAnswerError({ status: 503, code: 'IncompleteAnswer', message: 'The answer was cut.' });
    const deleted = new Set<string>();
    const failed = new Map<string, { code: string; message: string | undefined }>();
    for (const [, name, inner = ''] of text.matchAll(/<(Deleted|Error)>(.*?)<\/\1>/gs)) {
      const key = /<Key>([^<]*)<\/Key>/.exec(inner)?.[1];
      if (key === undefined) throw new MalformedAnswerError('The answer has a key without a name.');
      if (name === 'Deleted') deleted.add(unescapeXml(key));
      else {
        const { code = 'Unknown', message } = errorIn(`<Error>${inner}`);
        failed.set(unescapeXml(key), { code, message });
      }
    }
    return { deleted, failed };
  });
}

/** The objects of one bucket. @param input.retry when a HEAD is sent again. */
export function createObjectStore(input: {
  client: BucketClient;
  clock: Pick<Clock, 'nowMs'>;
  retry?: Partial<RetrySettings>;
}): ObjectStore {
  const { client, clock } = input;
  const limits = { ...objectLimits(client.timeoutFactor), ...input.retry };
  let knowsNoBulk = false;
  return {
    /**
     * A missing bucket looks like a missing key here, because an answer to HEAD has no body. Only LIST distinguishes
     * them.
     *
     * @throws {StoreUnavailableError} @throws {StoreRefusedError}
     */
    async head(key) {
      try {
        return await client.send({ method: 'HEAD', key, headers: headHeaders, limits, readerOf });
      } catch (error) {
        throw translateStoreError(error, 'HEAD');
      }
    },

    /**
     * A single attempt, as of a delete: of two, one could land after the object was removed again.
     *
     * @throws {StoreUnavailableError} @throws {StoreRefusedError}
     */
    putEmpty: (key, { mark, onlyNew, deadlineMs }) =>
      sending({ client, clock, limits, deadlineMs, request: 'PUT' })({
        method: 'PUT',
        key,
        headers: { [markHeader]: mark, ...(onlyNew && { 'if-none-match': '*' }) },
        body: '',
        readerOf: emptyPutReaderOf,
      }),

    /**
     * By DeleteObjects, if the store knows it: a thousand keys a request. A store that refuses the first such request and
     * takes single ones isn't asked again. The price: one request more in each process.
     *
     * A single attempt for each key: of two, one could land after the object was pushed again. What was refused as a whole, or
     * isn't named in a complete answer, can't land later, so it's sent on its own. Sends nothing after the deadline, and
     * settles by then.
     *
     * @throws {StoreRefusedError}
     */
    async delete(keys, { deadlineMs }) {
      const send = sending({ client, clock, limits, deadlineMs, request: 'DELETE' });
      const failed = new Map<string, StoreUnavailableError>();
      const single: string[] = [];
      const bulk: string[] = [];
      for (const key of keys) (isXmlText(key) ? bulk : single).push(key);
      let isRefused = knowsNoBulk;
      for (let begin = 0; begin < bulk.length; begin += keysPerDelete) {
        const some = bulk.slice(begin, begin + keysPerDelete);
        const outcome = isRefused || some.length === 1 ? 'refused' : await deleteMany(send, some);
        if (outcome === 'refused') {
          isRefused ||= some.length > 1;
          single.push(...some);
          continue;
        }
        for (const [key, error] of outcome.failed) failed.set(key, error);
        single.push(...outcome.unnamed);
      }
      await forEachLimited(single, deletesAtOnce, async (key) => {
        const error = await deleteOne(send, key);
        if (error) failed.set(key, error);
      });
      // Not before: the store may have refused it because of something else, such as the credentials.
      if (isRefused && single.length > failed.size) knowsNoBulk = true;
      return failed;
    },
  };
}

/** @param answerFactor how many times as long as others it may take. */
type SendOnce = <T>(call: Omit<StoreCall<T>, 'limits'>, answerFactor?: number) => Promise<T>;

/** Sends changes until a deadline, a single attempt each. They throw {@link StoreUnavailableError} or {@link StoreRefusedError}. */
function sending(by: {
  client: BucketClient;
  clock: Pick<Clock, 'nowMs'>;
  limits: StoreCall<unknown>['limits'];
  deadlineMs: number;
  /** For messages. */
  request: string;
}): SendOnce {
  const { request } = by;
  return async (call, answerFactor = 1) => {
    const endsWithinMs = by.deadlineMs - by.clock.nowMs();
    if (endsWithinMs <= 0)
      throw new StoreUnavailableError(`The deadline for ${request} passed before it was sent.`);
    try {
      const answerMs = answerFactor * by.limits.answerMs;
      return await by.client.send({
        ...call,
        limits: { ...by.limits, answerMs, attemptsMax: 1 },
        endsWithinMs,
      });
    } catch (error) {
      if (error instanceof DeadlineError) {
        const message = `${request} didn't finish by its deadline. It might have been done.`;
        throw new StoreUnavailableError(message, { cause: error.cause });
      }
      throw translateStoreError(error, request);
    }
  };
}

/** @returns `refused`: the store doesn't know the request, or refuses it as a whole. */
async function deleteMany(
  send: SendOnce,
  keys: readonly string[],
): Promise<{ failed: ReadonlyMap<string, StoreUnavailableError>; unnamed: readonly string[] } | 'refused'> {
  let answer: DeletedKeys;
  try {
    answer = await send({ ...deleteRequest(keys), readerOf: bulkReaderOf }, bulkAnswerFactor);
  } catch (error) {
    if (error instanceof StoreUnavailableError) {
      // It answered, so nothing lands later.
      if (error.cause instanceof MalformedAnswerError) return 'refused';
      return { failed: new Map(keys.map((key) => [key, error])), unnamed: [] };
    }
    if (error instanceof StoreRefusedError) return 'refused';
    throw error;
  }
  const failed = new Map<string, StoreUnavailableError>();
  for (const [key, { code, message = 'it gave no reason.' }] of answer.failed) {
    if (code === noSuchKey) continue;
    const why = `The store did not delete a key (${code}): ${message}`;
    if (refusedCodes.has(code)) throw new StoreRefusedError(why);
    failed.set(key, new StoreUnavailableError(why));
  }
  return { failed, unnamed: keys.filter((key) => !answer.deleted.has(key) && !answer.failed.has(key)) };
}

/** @returns why nobody knows whether it's gone. */
async function deleteOne(send: SendOnce, key: string): Promise<StoreUnavailableError | undefined> {
  try {
    await send({ method: 'DELETE', key, readerOf: deleteReaderOf });
    return undefined;
  } catch (error) {
    if (error instanceof StoreUnavailableError) return error;
    // Some stores say that there is nothing to delete: as of a key of many, that is fine.
    if (error instanceof StoreRefusedError && isNoSuchKey(error.cause)) return undefined;
    throw error;
  }
}

/** Single deletes at a time. */
const deletesAtOnce = 16;

/** A store may take this many times as long for a thousand keys as for one. */
const bulkAnswerFactor = 3;

/** Of a key, for which a retry doesn't help. */
const refusedCodes: ReadonlySet<string> = new Set(['AccessDenied', 'AllAccessDisabled', 'MethodNotAllowed']);

const noSuchKey = 'NoSuchKey';

const isNoSuchKey = (cause: unknown) => cause instanceof StoreAnswerError && cause.name === noSuchKey;

const deleteReaderOf = ({ status }: AnswerHead) =>
  status >= 200 && status < 300 ? emptyReader() : undefined;

const bulkReaderOf = ({ status }: AnswerHead) => (status === 200 ? deletedReader() : undefined);

function emptyPutReaderOf({ status }: AnswerHead): AnswerReader<'put' | 'taken'> | undefined {
  if (status === 412) return { write: () => {}, end: () => 'taken' };
  if (status !== 200) return undefined;
  const { write, end } = emptyReader();
  return {
    write,
    end() {
      end();
      return 'put';
    },
  };
}

/** Without it, S3 does not say the checksum. */
const headHeaders = { 'x-amz-checksum-mode': 'ENABLED' };

function readerOf({ status, headers }: AnswerHead): AnswerReader<StoredObject | undefined> | undefined {
  if (status === 404) return { write: () => {}, end: () => undefined };
  if (status !== 200) return undefined;
  return { write: () => {}, end: () => objectOf(headers) };
}

function objectOf(headers: AnswerHead['headers']): StoredObject {
  const length = headers['content-length'] ?? '';
  const sizeBytes = Number(length);
  if (!/^\d+$/.test(length) || !Number.isSafeInteger(sizeBytes))
    throw new MalformedAnswerError(`HEAD returned "${length}" as Content-Length.`);
  const checksum = headers['x-amz-checksum-sha256'];
  const lastModifiedMs = Date.parse(headers['last-modified'] ?? '');
  const mark = headers[markHeader];
  return {
    sizeBytes,
    sha256: typeof checksum === 'string' ? hexOfWhole(checksum) : undefined,
    lastModifiedMs: Number.isNaN(lastModifiedMs) ? undefined : lastModifiedMs,
    // Somebody's file may claim to be one.
    ...(typeof mark === 'string' && sizeBytes === 0 && { mark }),
  };
}

/**
 * Hex of a base64 SHA-256. Undefined if it is composite (`…-N`, of a multipart upload): that is not the hash of the
 * object's bytes.
 */
function hexOfWhole(base64: string): string | undefined {
  const hash = Buffer.from(base64, 'base64');
  return hash.length === 32 && hash.toString('base64') === base64 ? hash.toString('hex') : undefined;
}

/** Largest file that is read. The largest reachable set of a gc run has 40 MB. */
const fileBytesMax = 64 * 1024 ** 2;

/** Small files in one bucket, without the SDK: texts in UTF-8 are put, and whatever was put is read. */
export function createTextFiles({ client }: { client: BucketClient }): Pick<ArchiveStore, 'put' | 'get'> {
  const limits = objectLimits(client.timeoutFactor);
  return {
    /** @throws {StoreUnavailableError} @throws {StoreRefusedError} */
    async put(key, bytes) {
      const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
      try {
        // It may arrive twice: the second replaces the first by the same.
        await client.send({ method: 'PUT', key, body, limits, readerOf: textReaderOf });
      } catch (error) {
        throw translateStoreError(error, 'PUT');
      }
    },
    /** @returns undefined if there is none. @throws {StoreUnavailableError} @throws {StoreRefusedError} */
    async get(key) {
      try {
        return await client.send({ method: 'GET', key, limits, readerOf: fileReaderOf });
      } catch (error) {
        throw translateStoreError(error, 'GET');
      }
    },
  };
}

/** A key that is not there has an error document, which says nothing more. */
function fileReaderOf({ status }: AnswerHead): AnswerReader<Uint8Array | undefined> | undefined {
  if (status === 404) return { write: () => {}, end: () => undefined };
  return status === 200 ? bytesReader<Uint8Array>(fileBytesMax, (bytes) => bytes) : undefined;
}

const textReaderOf = ({ status }: AnswerHead) => (status === 200 ? emptyReader() : undefined);
