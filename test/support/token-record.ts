import { sha256Hex } from '../../lambda/core/rules/hash.ts';
import { type TokenRecord, tokenIdOf } from '../../lambda/frame/access/rules/tokens.ts';

/** The record of a token that may push, for all repos of its tenant and for ever, unless `more` says otherwise. */
export function tokenRecord(
  token: string,
  more: Partial<TokenRecord> & Pick<TokenRecord, 'tenant'>,
): TokenRecord {
  return {
    tokenId: tokenIdOf(token),
    secretSha256: sha256Hex(token),
    scope: 'write',
    label: null,
    user: null,
    repos: null,
    createdAtMs: 1,
    expiresAtMs: null,
    lastUsedAtMs: null,
    ...more,
  };
}
