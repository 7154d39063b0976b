import { iso } from '../../../api/contract/fields.ts';
import type { SessionRecord } from '../../../domain/session.ts';
import type { Holder } from '../../../use-cases/access/session.ts';
import type { SessionBody } from './schemas.ts';

/** @param input.session undefined: a token is presented. */
export function sessionBody({
  token,
  session,
}: Holder & { session?: SessionRecord | undefined }): SessionBody {
  const expiresAtMs = session?.expiresAtMs ?? token?.expiresAtMs ?? null;
  return {
    kind: token ? 'tenant' : 'operator',
    tenant: token?.tenant ?? null,
    tokenId: token?.tokenId ?? null,
    scope: token?.scope ?? null,
    label: token?.label ?? null,
    user: token?.user ?? null,
    repos: token?.repos ? [...token.repos] : null,
    expiresAt: expiresAtMs === null ? null : iso(expiresAtMs),
  };
}
