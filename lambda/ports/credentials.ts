import type { Person } from '../domain/person.ts';

/** Stored access tokens: never the secret, only its SHA-256. */

/** What a token may do: `read` pulls, `write` pushes too, `manage` administers its own tenant too. */
export type TokenScope = 'read' | 'write' | 'manage';

export interface TokenRecord {
  /** Public: identifies the token in lists, and to revoke it. */
  readonly tokenId: string;
  /** SHA-256 of the whole token, in hex. */
  readonly secretSha256: string;
  readonly tenant: string;
  readonly scope: TokenScope;
  readonly label: string | null;
  /** Whom or what it stands for, by name. Who created it vouches for that. null: nobody said. */
  readonly user: string | null;
  /** The repos that it is for. null: all of the tenant. */
  readonly repos: readonly string[] | null;
  /** The exchange rule that it was given by. */
  readonly ruleId?: string | undefined;
  readonly createdAtMs: number;
  /** It is worth nothing from then on. null: never. */
  readonly expiresAtMs: number | null;
  /** About when it was last used: within {@link tokenUseStepMs}. null: not yet. */
  readonly lastUsedAtMs: number | null;
}

/** Who asks: somebody with a token of ours, or with their own for a git host. */
export type Caller = Pick<TokenRecord, 'tokenId' | 'scope' | 'user' | 'label' | 'ruleId'> & {
  /** Whom a host vouches for. Then `tokenId` is their id. */
  readonly person?: Person;
};

/** How exactly the last use of a token is known. A use within this time of the last known one is not written. */
export const tokenUseStepMs = 60 * 60_000;

/** Sessions of one token, or of the operator. */
export const sessionsMax = 100;

/** A session of the console: below the token that it stands for, and worth nothing without it. */
export interface SessionRecord {
  /** Names it below its parent. */
  readonly sessionId: string;
  /** The id of the token that it stands for, or what stands for the operator. */
  readonly parentId: string;
  /** SHA-256 of its secret, in hex. */
  readonly secretSha256: string;
  /** Ties it to its parent's credential of now, in hex: a rotated admin token ends the operator's sessions. */
  readonly boundTo: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

export type SessionKey = Pick<SessionRecord, 'parentId' | 'sessionId'>;

export interface TokenPage {
  readonly tokens: readonly TokenRecord[];
  /** null: this is the last page. */
  readonly nextCursor: string | null;
}

export interface TokenStore {
  /** Strongly consistent, so that a revoked token, or one whose rule was deleted, is rejected immediately. */
  find(tokenId: string): Promise<TokenRecord | undefined>;
  put(record: TokenRecord): Promise<'created' | 'exists'>;
  /** Writes when the token was used, unless a later use is known or the token is gone. */
  noteUse(use: { tokenId: string; atMs: number }): Promise<void>;
  /** Deletes the token if it is this tenant's. */
  delete(token: { tenant: string; tokenId: string }): Promise<'deleted' | 'absent'>;
  /** All tokens of a tenant, oldest first. */
  list(tenant: string): Promise<readonly TokenRecord[]>;
  /** The same, one page at a time. @param input.cursor `nextCursor` of the previous page. */
  listPage(input: { tenant: string; pageSize: number; cursor?: string }): Promise<TokenPage>;
  /** Does nothing if it is there. The newest {@link sessionsMax} of its parent stay. */
  putSession(record: SessionRecord): Promise<void>;
  /** Strongly consistent, so that a session that was ended is rejected immediately. */
  findSession(key: SessionKey): Promise<SessionRecord | undefined>;
  /** Does nothing if it is gone. */
  deleteSession(key: SessionKey): Promise<void>;
}

/** The operator's credential. */
export interface AdminCredential {
  /**
   * SHA-256 of the credential, in hex, and of the one before while that is still accepted. Compare them in constant
   * time.
   */
  sha256s(): Promise<readonly string[]>;
}
