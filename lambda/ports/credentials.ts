/** The operator's credential. */
export interface AdminCredential {
  /**
   * SHA-256 of the credential, in hex, and of the one before while that is still accepted. Compare them in constant
   * time.
   */
  sha256s(): Promise<readonly string[]>;
}
