/** The object store (S3 or compatible), as far as the ledger and the LFS API need it. */

export interface StoredObject {
  readonly sizeBytes: number;
  /** SHA-256 as lower-case hex where the store kept the checksum that it verified on upload. */
  readonly sha256: string | undefined;
}

export interface ObjectStore {
  /**
   * What lies at a key, or undefined where nothing does.
   * @throws {StoreUnavailableError} where the store did not answer after its retries.
   */
  head(key: string): Promise<StoredObject | undefined>;
  /** Deletes a key; one that is not there is no error. The attempt ends by `deadlineMs`, retries included. */
  delete(key: string, options: { deadlineMs: number }): Promise<void>;
}

export interface SignUploadInput {
  readonly key: string;
  /** Hex SHA-256 that the stored bytes must have. */
  readonly oid: string;
  /** Exact length that the upload must have. */
  readonly sizeBytes: number;
  /** Moment from which the lifetime counts. */
  readonly signedAtMs: number;
  readonly lifetimeMs: number;
}

export interface SignedRequest {
  readonly href: string;
  /** Headers that the client must send as they are, or the store refuses. */
  readonly header: Readonly<Record<string, string>>;
}

/** Signs URLs without a request. Signing uploads is for the batch function alone. */
export interface UrlSigner {
  /**
   * A URL that takes exactly these bytes: length and SHA-256 are signed as headers
   * (`host;content-length;x-amz-checksum-sha256`), so another length or content is refused by the store.
   */
  signUpload(input: SignUploadInput): Promise<SignedRequest>;
  signDownload(input: { key: string; signedAtMs: number; lifetimeMs: number }): Promise<SignedRequest>;
}

/** The store did not answer, or answered that it can't now. The cause is what the SDK threw. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}
