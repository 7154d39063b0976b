/** Keys by which a client marks a request that it may have to repeat (HTTP: `Idempotency-Key`). */

export interface RequestKeyRecord {
  /** Identifies the key together with what it was used for. */
  readonly id: string;
  /** SHA-256 of the request's body: the same key with another body is a mistake of the client. */
  readonly bodySha256: string;
  /** Random. What the request creates follows from it, so that a repetition creates the same. */
  readonly seed: string;
  readonly beganAtMs: number;
  /** The key may be used anew after this. */
  readonly expiresAtMs: number;
  /** Whether what was asked for was created. */
  readonly isDone: boolean;
}

export interface RequestKeys {
  /**
   * Puts the record, unless one with this id is there that has not expired.
   *
   * @returns the record that is there now.
   * @throws {LedgerUnavailableError}
   */
  begin(record: RequestKeyRecord): Promise<RequestKeyRecord>;
  /** Marks the request as done. @throws {LedgerUnavailableError} */
  finish(id: string): Promise<void>;
}
