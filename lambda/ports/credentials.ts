/** Access tokens at rest: never the secret, only its SHA-256. */

export type TokenScope = 'read' | 'write';

export interface TokenRecord {
  /** Public: names the token in lists and for revocation. */
  readonly tokenId: string;
  /** SHA-256 of the whole token, hex. */
  readonly secretSha256: string;
  readonly tenant: string;
  readonly scope: TokenScope;
  readonly label: string | null;
  readonly createdAtMs: number;
}

export interface TokenStore {
  /** Strongly consistent, so a revoked token is refused at once. */
  find(tokenId: string): Promise<TokenRecord | undefined>;
  put(record: TokenRecord): Promise<'created' | 'exists'>;
  /** Deletes the token if it is this tenant's. */
  delete(token: { tenant: string; tokenId: string }): Promise<'deleted' | 'absent'>;
  list(tenant: string): Promise<readonly TokenRecord[]>;
}

/** The operator's credential. Fetched once a container; compared by hash in constant time. */
export interface AdminCredential {
  sha256(): Promise<string>;
}
