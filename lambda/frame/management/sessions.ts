import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { hostCheckMs, type SessionRecord, scopeOf } from '../access/rules/tokens.ts';
import { beginSession, endSession, type Holder } from '../access/tokens.ts';
import { json, noContent } from '../api/http.ts';
import { iso } from '../contract/fields.ts';
import { type SessionBody, sessionContract } from '../contract/sessions.ts';
import { noteUse, setCookie } from './access.ts';
import { operationsFor, type RouteDeps } from './operations.ts';

type Needs = Pick<CoreDeps, 'ids'> & { readonly limitContactUrl?: string | undefined };

export const sessionOperations = operationsFor<Needs>()(sessionContract, {
  'GET /v1/session': async (deps, holder) => json(200, sessionBody(deps, holder)),

  /** The one answer that holds a session. It changes nothing of a tenant, so it is in no audit, but in the log. */
  'POST /v1/session': async (deps, { token, event }) => {
    const [{ value, session }] = await Promise.all([beginSession(deps, { token }), noteUse(deps, { token })]);
    deps.log.info('session started', {
      tenant: token?.tenant ?? null,
      tokenId: token?.tokenId ?? null,
      sessionId: session.sessionId,
    });
    const maxAgeMs = session.expiresAtMs - session.createdAtMs;
    const cookies = [setCookie(event, { value, maxAgeMs })];
    return { ...json(201, sessionBody(deps, { token, session })), cookies };
  },

  'DELETE /v1/session': async (deps, { session, event }) => {
    await endSession(deps, { session });
    return { ...noContent(), cookies: [setCookie(event, { value: '', maxAgeMs: 0 })] };
  },
});

/** @param input.session undefined: a token is presented. */
function sessionBody(
  { limitContactUrl }: Pick<Needs & RouteDeps, 'limitContactUrl'>,
  { token, session }: Holder & { session?: SessionRecord | undefined },
): SessionBody {
  const expiresAtMs = session?.expiresAtMs ?? token?.expiresAtMs ?? null;
  return {
    kind: token ? 'tenant' : 'operator',
    tenant: token?.tenant ?? null,
    tokenId: token?.tokenId ?? null,
    scope: token ? scopeOf(token) : null,
    label: token?.label ?? null,
    user: token?.user ?? null,
    repos: token?.repos ? [...token.repos] : null,
    ...(token?.prefix !== undefined && { prefix: token.prefix }),
    ...(token?.hostUser && session
      ? { hostUser: token.hostUser.id, changesUntil: iso(session.createdAtMs + hostCheckMs) }
      : {}),
    ...(token?.writeRepos && { writeRepos: [...token.writeRepos] }),
    expiresAt: expiresAtMs === null ? null : iso(expiresAtMs),
    limitContactUrl: limitContactUrl ?? null,
  };
}
