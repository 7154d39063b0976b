import { DeleteObjectCommand, HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { Clock } from '../../ports/clock.ts';
import { type ObjectStore, type StoredObject, StoreUnavailableError } from '../../ports/object-store.ts';
import { translateStoreError } from './errors.ts';

/** The objects of one bucket. */
export class S3ObjectStore implements ObjectStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #clock: Pick<Clock, 'nowMs'>;

  constructor(input: { client: S3Client; bucket: string; clock: Pick<Clock, 'nowMs'> }) {
    this.#client = input.client;
    this.#bucket = input.bucket;
    this.#clock = input.clock;
  }

  /**
   * A missing bucket looks like a missing key here, because an answer to HEAD has no body. Only LIST distinguishes
   * them.
   *
   * @throws {StoreUnavailableError} @throws {StoreRefusedError}
   */
  async head(key: string): Promise<StoredObject | undefined> {
    const command = new HeadObjectCommand({ Bucket: this.#bucket, Key: key, ChecksumMode: 'ENABLED' });
    try {
      const { ContentLength, ChecksumSHA256 } = await this.#client.send(command);
      if (ContentLength === undefined) throw new StoreUnavailableError('HEAD returned no Content-Length.');
      return { sizeBytes: ContentLength, sha256: hexOfWhole(ChecksumSHA256) };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw translateStoreError(error, 'HEAD');
    }
  }

  /**
   * Sends nothing after the deadline, and settles by then. It does not wait for the SDK, whose pause between two
   * attempts continues after an abort.
   *
   * @throws {StoreUnavailableError} @throws {StoreRefusedError}
   */
  async delete(key: string, { deadlineMs }: { deadlineMs: number }): Promise<void> {
    const remainingMs = deadlineMs - this.#clock.nowMs();
    if (remainingMs <= 0)
      throw new StoreUnavailableError('The deadline for DELETE passed before it was sent.');
    const command = new DeleteObjectCommand({ Bucket: this.#bucket, Key: key });
    const abort = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        abort.abort();
        reject(new StoreUnavailableError('DELETE did not finish by its deadline. The object may be gone.'));
      }, remainingMs);
    });
    try {
      await Promise.race([this.#client.send(command, { abortSignal: abort.signal }), late]);
    } catch (error) {
      throw translateStoreError(error, 'DELETE');
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * Hex of a base64 SHA-256. Undefined if there is none, or if it is composite (`…-N`, of a multipart upload): that is
 * not the hash of the object's bytes.
 */
function hexOfWhole(base64: string | undefined): string | undefined {
  if (base64 === undefined) return undefined;
  const hash = Buffer.from(base64, 'base64');
  return hash.length === 32 && hash.toString('base64') === base64 ? hash.toString('hex') : undefined;
}

function isNotFound(error: unknown): boolean {
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
  return $metadata?.httpStatusCode === 404;
}
