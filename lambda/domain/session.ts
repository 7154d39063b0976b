/** A session of the console: what a browser holds in a cookie instead of a token. */

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

/** How long a session lasts, unless the token that it stands for ends before. */
export const sessionLifetimeMs = 12 * 60 * 60_000;

/** What the operator's sessions lie below. No token has such an id. */
export const operatorParent = 'operator';

/**
 * What the cookie holds: the id of the session's parent, by which it is found in one read, and the secret.
 *
 * @returns undefined: it is none.
 */
export function parseSession(value: string): { parentId: string; secret: string } | undefined {
  const [, parentId, secret] = /^(operator|[0-9a-f]{16})\.(lfss_[A-Za-z0-9]{40})$/.exec(value) ?? [];
  return parentId === undefined || secret === undefined ? undefined : { parentId, secret };
}
