/** The operator's credential. Fetched once a container; compared by hash in constant time. */
export interface AdminCredential {
  sha256(): Promise<string>;
}
