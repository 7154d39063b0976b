/** Keys with which a client marks a request that it may repeat (HTTP: `Idempotency-Key`). */

export interface RequestKeyRecord {
  /** Identifies the key together with its purpose. */
  readonly id: string;
  /** SHA-256 of the request's body. The same key with another body is an error of the client. */
  readonly bodySha256: string;
  /** Random. Everything the request creates is derived from it, so that a repetition creates the same. */
  readonly seed: string;
  readonly beganAtMs: number;
  /** From then on the key may be used for another request. */
  readonly expiresAtMs: number;
  /** Whether the request has created what it is for. */
  readonly isDone: boolean;
}

export interface RequestKeys {
  /**
   * Stores the record, unless there is one with its id that has not expired.
   *
   * @returns the stored record: this one, or the earlier one.
   * @throws {LedgerUnavailableError}
   */
  begin(record: RequestKeyRecord): Promise<RequestKeyRecord>;
  /** Whether there is a record that has not expired by then. @throws {LedgerUnavailableError} */
  isKnown(input: { id: string; nowMs: number }): Promise<boolean>;
  /** Marks the request as done. @throws {LedgerUnavailableError} */
  finish(id: string): Promise<void>;
}
