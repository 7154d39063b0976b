/**
 * The part of the object store (S3 or compatible) that makes objects of others: archives, and what was uploaded in chunks.
 * It has files of its own, and uploads in parts.
 */

/** An object in the version that was listed. */
export interface SourceObject {
  readonly key: string;
  readonly etag: string;
}

export interface MultipartUpload {
  readonly key: string;
  readonly uploadId: string;
}

export interface UploadedPart {
  /** From 1. */
  readonly number: number;
  readonly sizeBytes: number;
  readonly etag: string;
}

/**
 * Every call ends within a bounded time, retries included. Beside the errors that are named, each throws
 * {@link StoreUnavailableError} when the store did not answer, and another error when it refused, such as for want of a
 * right.
 */
export interface ArchiveStore {
  /** Puts an object of at most 5 GiB. It replaces what lies at the key. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** The same for one that is read in this version alone. */
  putSource(key: string, bytes: Uint8Array): Promise<SourceObject>;
  /** All bytes of an object; undefined if there is none. */
  get(key: string): Promise<Uint8Array | undefined>;
  /**
   * Reads a range of an object into `into`, from its first byte on, which must have its length.
   *
   * @throws {SourceGoneError} if it is not there any more, or in another version.
   */
  readInto(source: SourceObject, range: ByteRange, into: Uint8Array): Promise<void>;
  /** The size and ETag of an object; undefined if there is none. */
  head(key: string): Promise<{ readonly sizeBytes: number; readonly etag: string } | undefined>;
  /** Deletes objects. One that does not exist is no error. */
  delete(keys: readonly string[]): Promise<void>;
  /** The keys of all objects below a prefix, a page at a time. */
  list(prefix: string): AsyncIterable<readonly string[]>;

  /**
   * @param options.withCrc32 the answers to its parts tell their CRC-32, if the store does that.
   * @param options.storageClass of the object, one that the store has. Default: the bucket's own.
   */
  createUpload(
    key: string,
    options?: { withCrc32?: boolean; storageClass?: string | undefined },
  ): Promise<MultipartUpload>;
  /** All unfinished uploads whose keys begin with a prefix. */
  uploads(prefix: string): AsyncIterable<readonly MultipartUpload[]>;
  /**
   * The parts that an upload has, in the order of their numbers.
   *
   * @param options.after only parts with higher numbers.
   * @throws {UploadGoneError} if it was completed or aborted.
   */
  parts(upload: MultipartUpload, options?: { after?: number }): AsyncIterable<readonly UploadedPart[]>;
  /** Replaces a part of the same number. @throws {UploadGoneError} */
  uploadPart(upload: MultipartUpload, part: { number: number; bytes: Uint8Array }): Promise<UploadedPart>;
  /**
   * Lets the store copy an object, or a range of it, as a part.
   *
   * @returns `crc32` of what was copied, if the upload was created for it and the store tells.
   * @throws {SourceGoneError} @throws {UploadGoneError} @throws {NoPartCopyError}
   */
  copyPart(
    upload: MultipartUpload,
    part: { number: number; source: SourceObject; range?: ByteRange | undefined; sizeBytes: number },
  ): Promise<UploadedPart & { readonly crc32?: number }>;
  /**
   * Makes the object from parts, in their order.
   *
   * @param options.ifAbsent it replaces nothing. Some stores don't know that, and replace it.
   * @param options.totalBytes the parts have this size together, or the store refuses.
   * @throws {UploadGoneError} @throws {ObjectExistsError}
   */
  complete(
    upload: MultipartUpload,
    parts: readonly Pick<UploadedPart, 'number' | 'etag'>[],
    options?: { ifAbsent?: boolean; totalBytes?: number },
  ): Promise<{ readonly etag: string }>;
  /** One that does not exist is no error. */
  abort(upload: MultipartUpload): Promise<void>;
}

/** An object is not there any more, or not in the version that was listed. */
export class SourceGoneError extends Error {
  override readonly name = 'SourceGoneError';
  /** As it was listed. */
  readonly source: SourceObject;

  constructor(source: SourceObject, options?: ErrorOptions) {
    super('An object is gone, or has changed since it was listed.', options);
    this.source = source;
  }
}

/** The store copies no parts, or not on the condition that the source is as it was listed. They can be read and uploaded. */
export class NoPartCopyError extends Error {
  override readonly name = 'NoPartCopyError';
}

/** There is an object at the key already. The upload is still unfinished. */
export class ObjectExistsError extends Error {
  override readonly name = 'ObjectExistsError';
}

/** An upload was completed or aborted meanwhile. */
export class UploadGoneError extends Error {
  override readonly name = 'UploadGoneError';
}

/** Bytes from `startByte` up to, and without, `endByte`. */
export interface ByteRange {
  readonly startByte: number;
  readonly endByte: number;
}
