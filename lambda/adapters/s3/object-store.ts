import type { Clock } from '../../ports/clock.ts';
import { type ObjectStore, type StoredObject, StoreUnavailableError } from '../../ports/object-store.ts';
import { emptyReader, MalformedAnswerError, StoreAnswerError } from './answers.ts';
import { type BucketClient, DeadlineError, type StoreCall } from './client.ts';
import {
  type DeletedKeys,
  deletedReader,
  deleteRequest,
  isXmlText,
  keysPerDelete,
} from './delete-objects.ts';
import { StoreRefusedError, translateStoreError } from './errors.ts';
import type { AnswerHead, AnswerReader } from './exchange.ts';
import { objectLimits } from './object-limits.ts';
import type { RetrySettings } from './retry.ts';

/** The objects of one bucket. */
export class S3ObjectStore implements ObjectStore {
  readonly #client: BucketClient;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #limits: ReturnType<typeof objectLimits>;
  #knowsNoBulk = false;

  constructor(input: {
    client: BucketClient;
    clock: Pick<Clock, 'nowMs'>;
    /** When a HEAD is sent again. */
    retry?: Partial<RetrySettings>;
  }) {
    this.#client = input.client;
    this.#clock = input.clock;
    this.#limits = { ...objectLimits(input.client.timeoutFactor), ...input.retry };
  }

  /**
   * A missing bucket looks like a missing key here, because an answer to HEAD has no body. Only LIST distinguishes
   * them.
   *
   * @throws {StoreUnavailableError} @throws {StoreRefusedError}
   */
  async head(key: string): Promise<StoredObject | undefined> {
    try {
      return await this.#client.send({
        method: 'HEAD',
        key,
        headers: headHeaders,
        limits: this.#limits,
        readerOf,
      });
    } catch (error) {
      throw translateStoreError(error, 'HEAD');
    }
  }

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
  async delete(
    keys: readonly string[],
    { deadlineMs }: { deadlineMs: number },
  ): Promise<ReadonlyMap<string, StoreUnavailableError>> {
    const failed = new Map<string, StoreUnavailableError>();
    const single: string[] = [];
    const bulk: string[] = [];
    for (const key of keys) (isXmlText(key) ? bulk : single).push(key);
    let isRefused = this.#knowsNoBulk;
    for (let begin = 0; begin < bulk.length; begin += keysPerDelete) {
      const some = bulk.slice(begin, begin + keysPerDelete);
      const outcome = isRefused || some.length === 1 ? 'refused' : await this.#deleteMany(some, deadlineMs);
      if (outcome === 'refused') {
        isRefused ||= some.length > 1;
        single.push(...some);
        continue;
      }
      for (const [key, error] of outcome.failed) failed.set(key, error);
      single.push(...outcome.unnamed);
    }
    const left = single.values();
    const worker = async () => {
      for (const key of left) {
        const error = await this.#deleteOne(key, deadlineMs);
        if (error) failed.set(key, error);
      }
    };
    await Promise.all(Array.from({ length: Math.min(deletesAtOnce, single.length) }, worker));
    // Not before: the store may have refused it because of something else, such as the credentials.
    if (isRefused && single.length > failed.size) this.#knowsNoBulk = true;
    return failed;
  }

  /** @returns `refused`: the store doesn't know the request, or refuses it as a whole. */
  async #deleteMany(
    keys: readonly string[],
    deadlineMs: number,
  ): Promise<{ failed: ReadonlyMap<string, StoreUnavailableError>; unnamed: readonly string[] } | 'refused'> {
    let answer: DeletedKeys;
    try {
      const limits = { ...this.#limits, answerMs: bulkAnswerFactor * this.#limits.answerMs };
      answer = await this.#sendDelete({ ...deleteRequest(keys), limits, readerOf: bulkReaderOf }, deadlineMs);
    } catch (error) {
      if (error instanceof StoreUnavailableError) {
        const { cause } = error;
        const isUnknown = cause instanceof StoreAnswerError && unknownStatuses.has(cause.status);
        // It answered, so nothing lands later.
        if (isUnknown || cause instanceof MalformedAnswerError) return 'refused';
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
  async #deleteOne(key: string, deadlineMs: number): Promise<StoreUnavailableError | undefined> {
    try {
      const limits = this.#limits;
      await this.#sendDelete({ method: 'DELETE', key, limits, readerOf: deleteReaderOf }, deadlineMs);
      return undefined;
    } catch (error) {
      if (error instanceof StoreUnavailableError) return error;
      // Some stores say that there is nothing to delete: as of a key of many, that is fine.
      if (error instanceof StoreRefusedError && isNoSuchKey(error.cause)) return undefined;
      throw error;
    }
  }

  /** @throws {StoreUnavailableError} @throws {StoreRefusedError} */
  async #sendDelete<T>(call: StoreCall<T>, deadlineMs: number): Promise<T> {
    const endsWithinMs = deadlineMs - this.#clock.nowMs();
    if (endsWithinMs <= 0)
      throw new StoreUnavailableError('The deadline for DELETE passed before it was sent.');
    try {
      return await this.#client.send({ ...call, limits: { ...call.limits, attemptsMax: 1 }, endsWithinMs });
    } catch (error) {
      if (error instanceof DeadlineError) {
        const message = 'DELETE did not finish by its deadline. The object may be gone.';
        throw new StoreUnavailableError(message, { cause: error.cause });
      }
      throw translateStoreError(error, 'DELETE');
    }
  }
}

/** Single deletes at a time. */
const deletesAtOnce = 16;

/** A store may take this many times as long for a thousand keys as for one. */
const bulkAnswerFactor = 3;

/** "I don't know this request", said as a failure. */
const unknownStatuses: ReadonlySet<number> = new Set([501, 505]);

/** Of a key, for which a retry doesn't help. */
const refusedCodes: ReadonlySet<string> = new Set(['AccessDenied', 'AllAccessDisabled', 'MethodNotAllowed']);

const noSuchKey = 'NoSuchKey';

const isNoSuchKey = (cause: unknown) => cause instanceof StoreAnswerError && cause.name === noSuchKey;

const deleteReaderOf = ({ status }: AnswerHead) =>
  status >= 200 && status < 300 ? emptyReader() : undefined;

const bulkReaderOf = ({ status }: AnswerHead) => (status === 200 ? deletedReader() : undefined);

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
  return {
    sizeBytes,
    sha256: typeof checksum === 'string' ? hexOfWhole(checksum) : undefined,
    lastModifiedMs: Number.isNaN(lastModifiedMs) ? undefined : lastModifiedMs,
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
