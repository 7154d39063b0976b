import { iso } from '../../../api/contract/fields.ts';
import type { TokenRecord } from '../../../domain/token.ts';
import type { TokenBody } from './schemas.ts';

export function tokenBody(token: TokenRecord): TokenBody {
  const { tokenId, scope, label, user, repos, createdAtMs, expiresAtMs, lastUsedAtMs } = token;
  return {
    tokenId,
    scope,
    label,
    user,
    repos: repos && [...repos],
    createdAt: iso(createdAtMs),
    expiresAt: expiresAtMs === null ? null : iso(expiresAtMs),
    lastUsedAt: lastUsedAtMs === null ? null : iso(lastUsedAtMs),
  };
}
