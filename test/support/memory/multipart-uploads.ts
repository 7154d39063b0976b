import { createHash } from 'node:crypto';
import {
  type MultipartUpload,
  type UploadedPart,
  UploadGoneError,
} from '../../../lambda/core/store/rules/archive-store.ts';
import { StoreRefusedError } from '../../../lambda/core/store/rules/store.ts';
import type { StoreLimits } from '../../../lambda/core/store/rules/store-kind.ts';

interface HeldPart extends UploadedPart {
  readonly bytes: Uint8Array;
}

export interface HeldUpload extends MultipartUpload {
  readonly withCrc32: boolean;
  readonly parts: ReadonlyMap<number, HeldPart>;
}

/** The unfinished uploads of a store in memory, and what a store refuses of them. */
export class MemoryUploads {
  readonly #limits: StoreLimits;
  readonly #uploads = new Map<string, HeldUpload & { readonly parts: Map<number, HeldPart> }>();
  #created = 0;

  constructor(limits: StoreLimits) {
    this.#limits = limits;
  }

  create(key: string, { withCrc32 }: { withCrc32: boolean }): MultipartUpload {
    this.#created += 1;
    const uploadId = `upload-${this.#created}`;
    this.#uploads.set(uploadId, { key, uploadId, withCrc32, parts: new Map() });
    return { key, uploadId };
  }

  /** Has what other ones have, from now on by itself. */
  takeFrom(other: MemoryUploads): void {
    this.#created = other.#created;
    for (const [uploadId, held] of other.#uploads)
      this.#uploads.set(uploadId, { ...held, parts: new Map(held.parts) });
  }

  /** In the order of their keys, then of their creation. */
  all(): HeldUpload[] {
    return [...this.#uploads.values()].sort((a, b) => (a.key === b.key ? 0 : a.key < b.key ? -1 : 1));
  }

  of(upload: MultipartUpload): HeldUpload {
    return this.#find(upload);
  }

  putPart(upload: MultipartUpload, { number, bytes }: { number: number; bytes: Uint8Array }): UploadedPart {
    const { partBytesMax, partsMax } = this.#limits;
    const { parts } = this.#find(upload);
    if (!Number.isInteger(number) || number < 1 || number > partsMax) throw refused(`Part ${number}.`);
    if (bytes.length === 0 || bytes.length > partBytesMax) throw refused(`A part of ${bytes.length} bytes.`);
    const part = { number, sizeBytes: bytes.length, etag: etagOf([bytes]) };
    parts.set(number, { ...part, bytes });
    return part;
  }

  /** Checks what is to be completed, and ends the upload. */
  finish(
    upload: MultipartUpload,
    named: readonly Pick<UploadedPart, 'number' | 'etag'>[],
    totalBytes?: number,
  ) {
    const held = this.#find(upload);
    const parts = named.map(({ number, etag }, index) => {
      if (number <= (named[index - 1]?.number ?? 0)) throw refused(`Part ${number} is out of order.`);
      const part = held.parts.get(number);
      if (part?.etag !== etag)
        throw new StoreRefusedError(`Part ${number} was not uploaded, or has another ETag.`);
      return part;
    });
    this.#checkSizes(parts);
    const bytes = parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    if (totalBytes !== undefined && totalBytes !== bytes) throw refused(`${bytes} bytes, not ${totalBytes}.`);
    this.#uploads.delete(upload.uploadId);
    const bodies = parts.map(({ bytes }) => bytes);
    return { bytes: Buffer.concat(bodies), etag: etagOf(bodies, { isOfParts: true }) };
  }

  remove({ key, uploadId }: MultipartUpload): void {
    if (this.#uploads.get(uploadId)?.key === key) this.#uploads.delete(uploadId);
  }

  #checkSizes(parts: readonly UploadedPart[]): void {
    const { partBytesMin, objectBytesMax, wantsEqualParts } = this.#limits;
    if (parts.length === 0) throw refused('No parts.');
    const firstBytes = parts[0]?.sizeBytes ?? 0;
    for (const { number, sizeBytes } of parts.slice(0, -1)) {
      if (sizeBytes < partBytesMin) throw refused(`Part ${number} has only ${sizeBytes} bytes.`);
      if (wantsEqualParts && sizeBytes !== firstBytes) throw refused(`Part ${number} has another size.`);
    }
    if (wantsEqualParts && (parts.at(-1)?.sizeBytes ?? 0) > firstBytes)
      throw refused('The last part is larger.');
    const objectBytes = parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    if (objectBytes > objectBytesMax) throw refused(`An object of ${objectBytes} bytes.`);
  }

  #find({ key, uploadId }: MultipartUpload) {
    const upload = this.#uploads.get(uploadId);
    if (upload?.key !== key) throw new UploadGoneError('The upload was completed or aborted.');
    return upload;
  }
}

/** An ETag as S3 makes it: of the bytes, or of the hashes of parts. */
export function etagOf(bodies: readonly Uint8Array[], { isOfParts = false } = {}): string {
  const hashes = bodies.map((bytes) => createHash('md5').update(bytes).digest());
  if (!isOfParts) return `"${Buffer.concat(hashes).toString('hex')}"`;
  return `"${createHash('md5').update(Buffer.concat(hashes)).digest('hex')}-${bodies.length}"`;
}

/** What a store answers to a request that is wrong. */
export function refused(message: string): Error {
  return new Error(`The store refused: ${message}`);
}

/** At least one page, which may be empty. */
export function* pagesOf<T>(items: readonly T[], pageSize: number): Generator<readonly T[]> {
  for (let start = 0; start === 0 || start < items.length; start += pageSize) {
    yield items.slice(start, start + pageSize);
  }
}
