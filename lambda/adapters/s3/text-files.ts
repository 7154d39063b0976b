import type { ArchiveStore } from '../../ports/archive-store.ts';
import { emptyReader } from './answers.ts';
import { BytesReader } from './bytes-reader.ts';
import type { BucketClient } from './client.ts';
import { translateStoreError } from './errors.ts';
import type { AnswerHead, AnswerReader } from './exchange.ts';
import { objectLimits } from './object-limits.ts';

/** Largest file that is read. The largest keep-set of a clean-up has 40 MB. */
const fileBytesMax = 64 * 1024 ** 2;

/** Small files in one bucket, without the SDK: texts are put, and whatever was put is read. */
export class S3TextFiles implements Pick<ArchiveStore, 'put' | 'get'> {
  readonly #client: BucketClient;

  constructor({ client }: { client: BucketClient }) {
    this.#client = client;
  }

  /** @param bytes of a text in UTF-8. @throws {StoreUnavailableError} @throws {StoreRefusedError} */
  async put(key: string, bytes: Uint8Array): Promise<void> {
    const limits = objectLimits(this.#client.timeoutFactor);
    const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
    try {
      // It may arrive twice: the second replaces the first by the same.
      await this.#client.send({ method: 'PUT', key, body, limits, readerOf });
    } catch (error) {
      throw translateStoreError(error, 'PUT');
    }
  }

  /** @returns undefined if there is none. @throws {StoreUnavailableError} @throws {StoreRefusedError} */
  async get(key: string): Promise<Uint8Array | undefined> {
    const limits = objectLimits(this.#client.timeoutFactor);
    try {
      return await this.#client.send({ method: 'GET', key, limits, readerOf: fileReaderOf });
    } catch (error) {
      throw translateStoreError(error, 'GET');
    }
  }
}

/** A key that is not there has an error document, which says nothing more. */
function fileReaderOf({ status }: AnswerHead): AnswerReader<Uint8Array | undefined> | undefined {
  if (status === 404) return { write: () => {}, end: () => undefined };
  return status === 200 ? new BytesReader(fileBytesMax) : undefined;
}

const readerOf = ({ status }: AnswerHead) => (status === 200 ? emptyReader() : undefined);
