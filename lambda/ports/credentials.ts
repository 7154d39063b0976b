/** Stored access tokens: never the secret, only its SHA-256. */

export type TokenScope = 'read' | 'write';

export interface TokenRecord {
  /** Public: identifies the token in lists, and to revoke it. */
  readonly tokenId: string;
  /** SHA-256 of the whole token, in hex. */
  readonly secretSha256: string;
  readonly tenant: string;
  readonly scope: TokenScope;
  readonly label: string | null;
  readonly createdAtMs: number;
}

export interface TokenPage {
  readonly tokens: readonly TokenRecord[];
  /** null: this is the last page. */
  readonly nextCursor: string | null;
}

export interface TokenStore {
  /** Strongly consistent, so that a revoked token is rejected immediately. */
  find(tokenId: string): Promise<TokenRecord | undefined>;
  put(record: TokenRecord): Promise<'created' | 'exists'>;
  /** Deletes the token if it is this tenant's. */
  delete(token: { tenant: string; tokenId: string }): Promise<'deleted' | 'absent'>;
  /** All tokens of a tenant, oldest first. */
  list(tenant: string): Promise<readonly TokenRecord[]>;
  /** The same, one page at a time. @param input.cursor `nextCursor` of the previous page. */
  listPage(input: { tenant: string; pageSize: number; cursor?: string }): Promise<TokenPage>;
}

/** The operator's credential. */
export interface AdminCredential {
  /** SHA-256 of the credential, in hex. Compare it in constant time. */
  sha256(): Promise<string>;
}
