/** The part of the object store (S3 or compatible) that the ledger and the LFS API need. */

export interface StoredObject {
  readonly sizeBytes: number;
  /** SHA-256 in lower-case hex, if the store kept the checksum that it verified on upload. */
  readonly sha256: string | undefined;
  /** When it was put, to a second, by the store's clock. It may be when its PUT began. undefined: the store does not say. */
  readonly lastModifiedMs?: number | undefined;
}

export interface ObjectStore {
  /**
   * The object at a key, or undefined if there is none.
   *
   * @throws {StoreUnavailableError} when the store did not answer, retries included.
   */
  head(key: string): Promise<StoredObject | undefined>;
  /**
   * Deletes keys. One that doesn't exist is no error. The call ends by `deadlineMs`, and nothing that it sends lands later.
   *
   * @returns key → why nobody knows whether it's gone. Empty: all of them are.
   */
  delete(
    keys: readonly string[],
    options: { deadlineMs: number },
  ): Promise<ReadonlyMap<string, StoreUnavailableError>>;
}

export interface SignUploadInput {
  readonly key: string;
  /** Hex SHA-256 that the stored bytes must have. */
  readonly oid: string;
  /** Exact length that the upload must have. */
  readonly sizeBytes: number;
  /** When the lifetime begins. */
  readonly signedAtMs: number;
  readonly lifetimeMs: number;
}

export interface SignedRequest {
  readonly href: string;
  /** Headers that the client must send unchanged, or the store refuses the request. */
  readonly header: Readonly<Record<string, string>>;
}

/** Signs URLs without a request to the store. Only the batch function may sign uploads. */
export interface UrlSigner {
  /**
   * A URL that accepts exactly these bytes: length and SHA-256 are signed as headers
   * (`host;content-length;x-amz-checksum-sha256`), so the store refuses another length or content.
   */
  signUpload(input: SignUploadInput): Promise<SignedRequest>;
  signDownload(input: { key: string; signedAtMs: number; lifetimeMs: number }): Promise<SignedRequest>;
}

/** The store did not answer, or answered that it cannot serve now. The cause is the last failure. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}
