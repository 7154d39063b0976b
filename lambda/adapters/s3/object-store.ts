import type { Clock } from '../../ports/clock.ts';
import { type ObjectStore, type StoredObject, StoreUnavailableError } from '../../ports/object-store.ts';
import { MalformedAnswerError } from '../aws-http/answers.ts';
import type { AnswerHead, AnswerReader } from '../aws-http/exchange.ts';
import type { RetrySettings } from '../aws-http/retry.ts';
import { emptyReader } from './answers.ts';
import { type BucketClient, DeadlineError } from './client.ts';
import { translateStoreError } from './errors.ts';
import { objectLimits } from './object-limits.ts';

/** The objects of one bucket. */
export class S3ObjectStore implements ObjectStore {
  readonly #client: BucketClient;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #limits: ReturnType<typeof objectLimits>;

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
   * A single attempt: of two, one could land after the object was pushed again. Sends nothing after the deadline, and
   * settles by then.
   *
   * @throws {StoreUnavailableError} @throws {StoreRefusedError}
   */
  async delete(key: string, { deadlineMs }: { deadlineMs: number }): Promise<void> {
    const endsWithinMs = deadlineMs - this.#clock.nowMs();
    if (endsWithinMs <= 0)
      throw new StoreUnavailableError('The deadline for DELETE passed before it was sent.');
    const limits = { ...this.#limits, attemptsMax: 1 };
    const readerOf = ({ status }: AnswerHead) => (status >= 200 && status < 300 ? emptyReader() : undefined);
    try {
      await this.#client.send({ method: 'DELETE', key, limits, endsWithinMs, readerOf });
    } catch (error) {
      if (error instanceof DeadlineError) {
        const message = 'DELETE did not finish by its deadline. The object may be gone.';
        throw new StoreUnavailableError(message, { cause: error.cause });
      }
      throw translateStoreError(error, 'DELETE');
    }
  }
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
