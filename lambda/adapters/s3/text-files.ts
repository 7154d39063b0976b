import type { ArchiveStore } from '../../ports/archive-store.ts';
import type { AnswerHead } from '../aws-http/exchange.ts';
import { emptyReader } from './answers.ts';
import type { BucketClient } from './client.ts';
import { translateStoreError } from './errors.ts';
import { objectLimits } from './object-limits.ts';

/** Puts small texts into one bucket: what a function needs that asks for exports, and makes none. */
export class S3TextFiles implements Pick<ArchiveStore, 'put'> {
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
}

const readerOf = ({ status }: AnswerHead) => (status === 200 ? emptyReader() : undefined);
