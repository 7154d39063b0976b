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

export interface TokenPage {
  readonly tokens: readonly TokenRecord[];
  /** null: this is the last page. */
  readonly nextCursor: string | null;
}

export interface TokenStore {
  /** Strongly consistent, so a revoked token is refused at once. */
  find(tokenId: string): Promise<TokenRecord | undefined>;
  put(record: TokenRecord): Promise<'created' | 'exists'>;
  /** Deletes the token if it is this tenant's. */
  delete(token: { tenant: string; tokenId: string }): Promise<'deleted' | 'absent'>;
  /** All tokens of a tenant, by the time of their creation. */
  list(tenant: string): Promise<readonly TokenRecord[]>;
  /** The same, a page at a time. @param input.cursor `nextCursor` of the page before. */
  listPage(input: { tenant: string; pageSize: number; cursor?: string }): Promise<TokenPage>;
}

/** The operator's credential. Fetched once a container; compared by hash in constant time. */
export interface AdminCredential {
  sha256(): Promise<string>;
}
