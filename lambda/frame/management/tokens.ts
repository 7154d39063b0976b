import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { AccessPorts } from '../access/ports.ts';
import { isListed, rightsOf, scopeOf, type TokenRecord } from '../access/rules/tokens.ts';
import { createToken, createTokenOnce } from '../access/tokens.ts';
import { json, noContent, type Refusal } from '../api/http.ts';
import { problem } from '../api/problems.ts';
import { encodeCursor, iso, pageSizeDefault } from '../contract/fields.ts';
import { type TokenBody, tokenContract } from '../contract/tokens.ts';
import { presentedBy } from './access.ts';
import { operationsFor, pathId, type RouteDeps, requestKeyReused } from './operations.ts';

type Needs = Pick<CoreDeps, 'ids'> & Pick<AccessPorts, 'requestKeys'>;

export const tokenOperations = operationsFor<Needs>()(tokenContract, {
  /** By the time of their creation, a page at a time. */
  'GET /v1/tenants/{tenant}/tokens': async (deps, { tenant, query: { limit = pageSizeDefault, cursor } }) => {
    const page = await deps.tokens.listPage({
      tenant: tenant.tenant,
      pageSize: limit,
      ...(cursor && { cursor }),
    });
    return json(200, {
      // The table removes them some time later, if it does.
      tokens: page.tokens.filter((token) => isListed(token, deps.clock.nowMs())).map(tokenBody),
      nextCursor: page.nextCursor === null ? null : encodeCursor(page.nextCursor),
    });
  },

  /** The one answer that holds a token. */
  'POST /v1/tenants/{tenant}/tokens': async (
    deps,
    { tenant: { tenant }, body, requestKey, event, trail },
  ) => {
    const { scope, label = null, user = null, repos = null, prefix, expiresInSeconds = null } = body;
    const lifetimeMs = expiresInSeconds === null ? null : expiresInSeconds * 1000;
    const grant = { tenant, ...rightsOf(scope), label, user, repos, prefix, lifetimeMs };
    const outcome =
      requestKey === undefined
        ? { kind: 'created' as const, ...(await createToken(deps, grant)) }
        : await createTokenOnce(deps, {
            grant,
            credential: presentedBy(event)?.secret ?? '',
            requestKey,
          });
    switch (outcome.kind) {
      case 'created': {
        const { record, token } = outcome;
        trail.became(tokenBody(record));
        const location = `/v1/tenants/${tenant}/tokens/${record.tokenId}`;
        return json(201, { ...tokenBody(record), tenant, token }, { location });
      }
      case 'revoked':
        return problem('token-revoked', "This key's token was revoked. Use a new key.");
      case 'key-reused':
        return requestKeyReused();
    }
  },

  'GET /v1/tenants/{tenant}/tokens/{tokenId}': async (deps, { tenant: { tenant }, event }) => {
    const record = await findToken(deps, { tenant, event });
    return record ? json(200, tokenBody(record)) : tokenNotFound(tenant);
  },

  'DELETE /v1/tenants/{tenant}/tokens/{tokenId}': async (deps, { tenant: { tenant }, event, trail }) => {
    const record = await findToken(deps, { tenant, event });
    if (record) trail.was(tokenBody(record));
    const outcome = record && (await deps.tokens.delete({ tenant, tokenId: record.tokenId }));
    return outcome === 'deleted' ? noContent() : tokenNotFound(tenant);
  },
});

/** The token of the path, if it is one of this tenant. */
async function findToken(
  deps: Pick<Needs & RouteDeps, 'tokens'>,
  input: { tenant: string; event: APIGatewayProxyEventV2 },
): Promise<TokenRecord | undefined> {
  const tokenId = pathId(input.event, 'tokenId');
  const record = tokenId === undefined ? undefined : await deps.tokens.find(tokenId);
  return record?.tenant === input.tenant && !record.hostUser ? record : undefined;
}

function tokenNotFound(tenant: string): Refusal {
  return problem('token-not-found', `${tenant} has no token with that id.`);
}

export function tokenBody(token: TokenRecord): TokenBody {
  const { tokenId, label, user, repos, prefix, createdAtMs, expiresAtMs, lastUsedAtMs } = token;
  return {
    tokenId,
    scope: scopeOf(token),
    label,
    user,
    repos: repos && [...repos],
    ...(prefix !== undefined && { prefix }),
    createdAt: iso(createdAtMs),
    expiresAt: expiresAtMs === null ? null : iso(expiresAtMs),
    lastUsedAt: lastUsedAtMs === null ? null : iso(lastUsedAtMs),
  };
}
